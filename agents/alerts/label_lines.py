"""Keys and values of an alert's lines: `a="b"`, `a = b`, `Service: x`, `region:eu`."""

from __future__ import annotations

import re
from collections.abc import Iterator

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
