"""Databases of the last release and of this one hold the same tables, made by the same parts."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Engine, create_engine, inspect, text

from tests.contracts.every_table import make_every_table
from tests.contracts.pins import PINNED, check_text
from tests.contracts.product_code import source
from tests.databases import postgresql_database

RELEASED = "released.sql"


@pytest.fixture(scope="module")
def new_database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("new")
    engine = create_engine(f"sqlite:///{folder / 'state.sqlite'}")
    make_every_table(folder, engine)
    yield engine
    engine.dispose()


def comment_of(engine: Engine, table: str) -> str:
    """SQLite keeps none."""
    if engine.dialect.name == "sqlite":
        return ""
    return str(inspect(engine).get_table_comment(table)["text"] or "")


def described(engine: Engine) -> str:
    """Tables, columns, keys, indexes, comments and parts, one a line, sorted."""
    seen = inspect(engine)
    lines: list[str] = []
    for table in sorted(seen.get_table_names()):
        lines.append(f"{table}: {comment_of(engine, table)}".rstrip(": "))
        lines += [
            f"  {one['name']} {one['type'].compile(engine.dialect)}"
            f"{'' if one['nullable'] else ' NOT NULL'}"
            f"{'' if one.get('default') is None else ' DEFAULT ' + str(one['default'])}"
            f"{' -- ' + str(one['comment']) if one.get('comment') else ''}"
            for one in seen.get_columns(table)
        ]
        key = seen.get_pk_constraint(table)
        lines.append(f"  primary key {key['name'] or ''} ({', '.join(key['constrained_columns'])})")
        lines += sorted(
            f"  unique {one['name'] or ''} ({', '.join(one['column_names'])})"
            for one in seen.get_unique_constraints(table)
        )
        lines += sorted(
            f"  foreign key ({', '.join(one['constrained_columns'])}) of {one['referred_table']}"
            f" ({', '.join(one['referred_columns'])}) {one['options']}"
            for one in seen.get_foreign_keys(table)
        )
        lines += sorted(
            f"  index {one['name']} ({', '.join(str(name) for name in one['column_names'])})"
            f"{' unique' if one['unique'] else ''}"
            for one in seen.get_indexes(table)
        )
        lines += sorted(f"  check {one['sqltext']}" for one in seen.get_check_constraints(table))
    with engine.connect() as connection:
        parts = connection.execute(text("SELECT part, version FROM schema_versions ORDER BY part"))
        lines += [f"part {part} {version}" for part, version in parts]
        floors = connection.execute(text("SELECT part, oldest FROM schema_floors ORDER BY part"))
        lines += [f"oldest {part} {oldest}" for part, oldest in floors]
    return "\n".join(lines) + "\n"


def guards_of(engine: Engine) -> str:
    """Triggers on PostgreSQL, and what they run."""
    triggers = "SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1"
    functions = (
        "SELECT DISTINCT pg_get_functiondef(f.oid) FROM pg_trigger t"
        " JOIN pg_proc f ON f.oid = t.tgfoid WHERE NOT t.tgisinternal ORDER BY 1"
    )
    with engine.connect() as connection:
        found = [*connection.scalars(text(triggers)), *connection.scalars(text(functions))]
    return "".join(re.sub(r"\s+", " ", one).strip() + "\n" for one in found)


def ddl_of(engine: Engine) -> str:
    """Every statement that made a table or an index, as SQLite keeps it, and the parts' rows."""
    statements = text(
        "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'"
        " ORDER BY type = 'table' DESC, type = 'index' DESC, name"
    )
    parts = text("SELECT part, version FROM schema_versions ORDER BY part")
    with engine.connect() as connection:
        made = [re.sub(r"\s+", " ", sql).strip() for sql in connection.scalars(statements)]
        made += [
            f"INSERT INTO schema_versions VALUES ('{part}', {version})"  # noqa: S608 - printed, not run
            for part, version in connection.execute(parts)
        ]
    return "".join(f"{one};\n" for one in made)


def test_a_new_sqlite_database_has_the_same_tables(new_database: Engine) -> None:
    check_text("tables-sqlite.sql", ddl_of(new_database))


def test_a_new_postgresql_database_has_the_same_tables(tmp_path: Path) -> None:
    with postgresql_database() as url:
        engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
        try:
            make_every_table(tmp_path, engine)
            check_text("tables-postgresql.txt", described(engine) + guards_of(engine))
        finally:
            engine.dispose()


def test_a_database_of_the_last_release_is_as_good_as_a_new_one(
    tmp_path: Path, new_database: Engine
) -> None:
    file = tmp_path / "state.sqlite"
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript((PINNED / RELEASED).read_text(encoding="utf-8"))
    engine = create_engine(f"sqlite:///{file}")
    try:
        make_every_table(tmp_path, engine)
        assert described(engine) == described(new_database)
    finally:
        engine.dispose()


def test_no_table_and_no_part_of_the_code_is_left_out(new_database: Engine) -> None:
    """Where tables are named in the code, and where parts are; both are there when all is made."""
    code = source()
    tables = set(re.findall(r"\bTable\(\s*\"(\w+)\",\s*[\w.()]+,\s*Column\(", code))
    tables |= set(re.findall(r"__tablename__ = \"(\w+)\"", code))
    parts = set(re.findall(r"\bmigrate\([^()]+, \"([^\"]+)\"", code))
    assert tables <= set(inspect(new_database).get_table_names())
    with new_database.connect() as connection:
        made = set(connection.scalars(text("SELECT part FROM schema_versions")))
    assert parts <= made
    assert len(tables) > 30
    assert len(parts) > 15
