"""Who is on call now: read from a rota that others keep, iCal or YAML, by URL or path."""

from __future__ import annotations

import re
from datetime import datetime
from http.client import HTTPException
from pathlib import Path
from typing import IO
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from bot.handoff.ical_rota import shifts_at
from bot.handoff.yaml_rota import yaml_shifts
from config.errors import ConfigError

_CALENDAR = re.compile(r"^[^\S\n]*+BEGIN:VCALENDAR", re.IGNORECASE | re.MULTILINE)
_REMEDY = "check escalation.rota"
MAX_BYTES = 2_000_000
"""Of a rota: 10,000 shifts, at about 1.2 ms each to read."""


def on_call(rota: str, at: datetime, *, relative_to: Path = Path()) -> str:
    """Slack id or e-mail of whoever has the shift; empty in a gap.

    Of overlapping shifts the one that started last counts, of those that started together the
    shortest: overrides are made that way.
    Raises ConfigError when the rota can't be read, or when a shift is on that names nobody."""
    text = _read(rota, relative_to)
    shown = _shown(rota)
    is_calendar = _CALENDAR.search(text)
    shifts = shifts_at(text, at, rota=shown) if is_calendar else yaml_shifts(text, rota=shown)
    now = [shift for shift in shifts if shift.start <= at < shift.end]
    named = [shift for shift in now if shift.who]
    if now and not named:
        raise ConfigError(
            f"the rota {shown!r}: the shift {now[0].title!r} names no Slack id or e-mail address",
            remedy="write who has it into its title, or invite them",
        )
    return max(named, key=lambda shift: (shift.start, shift.start - shift.end)).who if now else ""


def is_address(rota: str) -> bool:
    """A rota behind a URL. Raises ConfigError, without its secrets, for one that can't be asked."""
    if "://" not in rota and not rota.lower().startswith("webcal:"):
        return False
    scheme = rota.partition(":")[0].strip().lower()
    if scheme not in ("https", "http"):
        raise ConfigError(
            f"the rota has an address of the kind {scheme}:", remedy="write https:// instead"
        )
    problem = _problem(rota)
    if problem:
        raise ConfigError(f"the rota's address {problem}", remedy=_REMEDY)
    return True


def _problem(address: str) -> str:
    """Why nothing can be asked at an address; empty when it can."""
    if re.search(r"[^!-~]", address):
        return "holds a space or a letter that has to be written as %…"
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        return "has a wrong host or port"
    if not parts.hostname or port == 0:
        return "has a wrong host or port"
    if "@" in parts.netloc:
        return "holds a name or password, which can't be sent"
    return ""


def _shown(rota: str) -> str:
    """The address of a private calendar is the key to it: nobody reads more than its host."""
    if not is_address(rota):
        return rota
    parts = urlsplit(rota)
    return f"{parts.scheme}://{parts.netloc}/…"


def _read(rota: str, relative_to: Path) -> str:
    try:
        with _open(rota, relative_to) as file:
            content = file.read(MAX_BYTES + 1)
    except (OSError, ValueError, HTTPException) as error:
        # From None: the cause may hold the whole address.
        raise ConfigError(
            f"the rota {_shown(rota)!r} can't be read: {_reason(error)}", remedy=_REMEDY
        ) from None
    if len(content) <= MAX_BYTES:
        return content.decode("utf-8-sig", "replace")
    raise ConfigError(
        f"the rota {_shown(rota)!r} has more than {MAX_BYTES // 1_000_000} MB",
        remedy="export a calendar of its own for the rota",
    )


def _open(rota: str, relative_to: Path) -> IO[bytes]:
    if is_address(rota):
        request = Request(rota, headers={"User-Agent": "oncall-copilot"})  # noqa: S310 - http(s) only, checked above
        opened: IO[bytes] = urlopen(request, timeout=10)  # noqa: S310 - likewise
        return opened
    path = Path(rota)
    if not path.is_absolute() and (relative_to / path).exists():
        path = relative_to / path
    return path.open("rb")


def _reason(error: Exception) -> str:
    """What may be shown: an error of HTTP can hold the address, or a line of the reply."""
    if isinstance(error, HTTPError):
        error.close()  # it is the reply, too
        return f"the server said {error.code}"
    if isinstance(error, URLError):
        return _reason(error.reason) if isinstance(error.reason, OSError) else "no such server"
    if isinstance(error, HTTPException):
        return f"the reply is broken ({type(error).__name__})"
    return getattr(error, "strerror", None) or type(error).__name__
