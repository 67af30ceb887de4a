"""An alert as a message describes it, the comparison of alert names, and the `key=value` and
`Key: value` pairs of an alert's lines."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from agents.alerts.amounts import Amount

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
