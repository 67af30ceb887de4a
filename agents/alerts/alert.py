"""One alert, as a message tells of it, and when two names are the same.

Keys and values of an alert's lines: `a="b"`, `a = b`, `Service: x`, `region:eu`."""

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
"""`DGO`: known only where the documents say what it stands for."""
_HUMP = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2,}[a-z]")
_CODE_BEFORE = re.compile(r"[A-Z]{1,6}-?\d{1,5}[.:)]?\s+(?=\S)")
_APART = re.compile(r"(?<=\d)[\W_]+(?=\d)")
_SIGNS = re.compile(r"[^\w<>%+=&]|_")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@dataclass(frozen=True, kw_only=True)
class Alert:
    names: tuple[str, ...]
    """What its name may be, the likeliest first; never empty."""
    status: AlertStatus = ""
    severity: str = ""
    """As written: `critical`, `P2`."""
    labels: tuple[tuple[str, str], ...] = ()
    """Key and value; the key is empty where a message gives the value alone."""
    link: str = ""
    """Of the alert itself, where it was raised."""
    amounts: tuple[Amount, ...] = ()
    """How much it says that something is."""
    certain: bool = True
    """By a product's own form; False: a person may have meant the words otherwise."""
    title: str = ""
    """The words in which a documented name is looked for; '' where a field gives the name."""
    only_if_known: bool = False
    """Words that are an alert only where documents know its name."""

    @property
    def name(self) -> str:
        return self.names[0]

    @property
    def where(self) -> str:
        """What it fired on: `pod checkout-7f9`; empty where it doesn't say."""
        known = {key.casefold(): (key, value) for key, value in self.labels if key}
        found = next((known[key] for key in INSTANCE_KEYS if key in known), None)
        return " ".join(found) if found else ""


INSTANCE_KEYS = (
    "pod", "instance", "host", "hostname", "node", "container", "device", "exported_instance",
    "target", "endpoint", "url", "path", "id", "uid", "job",
)  # fmt: skip
"""Labels that name one thing among many alike, the most telling first."""


def is_identifier(word: str) -> bool:
    """A name that nobody writes by chance: `KeyOverdue`, `disk-full`, `HTTP_5XX`, `Disk95`."""
    if not _IDENTIFIER.fullmatch(word) or len(word) < 4:
        return False
    parts = [part for part in re.split(r"[-_.:/]", word) if part]
    mixed = any(c.isdigit() for c in word) and sum(c.isalpha() for c in word) >= 3
    return len(parts) > 1 or bool(_HUMP.search(word)) or mixed


@lru_cache(maxsize=20_000)
def exact_key(name: str) -> str:
    """Case, spaces at the ends and code signs aside."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().strip(" `*_\"'“”.:").split())


@lru_cache(maxsize=20_000)
def name_key(name: str) -> str:
    """The same for `DiskAlmostFull`, `disk-almost-full` and `Disk almost full`; `Disk9` and
    `Disk95`, `9-5` and `95` stay apart, and so do `> 90%` and `< 90%`."""
    return _SIGNS.sub("", _APART.sub("=", exact_key(name)))


def uncoded(heading: str) -> str:
    """Its words behind a code that numbers it: `OPS-12 Disk full` → `Disk full`; '' without one."""
    code = _CODE_BEFORE.match(heading)
    return heading[code.end() :] if code else ""


def spelled_out(name: str) -> str:
    """Its words: `DiskAlmostFull` → `Disk Almost Full`."""
    return " ".join(re.sub(r"[-_./:]+", " ", _CAMEL.sub(" ", name)).split())


Label = tuple[str, str]

_PAIR = re.compile(
    r"(?<![\w.-])([A-Za-z][\w.-]{0,60})\s*(?:=~|=)\s*(\"(?:[^\"\\]|\\.)*\"|'[^']*'|[^\s,;{}]+)"
)
_EQUALS = re.compile(r"([A-Za-z][\w.-]{0,60})\s*=\s(.*)|([A-Za-z][\w.-]{0,60})\s+=\s*(.*)")
_FIELD = re.compile(r"([A-Za-z][\w./-]*(?: [\w./()-]+){0,3})\s*:(?!//)\s*(.*)")
_TAG = re.compile(r"([A-Za-z][\w.-]*)\s*[:=]\s*([^\s,;:][^\s,;]*)")
_BETWEEN = re.compile(r"\s+[|·•]\s+|\t+")
_LONGEST_VALUE = 120

NAME_KEYS = frozenset(
    ("alertname", "alert", "alert name", "monitor", "monitor name", "rule", "rule name",
     "alert rule", "rulename", "problem name", "problem", "check", "check name", "alarm",
     "alarm name")
)  # fmt: skip
STATUS_KEYS = frozenset(("status", "state", "alert state", "alert status"))
SEVERITY_KEYS = frozenset(("severity", "priority", "level", "sev", "urgency"))
TAG_KEYS = frozenset(("tags", "labels", "tag", "scope", "monitored scope", "dimensions", "details"))
SAID_KEYS = frozenset(
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
"""What is told of an alert in words, and nothing that tells one from another."""


def pairs(text: str) -> list[Label]:
    """All `key=value`, quoted or not."""
    return [(key, unquoted(value)) for key, value in _PAIR.findall(text) if unquoted(value)]


def only_pairs(text: str) -> list[Label] | None:
    """The same where the text holds nothing else; None where it does."""
    rest = _PAIR.sub(" ", text).strip(" ,;{}()[]")
    found = pairs(text)
    return found if found and not rest else None


def tags(text: str) -> list[Label]:
    """`region:eu, env:prod` or `region=eu`; a bare word is a value without its key."""
    found: list[Label] = []
    for part in re.split(r"[,;]\s*|\s+", text.strip("{}[]() ")):
        match = _TAG.fullmatch(part)
        if match:
            found.append((match[1], unquoted(match[2])))
        elif part.strip("\"'"):
            found.append(("", part.strip("\"'")))
    return found


def fields(line: str) -> Iterator[Label]:
    """`Service: payments | Urgency: High`; a field without a value has ''."""
    for part in _BETWEEN.split(line):
        if match := _EQUALS.fullmatch(part):
            yield match[1] or match[3], unquoted(match[2] or match[4] or "")
        elif found := only_pairs(part):
            yield from found
        elif (match := _FIELD.fullmatch(part)) and len(match[2]) <= _LONGEST_VALUE * 4:
            yield match[1].strip(), unquoted(match[2])


def is_label(key: str, value: str) -> bool:
    """Whether it can tell one alert of a name from another."""
    return bool(value) and key.casefold() not in SAID_KEYS and len(value) <= _LONGEST_VALUE


def unquoted(value: str) -> str:
    value = value.strip().rstrip(",;:")
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'`":
        value = value[1:-1]
    return value.replace('\\"', '"').strip()
