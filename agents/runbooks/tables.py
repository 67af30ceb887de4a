"""Rows, and columns of tables that stand on their side, whose alert is named in a cell."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from agents.alerts.alert import SHORT_NAME, exact_key, is_identifier, name_key
from agents.alerts.amounts import condition_after, is_in_number_range, numbers_in
from agents.runbooks.entries import Role, RunbookCell, RunbookEntry, role_of, roles_of, unlinked
from enrichment.chunk import Chunk

_AFFIX = re.compile(
    r"^(?:(?:alert|alarm|monitor|check|rule)(?:\s*name)?\s*[:=]\s*)"
    r"|\s+(?:alert|alarm|monitor)$",
    re.IGNORECASE,
)
_TAIL = re.compile(r"\s*[(\[]([^()\[\]]*)[)\]]\s*$")
_KIND = re.compile(r"`?(?:,|\s[–—-])\s+[a-z][a-z -]{1,40}$")
"""`manual` of `FailoverStarted, manual`."""
_EXCEPT = re.compile(r"[\s,(]+(?:except(?:ing)?(?: for)?|excluding|but not|without)\s+", re.I)
_SEVERAL = re.compile(r"\s*(?:[,;/\n]|\band\b|\bor\b|<br>)\s*")
_THINGS = re.compile(
    r"service|system|application|\bapps?\b|component|host|node|server|team|replica|queue|topic"
    r"|cluster|depend|vendor|provider|product|contact",
    re.IGNORECASE,
)
"""Columns of what alerts are about."""
_LINES = re.compile(r"\n|<br\s*/?>")
_LINK = re.compile(r"\]\(([^()\s]+)\)")
_NO_NAMES = frozenset[Role](("severity", "step", "escalation", "owner", "scope", "beside"))


@dataclass(frozen=True)
class _Row:
    cells: tuple[str, ...]
    chunk: Chunk
    line: str
    """Of the chunk's markdown; '' where it can't be told."""


def table_entries(chunks: Sequence[Chunk], names: Sequence[str]) -> Iterator[RunbookEntry]:
    """Of one document. `names`: of one alert, in any spelling."""
    for parts in _tables(chunks):
        yield from _of_table(parts, names)


def _tables(chunks: Sequence[Chunk]) -> Iterable[Sequence[Chunk]]:
    """The parts of each."""
    tables: dict[str, list[Chunk]] = defaultdict(list)
    for chunk in chunks:
        if chunk.table is not None:
            tables[chunk.table.id].append(chunk)
    return tables.values()


def rows_for(chunks: Sequence[Chunk], name: str, exact: bool) -> Iterator[RunbookEntry]:
    """Rows of a section that is for this alert as a whole, where a table says what to do."""
    for parts in _tables(chunks):
        header = parts[0].table.header if parts[0].table else ()
        said = [role_of(label) for label in header]
        if len(header) < 2 or "step" not in said or "name" in said:
            continue
        rows = list(_rows(parts))
        columns = [tuple(row.cells[place] for row in rows) for place in range(len(header))]
        roles = roles_of(header, columns)
        for row in rows:
            yield _entry(row, -1, (name, exact), header, roles, columns)


def spelled(text: str, names: Sequence[str]) -> tuple[str, bool] | None:
    """The one of these names that a cell or heading holds and nothing beside it: as it is written
    there, and whether exactly so. A remark in parentheses may follow."""
    text = _AFFIX.sub("", text.strip(" `*")).strip(" `*")
    if not text or len(text) > 300:
        return None
    short = text.removesuffix(condition_after(text))
    if any(_is_in_range(name, text) for name in names):
        return next(one for one in names if _is_in_range(one, text)), True
    bare = _KIND.sub("", text)
    whole = (text, _TAIL.sub("", text), short, bare)
    for said in dict.fromkeys(one.strip(" `*") for one in whole):
        for part in dict.fromkeys((said, *_listed(said))):
            part = _AFFIX.sub("", part).strip(" `*")
            if part and any(exact_key(part) == exact_key(name) for name in names):
                return part, True
            if part and any(name_key(part) == name_key(name) for name in names):
                return part, False
    return None


def _is_in_range(name: str, text: str) -> bool:
    """`MSG-1112` of `MSG-1100 – MSG-1119, except MSG-1107`."""
    said, _, but = _EXCEPT.sub("\n", text).partition("\n")
    if not numbers_in(said) or not is_in_number_range(name, said):
        return False
    return not any(
        is_in_number_range(name, one) or name_key(name) == name_key(one)
        for one in _SEVERAL.split(but)
    )


def remark_beside(named: str) -> str:
    """`prod` of `DiskFull (prod)`, `manual` of `FailoverStarted, manual`."""
    if found := _TAIL.search(named):
        return found[1]
    kind = _KIND.search(named.strip(" *"))
    return kind[0].strip(" `,–—-") if kind else ""


def is_name(cell: str) -> bool:
    """Whether it is a name, long or short, and nothing else."""
    cell = cell.strip(" `*")
    return is_identifier(cell) or bool(SHORT_NAME.fullmatch(cell))


def _listed(text: str) -> list[str]:
    """The names of a list; a sentence is none."""
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
    named = "name" in roles
    if not named and "step" not in map(role_of, table.header):
        return  # a register of systems, not of alerts
    for row in rows:
        if len(row.cells) == 2 and all(is_name(cell) for cell in row.cells):
            continue  # what a short name stands for
        for place, cell in enumerate(row.cells):
            if (named and roles[place] != "name") or roles[place] in _NO_NAMES:
                continue
            if not named and _THINGS.search(table.header[place]):
                continue
            if found := spelled(cell, names):
                yield _entry(row, place, found, table.header, roles, columns)
                break


def _entry(
    row: _Row,
    place: int,
    found: tuple[str, bool],
    header: Sequence[str],
    roles: Sequence[Role],
    columns: Sequence[tuple[str, ...]],
) -> RunbookEntry:
    marked = _marked(row)
    cells = [
        RunbookCell(label=label, text=text, role="name" if at == place else role, marked=marked[at])
        for at, (label, text, role) in enumerate(zip(header, row.cells, roles, strict=True))
    ]
    named = row.cells[place] if place >= 0 else ""
    if remark := remark_beside(named):
        cells.append(RunbookCell(label="", text=remark, role="scope"))
    elif condition := condition_after(named):
        cells.append(RunbookCell(label="", text=condition, role="scope"))
    return RunbookEntry(
        kind="row",
        name=found[0],
        exact=found[1],
        chunk=row.chunk,
        group=f"{row.chunk.document_id}:{row.chunk.table.id if row.chunk.table else ''}",
        cells=tuple(cells),
        quote=" | ".join(row.cells),
        links=tuple(_LINK.findall(row.line)),
        beside=tuple(columns),
    )


def _marked(row: _Row) -> list[str]:
    """The cells with their code marked; '' for each where the line can't be taken apart."""
    parts = [part.strip() for part in re.split(r"(?<!\\)\|", row.line.strip().strip("|"))]
    plain = [unlinked(part).replace("\\|", "|").replace("**", "") for part in parts]
    same = len(plain) == len(row.cells) and all(
        not one or exact_key(one.replace("`", "")) == exact_key(cell.replace("`", ""))
        for one, cell in zip(plain, row.cells, strict=True)
    )
    return plain if same else [""] * len(row.cells)


def _upright(
    rows: Sequence[_Row], header: Sequence[str], names: Sequence[str]
) -> Iterator[RunbookEntry]:
    """Alerts beside each other, and what is told of them below: `| | DiskFull | DiskSlow |`."""
    told = [role_of(row.cells[0]) for row in rows if row.cells]
    if sum(role in {"severity", "step", "owner", "escalation", "link"} for role in told) < 2:
        return
    for place, label in enumerate(header):
        found = spelled(label, names) if place else None
        if found is None:
            continue
        cells = [
            RunbookCell(label=row.cells[0], text=row.cells[place], role=role)
            for row, role in zip(rows, told, strict=True)
        ]
        chunk = next((row.chunk for row, role in zip(rows, told, strict=True) if role == "step"),
                     rows[0].chunk)  # fmt: skip
        yield RunbookEntry(
            kind="row",
            name=found[0],
            exact=found[1],
            chunk=chunk,
            group=f"{chunk.document_id}:{chunk.table.id if chunk.table else ''}",
            cells=(RunbookCell(label="", text=found[0], role="name"), *cells),
            quote=" | ".join(f"{cell.label}: {cell.text}" for cell in cells),
        )


def _rows(parts: Sequence[Chunk]) -> Iterator[_Row]:
    """Each once: a part may begin with rows of the one before. Cells that are left empty at the
    beginning of a row are the same as above."""
    seen: set[int] = set()
    above: tuple[str, ...] = ()
    for chunk in sorted(parts, key=lambda one: one.table.first_row if one.table else 0):
        if chunk.table is None:
            continue
        lines = [line for line in chunk.text.splitlines() if line.startswith("|")][2:]
        for at, cells in enumerate(chunk.table.rows):
            number = chunk.table.first_row + at
            if number in seen or len(cells) != len(chunk.table.header):
                continue
            seen.add(number)
            same = len(lines) == len(chunk.table.rows)
            filled = next((place for place, cell in enumerate(cells) if cell.strip()), 0)
            cells = above = (*above[:filled], *cells[len(above[:filled]) :])
            yield _Row(cells, chunk, lines[at] if same else "")
