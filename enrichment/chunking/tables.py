"""Turns tables into pieces: whole if small, otherwise groups of rows that repeat the header.

A form becomes lines; a merged value is written once per chunk."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from enrichment.chunk import ChunkTable, Unit
from enrichment.chunking.pieces import MAX_HEADING_CHARS, CountTokens, Piece, grouped
from loaders.document import Block, Cell, Table
from loaders.tables.headers import distinct_columns, header_paths

Rows = Sequence[Sequence[Cell]]
AS_LEFT, AS_ABOVE = "(as left)", "(as above)"
_MAX_FIELD_CHARS = 60


def is_form(table: Table) -> bool:
    """Whether the table has two unnamed columns: field names on the left, values on the right."""
    if not table.rows or len(table.rows[0]) != 2 or any(header_paths(table)):
        return False
    if table.header_evidence == "model, verified":
        return table.header_columns == 1
    fields = [row[0].text.strip() for row in table.rows[table.header_rows :]]
    are_distinct = len(set(fields)) == len(fields)
    return are_distinct and all(0 < len(each) <= _MAX_FIELD_CHARS for each in fields)


def form_lines(body: Rows) -> list[str]:
    """`field: value`."""
    return [f"{_text(field).rstrip(' :')}: {_text(value)}".rstrip() for field, value in body]


def table_lines(body: Rows, span: range, above: int, labels: int) -> list[str]:
    """The rows of one chunk. `above`: number of header rows; `labels`: columns that identify a row.

    A merged value is written where it begins and in the first row of each chunk; other cells refer
    to it, unless it is shorter than the reference. Labels are written in every row. A row merged
    over the whole width is a title of the rows below, and is repeated at the top of the next
    chunk."""
    above_span = () if _is_title(body[span.start]) else body[: span.start]
    titles = [row for row in above_span if _is_title(row)]
    rows = [_row([_text(titles[-1][0])], len(titles[-1]))] if titles else []
    for at in span:
        cells = body[at]
        if _is_title(cells):
            rows.append(_row([_text(cells[0])], len(cells)))
            continue
        texts = []
        for column, cell in enumerate(cells):
            text = _text(cell)
            if column >= labels and cell.column < column and len(text) > len(AS_LEFT):
                text = AS_LEFT
            elif column >= labels and cell.row < at + above and at > span.start:
                text = AS_ABOVE if len(text) > len(AS_ABOVE) else text
            texts.append(text)
        rows.append(_row(texts, len(cells)))
    return rows


def header_lines(names: Sequence[str]) -> str:
    return f"{_row([_escaped(name) for name in names], len(names))}\n|{'---|' * len(names)}\n"


def _is_title(row: Sequence[Cell]) -> bool:
    first = row[0]
    return len(row) > 1 and first.column_span == len(row) and bool(first.text.strip())


def _row(cells: Iterable[str], width: int) -> str:
    texts = list(cells)
    return f"| {' | '.join([*texts, *[''] * (width - len(texts))])} |"


def _text(cell: Cell) -> str:
    return _escaped(cell.markdown.strip() or cell.text.strip())


def _escaped(text: str) -> str:
    return text.replace("\n", "<br>").replace("|", "\\|")


Row = tuple[str, ...]

_HEADER_SHARE = 8
"""Maximum header characters per token of `size`: about two full chunks."""
_MIN_NAME_CHARS = 8
_ABOUT_READING = re.compile(
    r"\b(cells?|rows?|columns?|tables?|header|heading|empty|blank|merged|spans?)\b|[✓✗*†‡]", re.I
)


@dataclass(frozen=True, kw_only=True)
class TableCutter:
    """Turns a table into pieces of about `size` tokens; a row is never cut."""

    count_tokens: CountTokens
    size: int
    heading: str
    document_id: str

    def pieces(self, block: Block, leads: tuple[Piece, ...], note: Block | None) -> list[Piece]:
        """`note`: a line below the table that explains it; every group repeats it."""
        table = block.table
        if table is None or not table.rows:
            return []
        body = table.rows[table.header_rows :] or table.rows
        names = self._names(table)
        grid = self._grid(table, names, body, leads, block)
        form = is_form(table)
        head = "" if form else header_lines(names)

        def lines(span: range) -> list[str]:
            if form:
                return form_lines(body[span.start : span.stop])
            return table_lines(body, span, table.header_rows, grid.label_columns)

        spare = self.size - self.count_tokens(head) - sum(lead.tokens for lead in leads)
        single = [lines(range(at, at + 1))[-1] for at in range(len(body))]
        groups = self._groups(single, spare)
        notes = ("\n\n" + (note.markdown or note.text), note.text) if note else ("", "")
        return [
            self._piece(
                block,
                replace(grid, rows=grid.rows[span.start : span.stop], first_row=span.start),
                head + "\n".join(lines(span)),
                leads,
                notes,
                grouped=len(groups) > 1,
                form=form,
            )
            for span in groups
        ]

    def _names(self, table: Table) -> Row:
        """Column names. Every group and row repeats them, so a header that would fill several
        chunks is shortened by cutting its longest names."""
        names = header_paths(table)
        room = _HEADER_SHARE * self.size
        if sum(map(len, names)) <= room:
            return names
        longest = max(_MIN_NAME_CHARS, room // len(names))
        return tuple(n if len(n) <= longest else n[: longest - 1].rstrip() + "…" for n in names)

    def _grid(
        self,
        table: Table,
        names: Row,
        body: Rows,
        leads: tuple[Piece, ...],
        block: Block,
    ) -> ChunkTable:
        rows = tuple(tuple(cell.text.strip() for cell in row) for row in body)
        content = repr((self.document_id, block.heading_path, names, rows[:1]))
        return ChunkTable(
            id=hashlib.sha256(content.encode()).hexdigest()[:16],
            caption=_caption(leads, self.heading),
            header=names,
            rows=rows,
            total_rows=len(rows),
            label_columns=max(1, table.header_columns, distinct_columns(rows)),
        )

    def _groups(self, lines: Sequence[str], spare: int) -> list[range]:
        """Ranges of consecutive rows, filled from the top: a row added below doesn't change the
        groups above, nor their ids and vectors."""
        most = max(spare, self.size // 3)
        groups = grouped(range(len(lines)), lambda row: self.count_tokens(lines[row]), most)
        return [range(rows[0], rows[-1] + 1) for rows in groups]

    def _piece(
        self,
        block: Block,
        part: ChunkTable,
        markdown: str,
        leads: tuple[Piece, ...],
        notes: tuple[str, str],
        *,
        grouped: bool,
        form: bool,
    ) -> Piece:
        title = f"**{part.caption}**\n\n" if grouped and not leads else ""
        text = title + markdown + notes[0]
        between = ": " if form else " | "
        plain = "\n".join(
            [
                " | ".join(filter(None, part.header)),
                *(_spoken(row, between) for row in part.rows),
                notes[1],
            ]
        )
        units = [
            unit for row in range(len(part.rows)) for unit in self._row_units(part, row, between)
        ]
        if notes[1] and part.first_row == 0:
            units.append(
                Unit(kind="sentence", text=notes[1], index_text=f"{self.heading}: {notes[1]}")
            )
        return Piece(
            text=text,
            plain=plain.strip(),
            tokens=self.count_tokens(text),
            kind="table",
            units=tuple(units),
            table=part,
            leads=leads,
            page=block.page,
        )

    def _row_units(self, table: ChunkTable, row: int, between: str) -> Iterator[Unit]:
        cells = table.rows[row]
        heading = self.heading[:MAX_HEADING_CHARS]
        pairs = [
            f"{name[:MAX_HEADING_CHARS]}: {value}" if name else value
            for name, value in _without_repeats(table.header, cells)
        ]
        if pairs:
            joiner = between if between == ": " else "; "
            yield Unit(
                kind="row",
                text=between.join(_without_long_repeats(cells)),
                index_text=f"{heading}: {joiner.join(pairs)}",
                row=row,
            )


def tells_how_to_read(block: Block) -> bool:
    """Whether a block explains a table: `An empty cell means no extra rule.`"""
    return (
        block.kind == "paragraph"
        and len(block.text) <= 160
        and _ABOUT_READING.search(block.text) is not None
    )


def is_box(table: Table) -> bool:
    """Whether the table is one cell: a frame around text."""
    return len(table.rows) == 1 and len(table.rows[0]) == 1


def _without_repeats(header: Row, cells: Row) -> Iterator[tuple[str, str]]:
    """Pairs of header and value; a value merged across columns comes once, with all its headers."""
    column = 0
    while column < len(cells):
        end = column + 1
        while end < len(cells) and cells[end] == cells[column]:
            end += 1
        if cells[column].strip():
            names = dict.fromkeys(name for name in header[column:end] if name)
            yield ", ".join(names), " ".join(cells[column].split())
        column = end


def _without_long_repeats(cells: Row) -> Iterator[str]:
    for column, cell in enumerate(cells):
        if not column or cell != cells[column - 1] or len(cell) <= len(AS_LEFT):
            yield cell


def _spoken(cells: Row, between: str) -> str:
    return between.join(" ".join(cell.split()) for cell in dict.fromkeys(cells) if cell.strip())


def _caption(leads: Sequence[Piece], heading: str) -> str:
    """The lead-in if it ends with a colon, otherwise the heading."""
    lead_in = leads[-1].plain.strip() if leads else ""
    return lead_in.rstrip(" :：") if lead_in.endswith((":", "：")) else heading
