"""Errors of databases and disks in one line: what is away and passes by itself, and what is full or
damaged and needs somebody."""

from __future__ import annotations

import errno
import re
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as NoFreeConnection

from config.errors import CopilotError, DatabaseAway, DatabaseRefused, DiskFull, StorageFailed

NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_PRIMARY = 0xFF
"""The lower bits of SQLite's extended codes: https://www.sqlite.org/rescode.html"""
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_ON_THE_WAY = {sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN}
"""SQLite also reports these for a full disk, when it creates a file next to the database."""
_SPARE_BYTES = 64 * 1024
"""A disk with less free space counts as full: SQLite's smallest side file takes half of it."""


UNREACHABLE = "the database can't be reached"
REFUSED = "the database refuses this process: its user, password, database or TLS is wrong"
READ_ONLY = "the database takes no writes: it is a standby, or set to read only"
_AWAY = {
    "08": UNREACHABLE,
    "25006": READ_ONLY,
    "40": "the database was asked for the same by many at once",
    "53": "the database has no connection or memory left",
    "55P03": "the database is kept busy by others",
    "57014": "the database took too long",
    "57": "the database is stopping or starting",
}
"""What passes by itself: SQLSTATE, or its class, and what it means.
https://www.postgresql.org/docs/current/errcodes-appendix.html"""
_INCOMPLETE = {"3F000", "42501", "42703", "42P01"}
"""A schema, column or table is missing, or the right to use it."""
_NO_CONNECTION_LEFT = {
    "too many clients": "max_connections",
    "connection slots are reserved": "max_connections",
    "too many connections for role": "the role's CONNECTION LIMIT",
    "too many connections for database": "the database's CONNECTION LIMIT",
    "no more connections allowed": "the pooler's max_client_conn",
}
"""A server's or pooler's words, and what to raise. A connection that never came about has no
SQLSTATE."""
_REFUSAL = re.compile(
    "authentication failed|no password supplied|not permitted to log in|does not exist|pg_hba.conf"
    "|permission denied|does not support SSL|certificate",
    re.IGNORECASE,
)
"""A connection that never came about has no SQLSTATE, only the words of the server or of libpq."""
_BEFORE_WORDS = re.compile(
    r"(connection (failed|is bad): )?(connection to server (at|on) .*? failed: )?(FATAL: +)?"
)
REMEDY = "see docs/operations/runbooks.md, and try again"
_CORRECT = "correct DATABASE_URL, or the server's users and pg_hba.conf; then restart this process"


def cause_of(error: BaseException) -> str:
    """For the log: the text of our own errors; of others the type, as they may quote people."""
    if failure := storage_failure(error):
        return failure.problem
    return str(error) if isinstance(error, CopilotError) else type(error).__name__


def storage_failure(error: BaseException, files: Iterable[Path] = ()) -> StorageFailed | None:
    """The failure of a database or disk behind an error; None for any other error.

    A `DatabaseAway` passes by itself, all others need somebody. `files`: databases that it may
    concern. Each is checked to name the damaged one."""
    broken = False
    for cause in causes(error):
        if isinstance(cause, StorageFailed):
            return cause
        if isinstance(cause, NoFreeConnection):
            return DatabaseAway(
                "all connections of this process to the database are in use", remedy=REMEDY
            )
        if isinstance(cause, sqlite3.Error):
            return _of_sqlite(cause, [file for file in files if file.is_file()])
        if isinstance(cause, OSError) and cause.errno in NO_ROOM:
            return _no_room(Path(str(cause.filename)) if cause.filename else None)
        if isinstance(cause, DBAPIError):
            broken = broken or cause.connection_invalidated
        elif type(cause).__module__.partition(".")[0] == "psycopg":
            return _of_postgres(cause, broken=broken)
    return None


def passing_failure(error: BaseException) -> StorageFailed | None:
    """The failure of a database or disk that the work waits for; None for any other error."""
    failure = storage_failure(error)
    return failure if failure and failure.passes else None


def _of_postgres(error: BaseException, *, broken: bool) -> StorageFailed | None:
    """`error`: of psycopg, which takes long to import. `broken`: the connection is given up."""
    state = getattr(error, "sqlstate", None) or ""
    if state == "53100":
        return _no_room("the database's server")
    if state in {"58030", "58P01", "XX001", "XX002"}:
        return _damaged(None)
    if state in _INCOMPLETE:
        return _incomplete(error.diag.message_primary)  # type: ignore[attr-defined]
    if limit := _full_limit(state, str(error)):
        remedy = f"raise {limit}, or set ONCALL_DATABASE_CONNECTIONS lower"
        return DatabaseAway(_AWAY["53"], remedy=remedy)
    if why := _AWAY.get(state) or _AWAY.get(state[:2]):
        return DatabaseAway(why, remedy=REMEDY)
    if broken:
        return DatabaseAway("the database broke off the connection", remedy=REMEDY)
    if not state and "OperationalError" in (one.__name__ for one in type(error).__mro__):
        return _not_connected(str(error))
    return None


def _full_limit(state: str, words: str) -> str | None:
    """What to raise so that the server takes more connections; None for any other error."""
    if state not in {"", "53300"}:
        return None
    return next((limit for part, limit in _NO_CONNECTION_LEFT.items() if part in words), None)


def _not_connected(text: str) -> DatabaseAway:
    # Indented lines are advice for a server on the same machine.
    lines = [line for line in text.splitlines() if line[:1].strip()]
    words = _BEFORE_WORDS.sub("", "; ".join(lines), count=1)[:300]
    if _REFUSAL.search(words):
        return DatabaseRefused(REFUSED, remedy=_CORRECT, words=words)
    return DatabaseAway(UNREACHABLE, remedy=REMEDY, words=words)


@contextmanager
def told_plainly(files: Iterable[Path]) -> Iterator[None]:
    """Raises StorageFailed for storage failures inside the block; other errors pass unchanged."""
    try:
        yield
    except Exception as error:
        if failure := storage_failure(error, files):
            raise failure from error
        raise


def databases_in(folder: Path) -> list[Path]:
    return [*folder.glob("*.db"), *folder.glob("*.sqlite")]


def causes(error: BaseException) -> Iterator[BaseException]:
    """The error, then what caused it; our errors have the original as their cause."""
    ids: set[int] = set()
    following: BaseException | None = error
    while following is not None and id(following) not in ids:
        ids.add(id(following))
        yield following
        original = getattr(following, "orig", None)
        following = original or following.__cause__ or following.__context__


def _of_sqlite(error: sqlite3.Error, files: list[Path]) -> StorageFailed | None:
    code = getattr(error, "sqlite_errorcode", 0) & _PRIMARY
    where = files[0].parent if files else None
    if str(error).startswith("no such "):
        return _incomplete(str(error))
    if code in _DAMAGED:
        return _damaged(next(filter(_is_damaged, files), None) or (files[0] if files else None))
    if code == sqlite3.SQLITE_FULL or (code in _ON_THE_WAY and where and _is_full(where)):
        return _no_room(where)
    if code in _ON_THE_WAY or code in {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM}:
        return StorageFailed(
            f"{files[0] if files else 'the database'} can't be read or written: {error}",
            remedy="look at its owner and mode, and at the disk",
        )
    if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL}:
        return DatabaseAway(
            f"{files[0] if files else 'the database'} is kept busy by another process",
            remedy="wait for it, or set DATABASE_URL to PostgreSQL, where many write at once",
        )
    return None


def _incomplete(words: str) -> StorageFailed:
    """A backup that was restored in part, or a user without rights."""
    return StorageFailed(
        f"the database is incomplete: {words}",
        remedy="restore a whole backup, as docs/operations/backup-and-restore.md says, or grant "
        "its owner's rights to the user of DATABASE_URL",
    )


def _damaged(file: Path | None) -> StorageFailed:
    return StorageFailed(
        f"the database {file or ''} is damaged".replace("  ", " "),
        remedy="stop what uses it and restore a backup, as docs/operations/backup-and-restore.md "
        "says; `sqlite3 FILE .recover` saves what can be read",
    )


def _no_room(where: Path | str | None) -> StorageFailed:
    return DiskFull(
        f"the disk of {where} is full" if where else "the disk is full",
        remedy="make room, or give the volume more; what was published and asked is still there",
    )


def _is_full(folder: Path) -> bool:
    from shutil import disk_usage

    try:
        return disk_usage(folder).free < _SPARE_BYTES
    except OSError:
        return False


def _is_damaged(file: Path) -> bool:
    try:
        with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as connection:
            return bool(connection.execute("PRAGMA quick_check(1)").fetchone() != ("ok",))
    except sqlite3.Error as error:
        return getattr(error, "sqlite_errorcode", 0) & _PRIMARY in _DAMAGED
