"""Background threads of a server: loading what answers need, and the daily purge."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

import structlog

log = structlog.get_logger()

PURGE_SECONDS = 900.0


class DailyPurge:
    """For a server of the API that runs without a bot, whose inbox would purge.

    `start` and `stop` are those of a server's lifespan."""

    def __init__(
        self, purge: Callable[[], object], *, pause_seconds: float = PURGE_SECONDS
    ) -> None:
        """`purge` does nothing when any process has purged today."""
        self._purge = purge
        self._pause_seconds = pause_seconds
        self._stopping = threading.Event()

    def start(self) -> None:
        """Returns at once. The first purge follows at once, too."""
        threading.Thread(target=self._run, name="daily-purge", daemon=True).start()

    def stop(self) -> None:
        """A purge that is running ends with the process and is rolled back."""
        self._stopping.set()

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._purge()
            except Exception as error:  # tried again after a pause
                log.warning("retention purge failed", cause=type(error).__name__)
            self._stopping.wait(self._pause_seconds)


RETRY_SECONDS = 5.0

Warm = Callable[[], Mapping[str, str]]
"""Loads all domains. Returns published ones that failed to load, each with the reason."""


class Warming:
    """Loads in the background until all is warm; meanwhile questions are stored already.

    `start` and `stop` are those of a server's lifespan."""

    def __init__(self, warm: Warm | None, *, retry_seconds: float = RETRY_SECONDS) -> None:
        """`warm` of None: there is nothing to load. Domains that failed are tried again."""
        self._retry_seconds = retry_seconds
        self._warm = warm
        self._warmed = threading.Event()
        self._stopping = threading.Event()
        self._cold: Mapping[str, str] = {}

    def start(self) -> None:
        """Returns at once."""
        if self._warm is None:
            self._warmed.set()
            return
        threading.Thread(target=self._run, args=(self._warm,), name="warm", daemon=True).start()

    def stop(self) -> None:
        """A running load ends with the process."""
        self._stopping.set()

    def missing(self) -> dict[str, str]:
        """As in `telemetry.health.HealthSource`."""
        if self._warmed.is_set():
            return {}
        if self._cold:
            return {"index": f"{len(self._cold)} published domains can't be answered from"}
        return {"warming": "warming"}

    def observe(self) -> None:
        """It has no gauges."""

    def _run(self, warm: Warm) -> None:
        while not self._stopping.is_set():
            before = self._cold
            try:
                self._cold = warm()
            except Exception:
                # The first question loads the rest, and reports what is wrong.
                log.exception("the agents could not be warmed")
                self._cold = {}
            if not self._cold:
                self._warmed.set()
                return
            if self._cold != before:
                log.warning("published domains can't be answered from", domains=dict(self._cold))
            self._stopping.wait(self._retry_seconds)
