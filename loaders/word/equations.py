"""Equations (OMML, ECMA-376 part 1, 22.1) → one line of text, e.g. `(a+b)/2`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from loaders.word.package import Element, M, W

_ATOM = re.compile(r"\w*|\w+\.\w+|\W")


def linear(element: Element) -> str:
    """Deleted text and properties are left out."""
    namespace, _, name = element.tag.rpartition("}")
    if name in ("t", "delText"):
        return element.text or "" if name == "t" else ""
    if name.endswith("Pr") or (namespace + "}" == W and name in ("del", "moveFrom")):
        return ""
    write = _WRITERS.get(name) if namespace + "}" == M else None
    return write(element) if write else "".join(map(linear, element))


def _part(element: Element, name: str) -> str:
    part = element.find(M + name)
    return "" if part is None else linear(part).strip()


def _group(element: Element, name: str) -> str:
    text = _part(element, name)
    return text if _ATOM.fullmatch(text) else f"({text})"


def _sign(element: Element, path: str, default: str) -> str:
    part = element.find("/".join(M + step for step in path.split("/")))
    return default if part is None else part.get(f"{M}val", "")


def _fraction(element: Element) -> str:
    sign = " ¦ " if _sign(element, "fPr/type", "bar") == "noBar" else "/"
    return f"{_group(element, 'num')}{sign}{_group(element, 'den')}"


def _scripts(element: Element) -> str:
    below, above = _group(element, "sub"), _group(element, "sup")
    marks = (f"_{below}" if below else "") + (f"^{above}" if above else "")
    if element.tag == f"{M}nary":
        return f"{_sign(element, 'naryPr/chr', '∫')}{marks} {_part(element, 'e')}"
    if element.tag == f"{M}sPre":
        return marks + _group(element, "e")
    return _group(element, "e") + marks


def _root(element: Element) -> str:
    degree = _part(element, "deg")
    return f"√{f'[{degree}]' if degree else ''}({_part(element, 'e')})"


def _brackets(element: Element) -> str:
    start, end = _sign(element, "dPr/begChr", "("), _sign(element, "dPr/endChr", ")")
    between = _sign(element, "dPr/sepChr", "|")
    return start + between.join(linear(one) for one in element.iterchildren(f"{M}e")) + end


def _limit(element: Element) -> str:
    sign = "_" if element.tag == f"{M}limLow" else "^"
    return f"{_part(element, 'e')}{sign}{_group(element, 'lim')}"


def _matrix(element: Element) -> str:
    rows = element.iterchildren(f"{M}mr")
    return "; ".join(", ".join(linear(one) for one in row.iterchildren(f"{M}e")) for row in rows)


_WRITERS: Mapping[str, Callable[[Element], str]] = {
    "f": _fraction,
    "rad": _root,
    "d": _brackets,
    "m": _matrix,
    "limLow": _limit,
    "limUpp": _limit,
    "func": lambda element: f"{_part(element, 'fName')} {_part(element, 'e')}",
    "acc": lambda element: _part(element, "e") + _sign(element, "accPr/chr", "\u0302"),
    "eqArr": lambda element: "; ".join(linear(one) for one in element.iterchildren(f"{M}e")),
    **dict.fromkeys(("sSub", "sSup", "sSubSup", "sPre", "nary"), _scripts),
}
