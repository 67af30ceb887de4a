"""Background threads of a server: loading what answers need, and the daily purge."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

import structlog

log = structlog.get_logger()

PURGE_SECONDS = 900.0


class DailyPurge:
    """For an API server without a bot, whose inbox would otherwise purge.

    `start` and `stop` are called by the server's lifespan."""

    def __init__(
        self, purge: Callable[[], object], *, pause_seconds: float = PURGE_SECONDS
    ) -> None:
        """`purge` does nothing when any process has purged today."""
        self._purge = purge
        self._pause_seconds = pause_seconds
        self._stopping = threading.Event()

    def start(self) -> None:
        """Returns at once; the first purge begins immediately."""
        threading.Thread(target=self._run, name="daily-purge", daemon=True).start()

    def stop(self) -> None:
        """A running purge ends with the process and is rolled back."""
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
    """Loads in the background; meanwhile questions are already stored.

    `start` and `stop` are called by the server's lifespan."""

    def __init__(self, warm: Warm | None, *, retry_seconds: float = RETRY_SECONDS) -> None:
        """`warm`: None when there is nothing to load. Failed domains are retried."""
        self._retry_seconds = retry_seconds
        self._warm = warm
        self._is_loaded = threading.Event()
        self._stopping = threading.Event()
        self._failed: Mapping[str, str] = {}

    def start(self) -> None:
        """Returns at once."""
        if self._warm is None:
            self._is_loaded.set()
            return
        threading.Thread(target=self._run, args=(self._warm,), name="warm", daemon=True).start()

    def stop(self) -> None:
        """A running load ends with the process."""
        self._stopping.set()

    def missing(self) -> dict[str, str]:
        """As in `telemetry.health.HealthSource`."""
        if self._is_loaded.is_set():
            return {}
        if self._failed:
            return {"index": f"{len(self._failed)} published domains can't be answered from"}
        return {"warming": "warming"}

    def observe(self) -> None:
        """It has no gauges."""

    def _run(self, warm: Warm) -> None:
        while not self._stopping.is_set():
            before = self._failed
            try:
                self._failed = warm()
            except Exception:
                # The first question loads the rest, and reports what is wrong.
                log.exception("the agents could not be warmed")
                self._failed = {}
            if not self._failed:
                self._is_loaded.set()
                return
            if self._failed != before:
                log.warning("published domains can't be answered from", domains=dict(self._failed))
            self._stopping.wait(self._retry_seconds)
