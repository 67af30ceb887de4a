"""A full disk and a damaged database are told in one line: what, where, remedy."""

from __future__ import annotations

import errno
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Engine, create_engine, text
from sqlalchemy.exc import DBAPIError

from config.errors import DatabaseAway, StorageFailed
from config.settings import Settings
from durable.connections import postgres_engine
from durable.dbos_upkeep import Application
from durable.failures import databases_in, storage_failure
from durable.lease import FileLease
from durable.worker import DurableWorker
from index.store.database import open_database
from index.store.documents import Store
from tests.databases import postgresql_database

ROOT = Path(__file__).parents[2]
APPLICATION = Application(name="storage-test", format="1")


def database(file: Path, rows: int = 400) -> Path:
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("CREATE TABLE words (word TEXT)")
        connection.executemany("INSERT INTO words VALUES (?)", [("word" * 40,)] * rows)
    return file


def overwrite(file: Path, first: int = 0) -> None:
    content = file.read_bytes()
    file.write_bytes(content[:first] + bytes(byte ^ 0xFF for byte in content[first:]))


def failure_of(act: Callable[[], object], *files: Path) -> StorageFailed:
    with pytest.raises((DBAPIError, sqlite3.Error, OSError)) as caught:
        act()
    found = storage_failure(caught.value, files)
    assert found
    return found


@pytest.mark.parametrize("first", [0, 4096], ids=["from its first byte on", "behind its head"])
def test_of_several_databases_the_damaged_one_is_named(tmp_path: Path, first: int) -> None:
    database(tmp_path / "sound.sqlite")
    broken = database(tmp_path / "broken.db")
    overwrite(broken, first)
    engine = create_engine(f"sqlite:///{broken}")
    with engine.connect() as connection:
        told = failure_of(
            lambda: connection.execute(text("SELECT count(*) FROM words WHERE word > ''")).all(),
            *databases_in(tmp_path),
        )
    engine.dispose()
    assert told.problem == f"the database {broken} is damaged"
    assert "docs/operations/backup-and-restore.md" in told.remedy


def test_a_database_without_room_to_grow_is_a_full_disk(tmp_path: Path) -> None:
    with closing(sqlite3.connect(database(tmp_path / "a.db"))) as connection:
        connection.execute("PRAGMA max_page_count = 1")
        told = failure_of(
            lambda: connection.executemany("INSERT INTO words VALUES (?)", [("word" * 900,)] * 20),
            tmp_path / "a.db",
        )
    assert told.problem == f"the disk of {tmp_path} is full"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_a_file_without_room_is_a_full_disk() -> None:
    def write() -> None:
        with Path("/dev/full").open("wb", buffering=0) as file:
            file.write(b"words")

    assert failure_of(write).problem == "the disk is full"
    named = storage_failure(OSError(errno.ENOSPC, "No space left on device", "/data/index/a.npy"))
    assert named
    assert named.problem == "the disk of /data/index/a.npy is full"


def test_a_lock_that_is_held_too_long_is_told(tmp_path: Path) -> None:
    file = database(tmp_path / "a.db")
    with (
        closing(sqlite3.connect(file, isolation_level=None)) as one,
        closing(sqlite3.connect(file, timeout=0)) as other,
    ):
        one.execute("BEGIN IMMEDIATE")
        told = failure_of(lambda: other.execute("DELETE FROM words"), file)
    assert "kept busy by another process" in told.problem
    assert isinstance(told, DatabaseAway)


@pytest.mark.parametrize(
    "error", [ValueError("no"), OSError(errno.ENOENT, "gone"), sqlite3.ProgrammingError("closed")]
)
def test_what_is_no_failure_of_storage_stays_what_it_is(error: Exception) -> None:
    assert storage_failure(error) is None


def test_an_error_of_ours_in_a_statement_is_no_failure_of_storage() -> None:
    engine = create_engine("sqlite://")
    with engine.connect() as connection, pytest.raises(DBAPIError) as caught:
        connection.execute(text("SELECT FROM WHERE"))
    assert storage_failure(caught.value) is None
    engine.dispose()


def test_a_table_that_a_restore_left_out_is_named() -> None:
    def missing(engine: Engine) -> StorageFailed | None:
        with engine.connect() as connection, pytest.raises(DBAPIError) as caught:
            connection.execute(text("SELECT * FROM left_out"))
        engine.dispose()
        return storage_failure(caught.value)

    with postgresql_database() as url:
        both = missing(create_engine("sqlite://")), missing(postgres_engine(url))
    for failure in both:
        assert failure is not None
        assert not failure.passes
        assert "left_out" in failure.problem
        assert "restore a whole backup" in failure.remedy


def test_what_was_caused_by_a_full_disk_is_told_as_one() -> None:
    error = RuntimeError("could not build")
    error.__cause__ = OSError(errno.ENOSPC, "No space left on device")
    assert storage_failure(error)


def test_a_damaged_index_database_is_told_by_name_when_it_is_opened(tmp_path: Path) -> None:
    file = tmp_path / "oncall.db"
    overwrite(database(file))
    with pytest.raises(StorageFailed, match=f"{file} is damaged"):
        open_database(Settings(_env_file=None, data_dir=tmp_path))


def test_a_store_that_meets_damage_says_so(tmp_path: Path) -> None:
    engine = open_database(Settings(_env_file=None, data_dir=tmp_path))
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE index_current (domain TEXT, number INTEGER)"))
    engine.dispose()
    for beside in tmp_path.glob("oncall.db-*"):
        beside.unlink()
    overwrite(tmp_path / "oncall.db", 4096)
    with pytest.raises(StorageFailed, match=r"is damaged; .*restore a backup"):
        Store(engine).current("security")
    engine.dispose()


def test_a_worker_on_a_damaged_file_says_so_and_leaves_its_place(tmp_path: Path) -> None:
    file = tmp_path / "work.sqlite"
    overwrite(database(file))
    lease = FileLease(tmp_path / "lock")

    def start() -> None:
        url = f"sqlite:///{file}"
        DurableWorker(APPLICATION, database_url=url, lease=lease).start(lambda: None, [])

    for _ in range(2):  # the second one would find the place taken
        with pytest.raises(StorageFailed, match=f"{file} is damaged"):
            start()


def oncall(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("SLACK_", "OPENAI_"))}
    return subprocess.run(
        [sys.executable, "-m", "cli.main", *words],
        cwd=ROOT,
        env={**clean, "ONCALL_DATA_DIR": str(folder), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("oncall.db", ["status"]),
        ("jobs.sqlite", ["jobs", "run", "--once"]),
        ("inbox.sqlite", ["privacy", "export", "U0YOU"]),
    ],
)
def test_a_command_on_a_damaged_database_ends_in_one_line(
    tmp_path: Path, name: str, words: list[str]
) -> None:
    overwrite(database(tmp_path / name))
    done = oncall(tmp_path, *words)
    assert done.returncode == 1
    assert f"oncall: the database {tmp_path / name} is damaged; " in done.stderr
    assert "Traceback" not in done.stderr
