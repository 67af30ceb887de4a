"""How much a run may ask of the model, and how often it tries."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from threading import Lock, Semaphore
from typing import TypeVar

from pydantic import BaseModel

from config.errors import InvalidModelOutput, ModelUnavailable
from config.models import ChatModel, Prompt, Usage

Reply = TypeVar("Reply", bound=BaseModel)

_FIRST_WAIT = 0.5
_LONGEST_WAIT = 20.0


class BudgetSpent(ModelUnavailable):
    """The run's limit of calls or tokens is reached. The rest stays extractive until the next."""


class Budget:
    """Shared by all threads of one run: limits, counts, and the only way to reach the model."""

    def __init__(
        self,
        *,
        calls: int = 2_000,
        tokens: int = 5_000_000,
        concurrency: int = 4,
        attempts: int = 4,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """`attempts` per request; `sleep` waits between them (seconds, doubling, with jitter)."""
        self._calls = calls
        self._tokens = tokens
        self._attempts = attempts
        self._sleep = sleep
        self._lock = Lock()
        self._slots = Semaphore(concurrency)
        self._started = 0
        self._usage = Usage()

    @property
    def usage(self) -> Usage:
        with self._lock:
            return self._usage

    def ask(self, model: ChatModel, prompt: Prompt, reply: type[Reply]) -> Reply:
        """Raises ModelUnavailable after the last attempt, BudgetSpent, or InvalidModelOutput."""
        for attempt in range(self._attempts):
            try:
                return self._once(model, prompt, reply)
            except BudgetSpent:
                raise
            except ModelUnavailable:
                if attempt + 1 == self._attempts:
                    raise
                wait = min(_LONGEST_WAIT, _FIRST_WAIT * 2**attempt)
                self._sleep(wait * random.uniform(0.75, 1.25))  # noqa: S311  jitter
        raise ModelUnavailable(f"{prompt.name!r} was never asked", remedy="allow an attempt")

    def _once(self, model: ChatModel, prompt: Prompt, reply: type[Reply]) -> Reply:
        with self._slots:
            self._start()
            try:
                answered, usage = model.structured(prompt, reply)
            except (ModelUnavailable, InvalidModelOutput):
                self._count(Usage(calls=1))
                raise
            self._count(usage)
            return answered

    def _start(self) -> None:
        with self._lock:
            spent = self._usage.input_tokens + self._usage.output_tokens
            if self._started >= self._calls or spent >= self._tokens:
                raise BudgetSpent(
                    f"the run's budget is spent ({self._usage.calls} calls, {spent} tokens)",
                    remedy="the next run carries on where this one stopped",
                )
            self._started += 1

    def _count(self, usage: Usage) -> None:
        with self._lock:
            self._usage += usage
