"""Counts what a run has spent on the model, and schedules the next request.

The counts are in this process, or in the state database for all processes that call the model."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from threading import Lock
from typing import Protocol

from sqlalchemy import BigInteger, Connection, Engine, Float, String, delete, select, update
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from config.models import Usage
from durable.database import insert_once
from durable.migration import migrate

MAX_PAUSE = 60.0
PATIENCE_SECONDS = 600.0
"""A model that answers no request for this long is not used until the next run."""


@dataclass(frozen=True, kw_only=True)
class ModelPace:
    """When requests start. Times are in seconds of the ledger's clock."""

    next_start: float = 0.0
    paused_until: float = 0.0
    refused_since: float | None = None
    """The model answered no request since then."""
    refusals: int = 0
    """Pauses since then."""

    def unanswered(self, began: float) -> float:
        """Seconds without an answer, up to the last failure and the pause after it. Time before
        `began` does not count, nor does time without requests."""
        since = self.refused_since
        return 0.0 if since is None else self.paused_until - max(since, began)

    def with_request(self, now: float, apart: float) -> tuple[ModelPace, float]:
        """The pace after one more request, and that request's start. `apart`: seconds between two
        requests."""
        turn = max(now, self.next_start, self.paused_until)
        return replace(self, next_start=turn + apart), turn

    def refused(self, now: float, pause: float) -> ModelPace:
        """All next requests wait: further requests would only prolong the refusal. `pause`: seconds
        that the server asks for."""
        failed = self.failed(now)
        if now < self.paused_until:  # other requests in flight add no information
            return failed
        grown = min(MAX_PAUSE, 2.0 ** (self.refusals + 1))
        return replace(
            failed,
            refusals=self.refusals + 1,
            # A daily quota may ask for hours, but the run gives the model up before that.
            paused_until=now + min(max(pause, grown), PATIENCE_SECONDS),
        )

    def failed(self, now: float) -> ModelPace:
        """One request failed, perhaps through its own content: the others don't wait."""
        since = now if self.refused_since is None else self.refused_since
        return replace(self, refused_since=since, paused_until=max(now, self.paused_until))

    def answered(self) -> ModelPace:
        return replace(self, refused_since=None, refusals=0)

    def restarted(self, now: float) -> ModelPace:
        """For a new run: leftover times, perhaps of a clock that was ahead, delay it by at most
        `MAX_PAUSE`."""
        latest = now + MAX_PAUSE
        return replace(
            self,
            next_start=min(self.next_start, latest),
            paused_until=min(self.paused_until, latest),
        )


@dataclass(frozen=True, kw_only=True)
class BudgetUse:
    """Spent on one run so far."""

    started: int = 0
    """Requests started."""
    usage: Usage = Usage()


class Ledger(Protocol):
    """Thread-safe."""

    def now(self) -> float: ...

    def pace(self) -> ModelPace: ...

    def change_pace(self, change: Callable[[ModelPace], ModelPace]) -> None: ...

    def spent(self) -> BudgetUse: ...

    def spend(self, started: int, usage: Usage) -> None: ...


class LocalLedger:
    """For a run in one process."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self.now = now
        self._lock = Lock()
        self._pace = ModelPace(next_start=float("-inf"), paused_until=float("-inf"))
        self._spent = BudgetUse()

    def pace(self) -> ModelPace:
        with self._lock:
            return self._pace

    def change_pace(self, change: Callable[[ModelPace], ModelPace]) -> None:
        with self._lock:
            self._pace = change(self._pace)

    def spent(self) -> BudgetUse:
        with self._lock:
            return self._spent

    def spend(self, started: int, usage: Usage) -> None:
        with self._lock:
            self._spent = BudgetUse(
                started=self._spent.started + started, usage=self._spent.usage + usage
            )


class SeparatePaceLedger:
    """Shares another ledger's spending and has its own pace, for a second model."""

    def __init__(self, purse: Ledger) -> None:
        own = LocalLedger(purse.now)
        self.now = purse.now
        self.pace, self.change_pace = own.pace, own.change_pace
        self.spent, self.spend = purse.spent, purse.spend


class _Base(DeclarativeBase):
    pass


class PaceRow(_Base):
    __tablename__ = "enrichment_pace"
    model: Mapped[str] = mapped_column(String(200), primary_key=True)
    next_start: Mapped[float] = mapped_column(Float, comment="seconds since 1970, as all of them")
    paused_until: Mapped[float] = mapped_column(Float)
    refused_since: Mapped[float | None] = mapped_column(Float)
    refusals: Mapped[int]


class SpentRow(_Base):
    __tablename__ = "enrichment_spent"
    run: Mapped[str] = mapped_column(String(200), primary_key=True)
    begun_at: Mapped[float] = mapped_column(Float)
    started: Mapped[int] = mapped_column(BigInteger)
    calls: Mapped[int] = mapped_column(BigInteger)
    input_tokens: Mapped[int] = mapped_column(BigInteger)
    output_tokens: Mapped[int] = mapped_column(BigInteger)


_FORGOTTEN_AFTER = 30 * 86_400.0


class SharedLedger:
    """One pace per model and one sum per run, shared by all processes. The clocks of their machines
    should agree to a second."""

    def __init__(self, engine: Engine, *, model: str, run: str) -> None:
        self._engine = engine
        self._model = model[:200]
        self._run = run[:200]
        migrate(engine, _Base.metadata, "enrichment-ledger")
        insert_once(
            engine, PaceRow, model=self._model, next_start=0.0, paused_until=0.0, refusals=0
        )
        nothing = dict.fromkeys(("started", "calls", "input_tokens", "output_tokens"), 0)
        if insert_once(engine, SpentRow, run=self._run, begun_at=self.now(), **nothing):
            self.change_pace(lambda pace: pace.restarted(self.now()))
            with engine.begin() as connection:
                old = SpentRow.begun_at < self.now() - _FORGOTTEN_AFTER
                connection.execute(delete(SpentRow).where(old, SpentRow.run != self._run))

    def now(self) -> float:
        return time.time()

    def pace(self) -> ModelPace:
        with self._engine.connect() as connection:
            return self._pace(connection)

    def change_pace(self, change: Callable[[ModelPace], ModelPace]) -> None:
        with self._engine.begin() as connection:
            pace = change(self._pace(connection, lock=True))
            change_row = update(PaceRow).where(PaceRow.model == self._model)
            connection.execute(change_row.values(**asdict(pace)))

    def spent(self) -> BudgetUse:
        with self._engine.connect() as connection:
            row = connection.execute(select(SpentRow).where(SpentRow.run == self._run)).one()
        usage = Usage(
            calls=row.calls, input_tokens=row.input_tokens, output_tokens=row.output_tokens
        )
        return BudgetUse(started=row.started, usage=usage)

    def spend(self, started: int, usage: Usage) -> None:
        change = update(SpentRow).where(SpentRow.run == self._run)
        with self._engine.begin() as connection:
            connection.execute(
                change.values(
                    started=SpentRow.started + started,
                    calls=SpentRow.calls + usage.calls,
                    input_tokens=SpentRow.input_tokens + usage.input_tokens,
                    output_tokens=SpentRow.output_tokens + usage.output_tokens,
                )
            )

    def _pace(self, connection: Connection, *, lock: bool = False) -> ModelPace:
        columns = (
            PaceRow.next_start, PaceRow.paused_until, PaceRow.refused_since, PaceRow.refusals,
        )  # fmt: skip
        query = select(*columns).where(PaceRow.model == self._model)
        row = connection.execute(query.with_for_update() if lock else query).one()
        return ModelPace(**row._mapping)
