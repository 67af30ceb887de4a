"""Planned runs that take down every runner: how often one began, so that it is given up in the end.

A document that does so is set aside after fewer deaths, and the run gets through without it."""

from __future__ import annotations

from sqlalchemy import Column, Engine, Integer, MetaData, String, Table, delete, insert, update
from sqlalchemy.exc import IntegrityError

from durable.migration import migrate

MOST_DEATHS = 6

_METADATA = MetaData()
_BEGUN = Table(
    "ingest_begun",
    _METADATA,
    Column("run", String(200), primary_key=True),
    Column("times", Integer, nullable=False),
)


class BegunRuns:
    """Thread-safe; raises what the database raises."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def begin(self, run: str) -> int:
        """How many processes died with this run before."""
        migrate(self._engine, _METADATA, "ingest-begun")
        mine = _BEGUN.c.run == run
        more = update(_BEGUN).where(mine).values(times=_BEGUN.c.times + 1)
        while True:
            with self._engine.begin() as connection:
                found = connection.execute(more.returning(_BEGUN.c.times)).scalar()
                if found is not None:
                    return int(found) - 1
            try:
                with self._engine.begin() as connection:
                    connection.execute(insert(_BEGUN).values(run=run, times=1))
                return 0
            except IntegrityError:
                continue  # another runner was faster

    def let_go(self, run: str) -> None:
        """Its process ends by intention: the next beginning is none after a death."""
        mine = _BEGUN.c.run == run
        with self._engine.begin() as connection:
            connection.execute(update(_BEGUN).where(mine).values(times=_BEGUN.c.times - 1))

    def end(self, run: str) -> None:
        with self._engine.begin() as connection:
            connection.execute(delete(_BEGUN).where(_BEGUN.c.run == run))
