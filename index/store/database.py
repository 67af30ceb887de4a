"""The SQL database: SQLite in the data folder, or PostgreSQL by URL."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError

from config.errors import ConfigError
from config.settings import Settings

BUSY_SECONDS = 30
FILE_NAME = "oncall.db"


def open_database(settings: Settings) -> Engine:
    """A connected engine. Raises ConfigError when the database can't be reached."""
    engine = _postgresql(settings.database_url) if settings.database_url else _sqlite(settings)
    try:
        engine.connect().close()
    except DBAPIError as error:
        where = engine.url.render_as_string(hide_password=True)
        raise ConfigError(
            f"cannot open the database {where}", remedy="check DATABASE_URL and ONCALL_DATA_DIR"
        ) from error
    return engine


def _postgresql(address: str) -> Engine:
    try:
        url = make_url(address)
    except ArgumentError as error:
        raise ConfigError(
            "DATABASE_URL is not a database URL", remedy="write postgresql://user@host/name"
        ) from error
    if url.get_backend_name() not in {"postgresql", "postgres"}:
        raise ConfigError(
            f"DATABASE_URL names {url.get_backend_name()!r}",
            remedy="use postgresql://…, or leave it out for SQLite",
        )
    return create_engine(url.set(drivername="postgresql+psycopg"), pool_pre_ping=True)


def _sqlite(settings: Settings) -> Engine:
    try:
        settings.data_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(
            f"cannot write to {settings.data_dir}: {error.strerror}", remedy="set ONCALL_DATA_DIR"
        ) from error
    engine = create_engine(
        f"sqlite:///{settings.data_dir / FILE_NAME}", connect_args={"timeout": BUSY_SECONDS}
    )

    @event.listens_for(engine, "connect")
    def _configure(connection: Any, _record: Any) -> None:
        cursor = connection.cursor()
        # WAL: readers go on while one process writes, and a crash leaves the last commit.
        cursor.execute("PRAGMA journal_mode=WAL")
        cursor.execute("PRAGMA synchronous=NORMAL")
        cursor.execute("PRAGMA foreign_keys=ON")
        cursor.close()

    return engine
