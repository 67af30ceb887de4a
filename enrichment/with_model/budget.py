"""How much a run may ask of the model, how fast, and how often it tries."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from threading import Lock, Semaphore
from typing import TypeVar

from pydantic import BaseModel

from config.errors import InvalidModelOutput, ModelUnavailable
from config.models import ChatModel, Prompt, Usage
from telemetry import metrics

Reply = TypeVar("Reply", bound=BaseModel)

CALLS = 20_000
TOKENS = 50_000_000
AT_ONCE = 8
PATIENCE_SECONDS = 600.0
"""That a model may refuse every request for their number before the run does without it."""
_FIRST_WAIT = 0.5
_LONGEST_WAIT = 20.0
_LONGEST_PAUSE = 60.0


class BudgetSpent(ModelUnavailable):
    """The run's limit is reached, or the model takes no more. The rest stays extractive until the
    next run."""


class Budget:
    """Shared by all threads of one run: limits, counts, and the only way to reach the model."""

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
        sleep: Callable[[float], None] = time.sleep,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """`dollars` counts where `cost` tells what tokens cost. `at_once`: requests in flight;
        `per_minute`: requests begun, 0 for any number. `attempts` per request; `sleep` waits
        between them (seconds, doubling, with jitter)."""
        self.at_once = at_once
        self._calls = calls
        self._tokens = tokens
        self._dollars = dollars
        self._cost = cost
        self._apart = 60.0 / per_minute if per_minute else 0.0
        self._attempts = attempts
        self._sleep = sleep
        self._now = now
        self._lock = Lock()
        self._slots = Semaphore(at_once)
        self._started = 0
        self._usage = Usage()
        self._next_start = float("-inf")
        self._paused_until = float("-inf")
        self._refused_since: float | None = None
        self._refusals = 0

    @property
    def usage(self) -> Usage:
        with self._lock:
            return self._usage

    def ask(self, model: ChatModel, prompt: Prompt, reply: type[Reply]) -> Reply:
        """Raises ModelUnavailable after the last attempt, BudgetSpent, or InvalidModelOutput."""
        failures = 0
        while True:
            try:
                return self._once(model, prompt, reply)
            except BudgetSpent:
                raise
            except ModelUnavailable as error:
                if error.kind == "rate_limited":
                    self._pause(error.retry_after)
                    continue
                failures += 1
                if failures >= self._attempts:
                    raise
                wait = min(_LONGEST_WAIT, _FIRST_WAIT * 2 ** (failures - 1))
                self._sleep(wait * random.uniform(0.75, 1.25))  # noqa: S311  jitter

    def _once(self, model: ChatModel, prompt: Prompt, reply: type[Reply]) -> Reply:
        with self._slots:
            self._start()
            try:
                answered, usage = model.structured(prompt, reply)
            except (ModelUnavailable, InvalidModelOutput) as error:
                self._count(Usage(calls=1), outcome=error.kind)
                raise
            self._count(usage, outcome="ok")
            self._refused_since, self._refusals = None, 0
            return answered

    def _start(self) -> None:
        """Waits for its turn. Raises BudgetSpent."""
        with self._lock:
            self._check()
            self._started += 1
            now = self._now()
            turn = max(now, self._next_start, self._paused_until)
            self._next_start = turn + self._apart
        if turn > now:
            self._sleep(turn - now)

    def _check(self) -> None:
        used = self._usage.input_tokens + self._usage.output_tokens
        cost = self._cost(self._usage) if self._cost else 0.0
        if (
            self._started >= self._calls
            or used >= self._tokens
            or (self._dollars is not None and cost >= self._dollars)
        ):
            spent = f"{self._usage.calls} calls, {used} tokens"
            raise BudgetSpent(
                f"the run's budget is spent ({spent}{f', {cost:.2f} dollars' if cost else ''})",
                remedy="the next run carries on where this one stopped",
            )
        since = self._refused_since
        if since is not None and self._now() - since > PATIENCE_SECONDS:
            raise BudgetSpent(
                f"the model refused every request for {PATIENCE_SECONDS / 60:.0f} minutes",
                remedy="the next run carries on; ask for a higher limit, or set "
                "ONCALL_ENRICH_PER_MINUTE below it",
            )

    def _pause(self, asked: float | None) -> None:
        """Everybody's next request waits: who goes on only makes it longer."""
        with self._lock:
            now = self._now()
            if self._refused_since is None:
                self._refused_since = now
            if now >= self._paused_until:  # the others that were in flight tell nothing new
                self._refusals += 1
                grown = min(_LONGEST_PAUSE, 2.0**self._refusals)
                self._paused_until = now + max(asked or 0.0, grown)

    def _count(self, usage: Usage, *, outcome: str) -> None:
        metrics.INGEST_MODEL_CALLS.labels(outcome).inc()
        with self._lock:
            self._usage += usage
