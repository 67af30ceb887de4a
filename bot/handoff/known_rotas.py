"""Rotas read ahead and remembered: others keep them, and they are not always there."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import structlog

from bot.handoff.rota import read_rota
from bot.handoff.shift import Shift
from config.domain import Domain
from config.errors import ConfigError

log = structlog.get_logger()

FRESH_SECONDS = 600.0
FOR_A_CALL_SECONDS = 60.0
"""A swap that was made a moment ago counts when somebody is called."""
USABLE_SECONDS = 24 * 3_600.0
"""What was read goes on while the rota can't be: it tells of the weeks ahead."""
AHEAD, BACK = timedelta(days=35), timedelta(days=8)


@dataclass(frozen=True)
class SeenRota:
    """`shifts`: those from `BACK` to `AHEAD` of when it was read. `zone`: the calendar's own name
    of its time zone; empty where it says none."""

    shifts: tuple[Shift, ...]
    zone: str
    shown: str


@dataclass
class _Known:
    one_at_a_time: threading.Lock = field(default_factory=threading.Lock)
    seen: SeenRota | None = None
    seen_at: float = float("-inf")
    asked_at: float = float("-inf")
    problem: ConfigError | None = None


class KnownRotas:
    """Thread-safe; each is read once however many ask."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._known: dict[tuple[str, str, str], _Known] = {}
        self._lock = threading.Lock()

    def of(self, domain: Domain, rota: str, *, within: float = FRESH_SECONDS) -> SeenRota:
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
            known.seen = SeenRota(shifts, written.zone, written.shown)
        known.asked_at = self._clock()

    def _of(self, domain: Domain, rota: str) -> _Known:
        key = (str(domain.path), rota, domain.escalation.time_zone or "")
        with self._lock:
            return self._known.setdefault(key, _Known())


def zone_of(domain: Domain, seen: SeenRota | None) -> str:
    """In which times are said: the domain's, else the calendar's, else UTC."""
    return domain.escalation.time_zone or (seen.zone if seen else "") or "UTC"


def said_at(moment: datetime, zone: str) -> str:
    """`Mon 09:00`, with the date where the day of the week doesn't tell; without the zone."""
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    local = moment.astimezone(ZoneInfo(zone))
    near = abs(moment - datetime.now(UTC)) < timedelta(days=6)
    return f"{local:%a %H:%M}" if near else f"{local:%a} {local.day} {local:%b %Y %H:%M}"
