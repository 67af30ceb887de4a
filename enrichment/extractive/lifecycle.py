"""Finds a document's review date, successor and predecessors in its text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import date

from enrichment.chunk import DocumentCard, ends_document
from enrichment.language.words import stems
from enrichment.references import linked_path
from loaders.dates import date_in, months_later
from loaders.document import Document, Table

_DUE = (
    r"(?:(?:next|due|planned|scheduled)\s+(?:for\s+)?(?:(?:document|policy|periodic|annual)\s+)?"
    r"(?:review|revision|re-?validation)(?:\s+(?:date|due|on|by|is\s+due(?:\s+on)?))?"
    r"|(?:to\s+be\s+)?review(?:ed)?\s+(?:again\s+)?(?:by|before|no\s+later\s+than)"
    r"|review\s+(?:is\s+)?due(?:\s+(?:date|on|by))?"
    r"|review\s+date|(?:valid|in\s+force|effective|applicable)\s+(?:until|till|through|to)"
    r"|valid\s+thru|expir(?:es|y)(?:\s+date)?(?:\s+on)?|expiration\s+date)"
)
_LAST_TIME = r"(?:(?:date\s+of\s+)?last\s+review(?:ed)?(?:\s+date)?(?:\s+on)?|reviewed\s+on)"
_HOW_OFTEN = r"(?:review\s+(?:cycle|interval|frequency|period)|(?:to\s+be\s+)?review(?:ed)?)"
_BEGINS = r"(?:^|[|;·•,.(]\s*|\n)\W*"
_COLON = r"\s*\W{0,6}[:：]\W{0,6}"


def _whole_label(field: str) -> re.Pattern[str]:
    """The name of a field in a table."""
    return re.compile(rf"\W*(?:document\s+)?{field}\W*", re.IGNORECASE)


def _label_before(field: str) -> re.Pattern[str]:
    """The name of a field before a colon."""
    return re.compile(rf"{_BEGINS}{field}{_COLON}", re.IGNORECASE)


_LABEL, _LABEL_BEFORE = _whole_label(_DUE), _label_before(_DUE)
_LAST_LABEL, _LAST_LABEL_BEFORE = _whole_label(_LAST_TIME), _label_before(_LAST_TIME)
_EVERY_LABEL = _whole_label(_HOW_OFTEN)
_EVERY_LABEL_BEFORE = re.compile(rf"{_BEGINS}{_HOW_OFTEN}(?:{_COLON}|\s+)", re.IGNORECASE)
_COUNTS = {"": 1, "one": 1, "two": 2, "three": 3, "four": 4, "six": 6, "twelve": 12}
_OFTEN = {"month": 1, "quarter": 3, "year": 12, "annual": 12}
_EVERY = re.compile(
    rf"\s*(?:(?:every\s+)?(?P<count>\d{{1,2}}|{'|'.join(filter(None, _COUNTS))})[\s-]+"
    r"(?P<counted>month|year)s?|every\s+(?P<each>month|quarter|year)"
    r"|(?P<adverb>month|quarter|year|annual)ly|(?P<adjective>annual))(?=\s*(?:$|[.;,|·•)\n]))",
    re.IGNORECASE,
)
_OF_ITSELF = (
    r"(?:this\s+(?:\w+\s+){0,2}?(?:document|page|guide|policy|standard|procedure|runbook|plan|list"
    r"|register|schedule|version|handbook|text)|it|the\s+present\s+\w+)"
)
_DUE_SENTENCE = re.compile(
    rf"\b{_OF_ITSELF}\s+(?:is|was|will\s+be|shall\s+be|must\s+be|has\s+to\s+be|should\s+be|remains?"
    rf"|stays?|needs\s+to\s+be)?\s*(?:next\s+)?(?:to\s+be\s+)?{_DUE}\s+",
    re.IGNORECASE,
)
_NEXT = re.compile(
    r"\b(?:the|its|our)\s+next\s+review(?:\s+of\s+this\s+\w+)?\s+(?:is|takes\s+place|falls)"
    r"(?:\s+due)?(?:\s+(?:on|in|by))?\s+",
    re.IGNORECASE,
)
_ABOUT_ITSELF = re.compile(
    r"\W*(?:document\s+)?(?:owners?|authors?|status|version|approved(?:\s+by|\s+on)?|approver"
    r"|classification|effective(?:\s+date|\s+from)?|last\s+(?:review(?:ed)?|updated|change[d]?)"
    r"|maintainers?|title|id)\W*",
    re.IGNORECASE,
)
_FIRST, _LAST = 8, 3
"""Number of blocks at the beginning and the end, without headings and rules, in which a document
describes itself."""
_MAX_BLOCK_CHARS = 600
"""Maximum characters of such a block."""
_FIELDS = 12
"""Maximum rows, or columns, of a table of fields."""


@dataclass(frozen=True)
class _ReviewStatements:
    """A document's statements about its reviews, each list in reading order."""

    review: list[date] = field(default_factory=list)
    valid: list[date] = field(default_factory=list)
    last: list[date] = field(default_factory=list)
    every: list[int] = field(default_factory=list)
    """Months."""

    def due(self, field_name: str, value: str) -> None:
        if day := date_in(value):
            is_review = re.search("review|revision|validation", field_name, re.IGNORECASE)
            (self.review if is_review else self.valid).append(day)

    def done(self, value: str) -> None:
        if day := date_in(value):
            self.last.append(day)

    def often(self, value: str) -> None:
        if match := _EVERY.match(value):
            groups = match.groupdict(default="")
            unit = groups["counted"] or groups["each"] or groups["adverb"] or groups["adjective"]
            count = groups["count"].lower()
            times = int(count) if count.isdigit() else _COUNTS[count]
            self.every.append(times * _OFTEN[unit.lower()])


def review_date(document: Document) -> date | None:
    """The latest review date in the text, or else the last review plus the review interval; the end
    of validity if that is earlier. None if the text has none of them.

    Reads fields (`Next review: 2026-09-01`, also in a small table) at the beginning and end, and
    sentences about the document itself: the validity of a certificate is not the page's own."""
    blocks = [block for block in document.blocks if block.kind not in ("heading", "rule")]
    statements = _ReviewStatements()
    for block in (*blocks[:_FIRST], *blocks[max(_FIRST, len(blocks) - _LAST) :]):
        if block.table:
            _read_fields(block.table, statements)
        elif len(block.text) <= _MAX_BLOCK_CHARS:
            _read_words(block.text, statements)
    review = max(statements.review, default=None)
    if review is None and statements.last and statements.every:
        review = months_later(max(statements.last), statements.every[0])
    return min(filter(None, (review, max(statements.valid, default=None))), default=None)


def _read_words(text: str, statements: _ReviewStatements) -> None:
    for pattern in (_LABEL_BEFORE, _DUE_SENTENCE, _NEXT):
        for match in pattern.finditer(text):
            statements.due(match[0], text[match.end() :])
    for match in _LAST_LABEL_BEFORE.finditer(text):
        statements.done(text[match.end() :])
    for match in _EVERY_LABEL_BEFORE.finditer(text):
        statements.often(text[match.end() :])


def _read_fields(table: Table, statements: _ReviewStatements) -> None:
    """Reads a table whose rows, or whose single row, are fields of the document."""
    rows = [[cell.text.strip() for cell in row] for row in table.rows]
    if len(rows) == 2 and len(rows[0]) <= _FIELDS:
        pairs = list(zip(*rows, strict=True))
    elif len(rows) <= _FIELDS and len(rows[0]) in (2, 4):
        pairs = [(row[at], row[at + 1]) for row in rows for at in range(0, len(row), 2)]
    else:
        return
    if len(pairs) > 1 and not any(_ABOUT_ITSELF.fullmatch(name) for name, _ in pairs):
        return
    for name, value in pairs:
        if _LABEL.fullmatch(name):
            statements.due(name, value)
        elif _LAST_LABEL.fullmatch(name):
            statements.done(value)
        elif _EVERY_LABEL.fullmatch(name):
            statements.often(value)


_LINK = r"\[(?P<label>[^\]]{1,200})\]\((?P<target>[^)\s]+)\)"
_GAP = r"[^.\[\]]{0,80}?"
_HAS_SUCCESSOR = (
    re.compile(rf"\b(?:superseded|replaced|obsoleted)\b{_GAP}\bby\b{_GAP}{_LINK}", re.I),
    re.compile(rf"\b(?:see|use|go to|moved to|continues in)\b{_GAP}{_LINK}{_GAP}\binstead\b", re.I),
    re.compile(
        rf"\b(?:current|new|newer|valid)\b[^.\[\]]{{0,60}}?\b(?:in|is|are|at)\b{_GAP}{_LINK}", re.I
    ),
)
_REPLACES = re.compile(
    rf"\b(?:it|this(?: \w+){{0,3}}) (?:replaces|supersedes)\b{_GAP}{_LINK}", re.I
)
_OVER = r"(?:superseded|obsolete|deprecated|outdated|withdrawn|retired)\b"
_OUT_OF_FORCE = re.compile(
    rf"^[^\w\n]*+{_OVER}(?=\W*$|\s*[^\w\s]|\s+(?:by|since|on|in|as|from|and|see|use|because)\b)"
    rf"|\b{_OF_ITSELF}\s+(?:is|was|has\s+been)\s+(?:now\s+)?"
    rf"(?:{_OVER}|replaced\b|no\s+longer\s+(?:in\s+force|valid|current|maintained)\b)"
    r"|\bdo not act on (?:it|this)\b|\bwas in force until\b",
    re.I | re.M,
)
"""A remark at the beginning of a line, `Retired in 2024`, or a sentence about the document itself:
`Retired systems` and `the old API is deprecated` are its subject."""
_OPENING_BLOCKS = 6
_OPENING_CHARACTERS = 4_000
_DOCUMENT_ID = re.compile(r"(?:^doc:|/d/|[?&]id=)([\w-]+)")


def says_it_is_out_of_force(document: Document) -> bool:
    """Whether the source's status or the first lines say so."""
    return ends_document(document.status) or bool(_OUT_OF_FORCE.search(_opening(document)))


def successor(document: Document) -> str:
    """Id or path of the document that this one names as its replacement, or ''.

    `The current rules are in …`, or a link to a document of nearly the same name, counts only in a
    document that is out of force: elsewhere it is an ordinary reference."""
    opening = _opening(document)
    out_of_force = says_it_is_out_of_force(document)
    candidates = [
        match
        for pattern in (_HAS_SUCCESSOR if out_of_force else _HAS_SUCCESSOR[:1])
        for match in pattern.finditer(opening)
    ]
    if out_of_force:
        links = re.finditer(_LINK, opening)
        candidates += [match for match in links if _named_alike(match["label"], document.title)]
    targets = (document_id(match["target"], document.path) for match in candidates)
    own = ("", document.id, document.path)
    return next((target for target in targets if target not in own), "")


def predecessors(document: Document) -> tuple[str, ...]:
    """Ids or paths of documents that this one says it replaces."""
    links = _REPLACES.finditer(_opening(document))
    ids = (document_id(match["target"], document.path) for match in links)
    own = ("", document.id, document.path)
    return tuple(dict.fromkeys(target for target in ids if target not in own))


def with_successors(cards: Iterable[DocumentCard]) -> list[DocumentCard]:
    """The cards of a whole domain, with successors also taken from `replaces` of other cards.

    Dates are ignored: a superseded page is often edited after its successor was written."""
    all_cards = list(cards)
    ids = {card.path: card.id for card in all_cards if card.path}
    after = {ids.get(old, old): card.id for card in all_cards for old in card.replaces}
    return [
        card
        if card.id not in after and not card.superseded_by
        else replace(
            card,
            superseded_by=ids.get(card.superseded_by, card.superseded_by) or after[card.id],
            status=card.status or "superseded",
        )
        for card in all_cards
    ]


def document_id(target: str, path: str = "") -> str:
    """`doc:ID`, a Google Docs or Drive address → the id; a relative file → its path. `path`: of the
    file with the link."""
    match = _DOCUMENT_ID.search(target)
    return match[1] if match else linked_path(target, path)


def _named_alike(label: str, title: str) -> bool:
    """Whether the longer name has all words of the shorter, without numbers such as years."""
    names = [{stem for stem in stems(name) if not stem.isdigit()} for name in (label, title)]
    return all(names) and len(names[0] & names[1]) == min(map(len, names))


def _opening(document: Document) -> str:
    text_blocks = [
        block for block in document.blocks if block.kind not in ("heading", "rule", "table")
    ]
    opening = "\n".join(block.markdown or block.text for block in text_blocks[:_OPENING_BLOCKS])
    return opening[:_OPENING_CHARACTERS]
