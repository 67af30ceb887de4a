"""The alerts of a message, from its plain words, whoever posted them."""

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
    fields,
    is_identifier,
    is_label,
    pairs,
)
from agents.alerts.amounts import amounts_in
from agents.alerts.lines import MOST_LABELS, URL, AlertLines
from agents.alerts.titles import before_sentence, coined_in, names_in, stands_alone, values_beside
from agents.alerts.vendors import (
    Headline,
    handed_on,
    headline,
    is_level,
    is_notice,
    quoted_firing,
    status_of,
)
from enrichment.language.words import STOP_WORDS, tokens

MOST_ALERTS = 50
_MOST_CHARACTERS = 12_000
_MOST_LINES = 600
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
_WELL = re.compile(r":(?:white_check_mark|heavy_check_mark|(?:large_)?green_\w+):|[\u2705\u2714]")
_SPEAKER = re.compile(r"(?:\[?[A-Z]{4,9}\]?\s+)?(?:[A-Za-z][\w.-]{0,40}:\s+)?")
"""`WARN disk-watch: ` before what it says."""
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
"""Words with which an alert is handed on; a question that holds others asks something else."""
_PARTS = frozenset(("event", "data", "alert", "payload", "incident", "details", "custom_details"))
_TITLES = ("title", "alert_title", "message", "summary", "name")
_STATES = ("alert_transition", "status", "state", "event_type", "event_action", "action")
_RATINGS = frozenset(("priority", "severity", "urgency", "tags"))


def alerts_in(text: str, *, by_bot: bool = False) -> tuple[Alert, ...]:
    """In order, each once; empty where the text is no alert, or asks something about one.

    `by_bot`: posted by a bot that is there to post alerts. Whatever form its message has, it may be
    one; see `Alert.only_if_known`."""
    if _is_junk(text):
        return ()
    text = text[:_MOST_CHARACTERS]
    if found := _from_json(text):
        return found
    raw = [line for line in _lines(text) if _cleaned(line)]
    posted = raw if by_bot else [line[1:] for line in raw if line.startswith(">")]
    return (
        _from_lines(posted, by_bot=True)
        or _in_any_form(posted)
        or ((not by_bot and (_from_lines(raw) or _told_by_somebody(raw))) or ())
    )


def _in_any_form(raw: Sequence[str]) -> tuple[Alert, ...]:
    """Of a bot's message in no form that is known, or what somebody quotes: its first line is the
    title."""
    lines = [_cleaned(line) for line in raw]
    if not lines:
        return ()
    at = next((at for at, line in enumerate(lines) if " " in line), 0)
    title, others = lines[at], lines[at + 1 :]
    begins = before_sentence(title)
    loud = bool(_ALARM.search(raw[0][:80])) or any(map(is_level, begins))
    well = bool(_WELL.match(raw[0])) or any(status_of(one) == "resolved" for one in begins)
    if not loud and (is_notice(begins) or not (begins or pairs(title))):
        return ()
    sure = loud or stands_alone(title)
    if not sure and others and _may_name(others[0]):
        title = f"{title} | {others[0]}"  # the first line may only say who speaks
    reading = AlertLines()
    status: AlertStatus = "resolved" if well else "firing"
    reading.headed(Headline(title=title, status=status, certain=True), raw[0])
    for line in others:
        reading.take(line)
    coined = coined_in(title)
    guessed = (coined,) if coined else tuple(names_in(_SPEAKER.sub("", title, count=1)))
    beside = tuple(values_beside(title, min(guessed, key=len))) if guessed else ()
    read = [replace(one, certain=sure, only_if_known=not sure) for one in reading.alerts()]
    if guessed:
        read = [
            replace(one, names=guessed, labels=tuple(dict.fromkeys((*one.labels, *beside))))
            if one.title
            else one
            for one in read
        ]
    return _with_amounts(_distinct(read), lines)


def _may_name(line: str) -> bool:
    """Of the second line."""
    told = next(fields(line), ("", ""))
    return "runbook" not in told[0].casefold() and len(line.split()) <= 8


def _told_by_somebody(raw: Sequence[str]) -> tuple[Alert, ...]:
    """Of a person's words: `DiskFull just fired on db-1, where is the runbook?`, or what a script
    printed: `db-watch: DISK_FULL host=db-1`."""
    lines = [_cleaned(line) for line in raw]
    for at, line in enumerate(lines[:5]):
        loud = _ALARM.match(raw[at].lstrip(" *_")) or is_level(line.split()[0])
        if loud and not ("?" in line and len(lines) == 1):
            return _in_any_form(raw[at:])
        if pairs(line) and stands_alone(line) and all(map(_is_generic, lines[:at])):
            return _in_any_form(raw[at:]) if all(map(_is_generic, lines[at + 1 :])) else ()
    told = next(((line, said) for line in lines[:5] if (said := handed_on(line))), None)
    if told is None:
        return ()
    line, said = told
    if not before_sentence(said.title):
        return ()
    beside = [one for one in lines if one != line]
    if not said.now and not all(map(_is_generic, (said.rest, *beside))):
        return ()
    first = said.title.split()[0]
    named = is_identifier(first) or bool(SHORT_NAME.fullmatch(first))
    if not (named or said.now):
        return ()
    name = first if named else said.title
    labels = [*values_beside(said.title, name), *values_beside(" ".join(said.on), "")]
    alert = Alert(
        names=(name,), status="firing", labels=tuple(dict.fromkeys(labels)), title=said.title,
        certain=False, only_if_known=not named,
    )  # fmt: skip
    return _with_amounts((alert,), lines)


def _from_lines(raw: Sequence[str], *, by_bot: bool = False) -> tuple[Alert, ...]:
    lines = [_cleaned(line) for line in raw]
    reading = AlertLines()
    for line in lines:
        if reading.head is None and (now := quoted_firing(line)) and not headline(line):
            return _with_amounts(_distinct(_alerts_of(now)), lines)
        reading.take(line)
    if not reading.is_alert() or (not by_bot and _asks_something(reading, lines)):
        return ()
    return _with_amounts(_distinct(reading.alerts()), lines)


def _with_amounts(found: tuple[Alert, ...], lines: Sequence[str]) -> tuple[Alert, ...]:
    if len({one.name for one in found}) > 1:
        return found  # which of them an amount is of, nobody can tell
    amounts = amounts_in("\n".join(lines))
    return tuple(replace(one, amounts=amounts) for one in found)


def _asks_something(reading: AlertLines, lines: list[str]) -> bool:
    """A person's own words beside the alert ask for more than what to do about it.

    Whoever pastes what a product posted wants to know just that."""
    certain = bool(reading.head and reading.head.certain)
    said = [URL.sub(" ", line) for line in (*reading.before, *lines[-1:])]
    if certain:
        asked = said[-1:] if len(lines) == 1 else []
        return any("?" in one and not _is_generic(one) for one in asked)
    title = reading.head.title if reading.head else ""
    last = said.pop() if said and "?" in said[-1] and not list(fields(said[-1])) else ""
    return "?" in title or not all(map(_is_generic, (*reading.before, last)))


def _is_generic(text: str) -> bool:
    return {word.casefold() for word in tokens(text)} <= _GENERIC


def _alerts_of(said: Headline) -> Iterator[Alert]:
    reading = AlertLines()
    reading.headed(said, "")
    return reading.alerts()


def _distinct(found: Iterable[Alert]) -> tuple[Alert, ...]:
    return tuple(dict.fromkeys(found))[:MOST_ALERTS]


def _lines(text: str) -> list[str]:
    text = _SLACK_LINK.sub(lambda m: f"{m[2]} ({m[1]})" if m[2] else m[1], text)
    return html.unescape(text).splitlines()[:_MOST_LINES]


def _cleaned(line: str) -> str:
    """Without bullets, emoji and signs of bold and code."""
    line = _EMOJI.sub(" ", line[:2_000]).replace("`", "").replace("*", "")
    line = _BULLET.sub("", line.strip())
    return " ".join(line.split()).strip("_~> ")


def _is_junk(text: str) -> bool:
    """Nothing, or bytes of something else than text."""
    return not text.strip() or len(_CONTROL.findall(text)) > len(text) / 50


def _from_json(text: str) -> tuple[Alert, ...]:
    """The body of a webhook, pasted."""
    body = text.strip().strip("`").removeprefix("json").strip()
    if not body.startswith(("{", "[")) or '"' not in body:
        return ()
    try:
        told = json.loads(body)
    except (ValueError, RecursionError):
        return ()
    listed = told.get("alerts", [told]) if isinstance(told, dict) else told
    if not isinstance(listed, list):
        return ()
    bodies = [one for one in listed if isinstance(one, dict)][:MOST_ALERTS]
    return _distinct(alert for one in bodies for alert in _of_webhook(one))


def _of_webhook(told: Mapping[str, Any]) -> tuple[Alert, ...]:
    """Alertmanager's and Grafana's by their labels; others by what they call its title and state,
    read as the lines of a message are."""
    labels = told.get("labels", told)
    if isinstance(labels, dict) and isinstance(labels.get("alertname"), str):
        said = [(str(key), str(value)) for key, value in labels.items() if isinstance(value, str)]
        alert = Alert(
            names=(labels["alertname"],),
            status=status_of(str(told.get("status") or "")),
            severity=str(labels.get("severity") or ""),
            labels=tuple(one for one in said if one[0] != "alertname" and is_label(*one))[
                :MOST_LABELS
            ],
            link=str(told.get("generatorURL") or ""),
        )
        return (alert,) if alert.name.strip() else ()
    told = _flat(told)
    title = next((told[key] for key in _TITLES if told.get(key)), "")
    states = (status_of(told.get(key, "").split(".")[-1]) for key in _STATES)
    state = next(filter(None, states), "")
    if not title or not (state or _RATINGS & set(told)):
        return ()
    fields = [f"{key}: {value}" for key, value in told.items() if key not in _TITLES + _STATES]
    return _from_lines([f"[{state or 'firing'}] {' '.join(title.split())}", *fields])


def _flat(told: Mapping[str, Any]) -> dict[str, str]:
    """With what stands in the parts that hold an alert: `event.data`, `alert`, `payload`."""
    flat: dict[str, str] = {}
    for key, value in told.items():
        if isinstance(value, dict) and key in _PARTS:
            flat |= _flat(value)
        elif isinstance(value, dict):
            flat[key] = str(value.get("summary") or value.get("name") or "")
        elif isinstance(value, list):
            flat[key] = ", ".join(str(one) for one in value if isinstance(one, str | int | float))
        elif value is not None:
            flat[key] = str(value)
    return {key: " ".join(value.split())[:500] for key, value in flat.items() if value}
