"""Reads rows of tables as runbook entries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from agents.runbooks.entries import (
    Role,
    RunbookCell,
    RunbookEntry,
    link_targets,
    name_cells,
    plain,
    role_of,
    roles_of,
)
from agents.runbooks.scopes import Scope, read_scope
from enrichment.chunk import Chunk, says_retired
from enrichment.names import DITTO, LINK, NamePlace, is_identifier, says_alert, written_rows

_SCOPES = frozenset[Role](("scope", "", "meaning", "severity", "owner"))


@dataclass(frozen=True)
class TableRow:
    chunk: Chunk
    cells: tuple[str, ...]
    """Empty cells of the name, those before it, and those with a mark such as `"` repeat the row
    above."""
    markdown: tuple[str, ...]
    """Without repetition."""


@dataclass(frozen=True)
class RunbookTable:
    header: tuple[str, ...]
    roles: tuple[Role, ...]
    columns: tuple[tuple[Scope, ...], ...]
    naming: int
    """The first column of names."""
    rows: dict[tuple[str, int], TableRow]
    """By chunk id and row, in order; those of a table that stands on its side, turned, by '' and
    their column."""

    def entries(self, chunk: Chunk, place: NamePlace) -> Iterator[RunbookEntry]:
        """The entries of a name's row and of those below that have no name; none of a register."""
        key = (chunk.id, place.row)
        if place.kind != "row":
            key, place = ("", place.column), replace(place, column=self.naming)
        if key not in self.rows or (place.column >= 0 and not self._is_of_alerts(place.column)):
            return
        yield self._entry(self.rows[key], place)
        keys = list(self.rows)
        for below in map(self.rows.__getitem__, keys[keys.index(key) + 1 :]):
            if place.column < 0 or below.markdown[place.column] or below.markdown[self.naming]:
                return
            yield self._entry(below, place)

    def _entry(self, row: TableRow, place: NamePlace) -> RunbookEntry:
        markdown = [part or cell for part, cell in zip(row.markdown, row.cells, strict=True)]
        built = [
            RunbookCell(
                label=label, text=plain(marked if "`" in marked else text), column=column,
                role="name" if at == place.column else role,
                scope=read_scope(text, label) if role in _SCOPES and at != place.column else None,
            )
            for at, (label, role, column, text, marked) in enumerate(
                zip(self.header, self.roles, self.columns, row.cells, markdown, strict=True)
            )
        ]  # fmt: skip
        own = (text for text, role in zip(markdown, self.roles, strict=True) if role != "meaning")
        return RunbookEntry(
            kind="row", name=place.text, chunk=row.chunk, place=row.chunk.place,
            cells=(*built, *name_cells(place.text, place.remark)[1:]),
            quote=" | ".join(row.cells), links=link_targets(" ".join(markdown)),
            retired=any(map(says_retired, own)),
        )  # fmt: skip

    def _is_of_alerts(self, naming: int) -> bool:
        """Whether it tells what to do about what its column of names lists: by a header, or by a
        wordy column that does not merely describe."""
        name = role_of(self.header[naming])
        steps = {
            role_of(label) for label, role in zip(self.header, self.roles, strict=True)
            if role == "step"
        }  # fmt: skip
        # Beside things that alerts are about, only a header tells; else a wordy column does.
        telling = {"step", "escalation"} if name else {"step", "escalation", ""}
        return name == "name" or (
            name in {"", "scope", "link", "meaning"} and bool(steps & telling)
        )


def read_table(parts: Sequence[Chunk]) -> RunbookTable:
    """`parts`: the chunks of one table."""
    tables = [(one, one.table) for one in parts if one.table]
    tables.sort(key=lambda one: one[1].first_row)
    header: Sequence[str] = tables[0][1].header
    rows = {
        (chunk.id, at): TableRow(chunk, cells, tuple(markdown))
        for chunk, table in tables
        for at, (cells, markdown) in enumerate(
            zip(table.rows, written_rows(table, chunk.text), strict=True)
        )
        if len(cells) == len(header)
    }
    if _is_on_its_side(header, [row.cells[0] for row in rows.values()]):
        first = [header[0], *(row.cells[0] for row in rows.values())]
        steps = (row.chunk for row in rows.values() if role_of(row.cells[0]) == "step")
        chunk = next(steps, tables[0][0])
        rows = {
            ("", at): TableRow(
                chunk,
                (name, *(row.cells[at] for row in rows.values())),
                (name, *(row.markdown[at] for row in rows.values())),
            )
            for at, name in enumerate(header) if at
        }  # fmt: skip
        header = first
    naming = next((at for at, label in enumerate(header) if role_of(label) == "name"), 0)
    above = ("",) * len(header)
    for key, row in rows.items():
        start = next((at for at, cell in enumerate(row.cells) if cell.strip()), 0)
        start = start if row.cells[naming].strip() or start > naming else naming + 1
        above = tuple(
            old if DITTO.fullmatch(cell) or (at < start and not cell) else cell
            for at, (cell, old) in enumerate(zip(row.cells, above, strict=True))
        )
        rows[key] = replace(row, cells=above)
    prose = [{LINK.sub("", row.markdown[at]) for row in rows.values()} for at in range(len(header))]
    roles = roles_of(header, prose)
    columns = [{row.cells[at] for row in rows.values()} for at in range(len(header))]
    values = (
        tuple(filter(None, (read_scope(cell, label) for cell in cells))) if role in _SCOPES else ()
        for label, cells, role in zip(header, columns, roles, strict=True)
    )  # fmt: skip
    return RunbookTable(tuple(header), roles, tuple(values), naming, rows)


def _is_on_its_side(header: Sequence[str], first: Sequence[str]) -> bool:
    """Whether what the columns of other tables are called stands down its first column: most of
    its cells are such words, one of a first step, or it begins with `Alert | X`. Its header has
    none."""
    down = [role_of(label) for label in first if not is_identifier(label)]
    across = {role_of(label) for label in header[1:] if not is_identifier(label)}
    is_of_one = len(header) == 2 and any(map(says_alert, (header[0], *first))) and any(down)
    is_down = "step" in down and 2 * len(list(filter(None, down))) > len(first)
    return (is_of_one or is_down) and across <= {"", "link"}
