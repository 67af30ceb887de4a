"""Rotas, iCal or YAML, by URL or path: read, and cached for when they can't be read."""

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
from config.errors import ConfigError, LoadError
from loaders.time_limit import time_limit

_CALENDAR = re.compile(r"^[^\S\n]*+BEGIN:VCALENDAR", re.IGNORECASE | re.MULTILINE)
_REMEDY = "check escalation.rota"
MAX_BYTES = 2_000_000
"""Maximum size of a rota: 10,000 shifts, at about 1.2 ms each to read."""
MAX_SECONDS = 20.0
"""Limit for the whole download."""
MAX_PARSE_SECONDS = 30.0
"""Processor time. The largest rota takes 13."""


@dataclass(frozen=True)
class ParsedRota:
    """A rota's text; its shifts are parsed on demand."""

    text: str = field(repr=False)
    label: str
    """Where it is, without secrets."""

    @property
    def zone(self) -> str:
        """The calendar's own; empty where it names none."""
        return calendar_zone(self.text) if self._is_calendar else ""

    @property
    def _is_calendar(self) -> bool:
        return bool(_CALENDAR.search(self.text))

    def shifts(self, start: datetime, end: datetime, zone: tzinfo = UTC) -> tuple[Shift, ...]:
        """Those that are on at some time from `start` to `end`. `zone`: of times that name
        none. Raises ConfigError for a broken rota."""
        parse = calendar_shifts if self._is_calendar else yaml_shifts
        try:
            with time_limit(self.label, MAX_PARSE_SECONDS):
                shifts = tuple(parse(self.text, start, end, rota=self.label, zone=zone))
        except LoadError:
            raise ConfigError(
                f"the rota {self.label!r} takes too long to be evaluated", remedy=_REMEDY
            ) from None
        return shifts


def read_rota(rota: str, relative_to: Path = Path()) -> ParsedRota:
    """Raises ConfigError when nothing can be read there."""
    return ParsedRota(_read(rota, relative_to), _label(rota))


def on_call(rota: str, at: datetime, *, relative_to: Path = Path(), zone: tzinfo = UTC) -> str:
    """Slack id or e-mail of the person or group on shift; empty in a gap.

    Raises ConfigError when the rota can't be read, or when a shift is on that names nobody."""
    parsed = read_rota(rota, relative_to)
    return named_at(parsed.shifts(at, at, zone), at, rota=parsed.label)


def is_address(rota: str) -> bool:
    """Whether the rota is a URL. Raises ConfigError, without secrets, for an unusable one."""
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
    """Why an address can't be used; empty when it can."""
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


def _label(rota: str) -> str:
    """Only the host of an address: that of a private calendar is its password."""
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
            f"the rota {_label(rota)!r} can't be read: {_reason(error)}", remedy=_REMEDY
        ) from None
    if len(content) <= MAX_BYTES:
        return content.decode("utf-8-sig", "replace")
    raise ConfigError(
        f"the rota {_label(rota)!r} has more than {MAX_BYTES // 1_000_000} MB",
        remedy="export a calendar of its own for the rota",
    )


def _content(file: IO[bytes]) -> bytes:
    """Reads at most one byte over the limit. A socket's timeout is per read: a server that sends a
    byte now and then would delay every call."""
    content, end = bytearray(), time.monotonic() + MAX_SECONDS
    read: Callable[[int], bytes] = getattr(file, "read1", file.read)
    while len(content) <= MAX_BYTES and (piece := read(MAX_BYTES + 1 - len(content))):
        content += piece
        if time.monotonic() > end:
            raise TimeoutError(ETIMEDOUT, f"it takes longer than {MAX_SECONDS:.0f} seconds")
    if len(content) <= MAX_BYTES and getattr(file, "length", None):
        raise IncompleteRead(bytes(content))  # half a calendar would name nobody for its rest
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
    """Without secrets: an HTTP error can hold the address, or a line of the reply."""
    if isinstance(error, HTTPError):
        error.close()  # it is the response, too
        return f"the server said {error.code}"
    if isinstance(error, URLError):
        return _reason(error.reason) if isinstance(error.reason, OSError) else "no such server"
    if isinstance(error, HTTPException):
        return f"the reply is broken ({type(error).__name__})"
    return getattr(error, "strerror", None) or type(error).__name__


log = structlog.get_logger()

FRESH_SECONDS = 600.0
FOR_A_CALL_SECONDS = 60.0
"""Maximum age for a call, since a recent swap counts."""
USABLE_SECONDS = 24 * 3_600.0
"""While a rota can't be read, the cached one is used: it covers the weeks ahead."""
AHEAD, BACK = timedelta(days=35), timedelta(days=8)


@dataclass(frozen=True)
class CachedRota:
    """`shifts`: from `BACK` to `AHEAD` of its reading. `zone`: the calendar's own; may be empty."""

    shifts: tuple[Shift, ...]
    zone: str
    label: str


@dataclass
class _Entry:
    lock: threading.Lock = field(default_factory=threading.Lock)
    rota: CachedRota | None = None
    read_at: float = float("-inf")
    tried_at: float = float("-inf")
    problem: ConfigError | None = None


class RotaCache:
    """Thread-safe; concurrent callers share one read."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._entries: dict[tuple[str, str, str], _Entry] = {}
        self._lock = threading.Lock()

    def of(self, domain: Domain, rota: str, *, within: float = FRESH_SECONDS) -> CachedRota:
        """At most `within` seconds old; a day while it can't be read. Raises ConfigError."""
        entry = self._of(domain, rota)
        with entry.lock:
            if self._clock() - entry.tried_at > within:
                self._read(entry, domain, rota)
            if entry.rota and self._clock() - entry.read_at <= USABLE_SECONDS:
                return entry.rota
            raise entry.problem or ConfigError("the rota was not read", remedy="try again")

    def problem(self, domain: Domain, rota: str) -> str:
        """Why the last read failed, with its remedy; empty when it didn't."""
        entry = self._of(domain, rota)
        return str(entry.problem) if entry.problem else ""

    def _read(self, entry: _Entry, domain: Domain, rota: str) -> None:
        now = datetime.now(UTC)
        zone = ZoneInfo(domain.escalation.time_zone or "UTC")
        folder = domain.path.parent if domain.path.name else Path()
        try:
            parsed = read_rota(rota, folder)
            shifts = parsed.shifts(now - BACK, now + AHEAD, zone)
        except Exception as error:  # whatever a rota does, the domain's fallback has to be called
            kind = type(error).__name__
            broken = ConfigError(f"the rota can't be read ({kind})", remedy=_REMEDY)
            problem = error if isinstance(error, ConfigError) else broken
            if str(problem) != str(entry.problem or ""):
                log.error("the rota can't be read", domain=domain.domain, reason=str(problem))
            entry.problem = problem
        else:
            if entry.problem:
                log.info("the rota can be read again", domain=domain.domain)
            entry.problem, entry.read_at = None, self._clock()
            entry.rota = CachedRota(shifts, parsed.zone, parsed.label)
        entry.tried_at = self._clock()

    def _of(self, domain: Domain, rota: str) -> _Entry:
        key = (str(domain.path), rota, domain.escalation.time_zone or "")
        with self._lock:
            return self._entries.setdefault(key, _Entry())


def zone_of(domain: Domain, cached: CachedRota | None) -> str:
    """The zone for display: the domain's, else the calendar's, else UTC."""
    return domain.escalation.time_zone or (cached.zone if cached else "") or "UTC"


def format_local(moment: datetime, zone: str) -> str:
    """`Mon 09:00`, with the date where it is not within six days; without the zone."""
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    local = moment.astimezone(ZoneInfo(zone))
    near = abs(moment - datetime.now(UTC)) < timedelta(days=6)
    return f"{local:%a %H:%M}" if near else f"{local:%a} {local.day} {local:%b %Y %H:%M}"
