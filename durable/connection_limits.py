"""What all processes may open on a PostgreSQL server, against its limits, and who holds them up."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import structlog
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import ProgrammingError, SQLAlchemyError

from durable.connections import MIN_CONNECTIONS, is_behind_pooler
from durable.links import takes_writes

log = structlog.get_logger()

_SERVERS = "max_connections"
_NAME = re.compile(r"oncall (?P<process>(?:bot|jobs|serve) [0-9a-f]{6})/(?P<budget>\d+)")
"""How a connection is named in `pg_stat_activity`: the command, the process, its budget."""
_OPEN = f"""
WITH limits AS (
    SELECT '{_SERVERS}' AS name, NULL::oid AS role, NULL::oid AS base,
        current_setting('max_connections')::int
        - current_setting('superuser_reserved_connections')::int
        - coalesce(current_setting('reserved_connections', true)::int, 0) AS allowed
    UNION ALL
    SELECT 'the CONNECTION LIMIT of role ' || rolname, oid, NULL, rolconnlimit
    FROM pg_roles WHERE rolname = session_user AND rolconnlimit >= 0 AND NOT rolsuper
    UNION ALL
    SELECT 'the CONNECTION LIMIT of database ' || datname, NULL, d.oid, datconnlimit
    FROM pg_database d JOIN pg_roles r ON r.rolname = session_user
    WHERE datname = current_database() AND datconnlimit >= 0 AND NOT rolsuper
)
SELECT name, allowed, coalesce(application_name, ''), count(*)
FROM limits JOIN pg_stat_activity ON usesysid = coalesce(role, usesysid)
    AND datid = coalesce(base, datid)
    AND coalesce(backend_type, 'client backend') = 'client backend'
GROUP BY 1, 2, 3
"""  # noqa: S608 - a constant
"""Without the right to see others' sessions, their names and types are null."""


@dataclass(frozen=True, kw_only=True)
class ConnectionSum:
    """What processes may open within one limit of connections."""

    limit: str = _SERVERS
    """What sets it."""
    allowed: int
    """Without those reserved for superusers."""
    processes: Mapping[str, int]
    """Bot, runner or API server → its budget, or what it has open if that is more."""
    others: int
    """Connections of other programs and commands now."""
    free: int
    """Connections that can be opened now."""

    @property
    def needed(self) -> int:
        return sum(self.processes.values()) + self.others

    def problem(self) -> tuple[str, str] | None:
        """One line and its remedy; None when all fit."""
        if self.needed <= self.allowed:
            return None
        each = (self.allowed - self.others) // max(1, len(self.processes))
        fits = self.processes and each >= MIN_CONNECTIONS
        less = f", or set ONCALL_DATABASE_CONNECTIONS to {each}" if fits else ""
        return f"{self}", f"raise {self.limit} by {self.needed - self.allowed} or more{less}"

    def __str__(self) -> str:
        by = "" if self.limit == _SERVERS else f" by {self.limit}"
        count = len(self.processes)
        return (
            f"the database allows {self.allowed} connections{by}, and {count} "
            f"process{'' if count == 1 else 'es'} may open {self.needed - self.others}, besides "
            f"{self.others} of other programs"
        )


def warn_of_connections(engine: Engine) -> None:
    """Log the problem of the sum, if there is one; for the start of a process that stays."""
    with suppress(SQLAlchemyError):  # whatever needs the database next reports it
        if (total := connection_sum(engine)) and (problem := total.problem()):
            log.warning(
                "processes may open more connections than the database allows",
                allowed=total.allowed,
                limit=total.limit,
                needed=total.needed,
                processes=len(total.processes),
                others=total.others,
                remedy=problem[1],
            )


def free_connections(connection: Connection) -> float:
    """Connections that can be opened now; NaN on SQLite, and where the server doesn't say."""
    return float(min((one.free for one in _sums(connection)), default="nan"))


def accepts_writes(engine: Engine) -> bool:
    """False for a PostgreSQL that is a standby, or set to read only."""
    if engine.dialect.name != "postgresql":
        return True
    with engine.connect() as connection:
        return takes_writes(connection.connection.driver_connection)


@dataclass(frozen=True, kw_only=True)
class Blocker:
    """A session that others of this database wait for."""

    pid: int
    name: str
    state: str
    seconds: float
    """Since its transaction began."""
    waiting: int

    def __str__(self) -> str:
        return (
            f"{self.name or 'a session'} (pid {self.pid}) holds a lock that others wait for "
            f"({self.waiting}): {self.state}, its transaction is {self.seconds:.0f} s old"
        )


_BLOCKERS = """
SELECT b.pid, coalesce(b.application_name, ''), coalesce(b.state, 'busy'),
    coalesce(extract(epoch FROM now() - b.xact_start), 0)::float, count(*)
FROM pg_stat_activity w
CROSS JOIN LATERAL (SELECT DISTINCT unnest(pg_blocking_pids(w.pid)) AS pid) AS by
JOIN pg_stat_activity b ON b.pid = by.pid
WHERE w.wait_event_type = 'Lock' AND w.datname = current_database()
    AND w.query_start < now() - make_interval(secs => :seconds) AND pg_blocking_pids(b.pid) = '{}'
GROUP BY 1, 2, 3, 4 ORDER BY 5 DESC
"""


def blockers(engine: Engine, *, seconds: float = 2.0) -> list[Blocker]:
    """Sessions for whose locks others have waited so long, worst first; none on SQLite, and where
    the server doesn't say."""
    with engine.connect() as connection:
        rows = _rows(connection, _BLOCKERS, seconds=seconds)
    names = ("pid", "name", "state", "seconds", "waiting")
    return [Blocker(**dict(zip(names, row, strict=True))) for row in rows]


def connection_sum(engine: Engine) -> ConnectionSum | None:
    """Of the limit that leaves the least. None on SQLite, behind a pooler, which has limits of its
    own, and where the server doesn't say."""
    if is_behind_pooler(engine):
        return None
    with engine.connect() as connection:
        sums = _sums(connection)
    return min(sums, key=lambda one: one.allowed - one.needed, default=None)


def _sums(connection: Connection) -> Sequence[ConnectionSum]:
    """For each limit."""
    names: dict[tuple[str, int], list[tuple[str, int]]] = defaultdict(list)
    for limit, allowed, name, count in _rows(connection, _OPEN):
        names[limit, allowed].append((name, count))
    return [_sum_of(limit, allowed, open_now) for (limit, allowed), open_now in names.items()]


def _rows(connection: Connection, query: str, **values: object) -> Sequence[Any]:
    """None on SQLite, and where the server hides what is asked, as a managed one may."""
    if connection.dialect.name != "postgresql":
        return ()
    try:
        return connection.execute(text(query), values).all()
    except ProgrammingError:
        return ()


def _sum_of(limit: str, allowed: int, names: Sequence[tuple[str, int]]) -> ConnectionSum:
    """`names`: of connections, with their numbers."""
    open_now: Counter[str] = Counter()
    budgets: dict[str, int] = {}
    for name, count in names:
        match = _NAME.fullmatch(name)
        process = match["process"] if match else ""
        open_now[process] += count
        if match:
            budgets[process] = int(match["budget"])
    return ConnectionSum(
        limit=limit,
        allowed=allowed,
        processes={one: max(budget, open_now[one]) for one, budget in budgets.items()},
        others=open_now[""],
        free=max(0, allowed - open_now.total()),
    )
