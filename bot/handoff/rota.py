"""Who is on call now: read from a rota that others keep, iCal or YAML, by URL or path."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import IO
from urllib.request import Request, urlopen

import yaml

from bot.handoff.ical_rota import shifts_at
from bot.handoff.shift import Shift
from config.errors import ConfigError

_CALENDAR = re.compile(r"^\s*BEGIN:VCALENDAR", re.IGNORECASE | re.MULTILINE)
MAX_BYTES = 2_000_000
"""Of a rota: 10,000 shifts, at about 1.2 ms each to read."""


def on_call(rota: str, at: datetime, *, relative_to: Path = Path()) -> str:
    """Slack id or e-mail of whoever has the shift; empty in a gap.

    Of overlapping shifts the one that started last counts, of those that started together the
    shortest: overrides are made that way.
    Raises ConfigError when the rota can't be read, or when a shift is on that names nobody."""
    text = _read(rota, relative_to)
    shifts = shifts_at(text, at, rota=rota) if _CALENDAR.search(text) else _yaml(text, rota)
    now = [shift for shift in shifts if shift.start <= at < shift.end]
    named = [shift for shift in now if shift.who]
    if now and not named:
        raise ConfigError(
            f"the rota {rota!r}: the shift {now[0].title!r} names no Slack id or e-mail address",
            remedy="write who has it into its title, or invite them",
        )
    return max(named, key=lambda shift: (shift.start, shift.start - shift.end)).who if now else ""


def _read(rota: str, relative_to: Path) -> str:
    try:
        with _open(rota, relative_to) as file:
            content = file.read(MAX_BYTES + 1)
        if len(content) <= MAX_BYTES:
            return content.decode("utf-8-sig", "replace")
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"the rota {rota!r} can't be read: {error}", remedy="check escalation.rota"
        ) from error
    raise ConfigError(
        f"the rota {rota!r} has more than {MAX_BYTES // 1_000_000} MB",
        remedy="export a calendar of its own for the rota",
    )


def _open(rota: str, relative_to: Path) -> IO[bytes]:
    if rota.startswith(("https://", "http://")):
        request = Request(rota, headers={"User-Agent": "oncall-copilot"})  # noqa: S310 - http(s) only, checked above
        opened: IO[bytes] = urlopen(request, timeout=10)  # noqa: S310 - likewise
        return opened
    path = Path(rota)
    if not path.is_absolute() and (relative_to / path).exists():
        path = relative_to / path
    return path.open("rb")


def _yaml(text: str, rota: str) -> Iterator[Shift]:
    """A list of `{from, to, user}`; times with a zone, or UTC."""
    try:
        entries = yaml.safe_load(text) or []
        for entry in entries:
            yield Shift(_time(entry["from"]), _time(entry["to"]), str(entry["user"]))
    except (yaml.YAMLError, TypeError, KeyError, ValueError) as error:
        raise ConfigError(
            f"the rota {rota!r} is not a list of from, to, user: {' '.join(str(error).split())}",
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
