"""How monitoring products begin the message of an alert.

Alertmanager and Grafana by their default templates, Datadog, PagerDuty and Opsgenie by what their
Slack apps post; and how people write of an alert by hand."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from agents.alerts.alert import AlertStatus, Label, is_identifier, only_pairs, pairs, tags

_FIRING = (
    r"re-?triggered|triggered?|firing|alerting|re-?alert|re-?opened|reopened|created?|opened|open"
    r"|active|problem|no ?data|warn|acknowledged|escalated|reassigned|updated|pending|alarm"
)
_RESOLVED = r"resolved?|recovered|recovery|closed?|cleared|normal|ok"
_STATE = rf"{_FIRING}|{_RESOLVED}"
_RATED = r"critical|warning|warn|major|minor|info|high|low|p[0-5]|sev-?\d"


def _begins(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_BRACKETED = _begins(
    rf"(?:\[(?P<rated>{_RATED})\]\s*)?\[(?P<state>{_STATE}|alert)(?:\s*:\s*\d+)?"
    rf"(?:\s*[,|]\s*[a-z]+\s*:\s*\d+)*(?:\s+on\s+\{{?(?P<on>[^\]}}]*)\}}?)?\]\s*(?P<title>.*)"
)
_NUMBERED = _begins(
    rf"(?:incident\s+)?(?P<state>{_STATE})\s+(?:incident\s+)?\[?#\d+\]?\s*[:\-–—]?\s*(?P<title>.*)"
)
_NUMBERED_FIRST = _begins(
    rf"(?:incident|alert)\s+\[?#\d+\]?\s+(?:is |was |has been )?(?P<state>{_STATE})"
    r"\s*[:\-–—]?\s*(?P<title>.*)"
)
_NUMBER = _begins(r"\[?#(?P<number>\d+)\]?\s*[:\-–—]?\s+(?P<title>\S.*)")
_QUOTED = _begins(
    rf"(?:new\s+)?alert\b\s*:?\s*(?:\[?#\d+\]?\s*)?(?:is |was |has been )?(?P<state>{_STATE})?"
    rf"\s*[:\-–—]?\s*[\"“](?P<title>[^\"”]+)[\"”]\s*(?:\[?#\d+\]?)?\s*"
    rf"(?:is |was |has been )?(?P<then>{_STATE})?.*"
)
_DATADOG = _begins(
    r"(?P<state>re-?triggered|triggered|recovered|warn|no data|re-?warn|re-?no data)"
    r"(?:\s+on\s+\{(?P<on>[^{}]*)\})?\s*:\s*"
    r"(?P<title>\S.*)"
)
_NAGIOS = _begins(
    r"(?P<state>problem|recovery)\s+(?:host|service)\s+alert\s*:\s*(?:[^\s/]+/)?"
    r"(?P<title>\S.*?)\s+is\s+[a-z]+"
)
_FROM = re.compile(r"\[[A-Za-z][\w .-]{0,40}\]\s*:?\s*(?P<title>\S.*)")
_TOLD = _begins(rf"\balert (?:is |was |has been )?(?P<state>{_STATE})\b")
_WORDED = _begins(
    rf"(?:(?P<rated>{_RATED})\s+)?(?P<state>{_STATE}|alert|critical|warning)(?:\s+alert)?"
    r"\s*:\s*(?P<title>\S.*)"
)
_SHOUTED = re.compile(
    r"\[?(?P<state>ALERT|FIRING|ALERTING|PROBLEM|CRITICAL|WARNING|RESOLVED|OK)\]?(?:\s+|\s*[:–—-]\s*)"
    r"(?P<title>[\w.:/-]+)\s*(?P<rest>.*)"
)
_BRACED = re.compile(r"(?P<title>[A-Za-z][\w.:/-]*)\s*[{(](?P<rest>.*=.*)[})]")
_BY_HAND = _begins(
    r"(?P<title>[A-Za-z][\w.:/-]*)\s+(?:(?:on|for|in)\s+(?P<on>\S+)\s+)?(?:alert\s+)?(?:is\s+|has\s+|just\s+|now\s+)*"
    r"(?P<state>firing|fired|triggered|alerting|resolved|recovered)\s*(?P<rest>.*)"
)
_GROUP = _begins(
    r"(?:alerts?\s+)?(?:\d+\s+)?(?P<state>firing|resolved|alerting)(?:\s+(?:alerts?|instances?))?"
    r"\s*(?:\(\d+\))?\s*:?"
)
_RATING = _begins(rf"^\[(?P<rated>{_RATED})\]\s*")
_HANDED_ON = _begins(
    r"(?P<title>[A-Za-z][^,;?!\"“”:=]{1,80}?)\s+(?:alert\s+|alarm\s+)?"
    r"(?:(?:is|has|just|now|again)\s+){0,4}"
    r"(?:(?P<now>firing|alerting|red)|fired|triggered|popped up|went off|going off)\b"
    r"(?P<then>.{0,400})"
)
_ON_WHAT = re.compile(
    r"\b(?:on|for|in|at)\s+(?:the\s+)?(?:[a-z]{1,30}\s+(?=\S{0,60}[\d._/-]))?(?P<on>[\w./:-]*\w)"
)
_SENTENCE = re.compile(r"[.!?,;:–—]\s+")
_NOTICES = frozenset(
    """
    deploy deploys deployed deploying deployment release releases released rollout merged pipeline
    build builds commit changelog maintenance silence silenced muted snoozed reminder report
    """.split()  # noqa: SIM905 - shorter than a list of strings
)
"""With these begins what bots tell of work, and not of an alert."""
_LEVEL_WORD = re.compile(
    r"\[?(?:WARN(?:ING)?|CRIT(?:ICAL)?|ALERT|ALARM|ERROR|FATAL|EMERG|DOWN|FAILED|FIRING|PROBLEM)\]?"
)
_QUOTED_FIRING = _begins(
    r"[\"“](?P<title>[^\"“”]{4,120})[\"”]\s+(?:alert\s+|alarm\s+)?(?:is|just went|went|has gone)\s+"
    r"(?:firing|alerting|red|critical|in alarm|off)\b"
)
_TICKET = re.compile(r"^\[?#\d+\]?\s*:?\s+(?=\S)")
_ON = re.compile(r"(?:on|for|in|at)\s+(\S+)")


@dataclass(frozen=True, kw_only=True)
class Headline:
    title: str
    status: AlertStatus
    certain: bool
    severity: str = ""
    labels: tuple[Label, ...] = ()
    needs_fields: bool = False
    """An alert only if a service, priority or the like follows."""


def status_of(word: str) -> AlertStatus:
    """'' for a word that is no state."""
    word = word.strip().casefold()
    if re.fullmatch(_RESOLVED, word):
        return "resolved"
    return "firing" if re.fullmatch(_FIRING + r"|fired|alert|critical|warning", word) else ""


def group_status(line: str) -> AlertStatus:
    """Of a line that heads the alerts of one state: `**Firing**`, `Alerts Resolved:`."""
    found = _GROUP.fullmatch(line)
    return status_of(found["state"]) if found else ""


def headline(line: str) -> Headline | None:
    """What a line says if it begins an alert."""
    if found := _BRACKETED.fullmatch(line):
        title, rated = _rated(found["title"])
        return Headline(
            title=title, status=status_of(found["state"]), certain=True,
            severity=found["rated"] or rated, labels=tuple(tags(found["on"] or "")),
        )  # fmt: skip
    for form in (_DATADOG, _NAGIOS, _NUMBERED, _NUMBERED_FIRST):
        if found := form.fullmatch(line):
            title, rated = _rated(found["title"])
            status = status_of(found["state"]) or "firing"
            on = tuple(tags(found.groupdict().get("on") or ""))
            return Headline(title=title, status=status, certain=True, severity=rated, labels=on)
    if found := _QUOTED.fullmatch(line):
        state = found["state"] or found["then"] or "firing"
        return Headline(title=found["title"], status=status_of(state), certain=True)
    if found := _NUMBER.fullmatch(line):
        title, rated = _rated(found["title"])
        return Headline(title=title, status="", certain=True, severity=rated, needs_fields=True)
    if (found := _FROM.fullmatch(line)) and is_identifier(found["title"].split(" ")[0]):
        return Headline(title=found["title"], status="", certain=True, needs_fields=True)
    return _by_hand(line)


def told_state(line: str) -> AlertStatus:
    """Of a line beside an alert: `Opsgenie: Alert closed via web`."""
    found = _TOLD.search(line)
    return status_of(found["state"]) if found else ""


def quoted_firing(line: str) -> Headline | None:
    """`… "Disk full on db-1" is red, …`: whoever says so wants to know what to do."""
    said = _QUOTED_FIRING.search(line)
    return _worded(said["title"], "firing", []) if said else None


@dataclass(frozen=True)
class HandedOn:
    """`DiskFull on db-1 is firing, …`, `DiskFull just fired on db-1, …`"""

    title: str
    on: tuple[str, ...]
    rest: str
    """What else is said."""
    now: bool
    """It still fires: nobody says so to ask something else."""


def handed_on(line: str) -> HandedOn | None:
    begins = (0, *(one.end() for one in islice(_SENTENCE.finditer(line), 8)))
    found = next(filter(None, (_HANDED_ON.match(line, at) for at in begins)), None)
    if not found:
        return None
    on = tuple(one["on"] for one in _ON_WHAT.finditer(found["then"]))
    rest = f"{line[: found.start()]} {_ON_WHAT.sub(' ', found['then'])}"
    return HandedOn(title=found["title"], on=on, rest=rest, now=bool(found["now"]))


def is_notice(words: Sequence[str]) -> bool:
    """Whether a bot's message that begins with these is of work that is done."""
    return any(word.casefold() in _NOTICES for word in words)


def is_level(word: str) -> bool:
    return bool(_LEVEL_WORD.fullmatch(word))


def _by_hand(line: str) -> Headline | None:
    if (found := _SHOUTED.fullmatch(line)) and is_identifier(found["title"]):
        rest = found["rest"].strip(" .!")
        on = _ON.fullmatch(rest)
        if not rest or on or (only_pairs(rest) is not None):
            told = [("", on[1])] if on else pairs(rest)
            return _worded(found["title"], status_of(found["state"]), told)
    if found := _WORDED.fullmatch(line):
        title, rated = _rated(found["title"])
        rated = rated or found["rated"] or ""
        return Headline(
            title=title, status=status_of(found["state"]), certain=False, severity=rated
        )
    if found := _BRACED.fullmatch(line):
        labels = only_pairs(found["rest"])
        return _worded(found["title"], "", labels) if labels else None
    first, _, rest = line.partition(" ")
    if is_identifier(first.rstrip(":,")) and (labels := only_pairs(rest)):
        return _worded(first.rstrip(":,"), "", labels)
    if (found := _BY_HAND.fullmatch(line)) and is_identifier(found["title"]):
        rest = found["rest"].strip(" .!")
        on = _ON.fullmatch(rest)
        labels = [("", on[1])] if on else only_pairs(rest)
        if not rest or labels:
            before = [("", found["on"])] if found["on"] else []
            return _worded(found["title"], status_of(found["state"]), [*before, *(labels or [])])
    return None


def _worded(title: str, status: AlertStatus, labels: Sequence[Label]) -> Headline:
    return Headline(title=title, status=status, certain=False, labels=tuple(labels))


def _rated(title: str) -> tuple[str, str]:
    """`[P2] Name` → name and rating."""
    title = _TICKET.sub("", title)
    found = _RATING.match(title)
    return (title[found.end() :], found["rated"]) if found else (title, "")
