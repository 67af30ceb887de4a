"""What it means that a database or a disk fails: what, where and the remedy, in one line."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from sqlalchemy.exc import DBAPIError

from config.errors import StorageFailed

NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_PRIMARY = 0xFF
"""The lower bits of SQLite's extended codes: https://www.sqlite.org/rescode.html"""
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_ON_THE_WAY = {sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN}
"""What SQLite says of a disk without room, too, when it makes a file beside the database."""
_SPARE_BYTES = 64 * 1024
"""Less than this is no room: SQLite's smallest file beside a database takes half of it."""


def storage_failure(error: BaseException, files: Iterable[Path] = ()) -> StorageFailed | None:
    """None for what is no failure of a database or a disk. `files`: those that it may be about;
    the damaged one among them is found by looking."""
    for cause in _causes(error):
        if isinstance(cause, sqlite3.Error):
            return _of_sqlite(cause, [file for file in files if file.is_file()])
        if isinstance(cause, OSError) and cause.errno in NO_ROOM:
            return _no_room(Path(str(cause.filename)) if cause.filename else None)
        if isinstance(cause, DBAPIError) and cause.connection_invalidated:
            return StorageFailed(
                "the database broke off the connection", remedy="see whether it is up, and go on"
            )
    return None


@contextmanager
def told_plainly(files: Iterable[Path]) -> Iterator[None]:
    """What fails inside for its storage is raised as StorageFailed."""
    try:
        yield
    except Exception as error:
        if failure := storage_failure(error, files):
            raise failure from error
        raise


def databases_in(folder: Path) -> list[Path]:
    return [*folder.glob("*.db"), *folder.glob("*.sqlite")]


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    following: BaseException | None = error
    while following is not None and id(following) not in seen:
        seen.add(id(following))
        yield following
        original = getattr(following, "orig", None)
        following = original or following.__cause__ or following.__context__


def _of_sqlite(error: sqlite3.Error, files: list[Path]) -> StorageFailed | None:
    code = getattr(error, "sqlite_errorcode", 0) & _PRIMARY
    where = files[0].parent if files else None
    if code in _DAMAGED:
        return _damaged(next(filter(_is_damaged, files), None) or (files[0] if files else None))
    if code == sqlite3.SQLITE_FULL or (code in _ON_THE_WAY and where and _is_full(where)):
        return _no_room(where)
    if code in _ON_THE_WAY or code in {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM}:
        return StorageFailed(
            f"{files[0] if files else 'the database'} can't be read or written: {error}",
            remedy="look at its owner and mode, and at the disk",
        )
    if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
        return StorageFailed(
            f"{files[0] if files else 'the database'} is kept busy by another process",
            remedy="wait for it, or set DATABASE_URL to PostgreSQL, where many write at once",
        )
    return None


def _damaged(file: Path | None) -> StorageFailed:
    return StorageFailed(
        f"the database {file or ''} is damaged".replace("  ", " "),
        remedy="stop what uses it and restore a backup, as docs/operations/backup-and-restore.md "
        "says; `sqlite3 FILE .recover` saves what can be read",
    )


def _no_room(where: Path | None) -> StorageFailed:
    return StorageFailed(
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
