"""What the first question would wait for, loaded before anyone asks.

What a bot's inbox sees to once a day, for a server of the API beside which there may be none."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

import structlog

log = structlog.get_logger()

LOOK_SECONDS = 900.0


class DailyPurge:
    """`start` and `stop` are those of a server's lifespan."""

    def __init__(self, purge: Callable[[], object], *, look_seconds: float = LOOK_SECONDS) -> None:
        """`purge` does nothing where it was done today, by whatever process."""
        self._purge = purge
        self._look_seconds = look_seconds
        self._stopping = threading.Event()

    def start(self) -> None:
        """Returns at once; the first look is at once, too, after a night in which nothing ran."""
        threading.Thread(target=self._run, name="daily-purge", daemon=True).start()

    def stop(self) -> None:
        """A purge that has begun ends with the process, and is then as if it had not."""
        self._stopping.set()

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._purge()
            except Exception as error:  # the next look tries again
                log.warning(
                    "what was kept for long enough is still there", cause=type(error).__name__
                )
            self._stopping.wait(self._look_seconds)


AGAIN_SECONDS = 5.0

Warm = Callable[[], Mapping[str, str]]
"""Loads all that it can; the domains that can't be answered from although they are published, each
with the reason."""


class Warming:
    """Runs in the background, while what is asked is already being stored, until all is warm.

    `start` and `stop` are those of a server's lifespan."""

    def __init__(self, warm: Warm | None, *, again_seconds: float = AGAIN_SECONDS) -> None:
        """`warm` of None: there is nothing to load. What stays cold is tried again."""
        self._again_seconds = again_seconds
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
        """A thread that still loads ends with the process."""
        self._stopping.set()

    def missing(self) -> dict[str, str]:
        """As in `telemetry.health.Watched`."""
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
                # What is not loaded now loads with the first question, which says what is wrong.
                log.exception("the agents could not be warmed")
                self._cold = {}
            if not self._cold:
                self._warmed.set()
                return
            if self._cold != before:
                log.warning("published domains can't be answered from", domains=dict(self._cold))
            self._stopping.wait(self._again_seconds)
