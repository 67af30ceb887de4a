"""Databases of earlier and later releases."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import Column, Engine, Integer, MetaData, Table, inspect, text

from config.errors import ConfigError
from config.settings import Settings
from index.store.database import open_database
from index.store.schema import migrate

STEPS = (("ALTER TABLE things ADD COLUMN colour TEXT",), ("UPDATE things SET colour = 'blue'",))


def tables(*columns: str) -> MetaData:
    made = MetaData()
    Table("things", made, *(Column(name, Integer) for name in columns))
    return made


@pytest.fixture
def engine(settings: Settings) -> Engine:
    return open_database(settings)


def test_an_older_database_takes_the_steps_it_has_missed(engine: Engine) -> None:
    migrate(engine, tables("id"), "test", ())
    with engine.begin() as connection:
        connection.execute(text("INSERT INTO things (id) VALUES (1)"))
    migrate(engine, tables("id", "colour"), "test", STEPS)
    migrate(engine, tables("id", "colour"), "test", STEPS)
    with engine.connect() as connection:
        assert connection.execute(text("SELECT id, colour FROM things")).all() == [(1, "blue")]
    engine.dispose()


def test_a_new_database_takes_none(engine: Engine) -> None:
    migrate(engine, tables("id", "colour"), "test", STEPS)
    names = {column["name"] for column in inspect(engine).get_columns("things")}
    assert names == {"id", "colour"}
    engine.dispose()


def test_a_later_release_is_recognised(engine: Engine) -> None:
    migrate(engine, tables("id", "colour"), "test", STEPS)
    with pytest.raises(ConfigError, match="version 3, this program knows 1"):
        migrate(engine, tables("id"), "test", ())
    engine.dispose()


def test_many_processes_may_start_at_once(settings: Settings) -> None:
    engines = [open_database(settings) for _ in range(6)]
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(migrate, engines))
    for engine in engines:
        engine.dispose()


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="ONCALL_DATA_DIR"):
        open_database(Settings(_env_file=None, data_dir=tmp_path / "file" / "var"))


def test_sqlite_lets_readers_go_on_while_one_writes(embedded: Settings) -> None:
    engine = open_database(embedded)
    with engine.connect() as connection:
        assert connection.scalar(text("PRAGMA journal_mode")) == "wal"
    engine.dispose()
