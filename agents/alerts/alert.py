"""An alert as a message describes it: names, labels, amounts. Compares names, and reads the
`key=value` and `Key: value` pairs of an alert's lines."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

_UNITS: dict[str, tuple[str, float]] = {
    "": ("", 1), "%": ("%", 1), "percent": ("%", 1), "ms": ("s", 0.001), "s": ("s", 1),
    "sec": ("s", 1), "second": ("s", 1), "m": ("s", 60), "min": ("s", 60), "minute": ("s", 60),
    "h": ("s", 3_600), "hr": ("s", 3_600), "hour": ("s", 3_600), "d": ("s", 86_400),
    "day": ("s", 86_400), "kb": ("b", 1e3), "mb": ("b", 1e6), "gb": ("b", 1e9), "tb": ("b", 1e12),
}  # fmt: skip
"""Unit as written → (what it measures, factor to the base unit)."""
_NUMBER = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?"
_UNIT = r"%|percent|[a-z]{1,7}"
_MORE = r"above|over|more than|greater than|higher than|longer than|at least|from|[>≥]=?"
_LESS = r"below|under|less than|lower than|fewer than|up to|at most|[<≤]=?"
_FROM_TO = re.compile(
    rf"(?:between |from )?({_NUMBER}) ?({_UNIT})? ?(?:to|and|until|[-–—]) ?({_NUMBER}) ?({_UNIT})?",
    re.IGNORECASE,
)
_BEYOND = re.compile(
    rf"(?:({_MORE})|({_LESS})) ?({_NUMBER}) ?({_UNIT})?(?: (?:or|and) (?:more|above))?|"
    rf"({_NUMBER}) ?({_UNIT})? ?(?:\+|or more|or longer|and more|and above|or above)",
    re.IGNORECASE,
)
_LAST = re.compile(rf" (?:(?:{_MORE}|{_LESS}|between) ?)?\d.*", re.IGNORECASE)
_NUMBERED = re.compile(r"([a-z][\w-]*?)[ _-]?(\d+)", re.IGNORECASE)
_ANY_DIGITS = re.compile(r"(.*\d)(x+)", re.IGNORECASE)
_UNTIL = re.compile(r"\s*(?:[-–—…]|\.\.+|\bto\b|\buntil\b)\s*", re.IGNORECASE)
_DATE = re.compile(
    r"https?://\S+|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6} \d{1,2}\b,?|"
    r"\b\d{1,2} (?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\b|\b20[23]\d\b",
    re.IGNORECASE,
)
_AMOUNT = re.compile(
    rf"(?<![\w.,:/#-])(?:(\w+)[ ]?=[ ]?)?({_NUMBER})[ ]?({_UNIT})?(?![\w:/-]|\.\w)", re.IGNORECASE
)
_BOUND = re.compile(
    r"(?:above|over|than|below|under|at least|at most|[<>≤≥]=?|between|limit|threshold|for|last"
    r"|every|within|past|since|after)"
    r"(?: (?:the|of|is|at))?[ :=>]*$",
    re.IGNORECASE,
)
"""Words before a number that make it a threshold or a time window, not a measured value."""
_NAMES_ONE = frozenset(("port", "pid", "id", "line", "broker", "shard", "partition", "build"))
MAX_AMOUNTS = 20


@dataclass(frozen=True)
class Amount:
    value: float
    measure: str
    """`%`, `s` (seconds), `b` (bytes); '' for a count."""


@dataclass(frozen=True)
class Range:
    low: float
    high: float
    measure: str

    def contains(self, amount: Amount) -> bool:
        return amount.measure == self.measure and self.low <= amount.value <= self.high

    def is_part_of(self, other: Range) -> bool:
        """Whether it is a proper part of the other range, in the same measure."""
        same = self.measure == other.measure and self != other
        return same and other.low <= self.low and self.high <= other.high


def range_in(text: str) -> Range | None:
    """The range that is all of a cell: `above 80 %`, `60 s to 10 min`, `1 or more`."""
    text = " ".join(text.split())
    if len(text) > 60:
        return None
    if match := _FROM_TO.fullmatch(text):
        high = _amount(match[3], match[4])
        low = _amount(match[1], match[2] or match[4])
        if low and high and low.measure == high.measure and low.value <= high.value:
            return Range(low.value, high.value, low.measure)
    elif match := _BEYOND.fullmatch(text):
        bound = _amount(match[3] or match[5], match[4] or match[6])
        if bound and match[2]:
            return Range(-math.inf, bound.value, bound.measure)
        if bound:
            # "Above 20,000" excludes 20,000 itself, which another row may end with.
            strict = match[1] and match[1].casefold() not in {"at least", "from", "≥", ">="}
            low_end = math.nextafter(bound.value, math.inf) if strict else bound.value
            return Range(low_end, math.inf, bound.measure)
    return None


def condition_after(text: str) -> str:
    """`DiskUsage above 80 %` → `above 80 %`; '' where the text ends with no range."""
    match = _LAST.search(text[:300])
    return match[0].strip() if match and range_in(match[0]) else ""


def numbers_in(text: str) -> tuple[str, int, int] | None:
    """(stem, first, last) of a numbered range: `fe01 – fe08`, `MSG-1100 to 1119`, `MSG-13xx`."""
    text = text.strip(" `")
    if match := _ANY_DIGITS.fullmatch(text):
        text = f"{match[1]}{'0' * len(match[2])} – {match[1]}{'9' * len(match[2])}"
    for between in _UNTIL.finditer(text):
        first = stem_and_number(text[: between.start()].strip(" `"))
        rest = text[between.end() :].strip(" `")
        last = (first[0], int(rest)) if first and rest.isdecimal() else stem_and_number(rest)
        if first and last and first[0] == last[0] and first[1] <= last[1]:
            return first[0], first[1], last[1]
    return None


def stem_and_number(name: str) -> tuple[str, int] | None:
    """`fe10` and `fe10:9100` → (`fe`, 10)."""
    match = _NUMBERED.fullmatch(name.partition(":")[0].partition(".")[0].strip(" `"))
    return (match[1].casefold(), int(match[2])) if match else None


def is_in_number_range(name: str, text: str) -> bool:
    """Whether the text is a range that contains the numbered name."""
    bounds, number = numbers_in(text), stem_and_number(name)
    return bool(
        bounds and number and number[0] == bounds[0] and bounds[1] <= number[1] <= bounds[2]
    )


def amounts_in(text: str) -> tuple[Amount, ...]:
    """Measured values of an alert's text, without thresholds, dates and identifying numbers."""
    text = _DATE.sub(" ", text[:4_000])
    amounts: dict[Amount, None] = {}
    for match in _AMOUNT.finditer(text):
        before = text[max(0, match.start() - 24) : match.start()]
        word = before.split()[-1].casefold() if before.split() else ""
        if _BOUND.search(before) or {word, (match[1] or "").casefold()} & _NAMES_ONE:
            continue
        if amount := _amount(match[2], match[3]) or _amount(match[2], ""):
            amounts[amount] = None
    return tuple(amounts)[:MAX_AMOUNTS]


def _amount(number: str, unit: str | None) -> Amount | None:
    """None for an unknown unit."""
    symbol = (unit or "").casefold()
    measure = _UNITS.get(symbol) or _UNITS.get(symbol.removesuffix("s"))
    if measure is None:
        return None
    return Amount(float(number.replace(",", "")) * measure[1], measure[0])


AlertStatus = Literal["", "firing", "resolved"]

_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[-_.:/][A-Za-z0-9]+)*")
SHORT_NAME = re.compile(r"[A-Z][A-Z0-9]{1,5}")
"""`DGO`: a name only where the documents say what it stands for."""
_HUMP = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2,}[a-z]")
_CODE_BEFORE = re.compile(r"[A-Z]{1,6}-?\d{1,5}[.:)]?\s+(?=\S)")
_APART = re.compile(r"(?<=\d)[\W_]+(?=\d)")
_SIGNS = re.compile(r"[^\w<>%+=&]|_")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@dataclass(frozen=True, kw_only=True)
class Alert:
    names: tuple[str, ...]
    """Candidates for its name, likeliest first; never empty."""
    status: AlertStatus = ""
    severity: str = ""
    """As the message writes it: `critical`, `P2`."""
    labels: tuple[tuple[str, str], ...] = ()
    """Key and value; the key is empty where a message gives the value alone."""
    link: str = ""
    """URL of the alert in the product that raised it."""
    amounts: tuple[Amount, ...] = ()
    """Measured values that the message states."""
    certain: bool = True
    """The message has a monitoring product's form. False: a person may mean something else."""
    title: str = ""
    """The words in which a documented name is searched; '' where a field gives the name."""
    only_if_known: bool = False
    """The words count as an alert only where a document has its name."""

    @property
    def name(self) -> str:
        return self.names[0]

    @property
    def where(self) -> str:
        """The instance that it fired on, `pod checkout-7f9`; '' where no label says."""
        by_key = {key.casefold(): (key, value) for key, value in self.labels if key}
        pair = next((by_key[key] for key in INSTANCE_KEYS if key in by_key), None)
        return " ".join(pair) if pair else ""


INSTANCE_KEYS = (
    "pod", "instance", "host", "hostname", "node", "container", "device", "exported_instance",
    "target", "endpoint", "url", "path", "id", "uid", "job",
)  # fmt: skip
"""Labels that identify one instance among many, the most specific first."""


def is_identifier(word: str) -> bool:
    """Whether it has a form that no ordinary word has: `KeyOverdue`, `disk-full`, `HTTP_5XX`."""
    if not _IDENTIFIER.fullmatch(word) or len(word) < 4:
        return False
    parts = [part for part in re.split(r"[-_.:/]", word) if part]
    mixed = any(c.isdigit() for c in word) and sum(c.isalpha() for c in word) >= 3
    return len(parts) > 1 or bool(_HUMP.search(word)) or mixed


@lru_cache(maxsize=20_000)
def exact_key(name: str) -> str:
    """Key for exact comparison: ignores case, outer spaces and code marks."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().strip(" `*_\"'“”.:").split())


@lru_cache(maxsize=20_000)
def name_key(name: str) -> str:
    """Key for comparison across spellings: equal for `DiskAlmostFull`, `disk-almost-full` and
    `Disk almost full`, different for `Disk9` and `Disk95`, `9-5` and `95`, `> 90%` and `< 90%`."""
    return _SIGNS.sub("", _APART.sub("=", exact_key(name)))


def without_code(heading: str) -> str:
    """The heading without its leading code: `OPS-12 Disk full` → `Disk full`; '' without a code."""
    code = _CODE_BEFORE.match(heading)
    return heading[code.end() :] if code else ""


def as_words(name: str) -> str:
    """`DiskAlmostFull` → `Disk Almost Full`."""
    return " ".join(re.sub(r"[-_./:]+", " ", _CAMEL.sub(" ", name)).split())


Label = tuple[str, str]

_PAIR = re.compile(
    r"(?<![\w.-])([A-Za-z][\w.-]{0,60})\s*(?:=~|=)\s*(\"(?:[^\"\\]|\\.)*\"|'[^']*'|[^\s,;{}]+)"
)
_EQUALS = re.compile(r"([A-Za-z][\w.-]{0,60})\s*=\s(.*)|([A-Za-z][\w.-]{0,60})\s+=\s*(.*)")
_FIELD = re.compile(r"([A-Za-z][\w./-]*(?: [\w./()-]+){0,3})\s*:(?!//)\s*(.*)")
_TAG = re.compile(r"([A-Za-z][\w.-]*)\s*[:=]\s*([^\s,;:][^\s,;]*)")
_BETWEEN = re.compile(r"\s+[|·•]\s+|\t+")
_MAX_VALUE_CHARS = 120

NAME_KEYS = frozenset(
    ("alertname", "alert", "alert name", "monitor", "monitor name", "rule", "rule name",
     "alert rule", "rulename", "problem name", "problem", "check", "check name", "alarm",
     "alarm name")
)  # fmt: skip
STATUS_KEYS = frozenset(("status", "state", "alert state", "alert status"))
SEVERITY_KEYS = frozenset(("severity", "priority", "level", "sev", "urgency"))
TAG_KEYS = frozenset(("tags", "labels", "tag", "scope", "monitored scope", "dimensions", "details"))
DESCRIPTION_KEYS = frozenset(
    """
    summary description message annotations runbook runbook_url runbook_link runbookurl source
    silence dashboard panel value values valuestring link url started startsat starts_at ended
    endsat triggered_at metric graph generatorurl generator_url title assigned assignee notified
    responders event incident note notes impact details prometheus alertgroup receiver query
    duration since time
    """.split()  # noqa: SIM905 - shorter than a list of strings
) | {
    "assigned to", "escalation policy", "incident key", "routed teams", "started at", "ended at",
    "what happened", "the monitor was last triggered at", "the monitor",
}  # fmt: skip
"""Fields that describe an alert in prose and do not distinguish one alert from another."""


def pairs(text: str) -> list[Label]:
    """Every `key=value`, with the quotes of values removed."""
    return [(key, strip_quotes(value)) for key, value in _PAIR.findall(text) if strip_quotes(value)]


def only_pairs(text: str) -> list[Label] | None:
    """The pairs of a text that holds nothing else; None where it holds more or no pair."""
    rest = _PAIR.sub(" ", text).strip(" ,;{}()[]")
    labels = pairs(text)
    return labels if labels and not rest else None


def tags(text: str) -> list[Label]:
    """`region:eu, env:prod` or `region=eu`; a bare word becomes a value with the key ''."""
    labels: list[Label] = []
    for part in re.split(r"[,;]\s*|\s+", text.strip("{}[]() ")):
        match = _TAG.fullmatch(part)
        if match:
            labels.append((match[1], strip_quotes(match[2])))
        elif part.strip("\"'"):
            labels.append(("", part.strip("\"'")))
    return labels


def fields(line: str) -> Iterator[Label]:
    """`Service: payments | Urgency: High`; the value is '' where the field has none."""
    for part in _BETWEEN.split(line):
        if match := _EQUALS.fullmatch(part):
            yield match[1] or match[3], strip_quotes(match[2] or match[4] or "")
        elif labels := only_pairs(part):
            yield from labels
        elif (match := _FIELD.fullmatch(part)) and len(match[2]) <= _MAX_VALUE_CHARS * 4:
            yield match[1].strip(), strip_quotes(match[2])


def is_label(key: str, value: str) -> bool:
    """Whether the label can distinguish two alerts of the same name."""
    return bool(value) and key.casefold() not in DESCRIPTION_KEYS and len(value) <= _MAX_VALUE_CHARS


def strip_quotes(value: str) -> str:
    value = value.strip().rstrip(",;:")
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'`":
        value = value[1:-1]
    return value.replace('\\"', '"').strip()
