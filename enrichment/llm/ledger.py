"""What a run has spent on the model, and when the next request may start.

Counted in this process, or in the state database for all processes that call the same model."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any, Protocol

from sqlalchemy import (
    BigInteger,
    Column,
    Engine,
    Float,
    Integer,
    MetaData,
    String,
    Table,
    delete,
    insert,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError

from config.models import Usage
from durable.migration import migrate

MAX_PAUSE = 60.0
PATIENCE_SECONDS = 600.0
"""A model that answers no request for so long is done without until the next run."""


@dataclass(frozen=True, kw_only=True)
class ModelPace:
    """When requests begin. Moments are in seconds, by the ledger's clock."""

    next_start: float = 0.0
    paused_until: float = 0.0
    refused_since: float | None = None
    """The model answered no request since then."""
    refusals: int = 0
    """Pauses since then."""

    def unanswered(self, began: float) -> float:
        """For how many seconds the model has answered nothing, by its last failure and the pause
        after it. What was before `began` does not count, nor does time in which nobody asked."""
        since = self.refused_since
        return 0.0 if since is None else self.paused_until - max(since, began)

    def with_request(self, now: float, apart: float) -> tuple[ModelPace, float]:
        """After one more request, and when that may begin. `apart`: seconds between two."""
        turn = max(now, self.next_start, self.paused_until)
        return replace(self, next_start=turn + apart), turn

    def refused(self, now: float, pause: float) -> ModelPace:
        """Everybody's next request waits: who goes on only makes it longer. `pause`: seconds that
        the server wants."""
        failed = self.failed(now)
        if now < self.paused_until:  # the others that were in flight tell nothing new
            return failed
        grown = min(MAX_PAUSE, 2.0 ** (self.refusals + 1))
        return replace(
            failed,
            refusals=self.refusals + 1,
            # A daily quota may ask for hours: who waits so long is done without the model before.
            paused_until=now + min(max(pause, grown), PATIENCE_SECONDS),
        )

    def failed(self, now: float) -> ModelPace:
        """One request, which need not be the model's fault: nobody waits for that."""
        since = now if self.refused_since is None else self.refused_since
        return replace(self, refused_since=since, paused_until=max(now, self.paused_until))

    def answered(self) -> ModelPace:
        return replace(self, refused_since=None, refusals=0)

    def restarted(self, now: float) -> ModelPace:
        """For one more run: nothing that is left over, of a clock that was ahead perhaps, makes it
        wait for long."""
        latest = now + MAX_PAUSE
        return replace(
            self,
            next_start=min(self.next_start, latest),
            paused_until=min(self.paused_until, latest),
        )


@dataclass(frozen=True, kw_only=True)
class BudgetUse:
    """On one run, by now."""

    started: int = 0
    """Requests begun."""
    usage: Usage = Usage()


class Ledger(Protocol):
    """Thread-safe."""

    def now(self) -> float: ...

    def pace(self) -> ModelPace: ...

    def change_pace(self, change: Callable[[ModelPace], ModelPace]) -> None: ...

    def spent(self) -> BudgetUse: ...

    def spend(self, started: int, usage: Usage) -> None: ...


class LocalLedger:
    """Of a run that one process works on."""

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
    """Spends with another ledger, and waits for a model of its own."""

    def __init__(self, purse: Ledger) -> None:
        own = LocalLedger(purse.now)
        self.now = purse.now
        self.pace, self.change_pace = own.pace, own.change_pace
        self.spent, self.spend = purse.spent, purse.spend


_METADATA = MetaData()
_PACE = Table(
    "enrichment_pace",
    _METADATA,
    Column("model", String(200), primary_key=True),
    Column("next_start", Float, nullable=False, comment="seconds since 1970, as all of them"),
    Column("paused_until", Float, nullable=False),
    Column("refused_since", Float),
    Column("refusals", Integer, nullable=False),
)
_USE = Table(
    "enrichment_spent",
    _METADATA,
    Column("run", String(200), primary_key=True),
    Column("begun_at", Float, nullable=False),
    Column("started", BigInteger, nullable=False),
    Column("calls", BigInteger, nullable=False),
    Column("input_tokens", BigInteger, nullable=False),
    Column("output_tokens", BigInteger, nullable=False),
)
_FORGOTTEN_AFTER = 30 * 86_400.0


class SharedLedger:
    """One pace for all processes that ask a model, one sum for all that work on a run. Their
    machines' clocks should agree to a second."""

    def __init__(self, engine: Engine, *, model: str, run: str) -> None:
        self._engine = engine
        self._model = model[:200]
        self._run = run[:200]
        migrate(engine, _METADATA, "enrichment-ledger")
        self._make(_PACE, model=self._model, next_start=0.0, paused_until=0.0, refusals=0)
        nothing = dict.fromkeys(("started", "calls", "input_tokens", "output_tokens"), 0)
        if self._make(_USE, run=self._run, begun_at=self.now(), **nothing):
            self.change_pace(lambda pace: pace.restarted(self.now()))
            with engine.begin() as connection:
                old = _USE.c.begun_at < self.now() - _FORGOTTEN_AFTER
                connection.execute(delete(_USE).where(old, _USE.c.run != self._run))

    def now(self) -> float:
        return time.time()

    def pace(self) -> ModelPace:
        with self._engine.connect() as connection:
            return self._pace(connection, select(_PACE))

    def change_pace(self, change: Callable[[ModelPace], ModelPace]) -> None:
        with self._engine.begin() as connection:
            pace = change(self._pace(connection, select(_PACE).with_for_update()))
            connection.execute(
                update(_PACE)
                .where(_PACE.c.model == self._model)
                .values(
                    next_start=pace.next_start,
                    paused_until=pace.paused_until,
                    refused_since=pace.refused_since,
                    refusals=pace.refusals,
                )
            )

    def spent(self) -> BudgetUse:
        with self._engine.connect() as connection:
            row = connection.execute(select(_USE).where(_USE.c.run == self._run)).one()
        usage = Usage(
            calls=row.calls, input_tokens=row.input_tokens, output_tokens=row.output_tokens
        )
        return BudgetUse(started=row.started, usage=usage)

    def spend(self, started: int, usage: Usage) -> None:
        values = {
            "started": started,
            "calls": usage.calls,
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
        }
        with self._engine.begin() as connection:
            connection.execute(
                update(_USE)
                .where(_USE.c.run == self._run)
                .values({name: _USE.c[name] + count for name, count in values.items()})
            )

    def _pace(self, connection: Any, query: Any) -> ModelPace:
        row = connection.execute(query.where(_PACE.c.model == self._model)).one()
        return ModelPace(
            next_start=row.next_start,
            paused_until=row.paused_until,
            refused_since=row.refused_since,
            refusals=row.refusals,
        )

    def _make(self, table: Table, **row: Any) -> bool:
        """Whether it was not there."""
        key = next(iter(table.primary_key))
        try:
            with self._engine.begin() as connection:
                if connection.scalar(select(key).where(key == row[key.name])) is not None:
                    return False
                connection.execute(insert(table).values(row))
        except IntegrityError:
            return False
        return True
