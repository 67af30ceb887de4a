"""Ingestion runs: when a domain is due, the record of each run, and the complaints sent.

A planned time is identified by its wall-clock time. So each time in the hour that autumn repeats
runs once, and setting a clock back repeats no run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache
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
from durable.connections import autocommit
from durable.database import insert_once, naive_utc, replace_row
from durable.migration import migrate
from jobs.ingest.progress import IngestReport

_HOUR = timedelta(hours=1)


@dataclass(frozen=True, order=True)
class Planned:
    """One time of a schedule."""

    at: datetime
    """UTC."""
    wall: str
    """Local time in the schedule's zone, e.g. `2026-03-29 03:00`."""


def latest(refresh: Refresh, now: datetime) -> Planned:
    """The last planned time that is not later than `now`, an aware time."""
    # croniter returns strictly earlier times; here `now` itself counts.
    return _planned(_times(refresh, now + timedelta(seconds=1)).get_prev(datetime))


def upcoming(refresh: Refresh, now: datetime) -> Planned:
    """The first planned time after `now`."""
    return _planned(_times(refresh, now).get_next(datetime))


def due(refresh: Refresh, domain: str, handled: Planned | None, now: datetime) -> Planned | None:
    """Returns the planned time to run now, or None. Of several missed times only the latest counts.

    `handled`: the last planned time on record, run or skipped; None for a domain that never ran,
    which is due at once."""
    planned = latest(refresh, now)
    if handled and (planned.at <= handled.at or _comes_twice(handled, planned)):
        return None
    waits = handled is not None and now < planned.at + jitter(refresh, domain, planned)
    return None if waits else planned


def jitter(refresh: Refresh, domain: str, planned: Planned) -> timedelta:
    """A delay derived from domain and time, so that all runners compute the same one."""
    most = refresh.jitter_minutes * 60
    seed = hashlib.sha256(f"{domain}\0{planned.wall}".encode()).digest()
    return timedelta(seconds=int.from_bytes(seed[:4], "big") % most if most else 0)


def is_overdue(refresh: Refresh, fresh_at: datetime | None, now: datetime) -> bool:
    """Whether the next successful run is more than an hour late.

    `fresh_at`: start of the last successful run; None if there is none."""
    planned = upcoming(refresh, fresh_at) if fresh_at else latest(refresh, now)
    return now > planned.at + timedelta(minutes=refresh.jitter_minutes) + _HOUR


def in_zone(refresh: Refresh, moment: datetime) -> str:
    """Display text, e.g. `Tue 01 Dec 03:00 Europe/Berlin`."""
    return f"{moment.astimezone(ZoneInfo(refresh.time_zone)):%a %d %b %H:%M} {refresh.time_zone}"


def _comes_twice(handled: Planned, planned: Planned) -> bool:
    """Whether the clocks went back and the same wall-clock time comes again."""
    return planned.wall <= handled.wall and planned.at - handled.at <= 2 * _HOUR


def _times(refresh: Refresh, around: datetime) -> croniter:
    return croniter(refresh.cron, around.astimezone(ZoneInfo(refresh.time_zone)))


def _planned(local: datetime) -> Planned:
    return Planned(at=local.astimezone(UTC), wall=f"{local:%Y-%m-%d %H:%M}")


Outcome = Literal["running", "published", "unchanged", "held back", "skipped", "failed", "broken"]
"""`held back`: the canary rejected it. `skipped`: another run was active, or the planned time
passed without a run. `failed`: the whole run. `broken`: it was interrupted or its process died."""
GOOD: frozenset[str] = frozenset({"published", "unchanged"})
UNDECIDED: frozenset[str] = frozenset({"running", "broken"})
"""Another process may continue it."""
MAX_RUNS = 200
"""Stored runs per domain."""


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
    """US dollars; None if no prices are set."""

    def ended(self, outcome: Outcome, *, problem: str = "") -> IngestRun:
        return replace(self, outcome=outcome, problem=problem, finished_at=datetime.now(UTC))

    def reported(
        self, report: IngestReport, *, before: int, cost: float | None = None
    ) -> IngestRun:
        """Returns the run with the results of `report`. `before`: the generation before the run."""
        refused = any(one.refused for one in report.canaries)
        done = self.ended("published" if report.generation != before else "unchanged")
        outcome: Outcome = "held back" if refused else done.outcome
        return replace(
            done,
            outcome="failed" if report.lost else outcome,
            problem="; ".join(report.lost) or report.unchecked,
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
    """Thread-safe. `of` reads without creating the table."""

    def __init__(
        self, engine: Engine, died: Callable[[IngestRun], bool] = lambda run: False
    ) -> None:
        """`died`: whether no process works on a run that is on record as running."""
        self.engine = engine
        self._died = died
        self.create_tables = cache(lambda: migrate(engine, _Base.metadata, "ingest-runs"))

    def clock(self) -> datetime:
        """Now, by the server's clock, which all runners share; by this machine's on SQLite."""
        if self.engine.dialect.name != "postgresql":
            return datetime.now(UTC)
        with autocommit(self.engine).connect() as connection:
            now: datetime = connection.execute(select(func.clock_timestamp())).scalar_one()
            return now.astimezone(UTC)

    def begin(self, run: IngestRun) -> None:
        """Record the start of a run, or its restart in another process."""
        self.create_tables()
        with self.engine.begin() as connection:
            replace_row(connection, RunRow, **_row(run))

    def leave_out(self, run: IngestRun) -> bool:
        """Record a skipped run. Returns False, and changes nothing, if the run has a record."""
        self.create_tables()
        return insert_once(self.engine, RunRow, **_row(run))

    def find(self, run_id: str) -> IngestRun | None:
        self.create_tables()
        with self.engine.connect() as connection:
            rows = connection.execute(select(RunRow).where(RunRow.id == run_id)).mappings()
            return next(map(_run, rows), None)

    def last_planned(self, domain: str, now: datetime) -> Planned | None:
        """Returns the last planned time up to `now` that has a record."""
        self.create_tables()
        query = (
            select(RunRow.planned_at, RunRow.wall)
            .where(RunRow.domain == domain, RunRow.planned_at <= naive_utc(now))
            .order_by(RunRow.planned_at.desc())
            .limit(1)
        )
        with self.engine.connect() as connection:
            row = connection.execute(query).first()
        return Planned(at=row.planned_at.replace(tzinfo=UTC), wall=row.wall) if row else None

    def end(self, run: IngestRun) -> None:
        """Record the outcome, and delete all but the newest runs.

        Earlier runs still marked as running become broken: a domain has one run at a time."""
        self.create_tables()
        same = RunRow.domain == run.domain
        newest = select(RunRow.started_at).where(same).order_by(RunRow.started_at.desc())
        oldest = newest.offset(MAX_RUNS - 1).limit(1).scalar_subquery()
        # The last planned run stays: without its record, that time would run again.
        planned = select(func.max(RunRow.planned_at)).where(same).scalar_subquery()
        is_old = (RunRow.started_at < oldest) & func.coalesce(RunRow.planned_at != planned, True)
        row = _row(run)
        with self.engine.begin() as connection:
            replace_row(connection, RunRow, **row)
            connection.execute(delete(RunRow).where(same, is_old))
            if run.outcome != "skipped":
                connection.execute(
                    update(RunRow)
                    .where(same, RunRow.outcome == "running")
                    .where(RunRow.started_at < row["started_at"])
                    .values(outcome="broken", finished_at=row["finished_at"])
                )

    def of(self, domain: str, most: int = MAX_RUNS) -> list[IngestRun]:
        """Newest first; empty if the table does not exist yet. Raises other database errors.

        A run whose process was killed is `broken`, though nobody recorded that."""
        query = select(RunRow).filter_by(domain=domain).order_by(RunRow.started_at.desc())
        try:
            with self.engine.connect() as connection:
                runs = [_run(row) for row in connection.execute(query.limit(most)).mappings()]
        except DBAPIError:
            if inspect(self.engine).has_table(RunRow.__tablename__):
                raise
            return []
        dead = {run.id for run in runs if run.outcome == "running" and self._died(run)}
        return [replace(run, outcome="broken") if run.id in dead else run for run in runs]

    def told_anew(
        self,
        domain: str,
        complaints: Sequence[str],
        keep: Callable[[Connection, Sequence[str]], object] = lambda connection, before: None,
    ) -> tuple[str, ...] | None:
        """Store the complaints if they changed. Returns the previous ones, to exactly one caller;
        None if nothing changed. `keep` gets them too, in the same transaction."""
        self.create_tables()
        now, before = json.dumps(list(complaints)), ()
        with self.engine.begin() as connection:
            held = connection.scalar(select(ComplaintRow.complaints).filter_by(domain=domain))
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


def _row(run: IngestRun) -> dict[str, Any]:
    row = {name: getattr(run, name) for name in RunRow.__table__.columns.keys()}  # noqa: SIM118
    for name in ("planned_at", "started_at", "finished_at"):
        row[name] = row[name] and naive_utc(row[name])
    return {**row, "failures": json.dumps(run.failures)}


def _run(row: Any) -> IngestRun:
    values = dict(row)
    for name in ("planned_at", "started_at", "finished_at"):
        values[name] = values[name] and values[name].replace(tzinfo=UTC)
    return IngestRun(**{**values, "failures": json.loads(values["failures"])})
