"""Rows of one table by their key, for what is kept on the side: the database makes room for it when
something is kept, and where there is no such table nothing was."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import ColumnElement, Engine, Row, Table, delete, insert, select
from sqlalchemy.exc import DBAPIError

from durable.migration import migrate


class KeptRows:
    """Of one table, which is alone in its `MetaData`."""

    def __init__(self, engine: Engine, table: Table) -> None:
        self._engine, self._table = engine, table

    def keep(self, **values: Any) -> None:
        """Instead of the row of the same key, where there is one."""
        migrate(self._engine, self._table.metadata, self._table.name)
        with self._engine.begin() as connection:
            connection.execute(delete(self._table).where(*self._same(values)))
            connection.execute(insert(self._table).values(values))

    def find(self, **key: Any) -> Row[Any] | None:
        """None also where nothing was ever kept, or the database fails."""
        try:
            with self._engine.connect() as connection:
                return connection.execute(select(self._table).where(*self._same(key))).first()
        except DBAPIError:
            return None

    def _same(self, values: Mapping[str, Any]) -> list[ColumnElement[bool]]:
        return [column == values[column.name] for column in self._table.primary_key]
