"""What a bot's inbox sees to once a day, for a server of the API beside which there may be none."""

from __future__ import annotations

import threading
from collections.abc import Callable

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
