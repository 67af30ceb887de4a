"""Tables of earlier and later releases, and programs of both that use them at the same time."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pydantic import TypeAdapter
from sqlalchemy import Column, Engine, Integer, MetaData, Table, insert, inspect, select, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import StatementError

from agents.answer import Answer, Conversation, Question
from agents.judging.corrections import CorrectionStore
from config.errors import ConfigError
from config.settings import Settings
from durable.migration import Step, contracting, expanding, migrate
from enrichment.chunk import DocumentCard
from index.audit import AuditEntry
from index.store.database import open_database
from oncall import Copilot
from tests.databases import postgresql_database
from tests.index.conftest import make_chunk
from tests.newer_release import expand_everything

OLD = ("id",)
NEW = ("id", "colour", "size")
EXPANDING = (
    expanding("ALTER TABLE things ADD COLUMN colour INTEGER"),
    expanding(
        "ALTER TABLE things ADD COLUMN size INTEGER NOT NULL DEFAULT 3",
        "UPDATE things SET colour = 7",
    ),
)
CONTRACTING = (*EXPANDING, contracting("ALTER TABLE things DROP COLUMN colour", oldest=2))
QUESTION = "How long is green tea brewed?"


def tables(*columns: str) -> MetaData:
    made = MetaData()
    defaults = {"size": "3"}
    Table(
        "things", made, *(Column(name, Integer, server_default=defaults.get(name))
        for name in columns)
    )  # fmt: skip
    return made


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with postgresql_database() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    """A database of its own, of either kind."""
    found = Settings(_env_file=None, data_dir=tmp_path / "var", config_dir=tmp_path / "config")
    if request.param == "sqlite":
        return found
    url = make_url(request.getfixturevalue("server"))
    name = f"test_{uuid.uuid4().hex}"
    address = url.render_as_string(hide_password=False)
    engine = open_database(found.model_copy(update={"database_url": address}))
    with engine.execution_options(isolation_level="AUTOCOMMIT").connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    engine.dispose()
    address = url.set(database=name).render_as_string(hide_password=False)
    return found.model_copy(update={"database_url": address})


@pytest.fixture
def engine(settings: Settings) -> Iterator[Engine]:
    opened = open_database(settings)
    yield opened
    opened.dispose()


def rows(engine: Engine) -> list[tuple[int, ...]]:
    with engine.connect() as connection:
        return [tuple(row) for row in connection.execute(text("SELECT * FROM things ORDER BY id"))]


def put(engine: Engine, number: int, made: MetaData) -> None:
    with engine.begin() as connection:
        connection.execute(insert(made.tables["things"]).values(id=number))


def test_an_older_database_takes_the_steps_that_it_has_missed(engine: Engine) -> None:
    migrate(engine, tables(*OLD), "test")
    put(engine, 1, tables(*OLD))
    migrate(engine, tables(*NEW), "test", EXPANDING)
    migrate(engine, tables(*NEW), "test", EXPANDING)
    assert rows(engine) == [(1, 7, 3)]


def test_a_new_database_takes_none(engine: Engine) -> None:
    migrate(engine, tables(*NEW), "test", EXPANDING)
    names = {column["name"] for column in inspect(engine).get_columns("things")}
    assert names == set(NEW)


def test_tables_of_a_release_that_numbered_none_take_all_steps(engine: Engine) -> None:
    tables(*OLD).create_all(engine)
    migrate(engine, tables(*NEW), "test", EXPANDING)
    put(engine, 1, tables(*NEW))
    assert rows(engine) == [(1, None, 3)]


def test_a_database_from_before_there_were_contractions_takes_all_steps(engine: Engine) -> None:
    tables(*OLD).create_all(engine)
    with engine.begin() as connection:
        connection.execute(
            text("CREATE TABLE schema_versions (part VARCHAR(64) PRIMARY KEY, version INTEGER)")
        )
        connection.execute(text("INSERT INTO schema_versions VALUES ('test', 1)"))
    migrate(engine, tables(*NEW), "test", EXPANDING)
    put(engine, 1, tables(*NEW))
    assert rows(engine) == [(1, None, 3)]


def test_the_steps_of_one_part_are_not_those_of_another(engine: Engine) -> None:
    migrate(engine, tables(*OLD), "test")
    migrate(engine, MetaData(), "another", (expanding("ALTER TABLE nothing ADD COLUMN x INTEGER"),))
    migrate(engine, tables(*OLD), "test")


def test_an_old_program_goes_on_after_an_expansion_and_starts_again(engine: Engine) -> None:
    things = tables(*OLD)
    migrate(engine, things, "test")
    with engine.connect() as reading:
        # Often enough that the server keeps a plan for it.
        for number in range(8):
            put(engine, number, things)
            assert len(reading.execute(select(things.tables["things"])).all()) == number + 1
            reading.commit()
        migrate(engine, tables(*NEW), "test", EXPANDING)
        put(engine, 8, things)
        assert len(reading.execute(select(things.tables["things"])).all()) == 9
    migrate(engine, things, "test")
    put(engine, 9, things)
    migrate(engine, tables(*NEW), "test", EXPANDING)
    assert rows(engine)[7:] == [(7, 7, 3), (8, None, 3), (9, None, 3)]


def test_after_a_contraction_only_programs_that_need_nothing_of_it_go_on(engine: Engine) -> None:
    migrate(engine, tables(*NEW), "test", EXPANDING)
    migrate(engine, tables("id", "size"), "test", CONTRACTING)
    migrate(engine, tables(*NEW), "test", EXPANDING[:1])
    with pytest.raises(ConfigError, match=r"version 2 or later, .* is of version 1; run the newer"):
        migrate(engine, tables(*OLD), "test")
    names = {column["name"] for column in inspect(engine).get_columns("things")}
    assert names == {"id", "size"}


def test_a_new_database_knows_at_once_who_is_too_old_for_it(engine: Engine) -> None:
    migrate(engine, tables("id", "size"), "test", CONTRACTING)
    with pytest.raises(ConfigError, match="version 2 or later"):
        migrate(engine, tables(*OLD), "test")


def test_a_step_that_fails_leaves_nothing_behind(engine: Engine) -> None:
    migrate(engine, tables(*OLD), "test")
    broken = expanding("ALTER TABLE things ADD COLUMN colour INTEGER", "UPDATE things SET id = :no")
    with pytest.raises(StatementError, match="required for bind parameter"):
        migrate(engine, tables(*NEW), "test", (broken,))
    migrate(engine, tables(*NEW), "test", EXPANDING)
    assert rows(engine) == []


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE things DROP COLUMN colour",
        "ALTER TABLE things RENAME COLUMN colour TO hue",
        "ALTER TABLE things ADD COLUMN colour TEXT NOT NULL",
        "ALTER TABLE things ALTER COLUMN colour SET NOT NULL",
        "ALTER TABLE things ALTER COLUMN colour TYPE BIGINT",
        "CREATE UNIQUE INDEX one ON things (colour)",
    ],
)
def test_what_breaks_older_programs_is_no_expansion(statement: str) -> None:
    with pytest.raises(ValueError, match="contract a release later"):
        expanding(statement)


def test_old_and_new_programs_may_start_at_once_on_an_empty_database(settings: Settings) -> None:
    engines = [open_database(settings) for _ in range(8)]

    def start(engine: Engine, steps: tuple[Step, ...]) -> None:
        columns = NEW if steps else OLD
        migrate(engine, tables(*columns), "test", steps)
        put(engine, 1, tables(*columns))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(start, engines, [EXPANDING, ()] * 4))
    assert [row[2] for row in rows(engines[0])] == [3] * 8
    for engine in engines:
        engine.dispose()


def test_an_old_program_reads_and_writes_on_where_a_new_one_expanded_every_table(
    settings: Settings,
) -> None:
    folder = settings.config_dir
    (folder / "domains").mkdir(parents=True)
    tea = f"domain: tea\ntitle: Tea\nchannels: [C0TEA]\nsources: {{files: ['{folder}/*.md']}}\n"
    (folder / "domains" / "tea.yaml").write_text(tea)

    def uses_everything(copilot: Copilot, minutes: int) -> None:
        (folder / "tea.md").write_text(f"# Tea\n\nGreen tea is brewed for {minutes} minutes.\n")
        assert copilot.ingest("tea").failed == ()
        thread = Conversation(place="thread", message=str(minutes), asker="U1")
        answer = copilot.ask("tea")(Question(text=QUESTION, conversation=thread), None)
        assert f"{minutes} minutes" in answer.text
        shown = AuditEntry(
            door="thread", domain="tea", generation=1, documents={"cited": ["tea.md"]}
        )
        copilot.audit.record(shown)
        kept = CorrectionStore(copilot.index.engine)
        kept.keep("tea", ())
        assert kept.of("tea") == ()

    old = Copilot(settings)
    uses_everything(old, 2)
    expand_everything(old.index.engine)
    uses_everything(old, 3)
    old.index.close()
    again = Copilot(settings)
    uses_everything(again, 4)
    assert [run.outcome for run in again.runs.of("tea")] == ["published"] * 3
    again.index.close()


@pytest.mark.parametrize(
    "value",
    [
        Answer(text="Two minutes [1].", path="cached", confidence=0.9),
        DocumentCard(id="tea", title="Tea", url="https://x.test/tea", summary="Tea."),
        make_chunk("tea", 0, "Green tea is brewed for two minutes."),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_a_newer_release_wrote_is_read_without_what_it_added(value: object) -> None:
    kind: TypeAdapter[object] = TypeAdapter(type(value))
    newer = {**kind.dump_python(value, mode="json"), "added_later": 1}
    assert kind.validate_json(json.dumps(newer)) == value
