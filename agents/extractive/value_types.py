"""Kinds of values, such as duration or person: requested by a question, and held by a cell."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass
from functools import lru_cache

from enrichment.language.quantities import quantities
from enrichment.language.words import stem, stems, tokens

DURATION, FREQUENCY, DATE, AMOUNT, NUMBER, SHARE = (
    "duration", "frequency", "date", "amount", "number", "share",
)  # fmt: skip
PERSON, PLACE, YES_NO, WAY, REASON = "person", "place", "yes_no", "way", "reason"

_KINDS = (DURATION, FREQUENCY, DATE, AMOUNT, NUMBER, SHARE, PERSON, PLACE, YES_NO, WAY, REASON)
ALSO = {kind: {kind} for kind in _KINDS} | {
    FREQUENCY: {FREQUENCY, DURATION}, DATE: {DATE, DURATION, FREQUENCY},
    AMOUNT: {AMOUNT, NUMBER, SHARE}, NUMBER: {NUMBER, AMOUNT},
}  # fmt: skip
"""Requested kind → kinds of value that answer it (`when`: `within 3 days`)."""

_NOUNS = {
    DURATION: "age time duration period lifetime life retention delay timeout window notice "
    "deadline lead-time length interval ttl sla",
    FREQUENCY: "frequency cadence schedule",
    DATE: "date deadline day expiry start end timing",
    AMOUNT: "price cost fee amount budget salary allowance limit quota size weight height width "
    "speed rate threshold maximum minimum capacity",
    NUMBER: "number count quantity total",
    SHARE: "percentage percent share proportion ratio",
    PERSON: "person contact team role group department staff people desk lead who whom",
    PLACE: "place location region country city site office room where address",
    WAY: "step action procedure process instruction way method",
    REASON: "reason cause why purpose",
}
"""Kind → nouns that imply it, in a question (`which region`) and in a header."""
_KINDS_OF: dict[str, set[str]] = {}
for _kind, _nouns in _NOUNS.items():
    for _noun in _nouns.split():
        _KINDS_OF.setdefault(stem(_noun), set()).add(_kind)

_KIND_OF_MEASURE = {
    "": NUMBER, "percent": SHARE, "date": DATE, "time": DURATION, "working time": DURATION,
    "months": DURATION,
}  # fmt: skip
"""Measure of a quantity → kind; any other measure is an amount."""

_TIME = r"(?:seconds?|minutes?|mins?|hours?|hrs?|days?|nights?|weeks?|months?|years?)"
_ASKS = (
    r"(?:^|[,;:.?!\-–—/&+(]\s*|\b(?:and|or|but|so|also|then|plus|know|me|ask|by|to|from|with|for|"
    r"of|is|on|in|at)\s+)"
)
_AUXILIARY = (
    r"(?:is|are|was|were|am|do|does|did|can|could|may|might|must|shall|should|will|would|has|have)"
)
_PATTERNS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern, re.IGNORECASE))
    for kind, pattern in (
        (FREQUENCY, r"\bhow (?:often|frequently|regularly)\b"),
        (FREQUENCY, r"\bhow many times (?:a|an|per|each|every)\b"),
        (DURATION, r"\bhow (?:long|old|soon|fast|quick(?:ly)?|late|early|far ahead|much time)\b"),
        (DURATION, rf"\bhow (?:many|much)(?: \w+)? {_TIME}\b"),
        (SHARE, r"\b(?:what|which|how (?:much|many|large|big))(?: is the)?(?: a)? "
                r"(?:percentage|percent|share|proportion)\b"),
        (NUMBER, r"\bhow many\b"),
        (AMOUNT, r"\bhow (?:much|big|large|high|heavy|tall|wide|far)\b"),
        (DATE, r"\b(?:until|till|by|since|from) when\b"),
        (DATE, r"\b(?:when|what time|(?:what|which) (?:date|day))(?:'s)?"
               rf"(?: \w+ly)?\s+{_AUXILIARY}\b"),
        (DATE, r"\bwhen's\b"),
        (DATE, r"^\W*when\W*$"),
        (PERSON, rf"{_ASKS}who(?:m|se|'s)?\b"),
        (PLACE, rf"\bwhere(?:'s|\s+{_AUXILIARY})\b"),
        (WAY, rf"\bhow (?:to\b|{_AUXILIARY}\b)"),
        (REASON, r"\b(?:why|how come|what for)\b"),
        (WAY, r"\bwhat (?:do|should|must|can|to)\b(?: \w+){0,2} (?:do|happen)\b"),
    )
)  # fmt: skip
_WHAT = re.compile(
    r"\b(?:what|which|wh?ats)(?:'?s|\s+(?:is|are|was|were))?\s+(?:the\s+|a\s+|an\s+|our\s+|my\s+|your\s+)?"
    r"((?:[\w-]+\s*){1,4})",
    re.IGNORECASE,
)
_NO_HEAD = re.compile(
    r"\b(?:of|for|on|in|at|to|do|does|can|may|must|should|is|are|will|has|have|that|when|if|with|"
    r"from|by|and|or|need|needs|i|we|you|they|he|she|it|this|the|a|an|my|our|your)\b",
    re.IGNORECASE,
)
_YES_NO = re.compile(
    rf"(?:^|[,;:.!?\-–—(]\s*|\b(?:and|or|but|so)\s+){_AUXILIARY}(?:n'?t)?\s+\w+", re.IGNORECASE
)

_FREQUENT = re.compile(
    r"\b(?:hourly|daily|nightly|weekly|fortnightly|bi-?weekly|monthly|bi-?monthly|quarterly|"
    r"yearly|annual(?:ly)?|bi-?annual(?:ly)?|continuous(?:ly)?|once|twice|"
    rf"(?:per|each|every|times an?|on)\b[\w ,-]*?(?:{_TIME}|quarter|\w+days?))\b",
    re.IGNORECASE,
)
_CLOCK = re.compile(
    r"\b\d{1,2}:\d\d\b|\b\d{1,2} ?[ap]\.?m\b|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|"
    r"\b(?:noon|midnight|today|tomorrow)\b|\b(?:19|20)\d\d\b",
    re.IGNORECASE,
)
_SAYS_WHETHER = re.compile(
    r"^\W*(?:yes|no|y|n|true|false|always|never|not|only|required|optional|mandatory|allowed|"
    r"permitted|forbidden|prohibited|blocked|available|possible|impossible|included|excluded|"
    r"needed|supported|unsupported|on request|none|enabled|disabled)\b|^\s*[✓✔✗✘✅❌xX]\W*$",
    re.IGNORECASE,
)
_PEOPLE = re.compile(
    r"@\w|\b(?:team|staff|desk|lead|head|chief|director|manager|officer|engineer|owner|board|"
    r"committee|office|department|group|admin(?:istrator)?|sponsor|everyone|anyone|nobody|user|"
    r"employee|customer|vendor|on-?call|duty|operations|c[a-z]o|vp|hr)s?\b",
    re.IGNORECASE,
)
_DOER = re.compile(r"(?:er|or|ee|ist)s?$")
_NO_DOERS_LISTED = (
    "number order after under over other further cover offer letter counter server cluster "
    "computer browser folder container provider tier whether never ever later newer older larger "
    "smaller lower upper higher error factor vector sector color floor major minor prior before "
    "parameter header footer filter trigger timer paper power water layer buffer register answer "
    "matter chapter quarter router printer scanner meter"
)
_NO_DOERS = frozenset(_NO_DOERS_LISTED.split())
"""Nouns in -er and -or that are no persons."""
_TOKENS_OF_A_WAY = 4


@dataclass(frozen=True, kw_only=True)
class KindRequest:
    """One kind of value that a question asks for."""

    kind: str
    words: frozenset[str]
    """Stems of the interrogative phrase (`how old`), which no header needs to contain."""


@lru_cache(maxsize=256)
def requested_kinds(question: str) -> tuple[KindRequest, ...]:
    """In the question's order, each once; empty when the question is unclear."""
    matches: dict[str, tuple[int, frozenset[str]]] = {}
    spans: list[tuple[int, int]] = []
    text = question.replace("’", "'")
    for kind, pattern in _PATTERNS:
        for match in pattern.finditer(text):
            if any(match.start() < end and start < match.end() for start, end in spans):
                continue
            spans.append(match.span())
            matches.setdefault(kind, (match.start(), stems(match[0])))
    for match in _WHAT.finditer(text):
        phrase = _NO_HEAD.split(match[1], maxsplit=1)[0].rstrip()
        end = match.start(1) + len(phrase)
        if any(match.start() < last and first < end for first, last in spans):
            continue
        head = tokens(phrase)
        if kind := _kind_named(head[-1]) if head else "":
            spans.append((match.start(), end))
            matches.setdefault(kind, (match.start(), stems(head[-1])))
    whether = None if matches else _YES_NO.search(text)
    if whether:
        matches[YES_NO] = (whether.start(), frozenset())
    ordered = sorted(matches.items(), key=lambda one: one[1][0])
    return tuple(KindRequest(kind=kind, words=words) for kind, (_, words) in ordered)


@lru_cache(maxsize=16_384)
def kinds_of(value: str) -> frozenset[str]:
    """All kinds of a cell's value: `90 days, by the owner` has several."""
    kinds = {_KIND_OF_MEASURE.get(one.measure, AMOUNT) for one in quantities(value)}
    for pattern, kind in ((_FREQUENT, FREQUENCY), (_CLOCK, DATE), (_SAYS_WHETHER, YES_NO)):
        if pattern.search(value):
            kinds.add(kind)
    if _PEOPLE.search(value) or any(_is_doer(word) for word in tokens(value)):
        kinds.add(PERSON)
    if len(tokens(value)) >= _TOKENS_OF_A_WAY:
        kinds.add(WAY)
    return frozenset(kinds)


@lru_cache(maxsize=4_096)
def kinds_named_by(header: str) -> frozenset[str]:
    """The kinds that a header implies: `Owner`, `Rotated by`, `Max age (days)`."""
    own = header.split(" › ")[-1]
    kinds = {request.kind for request in requested_kinds(own)}
    words = tokens(own)
    if words and words[-1].casefold() == "by":
        kinds.add(PERSON)
    if re.search(rf"\({_TIME}\)|\bin {_TIME}\b|\b(?:within|after|lasts?)\b", own, re.IGNORECASE):
        kinds.add(DURATION)
    if re.search(r"^\W*(?:when|until|since|from|due)\b", own, re.IGNORECASE):
        kinds.add(DATE)
    for word in words:
        kinds |= _KINDS_OF.get(stem(word.casefold()), set())
        if _is_doer(word):
            kinds.add(PERSON)
    return frozenset(kinds)


def column_kinds(header: str, cells: Sequence[str]) -> frozenset[str]:
    """The kinds of the header, and those of most non-empty cells."""
    cell_kinds = [kinds_of(cell) for cell in cells if cell.strip()]
    majority = {
        kind for kind in ALSO if 2 * sum(kind in one for one in cell_kinds) > len(cell_kinds)
    }
    return kinds_named_by(header) | majority


def fits(kind: str, value_kinds: Set[str]) -> bool:
    return bool(ALSO[kind] & value_kinds)


def _kind_named(word: str) -> str:
    kinds = _KINDS_OF.get(stem(word.casefold()))
    if kinds:
        return next(kind for kind in ALSO if kind in kinds)
    return PERSON if _is_doer(word) else ""


def _is_doer(word: str) -> bool:
    lowered = word.casefold()
    singular = lowered.removesuffix("s")
    return len(lowered) > 4 and bool(_DOER.search(lowered)) and singular not in _NO_DOERS
