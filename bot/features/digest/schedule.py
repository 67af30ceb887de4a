"""When a domain's digest is due. Pure: the clock is an argument; all times UTC and aware."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from bot.rotas.rota import CachedRota, zone_of
from bot.rotas.shifts import begins_after
from config.domain import SHIFT_CHANGE, Domain
from config.parsing.schedules import wall_times

_FORM = "%Y%m%dT%H%M%S"


@dataclass(frozen=True)
class Period:
    """One digest of a domain."""

    domain: str
    at: datetime
    """When it was due."""

    @property
    def key(self) -> str:
        return f"{self.at:{_FORM}}"

    @property
    def subject(self) -> str:
        """Of its timer."""
        return f"{self.domain}@{self.key}"

    @classmethod
    def of(cls, subject: str) -> Period:
        domain, _, at = subject.rpartition("@")
        return cls(domain, datetime.strptime(at, _FORM).replace(tzinfo=UTC))


def next_due(domain: Domain, seen: CachedRota | None, after: datetime) -> datetime | None:
    """The first time after that one; None while none is known.

    A time of a cron that the clock skips in spring comes when it goes on, one that comes twice in
    autumn counts the first time."""
    if domain.digest is None:
        return None
    if domain.digest.at == SHIFT_CHANGE:
        return begins_after(seen.shifts, after) if seen else None
    zone = ZoneInfo(domain.digest.time_zone or zone_of(domain, seen))
    # From before the clock was changed on: what it shows then may be behind.
    around = after.astimezone(zone).replace(tzinfo=None) - timedelta(hours=3)
    times = (
        wall.replace(tzinfo=zone).astimezone(UTC) for wall in wall_times(domain.digest.at, around)
    )
    return next((one for one in times if one > after), None)


def is_due(domain: Domain, seen: CachedRota | None, period: Period) -> bool:
    """Still as the schedule says; a rota that can't be read is believed as it was."""
    if domain.digest and domain.digest.at == SHIFT_CHANGE and seen is None:
        return True
    return next_due(domain, seen, period.at - timedelta(seconds=1)) == period.at
