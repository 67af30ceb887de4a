"""Until when a document was to be looked over again, read from what it says of itself."""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator
from datetime import date

from loaders.document import Block, Document, Table

_MONTH_NAMES = (
    "january february march april may june july august september october november december"
)
_MONTHS = {name[:3]: number for number, name in enumerate(_MONTH_NAMES.split(), start=1)}
_MONTH = r"(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]{0,6}\.?"
_DATE = re.compile(
    r"(?P<iso>(?P<y1>\d{4})[-/](?P<m1>\d{1,2})(?:[-/](?P<d1>\d{1,2}))?(?![\d/-]))"
    rf"|(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?(?:\s+of)?[\s-](?P<m2>{_MONTH})[\s,-]+(?P<y2>\d{{4}})\b"
    rf"|(?P<m3>{_MONTH})\s+(?P<d3>\d{{1,2}})(?:st|nd|rd|th)?,?\s+(?P<y3>\d{{4}})\b"
    rf"|(?P<m4>{_MONTH})\s+(?P<y4>\d{{4}})\b"
    r"|(?P<d5>\d{1,2})\.\s?(?P<m5>\d{1,2})\.\s?(?P<y5>\d{4})\b"
    r"|(?P<a6>\d{1,2})/(?P<b6>\d{1,2})/(?P<y6>\d{4})\b"
    r"|\bQ(?P<q7>[1-4])[\s/-]*(?P<y7>\d{4})\b",
    re.IGNORECASE,
)
_DUE = (
    r"(?:(?:next|due|planned|scheduled)\s+(?:for\s+)?(?:(?:document|policy|periodic|annual)\s+)?"
    r"(?:review|revision|re-?validation)(?:\s+(?:date|due|on|by|is\s+due(?:\s+on)?))?"
    r"|(?:to\s+be\s+)?review(?:ed)?\s+(?:again\s+)?(?:by|before|no\s+later\s+than)"
    r"|review\s+(?:is\s+)?due(?:\s+(?:date|on|by))?"
    r"|review\s+date|(?:valid|in\s+force|effective|applicable)\s+(?:until|till|through|to)"
    r"|valid\s+thru|expir(?:es|y)(?:\s+date)?(?:\s+on)?|expiration\s+date)"
)
_LABEL = re.compile(rf"\W*(?:document\s+)?{_DUE}\W*", re.IGNORECASE)
"""The name of a field, in a table or before a colon."""
_LABELLED = re.compile(rf"(?:^|[|;·•,.(]\s*|\n)\W*{_DUE}\s*\W{{0,6}}[:：]\W{{0,6}}", re.IGNORECASE)
_OF_ITSELF = (
    r"(?:this\s+(?:\w+\s+){0,2}?(?:document|page|guide|policy|standard|procedure|runbook|plan|list"
    r"|register|schedule|version|handbook|text)|it|the\s+present\s+\w+)"
)
_SAID = re.compile(
    rf"\b{_OF_ITSELF}\s+(?:is|was|will\s+be|shall\s+be|must\s+be|has\s+to\s+be|should\s+be|remains?"
    rf"|stays?|needs\s+to\s+be)?\s*(?:next\s+)?(?:to\s+be\s+)?{_DUE}\s+",
    re.IGNORECASE,
)
_NEXT = re.compile(
    r"\b(?:the|its|our)\s+next\s+review(?:\s+of\s+this\s+\w+)?\s+(?:is|takes\s+place|falls)"
    r"(?:\s+due)?(?:\s+(?:on|in|by))?\s+",
    re.IGNORECASE,
)
_FILLER = re.compile(r"^\s*(?:the\s+)?(?:end\s+of\s+)?", re.IGNORECASE)
_ABOUT_ITSELF = re.compile(
    r"\W*(?:document\s+)?(?:owners?|authors?|status|version|approved(?:\s+by|\s+on)?|approver"
    r"|classification|effective(?:\s+date|\s+from)?|last\s+(?:review(?:ed)?|updated|change[d]?)"
    r"|maintainers?|title|id)\W*",
    re.IGNORECASE,
)
_FIRST, _LAST = 8, 3
"""Blocks, headings and rules apart, in which a document speaks of itself."""
_LONGEST = 600
"""Characters of such a block."""
_FIELDS = 12
"""Rows, or columns, of a table of fields."""


def review_date(document: Document) -> date | None:
    """The latest one that it names; None where it names none.

    Counted are fields (`Next review: 2026-09-01`, a small table of them) at its beginning and end,
    and sentences about the document itself: that certificates are valid until some day is no
    review of the page that says so."""
    said = [block for block in document.blocks if block.kind not in ("heading", "rule")]
    about = [*said[:_FIRST], *said[max(_FIRST, len(said) - _LAST) :]]
    found = [day for block in about for day in _days(block)]
    return max(found, default=None)


def date_in(text: str) -> date | None:
    """The date that a text begins with; a month or a quarter is over at its end, and of two
    readings of 01/02/2026 the later one counts."""
    match = _DATE.match(_FILLER.sub("", text, count=1))
    if match is None:
        return None
    got = match.groupdict()
    if got["y7"]:
        return _last_day(int(got["y7"]), int(got["q7"]) * 3)
    if got["y6"]:
        day, month, year = int(got["a6"]), int(got["b6"]), int(got["y6"])
        readings = (_real(year, month, day), _real(year, day, month))
        return max(filter(None, readings), default=None)
    for number in "12345":
        if year_text := got.get(f"y{number}"):
            month_text, day_text = got[f"m{number}"], got.get(f"d{number}")
            month = int(month_text) if month_text.isdigit() else _MONTHS[month_text[:3].lower()]
            return (
                _real(int(year_text), month, int(day_text))
                if day_text
                else _last_day(int(year_text), month)
            )
    return None


def _days(block: Block) -> Iterator[date]:
    if block.table:
        yield from _in_fields(block.table)
    elif len(block.text) <= _LONGEST:
        for pattern in (_LABELLED, _SAID, _NEXT):
            for match in pattern.finditer(block.text):
                if day := date_in(block.text[match.end() :]):
                    yield day


def _in_fields(table: Table) -> Iterator[date]:
    """Of a table whose rows, or whose one row, are fields of the document."""
    rows = [[cell.text.strip() for cell in row] for row in table.rows]
    if len(rows) == 2 and len(rows[0]) <= _FIELDS:
        pairs = list(zip(*rows, strict=True))
    elif len(rows) <= _FIELDS and len(rows[0]) in (2, 4):
        pairs = [(row[at], row[at + 1]) for row in rows for at in range(0, len(row), 2)]
    else:
        return
    named = [name for name, _ in pairs]
    speaks_of_itself = any(_ABOUT_ITSELF.fullmatch(name) for name in named)
    for name, value in pairs:
        is_due = _LABEL.fullmatch(name) and (speaks_of_itself or len(pairs) == 1)
        if is_due and (day := date_in(value)):
            yield day


def _real(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _last_day(year: int, month: int) -> date | None:
    if not (1 <= month <= 12 and 1 <= year <= 9999):
        return None
    return date(year, month, calendar.monthrange(year, month)[1])
