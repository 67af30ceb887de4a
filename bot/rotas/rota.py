"""Who is on call now: read from a rota that others keep, iCal or YAML, by URL or path.

Rotas read ahead and remembered: others keep them, and they are not always there."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from errno import ETIMEDOUT
from http.client import HTTPException, IncompleteRead
from pathlib import Path
from typing import IO
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen
from zoneinfo import ZoneInfo

import structlog

from bot.rotas.formats import calendar_shifts, calendar_zone, yaml_shifts
from bot.rotas.shifts import Shift, named_at
from config.domain import Domain
from config.errors import ConfigError

_CALENDAR = re.compile(r"^[^\S\n]*+BEGIN:VCALENDAR", re.IGNORECASE | re.MULTILINE)
_REMEDY = "check escalation.rota"
MAX_BYTES = 2_000_000
MAX_SECONDS = 20.0
"""For all of it."""
"""Of a rota: 10,000 shifts, at about 1.2 ms each to read."""


@dataclass(frozen=True)
class ParsedRota:
    """A rota as it was read, its shifts not yet looked for."""

    text: str = field(repr=False)
    shown: str
    """Where it is, as far as everybody may know."""

    @property
    def zone(self) -> str:
        """That the calendar says it is in; empty where it says none."""
        return calendar_zone(self.text) if self._is_calendar else ""

    @property
    def _is_calendar(self) -> bool:
        return bool(_CALENDAR.search(self.text))

    def shifts(self, start: datetime, end: datetime, zone: tzinfo = UTC) -> tuple[Shift, ...]:
        """Those that are on at some time from `start` to `end`. `zone`: of times that name
        none. Raises ConfigError for what can't be read."""
        if self._is_calendar:
            return tuple(calendar_shifts(self.text, start, end, rota=self.shown, zone=zone))
        every = yaml_shifts(self.text, rota=self.shown, zone=zone)
        return tuple(one for one in every if one.start <= end and start < one.end)


def read_rota(rota: str, relative_to: Path = Path()) -> ParsedRota:
    """Raises ConfigError when nothing can be read there."""
    return ParsedRota(_read(rota, relative_to), _shown(rota))


def on_call(rota: str, at: datetime, *, relative_to: Path = Path(), zone: tzinfo = UTC) -> str:
    """Slack id or e-mail of whoever has the shift; empty in a gap.

    Raises ConfigError when the rota can't be read, or when a shift is on that names nobody."""
    written = read_rota(rota, relative_to)
    return named_at(written.shifts(at, at, zone), at, rota=written.shown)


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
            content = _content(file)
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


def _content(file: IO[bytes]) -> bytes:
    """As much as tells that it is too much. A timeout of a socket is for each piece alone: a server
    that sends a byte now and then would keep everybody waiting who has to be called."""
    content, end = bytearray(), time.monotonic() + MAX_SECONDS
    read: Callable[[int], bytes] = getattr(file, "read1", file.read)
    while len(content) <= MAX_BYTES and (piece := read(MAX_BYTES + 1 - len(content))):
        content += piece
        if time.monotonic() > end:
            raise TimeoutError(ETIMEDOUT, f"it takes longer than {MAX_SECONDS:.0f} seconds")
    if len(content) <= MAX_BYTES and getattr(file, "length", None):
        raise IncompleteRead(bytes(content))  # half a calendar would name nobody for the rest
    return bytes(content)


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


log = structlog.get_logger()

FRESH_SECONDS = 600.0
FOR_A_CALL_SECONDS = 60.0
"""A swap that was made a moment ago counts when somebody is called."""
USABLE_SECONDS = 24 * 3_600.0
"""What was read goes on while the rota can't be: it tells of the weeks ahead."""
AHEAD, BACK = timedelta(days=35), timedelta(days=8)


@dataclass(frozen=True)
class CachedRota:
    """`shifts`: those from `BACK` to `AHEAD` of when it was read. `zone`: the calendar's own name
    of its time zone; empty where it says none."""

    shifts: tuple[Shift, ...]
    zone: str
    shown: str


@dataclass
class _Known:
    one_at_a_time: threading.Lock = field(default_factory=threading.Lock)
    seen: CachedRota | None = None
    seen_at: float = float("-inf")
    asked_at: float = float("-inf")
    problem: ConfigError | None = None


class RotaCache:
    """Thread-safe; each is read once however many ask."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._known: dict[tuple[str, str, str], _Known] = {}
        self._lock = threading.Lock()

    def of(self, domain: Domain, rota: str, *, within: float = FRESH_SECONDS) -> CachedRota:
        """At most `within` seconds old, or a day while it can't be read. Raises ConfigError."""
        known = self._of(domain, rota)
        with known.one_at_a_time:
            if self._clock() - known.asked_at > within:
                self._read(known, domain, rota)
            if known.seen and self._clock() - known.seen_at <= USABLE_SECONDS:
                return known.seen
            raise known.problem or ConfigError("the rota was not read", remedy="try again")

    def problem(self, domain: Domain, rota: str) -> str:
        """Why the last look failed, with its remedy; empty when it didn't."""
        known = self._of(domain, rota)
        return str(known.problem) if known.problem else ""

    def _read(self, known: _Known, domain: Domain, rota: str) -> None:
        now = datetime.now(UTC)
        zone = ZoneInfo(domain.escalation.time_zone or "UTC")
        folder = domain.path.parent if domain.path.name else Path()
        try:
            written = read_rota(rota, folder)
            shifts = written.shifts(now - BACK, now + AHEAD, zone)
        except ConfigError as error:
            if str(error) != str(known.problem or ""):
                log.error("the rota can't be read", domain=domain.domain, reason=str(error))
            known.problem = error
        else:
            if known.problem:
                log.info("the rota can be read again", domain=domain.domain)
            known.problem, known.seen_at = None, self._clock()
            known.seen = CachedRota(shifts, written.zone, written.shown)
        known.asked_at = self._clock()

    def _of(self, domain: Domain, rota: str) -> _Known:
        key = (str(domain.path), rota, domain.escalation.time_zone or "")
        with self._lock:
            return self._known.setdefault(key, _Known())


def zone_of(domain: Domain, seen: CachedRota | None) -> str:
    """In which times are said: the domain's, else the calendar's, else UTC."""
    return domain.escalation.time_zone or (seen.zone if seen else "") or "UTC"


def said_at(moment: datetime, zone: str) -> str:
    """`Mon 09:00`, with the date where the day of the week doesn't tell; without the zone."""
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    local = moment.astimezone(ZoneInfo(zone))
    near = abs(moment - datetime.now(UTC)) < timedelta(days=6)
    return f"{local:%a %H:%M}" if near else f"{local:%a} {local.day} {local:%b %Y %H:%M}"
