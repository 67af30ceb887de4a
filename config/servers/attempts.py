"""Makes a call to a model's server until it succeeds, or says why it doesn't.

What the server refuses is replaced, temporary failures are retried, an outage costs one wait."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import NoReturn, TypeVar

import structlog

from config.errors import ModelError, ModelUnavailable
from config.model_failures import as_model_error, is_outage, status_of, wait_before_retry
from config.models import Prompt, model_time_left, waiting_for_model
from config.servers.capabilities import (
    LIFETIME,
    SUSPICION,
    Capabilities,
    Fallbacks,
    Feature,
    all_back,
    suspects,
    used,
)
from config.servers.refusals import refusal_of

log = structlog.get_logger()

T = TypeVar("T")

_FAIR_SECONDS = 10.0
"""A call that was given less time says nothing about the model when it gets no reply."""
_WARN_EVERY = 60.0
"""Seconds."""


@dataclass
class Attempts:
    """How the calls of one model are made."""

    model: str
    check_key: str
    """What the remedy names for a wrong key; `check`: for a wrong model or address."""
    check: str
    retries: int
    pause_seconds: float
    secrets: Callable[[], list[str]]
    """The client's keys."""
    capabilities: Capabilities
    _paused_until: float = 0.0
    _warned_at: dict[str, float] = field(default_factory=dict)

    def __call__(
        self, prompt: Prompt, call: Callable[[Fallbacks], T], features: Collection[Feature]
    ) -> T:
        """`features`: what the request uses, unless it is taken back. Raises ModelError."""
        with waiting_for_model():
            if time.monotonic() < self._paused_until:
                raise ModelUnavailable(
                    "the model did not respond a moment ago; not asked again yet", kind="paused"
                )
            return self._retried(prompt, call, features)

    def _retried(
        self, prompt: Prompt, call: Callable[[Fallbacks], T], features: Collection[Feature]
    ) -> T:
        failures, fallbacks, lifetime = 0, self.capabilities.fallbacks(), LIFETIME
        trials: Iterator[dict[Feature, int]] | None = None
        while True:
            left = model_time_left()
            try:
                result = call(fallbacks)
            except Exception as error:  # the one place that handles vendors' errors
                refused = refusal_of(error, used(features, fallbacks))
                if refused == "unnamed" and not self.capabilities.has(f"unexplained {features}"):
                    trials = trials or suspects(features, fallbacks)
                    if trial := next(trials, None):
                        fallbacks = trial
                        continue
                    self.capabilities.note(f"unexplained {features}", SUSPICION)
                elif refused and refused != "unnamed":
                    fallbacks = {**fallbacks, refused: fallbacks.get(refused, 0) + 1}
                    if "failed_generation" in str(error):  # this reply's fault, not the server's
                        lifetime = SUSPICION
                    log.info("a model's server refuses", model=self.model, what=refused)
                    continue
                wait = wait_before_retry(error, failures)
                failures += 1
                if wait is None or failures > self.retries:
                    self.fail(prompt, error, patient=left >= _FAIR_SECONDS)
                time.sleep(wait)
                if failures == self.retries and status_of(error) == 500:
                    # Some servers fail at what they should refuse.
                    fallbacks, lifetime = all_back(features, fallbacks), SUSPICION
            else:
                self.capabilities.learn(fallbacks, lifetime)
                return result

    def fail(self, prompt: Prompt, error: Exception, *, patient: bool = True) -> NoReturn:
        """Raises the ModelError that the error means."""
        if isinstance(error, ModelError):
            raise error
        failure = as_model_error(prompt, error, check_key=self.check_key, check=self.check)
        if is_outage(error) and (patient or failure.kind != "timeout"):
            self._paused_until = time.monotonic() + self.pause_seconds
        self._warn(failure)
        # A server may echo the key in its error; then the cause must not reach a log.
        leaks = any(key in repr(error) for key in self.secrets())
        raise failure from (None if leaks else error)

    def _warn(self, failure: ModelError) -> None:
        """Log why, for each kind of failure at most once a minute."""
        now = time.monotonic()
        if now - self._warned_at.get(failure.kind, float("-inf")) >= _WARN_EVERY:
            self._warned_at[failure.kind] = now
            log.warning(
                "a model call failed",
                model=self.model,
                reason=failure.kind,
                cause=failure.problem,
                remedy=failure.remedy,
            )
