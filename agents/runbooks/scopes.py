"""The language in which a table says for which alerts a row is.

| Alert    | Environment   | Host      | Used    | First step           |
|----------|---------------|-----------|---------|----------------------|
| DiskFull | prod, staging | fe01–fe08 | > 90%   | Extend the volume    |
|          |               | fe09–fe12 | 80–90 % | Delete old logs      |
|          | all others    | *         |         | Wait for the morning |

- The header is the key. A cell may have its own: `env: prod, staging; region: eu`.
- Values are separated by comma, slash, `and` or `or`. `all`, `*`, `-`, nothing: every one.
  `not DE`, `EU except DE`; `all others`: what no other row of the alert has.
- `orders.*` any ending. `fe01–fe08`, `db-01 … db-06`, `MSG-13xx` numbered names.
- `> 90%`, `above 92 % for 5 min`, `5–15 min`, `< 10 % left`, `1 or more`: amounts.
- In parentheses: other values, `transit (Arelion, Cogent)`; an environment, region or provider has
  to hold as well.
- Of several words those with a form of their own count: `prod EU`, `node pools gpu-*`.

Anything else is prose: it is shown, and neither confirms a row nor excludes it. But a sentence with
*only* and a value in bold or code limits a page: `This page is for the **search** service only.`
The words are those of `words.yaml`, in several languages.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from agents.runbooks.amounts import Range, range_in
from agents.runbooks.labels import may_be_value
from agents.runbooks.words import (
    WORDS,
    alternatives,
    is_key,
    is_name,
    kind_of,
    normal_key,
)
from enrichment.names import LINK, numbers_in

Keys = tuple[str, ...]
"""Normalized."""
Part = str | Range | tuple[str, int, int]
"""A name or glob as written, a range of amounts, or (stem, first, last) of numbered names."""
Alternative = tuple[Part, ...]
"""`prod EU`: all of its parts have to hold."""


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


_ALL = _pattern(rf"{alternatives('all')}(?: (\w+)){{0,2}}|\*|[-–—]*")
_REST = _pattern(rf"(?:{alternatives('all', 'articles')} )*{alternatives('rest')}(?: \w+){{0,2}}")
_EXCEPT = _pattern(rf"(?:^|[\s,(]+){alternatives('except')}\.?[\s-]+(?=\S)")
_LIST = _pattern(
    r"\s*[,;&|+\n]\s*|\s*/(?!(?:s|min|h|day)\b)\s*"
    rf"|\s+(?!{alternatives('and_more')}){alternatives('and_or')}\s+"
)
_EVERY = _pattern(rf"\b{alternatives('all')}\b")
_ONLY = _pattern(rf"\b{alternatives('only')}\b")
_LIMIT = _pattern(
    rf"\b{alternatives('only')}(?: (?!{alternatives('conditions')}\b)[\w']+){{0,3}} §"
    rf"|§(?: \w+)? {alternatives('only')}(?= ?[^\s\w]|$)"
)
_OF_PAGES = _pattern(rf"\b{alternatives('pages')}\b")
_REMARK = _pattern(rf"\((?!{alternatives('except')}\b)([^()]*)\)")
_PAIRS = re.compile(r"\s*[;\n]\s*|[\s,]+(?=[^\W\d]+\s*[:=](?!//)\s*\S)")
_KEYED = re.compile(r"([^\W\d][^\d:=]{0,30}?)\s*[:=](?!//)\s*(.+)")
_KEYS = re.compile(r"\s+(?:/|or|oder|ou|o)\s+")
_MARKED = re.compile(r"\*\*([^*]+)\*\*|`([^`]+)`")
_PROSE = _pattern(rf"[<>=≥≤?!%]|[.:](?:\s|$)|\d (?:{'|'.join(WORDS['units'])})\b")
_TO = re.compile(r"(?<=\d) (?:a|al|até|to|tot|t/m|bis|hasta|à|au|until|through) (?=\S*\d)")
_CODED = re.compile(r"[*\d]|\w[-_./:]\w|^[-_.]\w|\w[-_.]$")
_MARKS = " \"'“”„«»[]()"
_MAX_WORDS, _MAX_CODED_WORDS, _MAX_CHARS = 4, 7, 300


@dataclass(frozen=True, kw_only=True)
class Condition:
    keys: Keys
    """Of its header; empty for any."""
    holds_for: Literal["listed", "all", "rest"]
    values: tuple[Alternative, ...] = ()
    """One of them has to hold."""
    but: tuple[Alternative, ...] = ()
    only: bool = False
    """For no alert that names another place."""

    @property
    def ranges(self) -> frozenset[Range]:
        return frozenset(part for one in self.values for part in one if isinstance(part, Range))

    @property
    def kinds(self) -> set[str]:
        """What its values are: environments, regions …"""
        names = (part for one in (*self.values, *self.but) for part in one)
        return {kind for one in names if isinstance(one, str) and (kind := kind_of(one))}


Scope = tuple[Condition, ...]
"""All of them have to hold."""


def has_amounts(scope: Scope | None) -> bool:
    return any(one.ranges for one in scope or ())


def is_coded(scope: Scope | None) -> bool:
    """Whether it lists hosts or the like: `web-*`, `fe01–fe08`."""
    parts = (part for one in scope or () for value in (*one.values, *one.but) for part in value)
    return any(isinstance(part, tuple) or "*" in str(part) for part in parts)


def rates(scope: Scope | None) -> bool:
    """Whether it is for levels of severity."""
    return any(one.kinds == {"severity"} for one in scope or ())


@lru_cache(maxsize=20_000)
def read_scope(cell: str, header: str = "") -> Scope | None:
    """None for prose."""
    if len(cell) > _MAX_CHARS:
        return None
    text = re.sub(r"<br\s*/?>", "\n", re.sub(r"\*\*|`", "", LINK.sub(r"\1", cell))).strip()
    text = text[1:-1] if _REMARK.fullmatch(text) else text
    keyed = [_KEYED.fullmatch(part) for part in _PAIRS.split(text)]
    pairs = [(one[1], one[2]) for one in keyed if one]
    conditions: list[Condition] = []
    for key, value in pairs if all(keyed) else [(header, text)]:
        own = _conditions(value, tuple(filter(None, map(normal_key, _KEYS.split(key)))))
        if own is None:
            return None
        conditions += own
    return tuple(conditions)


def _conditions(text: str, keys: Keys) -> list[Condition] | None:
    """Of a text, and of what it says in parentheses; None for prose."""
    own = _condition(_REMARK.sub(" ", text), keys)
    remarks = filter(None, (_condition(part, ()) for part in _REMARK.findall(text)))
    limits = list[Condition]()
    for one in (one for one in remarks if one.holds_for == "listed"):
        if one.kinds - {"severity"}:
            limits.append(one)
        elif own and own.holds_for == "listed" and not one.kinds:
            own = replace(own, values=(*own.values, *one.values))
    return [own, *limits] if own else None


def _condition(text: str, keys: Keys) -> Condition | None:
    """None for prose."""
    text = _TO.sub("–", " ".join(_ONLY.sub(" ", text).split()))
    first, _, last = text.partition(" ")
    if is_key(first) and all(map(_is_coded, last.split() or [""])):  # `topic orders.*`
        keys, text = (normal_key(first),), last
    cut = None if range_in(text) else _EXCEPT.search(text)  # `menos de 5` is an amount
    listed = text[: cut.start()].strip(" ,(") if cut else text
    but = _alternatives(text[cut.end() :]) if cut else ()
    every, rest = _ALL.fullmatch(listed), _REST.fullmatch(listed)
    if every and any(map(_is_coded, _EVERY.sub(" ", listed).strip(" *–—-").split())):
        listed, every = _EVERY.sub(" ", listed), None  # `all prod`
    values = () if every or rest else _alternatives(listed)
    if but is None or values is None or (not keys and listed.isdecimal()):
        return None
    holds_for: Literal["listed", "all", "rest"] = "rest" if rest else "all" if every else "listed"
    own = Condition(keys=keys, holds_for=holds_for, values=values, but=but)
    return replace(own, keys=(*own.keys, *own.kinds)) if len(own.kinds) == 1 else own


@lru_cache(maxsize=20_000)
def _alternatives(text: str) -> tuple[Alternative, ...] | None:
    """None for prose, and for nothing."""
    if whole := range_in(text):
        return ((whole,),)
    parts = filter(None, (one.strip(_MARKS) for one in _LIST.split(text)))
    values = list(map(_alternative, parts))
    read = tuple(filter(None, values))
    return read if read and len(read) == len(values) else None


def _alternative(text: str) -> Alternative | None:
    """Its words with a form of their own, `gpu-*` of `node pools gpu-*`, else all of it; None for
    prose."""
    words = text.split()
    numbered = (numbers_in(" ".join(words[at:])) for at in range(len(words)))
    if numbers := range_in(text) or next(filter(None, numbered), None):
        return (numbers,)
    if kind_of(text) or len(words) == 1:
        return (_affix(text),)
    coded = [_affix(one.strip(_MARKS)) for one in words if _is_coded(one)]
    if len(words) > (_MAX_CODED_WORDS if coded else _MAX_WORDS) or _PROSE.search(text):
        return None
    return tuple(coded) or (" ".join([one for one in words if not is_key(one)] or words),)


def _is_coded(word: str) -> bool:
    return bool(_CODED.search(word)) or (may_be_value(word) and bool(kind_of(word)))


def _affix(name: str) -> str:
    """`-dlq` → `*-dlq`"""
    name = f"*{name}" if name[0] in "-_." else name
    return f"{name}*" if name[-1] in "-_." and len(name) > 1 else name


def limit_in(sentence: str) -> Scope | None:
    """To what a sentence of an introduction limits its page: `For the **search** service only.`"""
    words = map(normal_key, re.findall(r"[^\W\d_]+", sentence))
    keys = tuple(one for one in dict.fromkeys(words) if one in WORDS["subjects"])
    marked = [bold or code for bold, code in _MARKED.findall(sentence)]
    values = tuple(
        value for one in marked if is_name(one.strip("*")) for value in _alternatives(one) or ()
    )
    is_limit = _LIMIT.search(_MARKED.sub("§", sentence))
    if not values or not is_limit or not (keys or _OF_PAGES.search(sentence)):
        return None
    keys = () if all(kind_of(str(part)) for one in values for part in one) else keys
    return (Condition(keys=keys, holds_for="listed", values=values, only=True),)
