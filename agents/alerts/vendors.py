"""First lines of alert messages, as monitoring products and people write them.

Sources: the default templates of Alertmanager and Grafana; the posts of the Slack apps of Datadog,
PagerDuty and Opsgenie."""

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
_RATING_WORD = r"critical|warning|warn|major|minor|info|high|low|p[0-5]|sev-?\d"


def _begins(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_BRACKETED = _begins(
    rf"(?:\[(?P<rated>{_RATING_WORD})\]\s*)?\[(?P<state>{_STATE}|alert)(?:\s*:\s*\d+)?"
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
_STATE_SENTENCE = _begins(rf"\balert (?:is |was |has been )?(?P<state>{_STATE})\b")
_STATE_AND_TITLE = _begins(
    rf"(?:(?P<rated>{_RATING_WORD})\s+)?(?P<state>{_STATE}|alert|critical|warning)(?:\s+alert)?"
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
_RATING = _begins(rf"^\[(?P<rated>{_RATING_WORD})\]\s*")
_FIRING_STATEMENT = _begins(
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
"""First words of bot posts about work, not about an alert."""
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
    """It is an alert only if a field such as service or priority follows."""


def status_of(word: str) -> AlertStatus:
    """'' for any other word."""
    word = word.strip().casefold()
    if re.fullmatch(_RESOLVED, word):
        return "resolved"
    return "firing" if re.fullmatch(_FIRING + r"|fired|alert|critical|warning", word) else ""


def group_status(line: str) -> AlertStatus:
    """The status of a line that introduces a group of alerts: `**Firing**`, `Alerts Resolved:`."""
    match = _GROUP.fullmatch(line)
    return status_of(match["state"]) if match else ""


def headline(line: str) -> Headline | None:
    """The headline of an alert; None for any other line."""
    if match := _BRACKETED.fullmatch(line):
        title, rating = _split_rating(match["title"])
        return Headline(
            title=title, status=status_of(match["state"]), certain=True,
            severity=match["rated"] or rating, labels=tuple(tags(match["on"] or "")),
        )  # fmt: skip
    for form in (_DATADOG, _NAGIOS, _NUMBERED, _NUMBERED_FIRST):
        if match := form.fullmatch(line):
            title, rating = _split_rating(match["title"])
            status = status_of(match["state"]) or "firing"
            on = tuple(tags(match.groupdict().get("on") or ""))
            return Headline(title=title, status=status, certain=True, severity=rating, labels=on)
    if match := _QUOTED.fullmatch(line):
        state = match["state"] or match["then"] or "firing"
        return Headline(title=match["title"], status=status_of(state), certain=True)
    if match := _NUMBER.fullmatch(line):
        title, rating = _split_rating(match["title"])
        return Headline(title=title, status="", certain=True, severity=rating, needs_fields=True)
    if (match := _FROM.fullmatch(line)) and is_identifier(match["title"].split(" ")[0]):
        return Headline(title=match["title"], status="", certain=True, needs_fields=True)
    return _by_hand(line)


def state_in(line: str) -> AlertStatus:
    """The status in a sentence next to an alert: `Opsgenie: Alert closed via web`."""
    match = _STATE_SENTENCE.search(line)
    return status_of(match["state"]) if match else ""


def quoted_firing(line: str) -> Headline | None:
    """`… "Disk full on db-1" is red, …`: the quoted title as a firing alert."""
    match = _QUOTED_FIRING.search(line)
    return _headline_by_hand(match["title"], "firing", []) if match else None


@dataclass(frozen=True)
class FiringStatement:
    """`DiskFull on db-1 is firing, …`, `DiskFull just fired on db-1, …`"""

    title: str
    on: tuple[str, ...]
    rest: str
    """The other words of the line."""
    now: bool
    """The line says that it still fires: this alone asks for the runbook."""


def firing_statement(line: str) -> FiringStatement | None:
    begins = (0, *(one.end() for one in islice(_SENTENCE.finditer(line), 8)))
    match = next(filter(None, (_FIRING_STATEMENT.match(line, at) for at in begins)), None)
    if not match:
        return None
    on = tuple(one["on"] for one in _ON_WHAT.finditer(match["then"]))
    rest = f"{line[: match.start()]} {_ON_WHAT.sub(' ', match['then'])}"
    return FiringStatement(title=match["title"], on=on, rest=rest, now=bool(match["now"]))


def is_notice(words: Sequence[str]) -> bool:
    """Whether a bot's message that begins with these words reports work such as a deployment."""
    return any(word.casefold() in _NOTICES for word in words)


def is_level(word: str) -> bool:
    return bool(_LEVEL_WORD.fullmatch(word))


def _by_hand(line: str) -> Headline | None:
    if (match := _SHOUTED.fullmatch(line)) and is_identifier(match["title"]):
        rest = match["rest"].strip(" .!")
        on = _ON.fullmatch(rest)
        if not rest or on or (only_pairs(rest) is not None):
            rest_labels = [("", on[1])] if on else pairs(rest)
            return _headline_by_hand(match["title"], status_of(match["state"]), rest_labels)
    if match := _STATE_AND_TITLE.fullmatch(line):
        title, rating = _split_rating(match["title"])
        rating = rating or match["rated"] or ""
        return Headline(
            title=title, status=status_of(match["state"]), certain=False, severity=rating
        )
    if match := _BRACED.fullmatch(line):
        labels = only_pairs(match["rest"])
        return _headline_by_hand(match["title"], "", labels) if labels else None
    first, _, rest = line.partition(" ")
    if is_identifier(first.rstrip(":,")) and (labels := only_pairs(rest)):
        return _headline_by_hand(first.rstrip(":,"), "", labels)
    if (match := _BY_HAND.fullmatch(line)) and is_identifier(match["title"]):
        rest = match["rest"].strip(" .!")
        on = _ON.fullmatch(rest)
        labels = [("", on[1])] if on else only_pairs(rest)
        if not rest or labels:
            before = [("", match["on"])] if match["on"] else []
            return _headline_by_hand(
                match["title"], status_of(match["state"]), [*before, *(labels or [])]
            )
    return None


def _headline_by_hand(title: str, status: AlertStatus, labels: Sequence[Label]) -> Headline:
    return Headline(title=title, status=status, certain=False, labels=tuple(labels))


def _split_rating(title: str) -> tuple[str, str]:
    """`[P2] Name` → name and rating."""
    title = _TICKET.sub("", title)
    match = _RATING.match(title)
    return (title[match.end() :], match["rated"]) if match else (title, "")
