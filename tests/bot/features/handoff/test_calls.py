"""Calls on record: each step once, whoever asks, on both databases and after an upgrade."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import Column, Engine, MetaData, Table, create_engine, insert, inspect

from bot.features.handoff.store import FIRST, CallRow, CallStore
from durable.database import now
from durable.migration import migrate
from tests.databases import postgresql_database


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with postgresql_database() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    url = f"sqlite:///{tmp_path / 'state.sqlite'}"
    if request.param == "postgresql":
        url = request.getfixturevalue("server").replace("postgresql://", "postgresql+psycopg://")
    made = create_engine(url)
    yield made
    with made.begin() as connection:
        for table in inspect(connection).get_table_names():
            connection.exec_driver_sql(f'DROP TABLE "{table}"')
    made.dispose()


def test_a_database_of_the_release_before_goes_on(engine: Engine) -> None:
    before = MetaData()
    columns = [
        Column(one.name, one.type, primary_key=one.primary_key, nullable=one.nullable)
        for one in CallRow.__table__.c
        if one.name != "channel"
    ]
    older = Table("bot_calls", before, *columns)
    migrate(engine, before, "calls")
    row = {"question_id": "C1:1.0", "step": FIRST, "domain": "tea", "called_at": now()}
    defaults = dict.fromkeys(("label", "why", "ts"), "")
    with engine.begin() as connection:
        connection.execute(insert(older).values(who="U0INES", **defaults, **row))
    store = CallStore(engine)
    with engine.begin() as connection:  # by a worker that is not upgraded yet
        later = row | {"step": "again", "called_at": now()}
        connection.execute(insert(older).values(who="U0DANA", **defaults, **later))
    assert [(one.step, one.who, one.channel) for one in store.of("C1:1.0")] == [
        ("first", "U0INES", ""),
        ("again", "U0DANA", ""),
    ]
    store.set("C1:1.0", "again", channel="D0DANA")
    call = store.get("C1:1.0", "again")
    assert call is not None
    assert call.channel == "D0DANA"


def test_of_many_workers_one_keeps_a_step(engine: Engine) -> None:
    stores = [CallStore(engine) for _ in range(8)]
    with ThreadPoolExecutor(len(stores)) as pool:
        added = list(
            pool.map(lambda one: one.add("C1:2.0", "level-1", "tea", who="U0INES"), stores)
        )
    assert sorted(added) == [False] * 7 + [True]
    assert [one.who for one in stores[0].of("C1:2.0")] == ["U0INES"]
