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
- In parentheses: a remark, `rw-db (writer)`, unless it is an environment, region or provider.
- Another value excludes a row if it stands in another row of the column, or both are one word or
  environments or regions. Numbers, texts, and a value that holds the listed one leave it open.

Anything else is prose: it is shown, and neither confirms a row nor excludes it. But a sentence with
*only* and a value in bold or code limits a page: `This page is for the **search** service only.`
The words are those of `words.yaml`, in several languages.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Literal, Protocol

from agents.runbooks.amounts import Range, range_in
from agents.runbooks.labels import AlertFacts, AlertLabel
from agents.runbooks.words import (
    WORDS,
    alternatives,
    group_of,
    is_name,
    kind_of,
    may_be,
    normal_key,
    spelled,
)
from enrichment.names import numbers_in, stem_and_number

Verdict = Literal["yes", "no", "unknown"]
Value = str | Range | tuple[str, int, int]
"""A name or glob as written, a range of amounts, or (stem, first, last) of numbered names."""
Values = frozenset[Value]
NONE: Values = frozenset()


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


_ALL = _pattern(rf"{alternatives('all')}(?: (\w+))?|\*|[-–—]*")
_REST = _pattern(rf"(?:{alternatives('all', 'articles')} )*{alternatives('rest')}(?: \w+)?")
_EXCEPT = _pattern(rf"(?:^|[\s,(]+){alternatives('except')}\.?[\s-]+(?=\S)")
_LIST = _pattern(rf"\s*[,;&|+\n]\s*|\s*/(?!(?:s|min|h|day)\b)\s*|\s+{alternatives('and_or')}\s+")
_ONLY = _pattern(rf"\b{alternatives('only')}\b")
_LIMIT = _pattern(
    rf"\b{alternatives('only')}(?: (?!{alternatives('conditions')}\b)[\w']+){{0,3}} §"
    rf"|§(?: \w+)? {alternatives('only')}(?= ?[^\s\w]|$)"
)
_OF_PAGES = _pattern(rf"\b{alternatives('pages')}\b")
_REMARK = _pattern(rf"\((?!{alternatives('except')}\b)([^()]*)\)")
_PAIRS = re.compile(r"\s*[;\n]\s*|[\s,]+(?=[^\W\d]+\s*[:=](?!//)\s*\S)")
_KEYED = re.compile(r"([^\W\d][^\d:=]{0,30}?)\s*[:=](?!//)\s*(.+)")
_LINK = re.compile(r"\[([^\[\]]*)\]\([^()\s]*\)")
_MARKED = re.compile(r"\*\*([^*]+)\*\*|`([^`]+)`")
_PROSE = _pattern(rf"[<>=≥≤?!%]|[.:](?:\s|$)|\d (?:{'|'.join(WORDS['units'])})\b")
_MARKS = " \"'“”„«»[]()"
_DOTTED = frozenset(("job", "queue", "service", "namespace"))
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


class ScopeCell(Protocol):
    @property
    def label(self) -> str: ...
    @property
    def scope(self) -> Scope | None: ...
    @property
    def column(self) -> Values: ...


def together(values: Iterable[Values]) -> Values:
    return NONE.union(*values)


def has_amounts(scope: Scope | None) -> bool:
    return any(_ranges(one.values) for one in scope or ())


def read_scope(cell: str, header: str = "") -> Scope | None:
    """None for prose."""
    if len(cell) > _MAX_CHARS:
        return None
    text = re.sub(r"<br\s*/?>", "\n", re.sub(r"\*\*|`", "", _LINK.sub(r"\1", cell))).strip()
    text = text[1:-1] if _REMARK.fullmatch(text) else text
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
    for part in filter(None, (one.strip(_MARKS) for one in _LIST.split(text))):
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


def verdicts(rows: Sequence[Sequence[ScopeCell]], facts: AlertFacts) -> list[list[Verdict]]:
    """Of each cell in an alert's rows, whether the alert is in its scope. Amounts are compared only
    between rows that differ in nothing else that can be read."""
    listed, ranges = defaultdict[str, Values](frozenset), defaultdict[object, Values](frozenset)
    for row in rows:
        for cell in row:
            values = together(one.values for one in cell.scope or ())
            listed[cell.label] |= values - _ranges(values)
            ranges[_like(cell, row)] |= _ranges(values)

    def answer(cell: ScopeCell, row: Sequence[ScopeCell]) -> Verdict:
        rivals = listed[cell.label] | ranges[_like(cell, row)]
        # A column without a key lists values of any kind.
        column = cell.column | rivals if normal_key(cell.label) else rivals
        return verdict(cell.scope, facts, column, rivals)

    return [[answer(cell, row) for cell in row] for row in rows]


def _like(cell: ScopeCell, row: Sequence[ScopeCell]) -> object:
    """Equal for cells of one column in rows whose other cells say the same."""
    others = ((one.label, part) for one in row for part in one.scope or ())
    return cell.label, frozenset(
        (label, part) for label, part in others
        if label != cell.label and (part.holds_for != "all" or part.but)
    )  # fmt: skip


def verdict(
    scope: Scope | None, facts: AlertFacts, column: Values = NONE, rivals: Values = NONE
) -> Verdict:
    """Whether the alert is in the scope. `column`: values of the table's column; `rivals`: those of
    the alert's other rows, with their ranges where nothing else differs."""
    whole = together(one.values for one in scope or ())
    answers = {_decide(one, facts, column, rivals, whole) for one in scope or ()}
    answers |= {"unknown"} if scope is None else set()
    return "no" if "no" in answers else "unknown" if "unknown" in answers else "yes"


def _decide(
    one: Condition, facts: AlertFacts, column: Values, rivals: Values, whole: Values
) -> Verdict:
    """`whole`: all that the cell lists, of which another part may be for a label."""
    if ranges := _ranges(one.values):
        return _of_amounts(ranges, facts, _ranges(rivals))
    own = facts.under(one.keys)
    around = own if any(label.key in one.keys for label in own) else facts.elsewhere
    is_named = any(is_name(label.value) for label in own)
    if any(_has(one.but, label) for label in around):
        return "no"
    if one.holds_for == "all":
        return "yes" if is_named or not one.but else "unknown"
    if one.holds_for == "rest":
        is_theirs = any(_has(rivals, label) for label in around)
        return "no" if is_theirs else "yes" if is_named else "unknown"
    if any(_has(one.values, label) for label in around):
        return "yes"
    if own and all(_has(column, label) or _exclude(one.values, label) for label in own):
        return "no"
    if any(_has(one.values, label) for label in facts.elsewhere):
        return "yes"
    rest = [label for label in facts.elsewhere if not _has(whole, label)]
    is_other = any(_has(column, label) or _resemble(one.values, label) for label in rest)
    return "no" if is_other else "unknown"


def _of_amounts(own: frozenset[Range], facts: AlertFacts, rivals: frozenset[Range]) -> Verdict:
    """Amounts that no range holds say nothing. Of several ranges, the narrowest counts."""
    answers = set[bool]()
    for amount in facts.amounts:
        holding = [one for one in own | rivals if one.contains(amount)]
        best = {one for one in holding if not any(other.is_part_of(one) for other in holding)}
        answers |= {bool(best & own)} if best else set()
    return "unknown" if len(answers) != 1 else "yes" if True in answers else "no"


def _has(values: Values, label: AlertLabel) -> bool:
    return any(_compared(one, label) == "yes" for one in values)


def _resemble(values: Values, label: AlertLabel) -> bool:
    """Whether a value that is not among them is of the same form."""
    return any(_compared(one, label) == "no" for one in values)


def _compared(value: Value, label: AlertLabel) -> Verdict:
    """`no` for a value of the same form: `fe01–fe08` and `fe14`, `orders.*` and `telemetry.raw`."""
    if isinstance(value, Range):
        return "unknown"
    if isinstance(value, tuple):
        stem, number = stem_and_number(label.value) or ("", 0)
        is_same = value[1] <= number <= value[2]
        return "unknown" if stem != value[0] else "yes" if is_same else "no"
    if spelled(value) in label.spellings or fnmatchcase(label.value.casefold(), value.casefold()):
        return "yes"
    is_dotted = "." in label.value and is_name(label.value) and group_of(label.key) in _DOTTED
    return "no" if is_dotted and value.endswith(".*") else "unknown"


def _exclude(values: Values, label: AlertLabel) -> bool:
    """Whether a value of the same key, which is not among them, is another of the same kind."""
    names = _names(values)
    if any(may_be(label.value, one) for one in names):
        return _resemble(values, label)
    if kind := kind_of(names):
        return kind == kind_of([label.value])
    return is_name(label.value) and all(map(is_name, names))


def _names(values: Values) -> list[str]:
    return [one for one in values if isinstance(one, str) and "*" not in one]


def _ranges(values: Values) -> frozenset[Range]:
    return frozenset(one for one in values if isinstance(one, Range))
