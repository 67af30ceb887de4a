"""Text of shapes and cells: paragraphs with their bullets and numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from loaders.office.package import Element, Relation
from loaders.sheets.cells import child, children, local, relation_id
from loaders.text.markdown import (
    Span,
    clean,
    is_exponent,
    is_monospace,
    spans_to_markdown,
    spans_to_text,
)
from loaders.text.plain import number

_KINDS = {"alphaLc": "a", "alphaUc": "A", "romanLc": "i", "romanUc": "I"}
_MAX_LEVEL = 8


@dataclass(frozen=True)
class Paragraph:
    text: str
    markdown: str
    marker: str = ""
    level: int = 0


@dataclass
class TextReader:
    """Reads the texts of one slide."""

    relations: Mapping[str, Relation] = field(default_factory=dict)

    def paragraphs(
        self, body: Element | None, styles: Sequence[Element] = ()
    ) -> Iterator[Paragraph]:
        """`styles`: lists of level styles that the shape inherits, the nearest one first."""
        own = child(body, "lstStyle")
        lists = [own, *styles] if own is not None else list(styles)
        counts: dict[int, tuple[str, int]] = {}
        for element in children(body, "p"):
            properties = child(element, "pPr")
            level = min(_integer(properties, "lvl"), _MAX_LEVEL)
            spans = list(self._spans(element))
            text = spans_to_text(spans).strip()
            if not text:
                continue
            bullet = _bullet([properties, *(child(one, f"lvl{level + 1}pPr") for one in lists)])
            marker = _marker(bullet, level, counts)
            yield Paragraph(text, spans_to_markdown(spans).strip(), marker, level if marker else 0)

    def _spans(self, paragraph: Element) -> Iterator[Span]:
        before = ""
        for part in paragraph:
            name = local(part)
            if name == "br":
                yield Span(text="\n")
            elif name == "r" or (name == "fld" and part.get("type") != "slidenum"):
                text = "".join(clean(one.text or "") for one in children(part, "t"))
                look = child(part, "rPr")
                if _integer(look, "baseline") > 0 and is_exponent(text, before):
                    text = f"^{text}"
                before = text
                font = child(look, "latin")
                link = self.relations.get(relation_id_of(child(look, "hlinkClick")))
                yield Span(
                    text=text,
                    bold=_is_on(look, "b"),
                    italic=_is_on(look, "i"),
                    strike=look is not None and look.get("strike", "noStrike") != "noStrike",
                    code=font is not None and is_monospace(font.get("typeface", "")),
                    link=link.target if link and link.external else "",
                )
            elif name == "AlternateContent":  # an equation; its fallback is a picture's text
                texts = (one.text or "" for one in part.iter() if local(one) == "t")
                yield Span(text=clean("".join(texts)))


def relation_id_of(element: Element | None) -> str:
    return "" if element is None else relation_id(element)


def _is_on(look: Element | None, name: str) -> bool:
    return look is not None and look.get(name, "0") in ("1", "true")


def _integer(element: Element | None, name: str, default: int = 0) -> int:
    text = "" if element is None else element.get(name, "")
    return int(text[:6]) if text.isdecimal() else default


def _bullet(properties: Sequence[Element | None]) -> Element | None:
    """The first statement about a bullet, nearest first."""
    for each in properties:
        for mark in [] if each is None else each:
            if local(mark) in ("buNone", "buChar", "buAutoNum", "buBlip"):
                return mark
    return None


def _marker(bullet: Element | None, level: int, counts: dict[int, tuple[str, int]]) -> str:
    """Counts numbers on; deeper levels begin anew."""
    for deeper in [one for one in counts if one > level]:
        del counts[deeper]
    if bullet is None or local(bullet) != "buAutoNum":
        counts.pop(level, None)
        return "-" if bullet is not None and local(bullet) != "buNone" else ""
    kind = bullet.get("type", "arabicPeriod")
    start = _integer(bullet, "startAt", 1)
    before = counts.get(level)
    count = before[1] + 1 if before and before[0] == f"{kind} {start}" else start
    counts[level] = f"{kind} {start}", count
    sign = number(count, next((k for name, k in _KINDS.items() if kind.startswith(name)), "1"))
    if kind.endswith("ParenBoth"):
        return f"({sign})"
    return f"{sign})" if kind.endswith("ParenR") else f"{sign}."
