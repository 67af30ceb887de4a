"""Finds the alerts of a message: a product's post, a webhook's JSON, or a person's words."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from agents.alerts.alert import (
    SHORT_NAME,
    Alert,
    AlertStatus,
    amounts_in,
    fields,
    is_identifier,
    is_label,
    pairs,
)
from agents.alerts.lines import MAX_LABELS, URL, AlertLines
from agents.alerts.titles import before_sentence, coined_name, names_in, stands_alone, values_around
from agents.alerts.vendors import (
    Headline,
    firing_statement,
    headline,
    is_level,
    is_notice,
    quoted_firing,
    status_of,
)
from enrichment.language.words import STOP_WORDS, tokens

MAX_ALERTS = 50
_MAX_CHARACTERS = 12_000
_MAX_LINES = 600
_SLACK_LINK = re.compile(r"<(https?://[^<>|\s]+)(?:\|([^<>]*))?>")
_EMOJI = re.compile(
    r":(?!\d+:)[a-z0-9_+-]{2,}:|(?<!\S):[a-z]:"
    r"|[\u2190-\u2bff\U0001f000-\U0001faff\ufe0f\u200d]+"
)
_ALARM = re.compile(
    r":(?:warning|rotating_light|fire|no_entry(?:_sign)?|red_circle|large_red_circle|x|bangbang"
    r"|exclamation|heavy_exclamation_mark|alert|siren|octagonal_sign|boom|bell)[\w-]*:"
    r"|[\u26a0\u26d4\u274c\u203c\u2757\U0001f6a8\U0001f525\U0001f534\U0001f6d1\U0001f514]"
)
_RESOLVED_EMOJI = re.compile(
    r":(?:white_check_mark|heavy_check_mark|(?:large_)?green_\w+):|[\u2705\u2714]"
)
_SPEAKER = re.compile(r"(?:\[?[A-Z]{4,9}\]?\s+)?(?:[A-Za-z][\w.-]{0,40}:\s+)?")
"""The prefix `WARN disk-watch: ` of a script's line."""
_BULLET = re.compile(r"^\s*(?:[•▪◦·–—]|[-*](?=\s)|\d+[.)](?=\s))\s*")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ufffd]")
_GENERIC = STOP_WORDS | frozenset(
    """
    runbook runbooks alert alerts alarm happening happened mean means meaning first step steps
    handle fix fixing firing fired page paged see seen seeing look looks ideas idea advice help
    alerting triggered popped went going red
    pls hello morning team folks guys channel action actions guide got came posted pasted know
    next answer respond check resolve ack acknowledge screenshot model read deal urgent
    """.split()  # noqa: SIM905 - shorter than a list of strings
)
"""Words with which people pass on an alert. A question with other words asks something else."""
_PARTS = frozenset(("event", "data", "alert", "payload", "incident", "details", "custom_details"))
_TITLES = ("title", "alert_title", "message", "summary", "name")
_STATES = ("alert_transition", "status", "state", "event_type", "event_action", "action")
_RATINGS = frozenset(("priority", "severity", "urgency", "tags"))


def alerts_in(text: str, *, by_bot: bool = False) -> tuple[Alert, ...]:
    """The alerts of a text in order, each once; empty where the text is no alert, or asks something
    about one.

    `by_bot`: posted by a bot whose purpose is to post alerts. A message of any form may then be
    one; see `Alert.only_if_known`."""
    if not text.strip() or len(_CONTROL.findall(text)) > len(text) / 50:  # empty or binary
        return ()
    text = text[:_MAX_CHARACTERS]
    if alerts := _from_json(text):
        return alerts
    text = _SLACK_LINK.sub(lambda m: f"{m[2]} ({m[1]})" if m[2] else m[1], text)
    lines = html.unescape(text).splitlines()[:_MAX_LINES]
    raw = [line for line in lines if _cleaned(line)]
    posted = raw if by_bot else [line[1:] for line in raw if line.startswith(">")]
    return (
        _from_lines(posted, by_bot=True)
        or _from_any_form(posted)
        or ((not by_bot and (_from_lines(raw) or _from_person(raw))) or ())
    )


def _from_any_form(raw: Sequence[str]) -> tuple[Alert, ...]:
    """Reads a bot's message of unknown form, or a quoted one. Its first line is the title."""
    lines = [_cleaned(line) for line in raw]
    if not lines:
        return ()
    at = next((at for at, line in enumerate(lines) if " " in line), 0)
    title, other_lines = lines[at], lines[at + 1 :]
    begins = before_sentence(title)
    loud = bool(_ALARM.search(raw[0][:80])) or any(map(is_level, begins))
    well = bool(_RESOLVED_EMOJI.match(raw[0])) or any(
        status_of(one) == "resolved" for one in begins
    )
    if not loud and (is_notice(begins) or not (begins or pairs(title))):
        return ()
    sure = loud or stands_alone(title)
    if not sure and other_lines and _may_name(other_lines[0]):
        title = f"{title} | {other_lines[0]}"  # the first line may only name the sender
    reading = AlertLines()
    status: AlertStatus = "resolved" if well else "firing"
    reading.add_headline(Headline(title=title, status=status, certain=True), raw[0])
    for line in other_lines:
        reading.add_line(line)
    coined = coined_name(title)
    names = (coined,) if coined else tuple(names_in(_SPEAKER.sub("", title, count=1)))
    labels = tuple(values_around(title, min(names, key=len))) if names else ()
    alerts = [replace(one, certain=sure, only_if_known=not sure) for one in reading.alerts()]
    if names:
        alerts = [
            replace(one, names=names, labels=tuple(dict.fromkeys((*one.labels, *labels))))
            if one.title
            else one
            for one in alerts
        ]
    return _with_amounts(_distinct(alerts), lines)


def _may_name(line: str) -> bool:
    """Whether the second line may hold the alert's name."""
    first_field = next(fields(line), ("", ""))
    return "runbook" not in first_field[0].casefold() and len(line.split()) <= 8


def _from_person(raw: Sequence[str]) -> tuple[Alert, ...]:
    """Reads a person's words, `DiskFull just fired on db-1, where is the runbook?`, or a script's
    output, `db-watch: DISK_FULL host=db-1`."""
    lines = [_cleaned(line) for line in raw]
    for at, line in enumerate(lines[:5]):
        loud = _ALARM.match(raw[at].lstrip(" *_")) or is_level(line.split()[0])
        if loud and not ("?" in line and len(lines) == 1):
            return _from_any_form(raw[at:])
        if pairs(line) and stands_alone(line) and all(map(_is_generic, lines[:at])):
            return _from_any_form(raw[at:]) if all(map(_is_generic, lines[at + 1 :])) else ()
    statement_line = next(
        ((line, statement) for line in lines[:5] if (statement := firing_statement(line))), None
    )
    if statement_line is None:
        return ()
    line, statement = statement_line
    if not before_sentence(statement.title):
        return ()
    other_lines = [one for one in lines if one != line]
    if not statement.now and not all(map(_is_generic, (statement.rest, *other_lines))):
        return ()
    first = statement.title.split()[0]
    has_name = is_identifier(first) or bool(SHORT_NAME.fullmatch(first))
    if not (has_name or statement.now):
        return ()
    name = first if has_name else statement.title
    labels = [*values_around(statement.title, name), *values_around(" ".join(statement.on), "")]
    alert = Alert(
        names=(name,), status="firing", labels=tuple(dict.fromkeys(labels)), title=statement.title,
        certain=False, only_if_known=not has_name,
    )  # fmt: skip
    return _with_amounts((alert,), lines)


def _from_lines(raw: Sequence[str], *, by_bot: bool = False) -> tuple[Alert, ...]:
    lines = [_cleaned(line) for line in raw]
    reading = AlertLines()
    for line in lines:
        if reading.head is None and (now := quoted_firing(line)) and not headline(line):
            return _with_amounts(_distinct(_from_headline(now)), lines)
        reading.add_line(line)
    if reading.head is None or (not by_bot and _asks_something(reading, lines)):
        return ()
    return _with_amounts(_distinct(reading.alerts()), lines)


def _with_amounts(alerts: tuple[Alert, ...], lines: Sequence[str]) -> tuple[Alert, ...]:
    if len({one.name for one in alerts}) > 1:
        return alerts  # the message does not say which alert an amount belongs to
    amounts = amounts_in("\n".join(lines))
    return tuple(replace(one, amounts=amounts) for one in alerts)


def _asks_something(reading: AlertLines, lines: list[str]) -> bool:
    """Whether a person's words next to the alert ask for more than what to do about it.

    A pasted product message alone asks just that."""
    certain = bool(reading.head and reading.head.certain)
    texts = [URL.sub(" ", line) for line in (*reading.before, *lines[-1:])]
    if certain:
        questions = texts[-1:] if len(lines) == 1 else []
        return any("?" in one and not _is_generic(one) for one in questions)
    title = reading.head.title if reading.head else ""
    last = texts.pop() if texts and "?" in texts[-1] and not list(fields(texts[-1])) else ""
    return "?" in title or not all(map(_is_generic, (*reading.before, last)))


def _is_generic(text: str) -> bool:
    return {word.casefold() for word in tokens(text)} <= _GENERIC


def _from_headline(heading: Headline) -> Iterator[Alert]:
    reading = AlertLines()
    reading.add_headline(heading, "")
    return reading.alerts()


def _distinct(alerts: Iterable[Alert]) -> tuple[Alert, ...]:
    return tuple(dict.fromkeys(alerts))[:MAX_ALERTS]


def _cleaned(line: str) -> str:
    """The line without bullets, emoji, and marks of bold and code."""
    line = _EMOJI.sub(" ", line[:2_000]).replace("`", "").replace("*", "")
    line = _BULLET.sub("", line.strip())
    return " ".join(line.split()).strip("_~> ")


def _from_json(text: str) -> tuple[Alert, ...]:
    """Reads a pasted webhook body."""
    body = text.strip().strip("`").removeprefix("json").strip()
    if not body.startswith(("{", "[")) or '"' not in body:
        return ()
    try:
        payload = json.loads(body)
    except (ValueError, RecursionError):
        return ()
    items = payload.get("alerts", [payload]) if isinstance(payload, dict) else payload
    if not isinstance(items, list):
        return ()
    bodies = [one for one in items if isinstance(one, dict)][:MAX_ALERTS]
    return _distinct(alert for one in bodies for alert in _from_webhook(one))


def _from_webhook(payload: Mapping[str, Any]) -> tuple[Alert, ...]:
    """Alertmanager and Grafana: from the labels. Others: title, state and fields are read like the
    lines of a message."""
    labels = payload.get("labels", payload)
    if isinstance(labels, dict) and isinstance(labels.get("alertname"), str):
        text_labels = [
            (str(key), str(value)) for key, value in labels.items() if isinstance(value, str)
        ]
        alert = Alert(
            names=(labels["alertname"],),
            status=status_of(str(payload.get("status") or "")),
            severity=str(labels.get("severity") or ""),
            labels=tuple(one for one in text_labels if one[0] != "alertname" and is_label(*one))[
                :MAX_LABELS
            ],
            link=str(payload.get("generatorURL") or ""),
        )
        return (alert,) if alert.name.strip() else ()
    payload = _flat(payload)
    title = next((payload[key] for key in _TITLES if payload.get(key)), "")
    states = (status_of(payload.get(key, "").split(".")[-1]) for key in _STATES)
    state = next(filter(None, states), "")
    if not title or not (state or _RATINGS & set(payload)):
        return ()
    fields = [f"{key}: {value}" for key, value in payload.items() if key not in _TITLES + _STATES]
    return _from_lines([f"[{state or 'firing'}] {' '.join(title.split())}", *fields])


def _flat(payload: Mapping[str, Any]) -> dict[str, str]:
    """The payload's values as text, with nested alert objects (`event.data`, `alert`) merged in."""
    flat: dict[str, str] = {}
    for key, value in payload.items():
        if isinstance(value, dict) and key in _PARTS:
            flat |= _flat(value)
        elif isinstance(value, dict):
            flat[key] = str(value.get("summary") or value.get("name") or "")
        elif isinstance(value, list):
            flat[key] = ", ".join(str(one) for one in value if isinstance(one, str | int | float))
        elif value is not None:
            flat[key] = str(value)
    return {key: " ".join(value.split())[:500] for key, value in flat.items() if value}
