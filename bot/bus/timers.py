"""Timers in the shared database: any worker sets them, and each is due once.

The clock of every worker checks every second and stores due timers in the inbox."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import structlog
from sqlalchemy import Engine, Index, String, delete, select, update
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from bot.bus.events import Enqueue, TimerDue
from durable.connections import autocommit
from durable.database import insert_once, naive_utc
from durable.failures import cause_of
from durable.migration import migrate


class _Base(DeclarativeBase):
    pass


class TimerRow(_Base):
    __tablename__ = "bot_timers"
    __table_args__ = (Index("bot_timers_due", "due_at"),)
    key: Mapped[str] = mapped_column(
        String(160), primary_key=True, comment="one timer for each; set again, it moves"
    )
    kind: Mapped[str] = mapped_column(String(40), comment="who acts on it: see bot/feature.py")
    subject: Mapped[str] = mapped_column(String(120), comment="an id; never anybody's words")
    due_at: Mapped[datetime] = mapped_column(comment="UTC")


@dataclass(frozen=True, kw_only=True)
class Timer:
    kind: str
    subject: str
    due_at: datetime
    """UTC, aware."""

    @property
    def key(self) -> str:
        return f"{self.kind}:{self.subject}"

    @property
    def event_id(self) -> str:
        """The same in every worker, so that the inbox stores it once."""
        return f"timer-{self.key}-{self.due_at:%Y%m%dT%H%M%S.%f}"


AHEAD_SECONDS = 5.0
"""A timer that another worker set is seen within this time."""


class TimerStore:
    """One timer for each kind and subject."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._next = datetime.min
        self._next_lock = threading.Lock()
        migrate(engine, _Base.metadata, "timers")

    def set(self, kind: str, subject: str, due_at: datetime, *, keep: bool = False) -> None:
        """`due_at`: aware. `keep`: leave a timer unchanged that is already set."""
        due = naive_utc(due_at)
        timer = Timer(kind=kind, subject=subject, due_at=due_at)
        values = {"kind": kind, "subject": subject, "due_at": due}
        if not insert_once(self._engine, TimerRow, key=timer.key, **values) and not keep:
            change = update(TimerRow).where(TimerRow.key == timer.key).values(**values)
            with self._engine.begin() as connection:
                connection.execute(change)
        with self._next_lock:
            self._next = min(self._next, due)

    def cancel(self, kind: str, subject: str) -> None:
        timer = Timer(kind=kind, subject=subject, due_at=datetime.now(UTC))
        with self._engine.begin() as connection:
            connection.execute(delete(TimerRow).where(TimerRow.key == timer.key))

    def due(self, now: datetime, *, limit: int = 500) -> Sequence[Timer]:
        """Due timers, oldest first."""
        at = naive_utc(now)
        ahead = at + timedelta(seconds=AHEAD_SECONDS)
        query = select(TimerRow).where(TimerRow.due_at <= ahead).order_by(TimerRow.due_at)
        with self._next_lock:
            self._next = datetime.max  # what is set from here on may be missing in the rows
        with autocommit(self._engine).connect() as connection:
            rows = connection.execute(query.limit(limit)).all()
        with self._next_lock:
            self._next = min([self._next, ahead, *(row.due_at for row in rows)])
        return [
            Timer(kind=row.kind, subject=row.subject, due_at=row.due_at.replace(tzinfo=UTC))
            for row in rows
            if row.due_at <= at
        ]

    def may_be_due(self, now: datetime) -> bool:
        """By the last look and what was set here since, or because that is long ago. Makes no
        query."""
        at = naive_utc(now)
        with self._next_lock:
            # It is beyond that after a failed look, and where the clock was put back.
            return not at < self._next <= at + timedelta(seconds=AHEAD_SECONDS)

    def delete_stored(self, timer: Timer) -> None:
        """Delete the stored timer, unless it was set to another time meanwhile."""
        due = naive_utc(timer.due_at)
        with self._engine.begin() as connection:
            connection.execute(
                delete(TimerRow).where(TimerRow.key == timer.key, TimerRow.due_at == due)
            )


log = structlog.get_logger()

TICK_SECONDS = 1.0
PLAN_SECONDS = 60.0
LATE_SECONDS = 120.0
"""Without a tick for this long, the clock counts as stopped."""


class Clock:
    """Every worker has one; a timer that is due in several is stored once, by its event id."""

    def __init__(
        self,
        timers: TimerStore,
        *,
        put: Enqueue,
        plans: Sequence[Callable[[], None]] = (),
        is_able: Callable[[], bool] = lambda: True,
    ) -> None:
        """`plans`: called every minute, to set the timers of schedules.

        `is_able`: whether the database responds; while it does not, nothing is checked."""
        self._timers = timers
        self._put = put
        self._plans = plans
        self._is_able = is_able
        self._stopping = threading.Event()
        self._ticked_at = time.monotonic()
        self._planned_at = float("-inf")
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Returns at once; the first tick follows after `TICK_SECONDS`."""
        self._stopping.clear()
        self._ticked_at = time.monotonic()
        self._thread = threading.Thread(target=self._run, name="clock", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        if self._thread:
            self._thread.join(5)
            self._thread = None

    def missing(self) -> dict[str, str]:
        """As in `telemetry.health.HealthSource`."""
        running = self._thread is not None and self._thread.is_alive()
        late = time.monotonic() - self._ticked_at > LATE_SECONDS
        if running and late and self._is_able():
            return {"clock": "the clock has stopped: reminders and digests wait"}
        return {}

    def tick(self) -> None:
        """Plan once a minute, and store all due timers."""
        if self._must_plan():
            for plan in self._plans:
                self._run_plan(plan)
            self._planned_at = time.monotonic()
        for timer in self._timers.due(datetime.now(UTC)):
            self._put(timer.event_id, TimerDue(timer=timer.kind, subject=timer.subject))
            self._timers.delete_stored(timer)

    def _must_plan(self) -> bool:
        return time.monotonic() - self._planned_at >= PLAN_SECONDS

    def _run_plan(self, plan: Callable[[], None]) -> None:
        try:
            plan()
        except Exception as error:  # a broken schedule must not stop the others
            log.warning("timers could not be planned", cause=cause_of(error))

    def _run(self) -> None:
        while not self._stopping.wait(TICK_SECONDS):
            if not self._is_able():
                continue
            try:
                if self._must_plan() or self._timers.may_be_due(datetime.now(UTC)):
                    self.tick()
                self._ticked_at = time.monotonic()
            except Exception as error:  # the next tick tries again
                log.warning("due timers could not be read", cause=cause_of(error))
