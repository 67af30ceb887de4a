"""Runbook entries in tables: rows whose cell names an alert, or columns of transposed tables."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from agents.alerts.alert import (
    SHORT_NAME,
    condition_after,
    exact_key,
    is_identifier,
    is_in_number_range,
    name_key,
    numbers_in,
)
from agents.runbooks.entries import (
    Role,
    RunbookCell,
    RunbookEntry,
    role_of,
    roles_of,
    without_links,
)
from enrichment.chunk import Chunk

_AFFIX = re.compile(
    r"^(?:(?:alert|alarm|monitor|check|rule)(?:\s*name)?\s*[:=]\s*)"
    r"|\s+(?:alert|alarm|monitor)$",
    re.IGNORECASE,
)
_TAIL = re.compile(r"\s*[(\[]([^()\[\]]*)[)\]]\s*$")
_KIND = re.compile(r"`?(?:,|\s[–—-])\s+[a-z][a-z -]{1,40}$")
"""The qualifier of a name: `manual` in `FailoverStarted, manual`."""
_EXCEPT = re.compile(r"[\s,(]+(?:except(?:ing)?(?: for)?|excluding|but not|without)\s+", re.I)
_SEVERAL = re.compile(r"\s*(?:[,;/\n]|\band\b|\bor\b|<br>)\s*")
_THINGS = re.compile(
    r"service|system|application|\bapps?\b|component|host|node|server|team|replica|queue|topic"
    r"|cluster|depend|vendor|provider|product|contact",
    re.IGNORECASE,
)
"""Columns that name the subject of an alert."""
_LINES = re.compile(r"\n|<br\s*/?>")
_LINK = re.compile(r"\]\(([^()\s]+)\)")
_NO_NAMES = frozenset[Role](("severity", "step", "escalation", "owner", "scope", "related"))


@dataclass(frozen=True)
class _Row:
    cells: tuple[str, ...]
    chunk: Chunk
    line: str
    """The row's line of the chunk's markdown; '' where it is unclear."""


def table_entries(chunks: Sequence[Chunk], names: Sequence[str]) -> Iterator[RunbookEntry]:
    """Entries of one document. `names`: one alert's names, in any spelling."""
    for parts in _tables(chunks):
        yield from _of_table(parts, names)


def _tables(chunks: Sequence[Chunk]) -> Iterable[Sequence[Chunk]]:
    """The chunks of each table."""
    tables: dict[str, list[Chunk]] = defaultdict(list)
    for chunk in chunks:
        if chunk.table is not None:
            tables[chunk.table.id].append(chunk)
    return tables.values()


def rows_for(chunks: Sequence[Chunk], name: str, exact: bool) -> Iterator[RunbookEntry]:
    """Rows of the tables in a section for this alert, where a column has the first step."""
    for parts in _tables(chunks):
        header = parts[0].table.header if parts[0].table else ()
        header_roles = [role_of(label) for label in header]
        if len(header) < 2 or "step" not in header_roles or "name" in header_roles:
            continue
        rows = list(_rows(parts))
        columns = [tuple(row.cells[place] for row in rows) for place in range(len(header))]
        roles = roles_of(header, columns)
        for row in rows:
            yield _entry(row, -1, (name, exact), header, roles, columns)


def match_name(text: str, names: Sequence[str]) -> tuple[str, bool] | None:
    """(name as written, whether its spelling is exact) where a cell or heading is one of the names
    and nothing else, except for a remark in parentheses."""
    text = _AFFIX.sub("", text.strip(" `*")).strip(" `*")
    if not text or len(text) > 300:
        return None
    without_condition = text.removesuffix(condition_after(text))
    if in_range := next((one for one in names if _is_in_range(one, text)), ""):
        return in_range, True
    without_kind = _KIND.sub("", text)
    whole = (text, _TAIL.sub("", text), without_condition, without_kind)
    for form in dict.fromkeys(one.strip(" `*") for one in whole):
        for part in dict.fromkeys((form, *_names_in_list(form))):
            part = _AFFIX.sub("", part).strip(" `*")
            if part and any(exact_key(part) == exact_key(name) for name in names):
                return part, True
            if part and any(name_key(part) == name_key(name) for name in names):
                return part, False
    return None


def _is_in_range(name: str, text: str) -> bool:
    """Whether a range contains the name: `MSG-1100 – MSG-1119, except MSG-1107`, `MSG-1112`."""
    range_text, _, but = _EXCEPT.sub("\n", text).partition("\n")
    if not numbers_in(range_text) or not is_in_number_range(name, range_text):
        return False
    return not any(
        is_in_number_range(name, one) or name_key(name) == name_key(one)
        for one in _SEVERAL.split(but)
    )


def remark_after(cell: str) -> str:
    """`DiskFull (prod)` → `prod`; `FailoverStarted, manual` → `manual`; '' without a remark."""
    if match := _TAIL.search(cell):
        return match[1]
    kind = _KIND.search(cell.strip(" *"))
    return kind[0].strip(" `,–—-") if kind else ""


def is_name(cell: str) -> bool:
    """Whether the cell is a long or short name and nothing else."""
    cell = cell.strip(" `*")
    return is_identifier(cell) or bool(SHORT_NAME.fullmatch(cell))


def _names_in_list(text: str) -> list[str]:
    """The names of a list, else the lines of the text: a sentence is no list."""
    lines = _LINES.split(text)
    parts = [part.strip(" `*") for part in _SEVERAL.split(text) if part.strip(" `*")]
    return parts if len(parts) > 1 and all(map(is_identifier, parts)) else lines


def _of_table(parts: Sequence[Chunk], names: Sequence[str]) -> Iterator[RunbookEntry]:
    table = parts[0].table
    if table is None or not table.header:
        return
    rows = list(_rows(parts))
    columns = [tuple(row.cells[place] for row in rows) for place in range(len(table.header))]
    roles = roles_of(table.header, columns)
    yield from _upright(rows, table.header, names)
    has_names = "name" in roles
    if not has_names and "step" not in map(role_of, table.header):
        return  # a list of systems, not of alerts
    for row in rows:
        if len(row.cells) == 2 and all(is_name(cell) for cell in row.cells):
            continue  # this row defines a short name
        for place, cell in enumerate(row.cells):
            if (has_names and roles[place] != "name") or roles[place] in _NO_NAMES:
                continue
            if not has_names and _THINGS.search(table.header[place]):
                continue
            if name_match := match_name(cell, names):
                yield _entry(row, place, name_match, table.header, roles, columns)
                break


def _entry(
    row: _Row,
    place: int,
    name_match: tuple[str, bool],
    header: Sequence[str],
    roles: Sequence[Role],
    columns: Sequence[tuple[str, ...]],
) -> RunbookEntry:
    markdown = _cell_markdown(row)
    cells = [
        RunbookCell(
            label=label, text=text, role="name" if at == place else role, markdown=markdown[at]
        )
        for at, (label, text, role) in enumerate(zip(header, row.cells, roles, strict=True))
    ]
    name_cell = row.cells[place] if place >= 0 else ""
    if scope := remark_after(name_cell) or condition_after(name_cell):
        cells.append(RunbookCell(label="", text=scope, role="scope"))
    return RunbookEntry(
        kind="row",
        name=name_match[0],
        exact=name_match[1],
        chunk=row.chunk,
        group=f"{row.chunk.document_id}:{row.chunk.table.id if row.chunk.table else ''}",
        cells=tuple(cells),
        quote=" | ".join(row.cells),
        links=tuple(_LINK.findall(row.line)),
        columns=tuple(columns),
    )


def _cell_markdown(row: _Row) -> list[str]:
    """The cells' markdown with code marks; '' for each where the line does not split cleanly."""
    parts = [part.strip() for part in re.split(r"(?<!\\)\|", row.line.strip().strip("|"))]
    cells = [without_links(part).replace("\\|", "|").replace("**", "") for part in parts]
    same = len(cells) == len(row.cells) and all(
        not one or exact_key(one.replace("`", "")) == exact_key(cell.replace("`", ""))
        for one, cell in zip(cells, row.cells, strict=True)
    )
    return cells if same else [""] * len(row.cells)


def _upright(
    rows: Sequence[_Row], header: Sequence[str], names: Sequence[str]
) -> Iterator[RunbookEntry]:
    """Entries of a transposed table, one alert per column: `| | DiskFull | DiskSlow |`."""
    roles = [role_of(row.cells[0]) for row in rows if row.cells]
    if sum(role in {"severity", "step", "owner", "escalation", "link"} for role in roles) < 2:
        return
    for place, label in enumerate(header):
        name_match = match_name(label, names) if place else None
        if name_match is None:
            continue
        cells = [
            RunbookCell(label=row.cells[0], text=row.cells[place], role=role)
            for row, role in zip(rows, roles, strict=True)
        ]
        chunk = next((row.chunk for row, role in zip(rows, roles, strict=True) if role == "step"),
                     rows[0].chunk)  # fmt: skip
        yield RunbookEntry(
            kind="row",
            name=name_match[0],
            exact=name_match[1],
            chunk=chunk,
            group=f"{chunk.document_id}:{chunk.table.id if chunk.table else ''}",
            cells=(RunbookCell(label="", text=name_match[0], role="name"), *cells),
            quote=" | ".join(f"{cell.label}: {cell.text}" for cell in cells),
        )


def _rows(parts: Sequence[Chunk]) -> Iterator[_Row]:
    """Each row once: a chunk may repeat the previous rows. Empty leading cells take the value
    of the row above."""
    row_numbers: set[int] = set()
    above: tuple[str, ...] = ()
    for chunk in sorted(parts, key=lambda one: one.table.first_row if one.table else 0):
        if chunk.table is None:
            continue
        lines = [line for line in chunk.text.splitlines() if line.startswith("|")][2:]
        for at, cells in enumerate(chunk.table.rows):
            number = chunk.table.first_row + at
            if number in row_numbers or len(cells) != len(chunk.table.header):
                continue
            row_numbers.add(number)
            same = len(lines) == len(chunk.table.rows)
            filled = next((place for place, cell in enumerate(cells) if cell.strip()), 0)
            cells = above = (*above[:filled], *cells[len(above[:filled]) :])
            yield _Row(cells, chunk, lines[at] if same else "")
