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
from agents.runbooks.scopes import NONE, Values, read_scope, together
from enrichment.chunk import Chunk, says_retired
from enrichment.names import DITTO, LINK, NamePlace, is_identifier, says_alert, written_rows

_SCOPES = frozenset[Role](("scope", "", "meaning", "severity", "owner", "link", "name"))


_Key = tuple[str, int]
"""Chunk id and row; of a table that stands on its side, '' and its column."""


@dataclass(frozen=True)
class TableRow:
    chunk: Chunk
    cells: tuple[str, ...]
    """Empty cells of the name, those before it, and those with a mark such as `"` repeat the row
    above."""
    markdown: tuple[str, ...]
    """In markdown, without repetition."""


@dataclass(frozen=True)
class RunbookTable:
    header: tuple[str, ...]
    roles: tuple[Role, ...]
    columns: tuple[Values, ...]
    naming: int
    """The first column of names."""
    rows: tuple[TableRow, ...]
    numbers: dict[_Key, int]
    """The index of each row."""

    def entries(self, chunk: Chunk, place: NamePlace) -> Iterator[RunbookEntry]:
        """The entries of a name's row and of those below that have no name; none of a register."""
        key = (chunk.id, place.row)
        if place.kind != "row":
            key, place = ("", place.column), replace(place, column=self.naming)
        if key not in self.numbers or (place.column >= 0 and not self._is_of_alerts(place.column)):
            return
        first, *below = self.rows[self.numbers[key] :]
        yield self._entry(first, place)
        for row in below if place.column >= 0 else ():
            if row.markdown[place.column] or row.markdown[self.naming]:
                return
            yield self._entry(row, place)

    def cell(self, chunk: Chunk, row: int, column: int) -> str:
        return self.rows[self.numbers[chunk.id, row]].cells[column]

    def _entry(self, row: TableRow, place: NamePlace) -> RunbookEntry:
        markdown = [part or cell for part, cell in zip(row.markdown, row.cells, strict=True)]
        built = [
            RunbookCell(
                label=label, text=plain(text), column=column,
                role="name" if at == place.column else role,
                markdown=plain(marked) if "`" in marked else "",
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
        roles = [role_of(label) for label in self.header]
        name = roles[naming]
        steps = {role for role, read in zip(roles, self.roles, strict=True) if read == "step"}
        # Beside things that alerts are about, only a header tells; else a wordy column does.
        telling = {"step", "escalation", *([""] if name == "" else [])}
        return name == "name" or (name in {"", "scope", "link"} and bool(steps & telling))


def read_table(parts: Sequence[Chunk]) -> RunbookTable:
    """`parts`: the chunks of one table."""
    tables = sorted(
        ((one, one.table) for one in parts if one.table), key=lambda one: one[1].first_row
    )
    header = tables[0][1].header
    rows = {
        (chunk.id, at): TableRow(chunk, cells, tuple(markdown))
        for chunk, table in tables
        for at, (cells, markdown) in enumerate(
            zip(table.rows, written_rows(table, chunk.text), strict=True)
        )
        if len(cells) == len(header)
    }
    if _is_on_its_side(header, [row.cells[0] for row in rows.values() if row.cells]):
        header, rows = _turned(header, list(rows.values()))
    naming = next((at for at, label in enumerate(header) if role_of(label) == "name"), 0)
    filled = tuple(_filled(list(rows.values()), naming))
    columns = [tuple(dict.fromkeys(row.cells[at] for row in filled)) for at in range(len(header))]
    prose = [{LINK.sub("", row.markdown[at]) for row in filled} for at in range(len(header))]
    roles = roles_of(header, prose)
    values = (
        together(one.values for cell in cells for one in read_scope(cell, label) or ())
        if role in _SCOPES else NONE
        for label, cells, role in zip(header, columns, roles, strict=True)
    )  # fmt: skip
    numbers = {key: number for number, key in enumerate(rows)}
    return RunbookTable(tuple(header), roles, tuple(values), naming, filled, numbers)


def _filled(rows: Sequence[TableRow], naming: int) -> Iterator[TableRow]:
    above: Sequence[str] = ()
    for row in rows:
        cells = row.cells
        start = next((at for at, cell in enumerate(cells) if cell.strip()), 0)
        start = start if cells[naming].strip() or start > naming else naming + 1
        above = tuple(
            old if DITTO.fullmatch(cell) or (at < start and not cell) else cell
            for at, (cell, old) in enumerate(zip(cells, above or [""] * len(cells), strict=True))
        )
        yield replace(row, cells=above)


def _is_on_its_side(header: Sequence[str], first: Sequence[str]) -> bool:
    """Whether what the columns of other tables are called stands down its first column: most of
    its cells are such words, one of a first step, or it begins with `Alert | X`. Its header has
    none."""
    down = [role_of(label) for label in first if not is_identifier(label)]
    across = {role_of(label) for label in header[1:] if not is_identifier(label)}
    is_of_one = len(header) == 2 and any(map(says_alert, (header[0], *first))) and any(down)
    is_down = "step" in down and 2 * len(list(filter(None, down))) > len(first)
    return (is_of_one or is_down) and across <= {"", "link"}


def _turned(
    header: Sequence[str], rows: Sequence[TableRow]
) -> tuple[tuple[str, ...], dict[_Key, TableRow]]:
    labels = (header[0], *(row.cells[0] for row in rows))
    steps = [row.chunk for row in rows if role_of(row.cells[0]) == "step"]
    return labels, {
        ("", at): TableRow(
            (steps or [rows[0].chunk])[0],
            (name, *(row.cells[at] for row in rows)),
            (name, *(row.markdown[at] for row in rows)),
        )
        for at, name in enumerate(header) if at
    }  # fmt: skip
