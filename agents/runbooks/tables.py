"""Reads rows of tables as runbook entries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

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
from enrichment.names import DITTO, NamePlace, written_rows

_SCOPES = frozenset[Role](("scope", "", "meaning", "severity", "owner"))


@dataclass(frozen=True)
class RunbookTable:
    header: tuple[str, ...]
    roles: tuple[Role, ...]
    columns: tuple[Values, ...]
    rows: dict[tuple[str, int], tuple[str, ...]]
    """(chunk id, row) → cells; empty cells of the name, those before it, and those with a mark such
    as `"` repeat the row above."""

    def entries(self, chunk: Chunk, place: NamePlace) -> Iterator[RunbookEntry]:
        """The entry of a row; none of a register."""
        cells = self.rows.get((chunk.id, place.row))
        if cells is None or (place.column >= 0 and not self._is_of_alerts(place.column)):
            return
        markdown = written_rows(chunk.table, chunk.text)[place.row] if chunk.table else cells
        markdown = [part or cell for part, cell in zip(markdown, cells, strict=True)]
        built = [
            RunbookCell(
                label=label, text=plain(text), column=column,
                role="name" if at == place.column else role,
                markdown=plain(marked) if "`" in marked else "",
                scope=read_scope(text, label) if role in _SCOPES and at != place.column else None,
            )
            for at, (label, role, column, text, marked) in enumerate(
                zip(self.header, self.roles, self.columns, cells, markdown, strict=True)
            )
        ]  # fmt: skip
        own = (text for text, role in zip(markdown, self.roles, strict=True) if role != "meaning")
        yield RunbookEntry(
            kind="row", name=place.text, chunk=chunk, place=chunk.place,
            cells=(*built, *name_cells(place.text, place.remark)[1:]),
            quote=" | ".join(cells), links=link_targets(" ".join(markdown)),
            retired=any(map(says_retired, own)),
        )  # fmt: skip

    def _is_of_alerts(self, naming: int) -> bool:
        """Whether it tells what to do about what its column of names lists: by a header, or by a
        wordy column that does not merely describe."""
        roles = [role_of(label) for label in self.header]
        name = roles[naming] if naming >= 0 else ""
        steps = {role for role, read in zip(roles, self.roles, strict=True) if read == "step"}
        # Beside things that alerts are about, only a header tells; else a wordy column does.
        telling = {"step", "escalation", *([""] if name == "" else [])}
        return name == "name" or (name in {"", "scope", "link"} and bool(steps & telling))


def read_table(parts: Sequence[Chunk]) -> RunbookTable:
    """`parts`: the chunks of one table."""
    tables = [(one.id, one.table) for one in parts if one.table]
    header = tables[0][1].header
    names = next((at for at, label in enumerate(header) if role_of(label) == "name"), 0)
    rows: dict[tuple[str, int], tuple[str, ...]] = {}
    above = ("",) * len(header)
    for chunk, table in sorted(tables, key=lambda one: one[1].first_row):
        for at, cells in enumerate(table.rows):
            if len(cells) == len(header):
                filled = next((n for n, cell in enumerate(cells) if cell.strip()), 0)
                filled = filled if cells[names].strip() or filled > names else names + 1
                above = tuple(
                    old if DITTO.fullmatch(cell) or (at < filled and not cell) else cell
                    for at, (cell, old) in enumerate(zip(cells, above, strict=True))
                )
                rows[chunk, at] = above
    columns = [tuple(dict.fromkeys(row[at] for row in rows.values())) for at in range(len(header))]
    roles = roles_of(header, columns)
    values = (
        together(one.values for cell in cells for one in read_scope(cell, label) or ())
        if role in _SCOPES else NONE
        for label, cells, role in zip(header, columns, roles, strict=True)
    )  # fmt: skip
    return RunbookTable(tuple(header), roles, tuple(values), rows)
