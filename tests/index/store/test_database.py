"""The SQL database, as it is opened."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import text

from config.errors import ConfigError
from config.parsing.secret_files import private_folder
from config.settings import Settings
from index.store.database import FILE_NAME, open_database


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="ONCALL_DATA_DIR"):
        open_database(Settings(_env_file=None, data_dir=tmp_path / "file" / "var"))


def test_sqlite_lets_readers_go_on_while_one_writes(embedded: Settings) -> None:
    engine = open_database(embedded)
    with engine.connect() as connection:
        assert connection.scalar(text("PRAGMA journal_mode")) == "wal"
    engine.dispose()


def test_processes_that_open_a_new_file_at_once_wait_for_each_other(embedded: Settings) -> None:
    file = private_folder(embedded.data_dir) / FILE_NAME
    with closing(sqlite3.connect(file, isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        release = threading.Timer(0.2, other.execute, ["COMMIT"])
        release.start()
        open_database(embedded).dispose()
        release.join()
