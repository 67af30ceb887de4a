"""What the first question would wait for, loaded before anyone asks."""

from __future__ import annotations

import threading
from collections.abc import Callable

import structlog

log = structlog.get_logger()


class Warming:
    """Runs once, in the background, while what is asked is already being stored.

    `start` and `stop` are those of a server's lifespan, and it is `Watched` where there is no
    bot."""

    def __init__(self, warm: Callable[[], None] | None) -> None:
        """None: there is nothing to load."""
        self._warm = warm
        self._warmed = threading.Event()

    def start(self) -> None:
        """Returns at once."""
        if self._warm is None:
            self._warmed.set()
            return
        threading.Thread(target=self._run, args=(self._warm,), name="warm", daemon=True).start()

    def stop(self) -> None:
        """Nothing to undo; a thread that still loads ends with the process."""

    def missing(self) -> str:
        return "" if self._warmed.is_set() else "warming"

    def backlog(self) -> int:
        """It holds no questions."""
        return 0

    def _run(self, warm: Callable[[], None]) -> None:
        try:
            warm()
        except Exception:
            # What is not loaded now loads with the first question, which says what is wrong.
            log.exception("the agents could not be warmed")
        finally:
            self._warmed.set()
