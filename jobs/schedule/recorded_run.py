"""Records runs of the ingestion job and their attempts, and stores notices for admins until they
are delivered."""

from __future__ import annotations

import json
import os
import socket
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import structlog
from sqlalchemy import Delete, Engine, String, Text, delete, insert, or_, select, update
from sqlalchemy.engine import Connection
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from config.errors import AnotherRun, CopilotError
from config.models import Usage
from durable.database import insert_once, naive_utc
from durable.heartbeat import is_running
from durable.migration import migrate
from jobs.ingest.progress import IngestReport
from jobs.schedule.runs import IngestRun, Outcome, Planned, RunRow, RunStore
from telemetry import metrics

log = structlog.get_logger()

AHEAD = timedelta(hours=1)
"""A record that is later than now by more than this is one of a clock that was ahead."""


@dataclass(frozen=True, kw_only=True)
class Started:
    """Identity and trigger of a run."""

    id: str
    planned: Planned | None = None
    """None for a manual run."""
    waits: bool = True
    """Whether it waits for another run of the domain; if not, it is skipped."""


def by_hand(domain: str) -> Started:
    return Started(id=f"{domain}+{uuid.uuid4().hex[:12]}")


def as_planned(domain: str, planned: Planned) -> Started:
    """The id contains the planned time, so all runners identify the same run."""
    return Started(id=f"{domain}@{planned.wall}", planned=planned, waits=False)


def left_out(runs: RunStore, domain: str, started: Started, why: str, *, now: datetime) -> None:
    """Record a planned run as skipped."""
    run = _begun(domain, started, now).ended("skipped", problem=why)
    if runs.leave_out(run):
        metrics.INGEST_RUNS.labels(domain, run.outcome).inc()
        log.warning("a planned run is skipped", id=run.id, domain=domain, problem=why)


def given_up(
    runs: RunStore,
    domain: str,
    started: Started,
    before: IngestRun | None,
    deaths: int,
    *,
    now: datetime,
) -> None:
    """Record as failed a run that crashed its runners. `before`: its existing record."""
    why = (
        f"it is set aside: {deaths} runners died in it, as their logs may tell (out of memory?); "
        "the next planned time tries anew"
    )
    _end(runs, (before or _begun(domain, started, now)).ended("failed", problem=why))


def correct_clock(
    runs: RunStore, domain: str, now: datetime, forget: Callable[[Sequence[str]], object]
) -> None:
    """Take future times from the records of a clock that was ahead, so that these times run
    once they come. The runs themselves stay on record, as of now at the latest.

    `forget` gets the ids of these runs, and deletes what would keep them from running again."""
    runs.create_tables()
    latest_time, moment = naive_utc(now + AHEAD), naive_utc(now)
    ended = (RunRow.domain == domain) & (RunRow.outcome != "running")
    is_ahead = ended & or_(RunRow.planned_at > latest_time, RunRow.started_at > latest_time)
    with runs.engine.connect() as connection:
        rows = connection.execute(select(RunRow.id, RunRow.planned_at).where(is_ahead)).all()
    if not rows:
        return
    early = [row.id for row in rows if row.planned_at and row.planned_at > latest_time]
    if early:
        # First: a process that dies here leaves the records, and the next look finds them.
        forget(early)
    with runs.engine.begin() as connection:
        for row in rows:
            values: dict[str, Any] = {"started_at": moment, "finished_at": moment}
            if row.id in early:
                values |= {"id": f"{row.id}~{uuid.uuid4().hex[:8]}", "planned_at": None, "wall": ""}
            connection.execute(update(RunRow).where(RunRow.id == row.id).values(values))


class Leaving(BaseException):
    """This process is stopping; another process continues its runs."""


def recorded(
    runs: RunStore,
    domain: str,
    started: Started,
    run: Callable[[], IngestReport],
    *,
    generation: Callable[[], int],
    cost: Callable[[Usage], float | None] = lambda usage: None,
) -> IngestReport:
    """Run the job, record its outcome, and return its report.

    `generation` returns the domain's current generation, 0 for none. `cost` returns US dollars.
    Raises what `run` raises."""
    begun = _begun(domain, started, datetime.now(UTC))
    before = generation()
    runs.begin(begun)
    try:
        report = run()
    except Leaving:
        raise  # recorded as running: another process continues it
    except CopilotError as error:
        outcome: Outcome = "skipped" if isinstance(error, AnotherRun) else "failed"
        _end(runs, begun.ended(outcome, problem=error.problem))
        raise
    except Exception as error:
        _end(runs, begun.ended("failed", problem=f"{type(error).__name__}; see the log"))
        raise
    except BaseException:  # Ctrl-C during a manual run
        _end(runs, begun.ended("broken", problem="it was stopped"))
        raise
    _end(runs, begun.reported(report, before=before, cost=cost(report.usage)))
    return report


def died(run: IngestRun, is_locked: Callable[[str], bool]) -> bool:
    """Whether the process of a run is gone. `is_locked`: whether a process of any machine holds
    the domain's lock, which a run has from its first document to its last publication."""
    host, _, process = run.runner.rpartition(":")
    if host == socket.gethostname():
        return not is_running(int(process))
    return not is_locked(run.domain)


def _begun(domain: str, started: Started, now: datetime) -> IngestRun:
    planned = started.planned
    return IngestRun(
        id=started.id,
        domain=domain,
        planned_at=planned.at if planned else None,
        wall=planned.wall if planned else "",
        started_at=now,
        runner=f"{socket.gethostname()}:{os.getpid()}",
    )


def _end(runs: RunStore, run: IngestRun) -> None:
    runs.end(run)
    metrics.INGEST_RUNS.labels(run.domain, run.outcome).inc()
    if run.outcome != "skipped":
        metrics.INGEST_SECONDS.labels(run.domain).observe(run.seconds)
    log.info(
        "ingest run",
        id=run.id,
        domain=run.domain,
        outcome=run.outcome,
        problem=run.problem or None,
        generation=run.generation,
        added=run.added,
        changed=run.changed,
        removed=run.removed,
        failed=len(run.failures),
        calls=run.calls,
        seconds=round(run.seconds, 1),
    )


Tell = Callable[[str, Sequence[str]], bool]
"""(Slack user id, lines) → whether the message was delivered; False: try again later."""
TRIED_FOR = timedelta(days=1)
"""Older notices are dropped: the run's record has the same facts."""
PAUSE = timedelta(seconds=60)
"""Time between two attempts. Other runners leave a notice alone for as long, and then retry it
if its runner died."""


class _Base(DeclarativeBase):
    pass


class NoticeRow(_Base):
    __tablename__ = "ingest_notices"

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    person: Mapped[str] = mapped_column(String(64), comment="a Slack user id")
    lines: Mapped[str] = mapped_column(Text, comment="JSON")
    kept_at: Mapped[datetime] = mapped_column(comment="UTC")
    try_at: Mapped[datetime] = mapped_column(comment="UTC")


class NoticeStore:
    """Thread-safe, also across runners. Raises database errors."""

    def __init__(self, engine: Engine, pause: timedelta = PAUSE) -> None:
        self._engine = engine
        self._pause = pause
        self.create_tables = cache(lambda: migrate(engine, _Base.metadata, "ingest-notices"))

    def keep(
        self, people: Iterable[str], lines: Sequence[str], now: datetime, connection: Connection
    ) -> None:
        """Store a notice in the caller's transaction. Requires an earlier `create_tables`."""
        moment = naive_utc(now)
        notice = {"lines": json.dumps(list(lines)), "kept_at": moment, "try_at": moment}
        rows = [
            {"id": uuid.uuid4().hex, "person": person, **notice} for person in sorted(set(people))
        ]
        if rows:
            connection.execute(_too_old(moment))
            connection.execute(insert(NoticeRow), rows)

    def send(self, tell: Tell, now: Callable[[], datetime]) -> None:
        """Deliver due notices, oldest first.

        A failed delivery delays all notices: they share one connection, and an attempt may take
        half a minute."""
        self.create_tables()
        for row in self._due(naive_utc(now())):
            if not self._is_mine(row, now()):
                continue
            delivered = tell(row.person, json.loads(row.lines))
            with self._engine.begin() as connection:
                if delivered:
                    connection.execute(delete(NoticeRow).where(NoticeRow.id == row.id))
                    continue
                connection.execute(update(NoticeRow).values(try_at=naive_utc(now() + self._pause)))
                return

    def _due(self, now: datetime) -> Sequence[Any]:
        # A notice stored by a clock that was ahead is due too.
        is_due = or_(NoticeRow.try_at <= now, NoticeRow.kept_at > now)
        with self._engine.begin() as connection:
            connection.execute(_too_old(now))
            query = select(NoticeRow).where(is_due).order_by(NoticeRow.kept_at)
            return connection.execute(query).all()

    def _is_mine(self, row: Any, now: datetime) -> bool:
        """Claim the notice, so that no other runner tries it at the same time."""
        same = (NoticeRow.id == row.id) & (NoticeRow.try_at == row.try_at)
        kept_at = min(row.kept_at, naive_utc(now))
        later = {"try_at": naive_utc(now + self._pause), "kept_at": kept_at}
        with self._engine.begin() as connection:
            return bool(connection.execute(update(NoticeRow).where(same).values(later)).rowcount)


def _too_old(now: datetime) -> Delete:
    return delete(NoticeRow).where(NoticeRow.kept_at < now - TRIED_FOR)


class _AttemptBase(DeclarativeBase):
    pass


class RunAttemptRow(_AttemptBase):
    __tablename__ = "ingest_begun"

    run: Mapped[str] = mapped_column(String(200), primary_key=True)
    times: Mapped[int]


class RunAttemptStore:
    """Thread-safe. Raises database errors."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def begin(self, run: str) -> int:
        """Count an attempt. Returns the number of processes that died in this run before."""
        migrate(self._engine, _AttemptBase.metadata, "ingest-begun")
        mine = RunAttemptRow.run == run
        more = update(RunAttemptRow).where(mine).values(times=RunAttemptRow.times + 1)
        while True:
            with self._engine.begin() as connection:
                times = connection.execute(more.returning(RunAttemptRow.times)).scalar()
                if times is not None:
                    return times - 1
            if insert_once(self._engine, RunAttemptRow, run=run, times=1):
                return 0  # otherwise another runner was faster

    def let_go(self, run: str) -> None:
        """Uncount an attempt whose process stops on purpose: it is no crash."""
        less = update(RunAttemptRow).where(RunAttemptRow.run == run)
        with self._engine.begin() as connection:
            connection.execute(less.values(times=RunAttemptRow.times - 1))

    def end(self, run: str) -> None:
        with self._engine.begin() as connection:
            connection.execute(delete(RunAttemptRow).where(RunAttemptRow.run == run))
