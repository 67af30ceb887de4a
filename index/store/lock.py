"""One ingest run at a time for each domain, across threads, processes and machines."""

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
    """Hold the domain. The system frees it when the holder dies, however it dies.

    Raises AnotherRun that names the holder after `wait_seconds`."""
    with ExitStack() as held:
        deadline = time.monotonic() + wait_seconds
        told = False
        while not _try(held, folder, domain, engine):
            holder = _holder(folder)
            if time.monotonic() >= deadline:
                raise AnotherRun(
                    f"another run is publishing {domain!r}{holder}",
                    remedy="wait until it has finished, or stop it",
                )
            if not told:
                on_wait(f"another run is publishing {domain!r}{holder}; waiting")
                told = True
            time.sleep(POLL_SECONDS)
        yield


def _try(held: ExitStack, folder: Path, domain: str, engine: Engine) -> bool:
    with ExitStack() as mine:
        folder.mkdir(parents=True, exist_ok=True)
        opened = mine.enter_context((folder / "lock").open("a+"))
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        if engine.dialect.name == "postgresql":
            # The file keeps out this machine's processes, the database those of others.
            connection = mine.enter_context(engine.connect())
            number = int.from_bytes(hashlib.sha256(domain.encode()).digest()[:8], signed=True)
            query = text("SELECT pg_try_advisory_lock(:number)")
            taken = connection.scalar(query, {"number": number})
            connection.commit()
            if not taken:
                return False
            release = text("SELECT pg_advisory_unlock(:number)")
            mine.callback(connection.execute, release, {"number": number})
        opened.truncate(0)
        opened.write(str(os.getpid()))
        opened.flush()
        held.enter_context(mine.pop_all())
    return True


def _holder(folder: Path) -> str:
    try:
        number = (folder / "lock").read_text("ascii").strip()
    except OSError:
        return ""
    return f" (process {number})" if number else ""
