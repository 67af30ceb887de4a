"""Who was shown what: recorded once, found again, and never changed, on SQLite and PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import Engine, create_engine, make_url, text
from sqlalchemy.exc import DBAPIError

from config.domain import Domain
from config.settings import Settings
from index.audit import LEAST_DAYS, AuditEntry, AuditLog, AuditUnavailable, days_ago
from index.store.database import open_database


@pytest.fixture(params=["sqlite", "postgresql"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    address = None
    if request.param == "postgresql":
        url, name = (
            make_url(request.getfixturevalue("postgresql")),
            f"audit_{tmp_path.name.lower()}",
        )
        whole = create_engine(
            url.set(drivername="postgresql+psycopg"), isolation_level="AUTOCOMMIT"
        )
        with whole.connect() as connection:
            connection.execute(text(f'CREATE DATABASE "{name}"'))
        whole.dispose()
        address = url.set(database=name).render_as_string(hide_password=False)
    settings = Settings(_env_file=None, data_dir=tmp_path, database_url=address)
    opened = open_database(settings)
    yield opened
    opened.dispose()


def shown(*documents: str, **more: object) -> AuditEntry:
    values = {"door": "channel", "domain": "tea", "generation": 7, "asker": "U0DANA"}
    return AuditEntry(documents={"cited": documents}, **(values | more))  # type: ignore[arg-type]


def domain(audience: str) -> Domain:
    values = {"domain": "tea", "title": "Tea", "sources": {}, "access": {"audience": audience}}
    return Domain.model_validate(values)


def test_what_was_shown_is_found_by_person_document_domain_and_time(engine: Engine) -> None:
    log = AuditLog(engine)
    log.record(shown("green", "black", showing="E1", place="C1"), at=days_ago(3))
    log.record(shown("black", asker="U0INES", domain="coffee"))
    log.record(shown())
    first, second = log.export()
    assert first | {"at": ""} == {
        "at": "", "door": "channel", "place": "C1", "asker": "U0DANA", "domain": "tea",
        "generation": 7, "documents": {"cited": ["black", "green"]},
    }  # fmt: skip
    assert datetime.fromisoformat(first["at"]) < datetime.now(UTC) - timedelta(days=2)
    assert list(log.export(askers=["U0INES"])) == [second]
    assert list(log.export(document="green")) == [first]
    assert list(log.export(domain="coffee")) == [second]
    assert list(log.export(since=days_ago(1))) == [second]


def test_the_same_showing_is_recorded_once(engine: Engine) -> None:
    log = AuditLog(engine)
    for _ in range(2):
        log.record(shown("green", showing="E1"))
        log.record(shown("green"))
    assert len(list(log.export())) == 3


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE audit_shown SET asker = 'U0NOBODY'",
        "UPDATE audit_shown SET asker = 'U0NOBODY' WHERE asker = 'U0DANA'",
        "DELETE FROM audit_shown",
        "UPDATE audit_purges SET before = '2099-01-01'",
        "DELETE FROM audit_purges",
        "INSERT INTO audit_purges (at, before) VALUES ('2026-01-01', '2099-01-01')",
        "TRUNCATE audit_shown",
    ],
)
def test_the_database_refuses_to_change_the_log(engine: Engine, statement: str) -> None:
    if statement.startswith("TRUNCATE") and engine.dialect.name == "sqlite":
        return  # SQLite has no such statement
    log = AuditLog(engine)
    log.record(shown("green"), at=days_ago(LEAST_DAYS + 5))
    with engine.begin() as connection:
        log.forget(connection, before=days_ago(LEAST_DAYS + 1))
    log.record(shown("black"))
    before = list(log.export())
    assert len(before) == 1
    with pytest.raises(DBAPIError, match="append-only"), engine.begin() as connection:
        connection.execute(text(statement))
    assert list(AuditLog(engine).export()) == before


def test_only_what_is_old_enough_is_deleted_and_the_log_says_so(engine: Engine) -> None:
    log = AuditLog(engine)
    log.record(shown("old"), at=days_ago(90))
    log.record(shown("new"), at=days_ago(50))
    with engine.begin() as connection:
        assert log.forget(connection, before=days_ago(60)) == 1
        assert log.forget(connection, before=days_ago(60)) == 0
        assert connection.scalar(text("SELECT count(*) FROM audit_purges")) == 1
    assert [row["documents"] for row in log.export()] == [{"cited": ["new"]}]
    with pytest.raises(DBAPIError, match="append-only"), engine.begin() as connection:
        log.forget(connection, before=days_ago(LEAST_DAYS - 1))
    assert len(list(log.export())) == 1


def test_what_cannot_be_recorded_is_kept_from_single_readers_only(engine: Engine) -> None:
    log = AuditLog(engine)
    with engine.begin() as connection:
        connection.execute(text("ALTER TABLE audit_shown RENAME TO elsewhere"))
    with pytest.raises(AuditUnavailable, match="not shown"):
        log(shown("green"), domain("asker"))
    log(shown("green"), domain("channel"))


def test_an_error_of_the_database_quotes_no_parameter(engine: Engine) -> None:
    """They are people's words, and errors are logged."""
    with pytest.raises(DBAPIError) as refused, engine.begin() as connection:
        connection.execute(text("INSERT INTO nowhere VALUES (:said)"), {"said": "heliotrope"})
    assert "nowhere" in str(refused.value)
    assert "heliotrope" not in str(refused.value)
