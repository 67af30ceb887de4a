"""The language in which a table says for which alerts a row is; shown in docs/alerts.md.

The header is the key, or the cell has its own: `env: prod; region: eu`, `topic orders.*`. Values
are names, globs, numbered names and amounts, separated by comma, slash, `and` or `or`; or all, all
but some, or what no other row of the alert has. What stands in parentheses is a remark, unless it
is an environment, region or provider. The words are those of `words.yaml`, in several languages.

Anything else is prose: it neither confirms a row nor excludes it. But a sentence with *only* and a
value in bold or code limits a page: `This page is for the **search** service only.`
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Literal, NamedTuple

from agents.runbooks.amounts import Range, range_in
from agents.runbooks.labels import AlertFacts, Mention
from agents.runbooks.words import (
    WORDS,
    alternatives,
    group_of,
    is_name,
    kind_of,
    meanings,
    normal_key,
    spelled,
)
from enrichment.names import numbers_in, stem_and_number

Verdict = Literal["yes", "no", "unknown", "any"]
"""`any`: it is for every alert."""
Value = str | Range | tuple[str, int, int]
"""A name or glob as written, a range of amounts, or (stem, first, last) of numbered names."""
Values = frozenset[Value]
NONE: Values = frozenset()
_OTHERS: Values = frozenset(("*",))
_WORST_FIRST: tuple[Verdict, ...] = ("no", "unknown", "yes", "any")


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


_ALL = _pattern(rf"{alternatives('all')}(?: (\w+))?|\*|[-–—]*")
_REST = _pattern(rf"(?:{alternatives('all', 'articles')} )*{alternatives('rest')}(?: \w+)?")
_ARTICLE = _pattern(rf"^{alternatives('articles')} ")
_EXCEPT = _pattern(rf"(?:^|[\s,(]+){alternatives('except')}\.?[\s-]+(?=\S)")
_LIST = _pattern(
    rf"\s*[,;&|+\n]\s*|(?<=\w)/(?=\w)(?!(?:s|min|h|day)\b)|\s/\s"
    rf"|\s+(?!{alternatives('and_more')}\b){alternatives('and_or')}\s+"
)
_ONLY = _pattern(rf"\b{alternatives('only')}\b")
_LIMIT = _pattern(
    rf"\b{alternatives('only')}(?: (?!{alternatives('conditions')}\b)[\w']+){{0,3}} §"
    rf"|§(?: \w+)? {alternatives('only')}(?= ?[^\s\w]|$)"
)
_OF_PAGES = _pattern(rf"\b{alternatives('pages')}\b")
_REMARK = _pattern(rf"\((?!{alternatives('except')}\b)([^()]*)\)")
_PAIRS = re.compile(r"\s*[;\n]\s*|[\s,]+(?=[^\W\d]+\s*[:=](?!//)\s*\S)")
_KEYED = re.compile(r"([^\W\d][^\d:=]{0,30}?)\s*[:=](?!//)\s*(.+)")
_KEY_BEFORE = _pattern(rf"^({alternatives('keys')}|{'|'.join(WORDS['keys'])}) (?=\S*[-_.*/]\S*$)")
"""`topic orders.*`"""
_LINK = re.compile(r"\[([^\[\]]*)\]\([^()\s]*\)")
_MARKED = re.compile(r"\*\*([^*]+)\*\*|`([^`]+)`")
_PROSE = _pattern(rf"[<>=≥≤?!%]|[.:](?:\s|$)|\d (?:{'|'.join(WORDS['units'])})\b")
_MARKS = " \"'“”„«»[]()"
_MAX_WORDS, _MAX_CHARS = 4, 300


@dataclass(frozen=True, kw_only=True)
class Condition:
    keys: tuple[str, ...]
    """Normalized, by its header and by what its values are; empty for any."""
    holds_for: Literal["listed", "all", "rest"]
    values: Values = NONE
    but: Values = NONE


Scope = tuple[Condition, ...]
"""All of them have to hold."""


def together(values: Iterable[Values]) -> Values:
    return NONE.union(*values)


def has_amounts(scope: Scope | None) -> bool:
    return any(isinstance(value, Range) for one in scope or () for value in one.values)


def read_scope(cell: str, header: str = "") -> Scope | None:
    """None for prose."""
    if len(cell) > _MAX_CHARS:
        return None
    text = re.sub(r"<br\s*/?>", "\n", re.sub(r"\*\*|`", "", _LINK.sub(r"\1", cell))).strip()
    text = text[1:-1] if _REMARK.fullmatch(text) else text
    text = _KEY_BEFORE.sub(r"\1: ", text)
    keyed = [_KEYED.fullmatch(part) for part in _PAIRS.split(text)]
    pairs = [(one[1], one[2]) for one in keyed if one]
    conditions: list[Condition] = []
    for key, value in pairs if all(keyed) else [(header, text)]:
        own = _condition(_REMARK.sub(" ", value), normal_key(key))
        if own is None:
            return None
        remarks = (_condition(one, "") for one in _REMARK.findall(value))
        conditions += [own, *(one for one in remarks if one and one.keys)]
    return tuple(conditions)


def _condition(text: str, key: str) -> Condition | None:
    """None for prose."""
    text = " ".join(_ONLY.sub(" ", text).split())
    cut = _EXCEPT.search(text)
    listed = text[: cut.start()].strip(" ,(") if cut else text
    but = _values(text[cut.end() :]) if cut else NONE
    every, rest = _ALL.fullmatch(listed), _REST.fullmatch(listed)
    if every and kind_of([every[1] or ""]):
        listed, every = every[1], None  # `all prod`
    values = NONE if every or rest else _values(listed)
    if but is None or values is None or (not key and listed.isdecimal()):
        return None
    keys = dict.fromkeys(filter(None, (key, kind_of(_names(values or but)))))
    holds_for: Literal["listed", "all", "rest"] = "rest" if rest else "all" if every else "listed"
    return Condition(keys=tuple(keys), holds_for=holds_for, values=values, but=but)


@lru_cache(maxsize=20_000)
def _values(text: str) -> Values | None:
    if whole := range_in(text):
        return frozenset((whole,))
    values = set[Value]()
    parts = text.split() if "://" in text else _LIST.split(text)
    for part in filter(None, (_ARTICLE.sub("", one.strip(_MARKS)) for one in parts)):
        value = range_in(part) or numbers_in(part) or part
        is_long = len(part.split()) > _MAX_WORDS
        if value == part and "*" not in part and (is_long or _PROSE.search(part)):
            return None
        values.add(value)
    return frozenset(values) or None


def limit_in(sentence: str) -> Scope | None:
    """To what a sentence of an introduction limits its page: `For the **search** service only.`"""
    words = map(normal_key, re.findall(r"[^\W\d_]+", sentence))
    keys = tuple(one for one in dict.fromkeys(words) if one in WORDS["subjects"])
    marked = [bold or code for bold, code in _MARKED.findall(sentence)]
    values = together(_values(one) or NONE for one in marked if is_name(one.strip("*")))
    is_limit = _LIMIT.search(_MARKED.sub("§", sentence))
    if not values or not is_limit or not (keys or _OF_PAGES.search(sentence)):
        return None
    kind = kind_of(_names(values))
    keys = (kind,) if kind else (*(keys or WORDS["subjects"]), "")
    return (Condition(keys=keys, holds_for="listed", values=values),)


class Reading(NamedTuple):
    verdict: Verdict
    values: Values = NONE
    """Those that stand in the alert, and of ranges those that hold an amount; `*` for others."""


def read(
    scope: Scope | None, facts: AlertFacts, column: Values = NONE, rivals: Values = NONE
) -> Reading:
    """What a scope says of the alert. `column`: values of the table's column; `rivals`: those of
    the alert's other rows."""
    own = together(one.values for one in scope or ())
    readings = [_read(one, facts, column - own, rivals) for one in scope or ()]
    verdicts: list[Verdict] = ["unknown"] if scope is None else [one.verdict for one in readings]
    worst = min(verdicts, key=_WORST_FIRST.index)
    return Reading(worst, together(one.values for one in readings))


def _read(one: Condition, facts: AlertFacts, column: Values, rivals: Values) -> Reading:
    """`column`: without what the cell itself lists."""
    own, is_rest = facts.under(one.keys), one.holds_for == "rest"
    theirs = one.but | (rivals if is_rest else NONE)
    alone = facts.alone("".join(one.keys[:1]))
    if _standing(theirs, own or facts.elsewhere):
        return Reading("no")
    if one.holds_for == "all" and not one.but:
        return Reading("any")
    if one.holds_for != "listed":
        is_named = any(is_name(label.value) for label in own or alone)
        return Reading("yes", _OTHERS) if is_named else Reading("unknown")
    values = _standing(one.values, own)
    if not values and not any(label.key in one.keys for label in own):
        values = _standing(one.values, facts.elsewhere) or _standing(one.values, [facts.whole])
    if values := values | _holding(one.values, facts):
        return Reading("yes", values)
    if own:
        return Reading("no" if all(_excludes(one.values, label) for label in own) else "unknown")
    names = {spelled(value) for value in column if isinstance(value, str)}
    is_other = any(spelled(label.value) in names for label in alone)
    is_other |= any(_resembles(one.values, label) for label in facts.elsewhere)
    return Reading("no" if is_other else "unknown")


def _standing(values: Values, mentions: Iterable[Mention]) -> Values:
    """The values that one of the mentions has."""
    return frozenset(one for mention in mentions for one in values if _has(mention, one))


def _has(mention: Mention, value: Value) -> bool:
    if isinstance(value, Range):
        return False
    if isinstance(value, tuple):
        numbered = filter(None, map(stem_and_number, mention.names))
        return any(stem == value[0] and value[1] <= at <= value[2] for stem, at in numbered)
    if "*" in value:
        return any(fnmatchcase(name.casefold(), value.casefold()) for name in mention.names)
    return spelled(value) in mention.words


def _holding(values: Values, facts: AlertFacts) -> Values:
    held = (
        replace(one, holds=frozenset(filter(one.contains, facts.amounts)))
        for one in values if isinstance(one, Range)
    )  # fmt: skip
    return frozenset(one for one in held if one.holds)


def _excludes(values: Values, label: Mention) -> bool:
    """Whether a value of the same key, which is not among them, is another of the same kind. A
    region may be one in it; another value, a part of its name."""
    names, own = _names(values), spelled(label.value)
    if kind := kind_of(names):
        may_be = any(own in meanings(spelled(one)) for one in names)
        return not may_be and kind == kind_of([own]) != "severity"
    is_host = not label.key and stem_and_number(label.value)
    is_part = any(own in spelled(one) for one in names)
    return is_name(label.value) and all(map(is_name, names)) and not is_host and not is_part


def _resembles(values: Values, label: Mention) -> bool:
    """Whether it is formed as they are, of a key of what alerts are about: `telemetry.raw` as
    `orders.*`."""
    is_dotted = "." in label.value and group_of(label.key) in WORDS["subjects"]
    return is_dotted and any(str(one).endswith(".*") for one in values)


def _names(values: Values) -> list[str]:
    return [one for one in values if isinstance(one, str) and "*" not in one]


def goes_beyond(own: Values, other: Values) -> bool:
    """Whether it has a value that the other lacks, and that is no part of one of the other's: of
    two ranges the narrower counts, of `EU` and `eu-west-1` the second."""
    return any(not any(_is_part(value, one) for one in other) for value in own - other)


def _is_part(value: Value, of: Value) -> bool:
    if isinstance(value, Range):
        return isinstance(of, Range) and of.is_part_of(value)
    if isinstance(value, str) and isinstance(of, str):
        larger, own = meanings(spelled(of)), spelled(value)
        return own in spelled(of) or own in larger
    return value in _OTHERS
