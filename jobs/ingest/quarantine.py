"""Quarantines documents that crash the process: retried alone, skipped after three crashes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from threading import Lock

from sqlalchemy import Engine, String, Text, select
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from config.errors import LoadError
from durable.database import replace_row
from durable.migration import migrate

MAX_DEATHS = 3


class _Base(DeclarativeBase):
    pass


class ProgressRow(_Base):
    __tablename__ = "ingest_progress"

    domain: Mapped[str] = mapped_column(String(63), primary_key=True)
    at_work: Mapped[str] = mapped_column(Text, comment="JSON: documents that are being read now")
    deaths: Mapped[str] = mapped_column(Text, comment="JSON: document → runs that ended with it")


class CrashSuspects:
    """Serves the single active run of one domain. Suspects are documents that were being read when
    an earlier run's process died. Thread-safe."""

    def __init__(self, engine: Engine, domain: str, *, pardon: bool = False) -> None:
        """`pardon`: forget earlier crashes."""
        self._engine = engine
        self._domain = domain
        self._lock = Lock()
        self._at_work: set[str] = set()
        migrate(engine, _Base.metadata, "ingest-progress")
        at_work, deaths = ((), {}) if pardon else self._left()
        self._deaths = {name: deaths.get(name, 0) + 1 for name in at_work} | {
            name: count for name, count in deaths.items() if name not in at_work
        }
        self._keep()

    def alone(self, names: Iterable[str]) -> list[str]:
        """Returns the suspects. The caller reads them last and one at a time."""
        return [name for name in names if name in self._deaths]

    def begin(self, name: str) -> None:
        """Raises LoadError for a quarantined document."""
        with self._lock:
            if (died := self._deaths.get(name, 0)) >= MAX_DEATHS:
                raise quarantined(name, died, self._domain)
            self._at_work.add(name)
            self._keep()

    def end(self, name: str) -> None:
        """Clear a document. The change is stored when the next one begins, or when none is left."""
        with self._lock:
            self._at_work.discard(name)
            if self._deaths.get(name, MAX_DEATHS) < MAX_DEATHS:
                del self._deaths[name]
            if not self._at_work:
                self._keep()

    def close(self) -> None:
        """Mark nothing as being read: the run ended without a crash."""
        with self._lock:
            self._at_work.clear()
            self._keep()

    def _left(self) -> tuple[list[str], Mapping[str, int]]:
        with self._engine.connect() as connection:
            row = connection.execute(select(ProgressRow).filter_by(domain=self._domain)).first()
        return (json.loads(row.at_work), json.loads(row.deaths)) if row else ([], {})

    def _keep(self) -> None:
        at_work, deaths = json.dumps(sorted(self._at_work)), json.dumps(self._deaths)
        with self._engine.begin() as connection:
            replace_row(
                connection, ProgressRow, domain=self._domain, at_work=at_work, deaths=deaths
            )


def quarantined(name: str, deaths: int, domain: str) -> LoadError:
    return LoadError(
        name,
        f"it is set aside: {deaths} processes died while they worked on it",
        remedy="see their logs (out of memory?), make it smaller or take it out, and run "
        f"`oncall ingest {domain} --full`, which tries it again",
    )
