"""Whether the database answers, for a process that holds no lease on it."""

from __future__ import annotations

import threading
import time

import structlog
from sqlalchemy import Engine, text
from sqlalchemy.exc import SQLAlchemyError

log = structlog.get_logger()

LOOK_SECONDS = 2.0
LATE_LOOKS = 4
"""A look that hangs for so long is one that failed."""


class DatabaseWatch:
    """`start` and `stop` are those of a server's lifespan; `telemetry.health.Watched` besides."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._stopping = threading.Event()
        self._answered_at = time.monotonic()
        self._answers = True

    def start(self) -> None:
        """Returns at once."""
        threading.Thread(target=self._run, name="database-watch", daemon=True).start()

    def stop(self) -> None:
        """A look that hangs ends with the process."""
        self._stopping.set()

    def missing(self) -> dict[str, str]:
        """Asks nobody."""
        late = time.monotonic() - self._answered_at > LATE_LOOKS * LOOK_SECONDS
        return {} if self._answers and not late else {"database": "the database is away"}

    def observe(self) -> None:
        """It has no gauges."""

    def _run(self) -> None:
        while not self._stopping.wait(LOOK_SECONDS):
            answered = self._ask()
            if answered != self._answers:
                log.warning("the database is back" if answered else "lost the database")
            self._answers = answered
            if answered:
                self._answered_at = time.monotonic()

    def _ask(self) -> bool:
        try:
            with self._engine.connect() as connection:
                connection.execute(text("SELECT 1"))
        except (SQLAlchemyError, OSError):
            return False
        return True
