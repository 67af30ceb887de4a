"""Rotas, iCal or YAML, by URL or path: read, and cached for when they can't be read."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

import structlog

from bot.rotas.formats import calendar_shifts, calendar_zone, is_calendar, yaml_shifts
from bot.rotas.shifts import Shift, named_at
from config.domain import Domain
from config.errors import ConfigError, LoadError
from config.settings import Settings
from loaders.files.decoding import decode
from loaders.time_limit import time_limit
from loaders.untrusted import ReadRefused, Web, confined, origin, read_file

_SCHEME = re.compile(r"\s*([a-z][a-z0-9+.-]+):", re.IGNORECASE)
"""Of two letters at least: one is a drive of Windows."""
_LIKE_ADDRESS = re.compile(r"^//|^[\w-]+(\.[\w-]+)+(:\d+)?/|[?@=&]")
"""A path that was meant as an address."""
_REMEDY = "check escalation.rota"
_URL_REMEDY = f"{_REMEDY}; ONCALL_INNER_HOSTS names hosts of your own network"
_FILE_REMEDY = f"{_REMEDY}; ONCALL_FOLDERS names folders besides the configuration's"
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
        return is_calendar(self.text)

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


@dataclass(frozen=True, kw_only=True)
class RotaPlaces:
    """Where the operator allows rotas, besides the folder of the domain file and the internet."""

    folders: tuple[Path, ...] = ()
    inner_hosts: frozenset[str] = frozenset()
    """Hosts that may be at a private address, and be asked by http."""

    @classmethod
    def of(cls, settings: Settings) -> RotaPlaces:
        return cls(
            folders=(settings.config_dir, *settings.allowed_folders()),
            inner_hosts=settings.allowed_hosts(),
        )


def read_rota(
    rota: str, relative_to: Path = Path(), places: RotaPlaces = RotaPlaces()
) -> ParsedRota:
    """`relative_to`: the domain file's folder; a path there comes before one in the working
    directory. Raises ConfigError when nothing can be read there."""
    by_web = is_address(rota, places.inner_hosts)
    try:
        if by_web:
            data = _web(rota, places).download(rota, {"User-Agent": "oncall-copilot"}).data
        else:
            data, _ = read_file(_find(rota, relative_to, places), max_bytes=MAX_BYTES)
    except ReadRefused as refused:
        # From None: the cause may hold the whole address.
        raise ConfigError(
            f"the rota {_label(rota)!r} can't be read: it {refused.reason}",
            remedy=_URL_REMEDY if by_web else _FILE_REMEDY,
        ) from None
    return ParsedRota(_text(data), _label(rota))


def _text(data: bytes) -> str:
    """With line ends of one kind: some programs write CR, or CR CR LF."""
    try:
        text, _ = decode(data)
    except LoadError:  # names in letters of an unknown alphabet; ids and addresses are ASCII
        text = data.decode("utf-8-sig", "replace")
    return re.sub("\r+\n?", "\n", text)


def on_call(
    rota: str,
    at: datetime,
    *,
    relative_to: Path = Path(),
    zone: tzinfo = UTC,
    places: RotaPlaces = RotaPlaces(),
) -> str:
    """Slack id or e-mail of the person or group on shift; empty in a gap.

    Raises ConfigError when the rota can't be read, or when a shift is on that names nobody."""
    parsed = read_rota(rota, relative_to, places)
    return named_at(parsed.shifts(at, at, zone), at, rota=parsed.label)


def is_address(rota: str, inner_hosts: Collection[str] = ()) -> bool:
    """Whether the rota is a URL. Raises ConfigError, without secrets, for an unusable one."""
    scheme = _SCHEME.match(rota)
    if not scheme and "://" not in rota:
        return False
    kind = scheme[1].lower() if scheme else ""
    if kind not in ("https", "http"):
        raise ConfigError(
            "the rota has an address of another kind than https:", remedy="write https:// instead"
        )
    problem = _problem(rota)
    if problem:
        raise ConfigError(f"the rota's address {problem}", remedy=_REMEDY)
    if kind == "http" and origin(rota)[1] not in inner_hosts:
        raise ConfigError(
            "the rota's address begins with http://, which anybody on the way can change",
            remedy="write https://, or name its host in ONCALL_INNER_HOSTS",
        )
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
    """Only the host of an address, also of one without its scheme: that of a private calendar is
    its password."""
    if _SCHEME.match(rota):
        parts = urlsplit(rota)
        return f"{parts.scheme}://{parts.netloc}/…"
    if _LIKE_ADDRESS.search(rota):
        return f"{re.split('[/?@=&]', rota.lstrip('/'))[0]}/…"
    return rota


def _web(address: str, places: RotaPlaces) -> Web:
    """Follows no redirect: its target is not in the domain file."""
    return Web(
        allows=lambda url: url == address,
        is_inner=lambda host: host in places.inner_hosts,
        max_bytes=MAX_BYTES,
        max_seconds=MAX_SECONDS,
    )


def _find(rota: str, relative_to: Path, places: RotaPlaces) -> Path:
    """The first of the two places where there is a file; an allowed one if there is none."""
    roots = (relative_to, *places.folders)
    allowed = []
    for folder in (relative_to, Path()):
        try:
            allowed.append(confined(folder / rota, roots))
        except ReadRefused as refused:
            outside = refused
    if not allowed:
        raise outside
    return next(filter(os.path.isfile, allowed), allowed[0])


log = structlog.get_logger()

FRESH_SECONDS = 600.0
FOR_A_CALL_SECONDS = 60.0
"""Maximum age for a call, since a recent swap counts."""
USABLE_SECONDS = 24 * 3_600.0
"""While a rota can't be read, the cached one is used: it covers the weeks ahead."""
WAIT_SECONDS = 5.0
"""For a read that goes on; after that the caller goes on without it."""
AHEAD, BACK = timedelta(days=35), timedelta(days=8)
SHIFT_DAYS = timedelta(days=8)
"""Within which another may take over from somebody on shift."""


@dataclass(frozen=True)
class CachedRota:
    """`shifts`: from `BACK` to `AHEAD` of its reading. `zone`: the calendar's own; may be empty."""

    shifts: tuple[Shift, ...]
    zone: str
    label: str
    shifts_from: Callable[[datetime, datetime], tuple[Shift, ...]] | None = None
    """Reads those of another time from the copy."""
    read_at: datetime | None = None

    def covering(self, start: datetime, end: datetime) -> tuple[Shift, ...]:
        """Shifts from `start` to some days after `end`. Raises ConfigError."""
        end += SHIFT_DAYS
        if self.shifts_from is None or self.read_at is None:
            return self.shifts
        is_near = self.read_at - BACK <= start and end <= self.read_at + AHEAD
        return self.shifts if is_near else self.shifts_from(start, end)


@dataclass
class _Entry:
    rota: CachedRota | None = None
    read_at: float = float("-inf")
    tried_at: float = float("-inf")
    problem: ConfigError | None = None
    reader: threading.Thread | None = None


class RotaCache:
    """Thread-safe. One thread of its own reads a rota, so that a slow one holds nobody up."""

    def __init__(
        self, places: RotaPlaces = RotaPlaces(), *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.places = places
        self._clock = clock
        self._entries: dict[tuple[str, str, str], _Entry] = {}
        self._lock = threading.Lock()

    def of(self, domain: Domain, rota: str, *, within: float = FRESH_SECONDS) -> CachedRota:
        """At most `within` seconds old; a day while it can't be read, or while that takes long.

        Returns within `WAIT_SECONDS`: at once while another caller waits for the read, if there is
        a copy. Raises ConfigError."""
        entry = self._of(domain, rota)
        with self._lock:
            is_due = self._clock() - entry.tried_at > within
            is_read = entry.reader is not None and entry.reader.is_alive()
            if is_due and not is_read:
                entry.reader = threading.Thread(
                    target=self._read, args=(entry, domain, rota), name="rota", daemon=True
                )
                entry.reader.start()
            reader = entry.reader
        if reader and is_due and not (is_read and self._copy(entry)):
            reader.join(WAIT_SECONDS)
        if copy := self._copy(entry):
            return copy
        raise entry.problem or ConfigError(
            "the rota is still being read: it takes long", remedy="try again"
        )

    def _copy(self, entry: _Entry) -> CachedRota | None:
        """The last copy, while it is usable."""
        return entry.rota if self._clock() - entry.read_at <= USABLE_SECONDS else None

    def problem(self, domain: Domain, rota: str) -> str:
        """Why the last read failed, with its remedy; empty when it didn't."""
        entry = self._of(domain, rota)
        return str(entry.problem) if entry.problem else ""

    def _read(self, entry: _Entry, domain: Domain, rota: str) -> None:
        now = datetime.now(UTC)
        folder = domain.path.parent if domain.path.name else Path()
        try:
            zone = ZoneInfo(domain.escalation.time_zone or "UTC")
            parsed = read_rota(rota, folder, self.places)
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
            read = partial(parsed.shifts, zone=zone)
            entry.rota = CachedRota(shifts, parsed.zone, parsed.label, read, now)
            entry.problem, entry.read_at = None, self._clock()
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
