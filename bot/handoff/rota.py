"""Who is on call now: read from a rota that others keep, iCal or YAML, by URL or path."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from urllib.request import Request, urlopen
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import yaml

from config.errors import ConfigError

MAX_BYTES = 5_000_000
_SLACK_ID = re.compile(r"\b[US][A-Z0-9]{6,}\b")
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")


@dataclass(frozen=True)
class Shift:
    """`who` is a Slack user or group id, or an e-mail address."""

    start: datetime
    end: datetime
    who: str


def on_call(rota: str, at: datetime, *, relative_to: Path = Path()) -> str:
    """Slack id or e-mail of whoever has the shift; empty in a gap.

    Of overlapping shifts the one that started last counts: overrides are made that way.
    Raises ConfigError when the rota can't be read."""
    text = _read(rota, relative_to)
    shifts = _ical(text) if "BEGIN:VCALENDAR" in text else _yaml(text, rota)
    now = [shift for shift in shifts if shift.start <= at < shift.end]
    return max(now, key=lambda shift: shift.start).who if now else ""


def _read(rota: str, relative_to: Path) -> str:
    try:
        if rota.startswith(("https://", "http://")):
            request = Request(rota, headers={"User-Agent": "oncall-copilot"})  # noqa: S310 - http(s) only, checked above
            with urlopen(request, timeout=10) as response:  # noqa: S310 - likewise
                return str(response.read(MAX_BYTES).decode("utf-8", "replace"))
        path = Path(rota)
        if not path.is_absolute() and (relative_to / path).exists():
            path = relative_to / path
        return path.read_text("utf-8")
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"the rota {rota!r} can't be read: {error}", remedy="check escalation.rota"
        ) from error


def _yaml(text: str, rota: str) -> Iterator[Shift]:
    """A list of `{from, to, user}`; times with a zone, or UTC."""
    try:
        entries = yaml.safe_load(text) or []
        for entry in entries:
            yield Shift(_time(entry["from"]), _time(entry["to"]), str(entry["user"]))
    except (yaml.YAMLError, TypeError, KeyError, ValueError) as error:
        raise ConfigError(
            f"the rota {rota!r} is not a list of from, to, user: {error}",
            remedy="write each shift as {from: 2026-11-02, to: 2026-11-09, user: U0INES}",
        ) from error


def _time(value: object) -> datetime:
    if isinstance(value, datetime):
        moment = value
    elif isinstance(value, date):
        moment = datetime(value.year, value.month, value.day)
    else:
        moment = datetime.fromisoformat(str(value))
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _ical(text: str) -> Iterator[Shift]:
    """Events with a Slack id or an e-mail address in summary, description or attendee."""
    unfolded = re.sub(r"\r?\n[ \t]", "", text)
    for event in re.findall(r"BEGIN:VEVENT(.*?)END:VEVENT", unfolded, re.DOTALL):
        fields = list(_fields(event))
        start = next((_ical_time(p, v) for name, p, v in fields if name == "DTSTART"), None)
        end = next((_ical_time(p, v) for name, p, v in fields if name == "DTEND"), None)
        who = _who(
            [value for name, _, value in fields if name in {"SUMMARY", "DESCRIPTION", "ATTENDEE"}]
        )
        if start and who:
            yield Shift(start, end or start + timedelta(days=1), who)


def _fields(event: str) -> Iterator[tuple[str, str, str]]:
    for line in event.splitlines():
        name, _, value = line.partition(":")
        name, _, parameters = name.partition(";")
        yield name.strip().upper(), parameters, value.strip()


def _ical_time(parameters: str, value: str) -> datetime | None:
    zone = re.search(r"TZID=([^;]+)", parameters)
    try:
        if len(value) == 8:
            return datetime.strptime(value, "%Y%m%d").replace(tzinfo=UTC)
        moment = datetime.strptime(value.rstrip("Z"), "%Y%m%dT%H%M%S")
        if value.endswith("Z") or not zone:
            return moment.replace(tzinfo=UTC)
        return moment.replace(tzinfo=ZoneInfo(zone[1].strip('"')))
    except (ValueError, ZoneInfoNotFoundError):
        return None


def _who(texts: list[str]) -> str:
    for pattern in (_SLACK_ID, _EMAIL):
        for text in texts:
            if match := pattern.search(text):
                return match[0]
    return ""
