"""Ingestion runs: when a domain is due, what is recorded of each run, which complaints were sent.

A planned time is identified by its wall-clock time. So the hour that autumn repeats runs each of
its times once, and a clock that is set back runs nothing again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Literal
from zoneinfo import ZoneInfo

from croniter import croniter
from sqlalchemy import (
    Engine,
    Float,
    Index,
    String,
    Text,
    delete,
    func,
    insert,
    inspect,
    select,
    update,
)
from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from config.domain import Refresh
from durable.migration import migrate
from jobs.ingest.ports import IngestReport

_HOUR = timedelta(hours=1)


@dataclass(frozen=True, order=True)
class Planned:
    """One time of a schedule."""

    at: datetime
    """UTC."""
    wall: str
    """As a clock in the schedule's zone shows it, e.g. `2026-03-29 03:00`."""


def latest(refresh: Refresh, now: datetime) -> Planned:
    """The last planned time that is not later than `now`, an aware time."""
    # croniter looks strictly before; a time that is just now counts.
    return _planned(_times(refresh, now + timedelta(seconds=1)).get_prev(datetime))


def upcoming(refresh: Refresh, now: datetime) -> Planned:
    """The first planned time after `now`."""
    return _planned(_times(refresh, now).get_next(datetime))


def due(refresh: Refresh, domain: str, handled: Planned | None, now: datetime) -> Planned | None:
    """The planned time to run now: the latest, however many were missed before it.

    `handled`: the last that was run, skipped or missed on purpose; None for a domain that never
    ran, which is due at once. None: nothing is due."""
    planned = latest(refresh, now)
    if handled and (planned.at <= handled.at or _comes_twice(handled, planned)):
        return None
    waits = handled is not None and now < planned.at + jitter(refresh, domain, planned)
    return None if waits else planned


def jitter(refresh: Refresh, domain: str, planned: Planned) -> timedelta:
    """The same for everybody who asks, so that several runners agree."""
    most = refresh.jitter_minutes * 60
    seed = hashlib.sha256(f"{domain}\0{planned.wall}".encode()).digest()
    return timedelta(seconds=int.from_bytes(seed[:4], "big") % most if most else 0)


def is_overdue(refresh: Refresh, fresh_at: datetime | None, now: datetime) -> bool:
    """Whether a run that should have ended well an hour ago did not.

    `fresh_at`: when the last one that did began; None for a domain that never had one."""
    planned = upcoming(refresh, fresh_at) if fresh_at else latest(refresh, now)
    return now > planned.at + timedelta(minutes=refresh.jitter_minutes) + _HOUR


def in_zone(refresh: Refresh, moment: datetime) -> str:
    """For people, e.g. `Tue 03:00 Europe/Berlin`."""
    return f"{moment.astimezone(ZoneInfo(refresh.time_zone)):%a %d %b %H:%M} {refresh.time_zone}"


def _comes_twice(handled: Planned, planned: Planned) -> bool:
    """In the hour after the clocks were put back."""
    return planned.wall <= handled.wall and planned.at - handled.at <= 2 * _HOUR


def _times(refresh: Refresh, around: datetime) -> croniter:
    return croniter(refresh.cron, around.astimezone(ZoneInfo(refresh.time_zone)))


def _planned(local: datetime) -> Planned:
    return Planned(at=local.astimezone(UTC), wall=f"{local:%Y-%m-%d %H:%M}")


Outcome = Literal["running", "published", "unchanged", "held back", "skipped", "failed", "broken"]
"""`held back` by the canary; `skipped`, as another run was at it; `failed` as a whole; `broken`:
its process died, and nobody went on with it."""
GOOD: frozenset[str] = frozenset({"published", "unchanged"})
UNDECIDED: frozenset[str] = frozenset({"running", "broken"})
"""Another process may go on with it."""
MAX_RUNS = 200
"""Runs of each domain."""


class _Base(DeclarativeBase):
    pass


class RunRow(_Base):
    __tablename__ = "ingest_runs"
    __table_args__ = (Index("ingest_runs_by_domain", "domain", "started_at"),)

    id: Mapped[str] = mapped_column(String(200), primary_key=True)
    domain: Mapped[str] = mapped_column(String(63))
    planned_at: Mapped[datetime | None] = mapped_column(
        comment="UTC; null for a run that somebody started"
    )
    wall: Mapped[str] = mapped_column(String(16), comment="as a clock showed planned_at; or empty")
    started_at: Mapped[datetime] = mapped_column(comment="UTC")
    finished_at: Mapped[datetime | None] = mapped_column(comment="UTC")
    runner: Mapped[str] = mapped_column(String(200))
    outcome: Mapped[str] = mapped_column(String(16))
    generation: Mapped[int]
    added: Mapped[int]
    changed: Mapped[int]
    removed: Mapped[int]
    unchanged: Mapped[int]
    unenriched: Mapped[int]
    failures: Mapped[str] = mapped_column(Text, comment="JSON: document → reason")
    problem: Mapped[str] = mapped_column(Text, comment="why the whole run failed; or empty")
    calls: Mapped[int]
    input_tokens: Mapped[int]
    output_tokens: Mapped[int]
    seconds: Mapped[float] = mapped_column(Float)
    cost: Mapped[float | None] = mapped_column(
        Float, comment="US dollars; null where no prices were set"
    )


class ComplaintRow(_Base):
    __tablename__ = "ingest_told"

    domain: Mapped[str] = mapped_column(String(63), primary_key=True)
    complaints: Mapped[str] = mapped_column(Text, comment="JSON: what its admins were told last")


@dataclass(frozen=True, kw_only=True)
class IngestRun:
    """One run of one domain."""

    id: str
    domain: str
    planned_at: datetime | None = None
    wall: str = ""
    started_at: datetime
    finished_at: datetime | None = None
    runner: str = ""
    outcome: Outcome = "running"
    generation: int = 0
    added: int = 0
    changed: int = 0
    removed: int = 0
    unchanged: int = 0
    unenriched: int = 0
    failures: dict[str, str] = field(default_factory=dict)
    """Document → why it could not be read."""
    problem: str = ""
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    cost: float | None = None
    """US dollars, where prices are set."""

    def ended(self, outcome: Outcome, *, problem: str = "") -> IngestRun:
        return replace(self, outcome=outcome, problem=problem, finished_at=datetime.now(UTC))

    def reported(
        self, report: IngestReport, *, before: int, cost: float | None = None
    ) -> IngestRun:
        """With what came of it. `before`: the generation that was answered from until then."""
        refused = any(one.refused for one in report.canaries)
        done = self.ended("published" if report.generation != before else "unchanged")
        return replace(
            done,
            outcome="held back" if refused else done.outcome,
            generation=report.generation,
            added=len(report.added),
            changed=len(report.changed),
            removed=len(report.removed),
            unchanged=report.unchanged,
            unenriched=report.unenriched,
            failures={error.document: error.reason for error in report.failed},
            calls=report.usage.calls,
            input_tokens=report.usage.input_tokens,
            output_tokens=report.usage.output_tokens,
            seconds=report.seconds,
            cost=cost,
        )


class RunStore:
    """Thread-safe. Where nothing was ever kept, nothing is created by asking."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._migrated = False

    def begin(self, run: IngestRun) -> None:
        """Keep a run that begins, or begins again in another process."""
        self._make_room()
        with self.engine.begin() as connection:
            connection.execute(delete(RunRow).where(RunRow.id == run.id))
            connection.execute(insert(RunRow).values(_row(run)))

    def leave_out(self, run: IngestRun) -> bool:
        """Keep that it is skipped; False when something is kept of it already, which stays."""
        self._make_room()
        try:
            with self.engine.begin() as connection:
                connection.execute(insert(RunRow).values(_row(run)))
        except IntegrityError:
            return False
        return True

    def find(self, run_id: str) -> IngestRun | None:
        self._make_room()
        with self.engine.connect() as connection:
            rows = connection.execute(select(RunRow).where(RunRow.id == run_id)).mappings()
            return next(map(_run, rows), None)

    def last_planned(self, domain: str, now: datetime) -> Planned | None:
        """The last planned time until now of which anything is kept.

        Later ones were handled by a clock that was ahead; they count when they have come."""
        self._make_room()
        query = (
            select(RunRow.planned_at, RunRow.wall)
            .where(RunRow.domain == domain, RunRow.planned_at <= _stored(now))
            .order_by(RunRow.planned_at.desc())
            .limit(1)
        )
        with self.engine.connect() as connection:
            row = connection.execute(query).first()
        return Planned(at=row.planned_at.replace(tzinfo=UTC), wall=row.wall) if row else None

    def end(self, run: IngestRun) -> None:
        """Keep how it ended; of older runs only the newest stay.

        One before it that never ended is known to be broken by then: two can't be at it."""
        self._make_room()
        same = RunRow.domain == run.domain
        newest = select(RunRow.started_at).where(same).order_by(RunRow.started_at.desc())
        oldest = newest.offset(MAX_RUNS - 1).limit(1).scalar_subquery()
        # What was planned last stays: without it, that time would be run again.
        planned = select(func.max(RunRow.planned_at)).where(same).scalar_subquery()
        is_old = (RunRow.started_at < oldest) & func.coalesce(RunRow.planned_at != planned, True)
        with self.engine.begin() as connection:
            connection.execute(delete(RunRow).where(RunRow.id == run.id))
            connection.execute(insert(RunRow).values(_row(run)))
            connection.execute(delete(RunRow).where(same, is_old))
            if run.outcome != "skipped":
                connection.execute(
                    update(RunRow)
                    .where(same, RunRow.outcome == "running")
                    .where(RunRow.started_at < _stored(run.started_at))
                    .values(outcome="broken", finished_at=_stored(run.finished_at))
                )

    def of(self, domain: str, most: int = MAX_RUNS) -> list[IngestRun]:
        """Newest first. Raises what the database raises: an outage is not a domain without runs."""
        query = (
            select(RunRow)
            .where(RunRow.domain == domain)
            .order_by(RunRow.started_at.desc())
            .limit(most)
        )
        try:
            with self.engine.connect() as connection:
                return [_run(row) for row in connection.execute(query).mappings()]
        except DBAPIError:
            if inspect(self.engine).has_table(RunRow.__tablename__):
                raise
            return []

    def told_anew(
        self,
        domain: str,
        complaints: Sequence[str],
        keep: Callable[[Connection, Sequence[str]], object] = lambda connection, before: None,
    ) -> tuple[str, ...] | None:
        """What was told before, when these differ from it, to exactly one who asks; else None.
        `keep` has it as well, in the same transaction."""
        self._make_room()
        now, before = json.dumps(list(complaints)), ()
        with self.engine.begin() as connection:
            held = connection.scalar(
                select(ComplaintRow.complaints).where(ComplaintRow.domain == domain)
            )
            if held == now or (held is None and not complaints):
                return None
            if held is not None:
                before = tuple(json.loads(held))
                same = (ComplaintRow.domain == domain) & (ComplaintRow.complaints == held)
                result = connection.execute(update(ComplaintRow).where(same).values(complaints=now))
                if not result.rowcount:
                    return None
                keep(connection, before)
                return before
        try:
            with self.engine.begin() as connection:
                connection.execute(insert(ComplaintRow).values(domain=domain, complaints=now))
                keep(connection, before)
        except IntegrityError:
            return None  # another runner was faster
        return ()

    def _make_room(self) -> None:
        if not self._migrated:
            migrate(self.engine, _Base.metadata, "ingest-runs")
            self._migrated = True


def _row(run: IngestRun) -> dict[str, Any]:
    row = {name: getattr(run, name) for name in RunRow.__table__.columns.keys()}  # noqa: SIM118
    for name in ("planned_at", "started_at", "finished_at"):
        row[name] = _stored(row[name])
    return {**row, "failures": json.dumps(run.failures)}


def _run(row: Any) -> IngestRun:
    values = dict(row)
    for name in ("planned_at", "started_at", "finished_at"):
        values[name] = values[name] and values[name].replace(tzinfo=UTC)
    return IngestRun(**{**values, "failures": json.loads(values["failures"])})


def _stored(moment: datetime | None) -> datetime | None:
    return moment and moment.astimezone(UTC).replace(tzinfo=None)
