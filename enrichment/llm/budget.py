"""Limits of a run's model requests: number, tokens, dollars, rate and retries."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Lock, Semaphore
from typing import Any, ClassVar, Self

import structlog

from config.errors import InvalidModelOutput, ModelFailure, ModelUnavailable
from config.models import ChatModel, Prompt, Reply, Usage, lost_usage
from enrichment.llm.ledger import PATIENCE_SECONDS, Ledger, LocalLedger, ModelPace
from telemetry import metrics

log = structlog.get_logger()

CALLS = 20_000
TOKENS = 50_000_000
AT_ONCE = 8
_AWAY = frozenset[ModelFailure]({"rate_limited", "unreachable"})
"""Failures that no request causes: they use up no attempt, and all requests wait."""
_SET_UP_WRONGLY = frozenset[ModelFailure]({"unreachable", "refused", "not_found"})
"""Failures that suggest a wrong address, key or name while the model has never answered."""
_FIRST_PATIENCE_SECONDS = 60.0
"""Replaces `PATIENCE_SECONDS` until the model has answered once: someone may be waiting."""
_FIRST_WAIT = 2.0
_MAX_WAIT = 20.0


class RunReport:
    """Base of dataclasses that count over one run; the counts of its documents add up."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    def add(self, other: Self) -> None:
        for name in self.__dataclass_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


class BudgetSpent(ModelUnavailable):
    """The run's limit is reached, or the model accepts no requests. The rest stays extractive until
    the next run."""


class Budget:
    """Sends all model requests of a run, within its limits. Shared by the run's threads."""

    def __init__(
        self,
        *,
        calls: int = CALLS,
        tokens: int = TOKENS,
        dollars: float | None = None,
        cost: Callable[[Usage], float] | None = None,
        at_once: int = AT_ONCE,
        per_minute: int = 0,
        attempts: int = 4,
        sleep: Callable[[float], object] | None = None,
        ledger: Ledger | None = None,
        variable: str = "ONCALL_CHAT_MODEL",
    ) -> None:
        """`dollars` applies only with `cost`, the price of a usage. `at_once`: concurrent requests
        of this process. `per_minute`: requests started, 0 for no limit. `attempts` per request;
        `sleep` waits between them (seconds, doubling, with jitter). `ledger`: counts for all that
        share the budget; each process may exceed it by one request. `variable`: the setting that
        names the model, for the error when it can't be reached."""
        self.at_once = at_once
        self._calls = calls
        self._tokens = tokens
        self._dollars = dollars
        self._cost = cost
        self._apart = 60.0 / per_minute if per_minute else 0.0
        self._attempts = attempts
        self._leaving = Event()
        self._sleep = sleep or self._leaving.wait
        self.ledger = self._ledger = ledger or LocalLedger()
        self._variable = variable
        self._began = self._ledger.now()
        self._lock = Lock()
        self._slots = Semaphore(at_once)
        self._is_there = self._has_told = False

    @property
    def usage(self) -> Usage:
        return self._ledger.spent().usage

    @contextmanager
    def let_go(self) -> Iterator[None]:
        """Inside the block no request waits or starts: `ask` raises BudgetSpent. Requests in flight
        finish."""
        self._leaving.set()
        try:
            yield
        finally:
            self._leaving.clear()

    def ask(self, model: ChatModel, prompt: Prompt, reply: type[Reply]) -> Reply:
        """Raises ModelUnavailable after the last attempt, BudgetSpent, or InvalidModelOutput."""
        failures = 0
        while True:
            try:
                return self._once(model, prompt, reply)
            except BudgetSpent as error:
                self._tell(error)
                raise
            except ModelUnavailable as error:
                if error.kind in _AWAY:
                    self._pause(error)
                    continue
                self._ledger.change_pace(lambda pace: pace.failed(self._ledger.now()))
                failures += 1
                if failures >= self._attempts:
                    raise
                wait = min(_MAX_WAIT, _FIRST_WAIT * 2 ** (failures - 1))
                self._sleep(wait * random.uniform(0.75, 1.25))  # noqa: S311  jitter

    def _once(self, model: ChatModel, prompt: Prompt, reply: type[Reply]) -> Reply:
        with self._slots:
            was_refused = self._start()
            if self._leaving.is_set():
                raise BudgetSpent("the run was stopped")
            try:
                with lost_usage() as lost:
                    answered, usage = model.structured(prompt, reply)
            except (ModelUnavailable, InvalidModelOutput) as error:
                self._count(lost.usage if lost.parts else Usage(calls=1), outcome=error.kind)
                self._is_there = self._is_there or error.kind not in _SET_UP_WRONGLY
                raise
            self._is_there = True
            self._count(usage, outcome="ok")
            if was_refused:
                self._ledger.change_pace(ModelPace.answered)
            return answered

    def _start(self) -> bool:
        """Wait for this request's turn. Returns whether earlier requests are unanswered. Raises
        BudgetSpent."""
        turns: list[float] = []

        def begun(pace: ModelPace) -> ModelPace:
            after, turn = pace.with_request(now, self._apart)
            turns.append(turn)
            return after

        with self._lock:
            pace = self._check()
            now = self._ledger.now()
            self._ledger.spend(1, Usage())
            self._ledger.change_pace(begun)
        if turns[-1] > now:
            self._sleep(turns[-1] - now)
        return pace.refused_since is not None

    def _check(self) -> ModelPace:
        spent, pace = self._ledger.spent(), self._ledger.pace()
        used = spent.usage.input_tokens + spent.usage.output_tokens
        cost = self._cost(spent.usage) if self._cost else 0.0
        if (
            spent.started >= self._calls
            or used >= self._tokens
            or (self._dollars is not None and cost >= self._dollars)
        ):
            usage = f"{spent.usage.calls} calls, {used} tokens"
            raise BudgetSpent(
                f"the run's budget is spent ({usage}{f', {cost:.2f} dollars' if cost else ''})",
                remedy="the next run carries on where this one stopped",
            )
        # Refusals of other runs before this one began are no reason not to try.
        if pace.unanswered(self._began) > self._patience:
            if not self._is_there:
                raise BudgetSpent(
                    "the model can't be reached, or refuses",
                    remedy=f"check {self._variable}, its server's address and its key; the next "
                    "run carries on",
                )
            raise BudgetSpent(
                f"the model answered no request for {self._patience / 60:.0f} minutes",
                remedy="the next run carries on; where its provider limits requests, ask for more "
                "or set ONCALL_ENRICH_PER_MINUTE below the limit",
            )
        return pace

    def _tell(self, error: BudgetSpent) -> None:
        """Log it once per run: every document without the model raises it."""
        with self._lock:
            has_told, self._has_told = self._has_told, True
        if not has_told and not self._leaving.is_set():
            log.warning("documents are enriched without the chat model", reason=str(error))

    @property
    def _patience(self) -> float:
        return PATIENCE_SECONDS if self._is_there else _FIRST_PATIENCE_SECONDS

    def _pause(self, error: ModelUnavailable) -> None:
        now, before = self._ledger.now(), list[ModelPace]()

        def refused(pace: ModelPace) -> ModelPace:
            before.append(pace)
            return pace.refused(now, error.retry_after or 0.0)

        self._ledger.change_pace(refused)
        if not before[-1].refusals:
            log.warning(
                "the chat model refuses requests; documents wait for it",
                kind=error.kind,
                at_most_minutes=round(self._patience / 60),
            )

    def _count(self, usage: Usage, *, outcome: str) -> None:
        metrics.INGEST_MODEL_CALLS.labels(outcome).inc()
        self._ledger.spend(0, usage)
