"""The lock of a domain: one run at a time publishes it, on all machines."""

from __future__ import annotations

import fcntl
import hashlib
import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from sqlalchemy import Engine, text

from config.errors import AnotherRun
from durable.connections import autocommit, session_engine

POLL_SECONDS = 0.2


@contextmanager
def domain_lock(
    folder: Path,
    domain: str,
    engine: Engine,
    *,
    wait_seconds: float,
    on_wait: Callable[[str], None] = lambda _: None,
) -> Iterator[None]:
    """Holds the domain's lock. The system releases it when the process dies.

    Raises AnotherRun, which names the holder, after `wait_seconds`."""
    with ExitStack() as locks:
        deadline = time.monotonic() + wait_seconds
        warned = False
        while not _try(locks, folder, domain, engine):
            holder = _holder(folder)
            if time.monotonic() >= deadline:
                raise AnotherRun(
                    f"another run is publishing {domain!r}{holder}",
                    remedy="wait until it has finished, or stop it",
                )
            if not warned:
                on_wait(f"another run is publishing {domain!r}{holder}; waiting")
                warned = True
            time.sleep(POLL_SECONDS)
        yield


def _try(locks: ExitStack, folder: Path, domain: str, engine: Engine) -> bool:
    with ExitStack() as mine:
        folder.mkdir(parents=True, exist_ok=True)
        opened = mine.enter_context((folder / "lock").open("a+"))
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        if engine.dialect.name == "postgresql":
            # The file lock excludes processes on this machine, the database lock those on others.
            connection = mine.enter_context(autocommit(session_engine(engine)).connect())
            query = text("SELECT pg_try_advisory_lock(:number)")
            number = {"number": _lock_number(domain)}
            acquired = connection.scalar(query, number)
            if not acquired:
                return False
            release = text("SELECT pg_advisory_unlock(:number)")
            mine.callback(connection.execute, release, number)
        opened.truncate(0)
        opened.write(str(os.getpid()))
        opened.flush()
        locks.enter_context(mine.pop_all())
    return True


_HELD = text(
    "SELECT EXISTS (SELECT FROM pg_locks JOIN pg_database ON oid = database WHERE granted"
    " AND locktype = 'advisory' AND objsubid = 1 AND datname = current_database()"
    " AND (classid::bigint << 32) | objid::bigint = :number)"
)


def is_locked(folder: Path, domain: str, engine: Engine) -> bool:
    """Whether somebody holds the domain's lock; on PostgreSQL, on any machine."""
    if engine.dialect.name == "postgresql":
        with engine.connect() as connection:
            return bool(connection.scalar(_HELD, {"number": _lock_number(domain)}))
    try:
        with (folder / "lock").open() as opened:
            fcntl.flock(opened, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def _lock_number(domain: str) -> int:
    return int.from_bytes(hashlib.sha256(domain.encode()).digest()[:8], signed=True)


def _holder(folder: Path) -> str:
    try:
        number = (folder / "lock").read_text("ascii").strip()
    except OSError:
        return ""
    return f" (process {number})" if number else ""
