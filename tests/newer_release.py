"""What a release that comes after this one does to the database when it starts."""

from __future__ import annotations

from sqlalchemy import Engine, MetaData, inspect, text

from durable.migration import expanding, migrate


def expand_everything(engine: Engine) -> None:
    """Each part takes one more step, and each table gets two more columns."""
    # As PostgreSQL has it, a table that others use is changed when they have let go of it.
    alterations = [
        f"ALTER TABLE {table} ADD COLUMN {column}"
        for table in inspect(engine).get_table_names()
        for column in ("later_word TEXT", "later_number INTEGER NOT NULL DEFAULT 7")
    ]
    with engine.connect() as connection:
        versions = text("SELECT part, version FROM schema_versions")
        parts = [(str(part), int(version)) for part, version in connection.execute(versions)]
    for part, version in parts:
        steps = (*[expanding()] * (version - 1), expanding(*alterations))
        migrate(engine, MetaData(), part, steps)
        alterations = []
