"""A table's rows as the reader of a chunk sees them: a form as lines, a merged value once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from loaders.document import Cell, Table
from loaders.tables.markdown import header_paths

Rows = Sequence[Sequence[Cell]]
AS_LEFT, AS_ABOVE = "(as left)", "(as above)"
_LONGEST_FIELD = 60


def is_form(table: Table) -> bool:
    """Two columns without names, of which the left one names what the right one says."""
    if not table.rows or len(table.rows[0]) != 2 or any(header_paths(table)):
        return False
    if table.header_evidence == "model, verified":
        return table.header_columns == 1
    fields = [row[0].text.strip() for row in table.rows[table.header_rows :]]
    return all(0 < len(each) <= _LONGEST_FIELD for each in fields) and len(set(fields)) == len(
        fields
    )


def form_lines(body: Rows) -> list[str]:
    """`field: value`."""
    return [f"{_text(field).rstrip(' :')}: {_text(value)}".rstrip() for field, value in body]


def table_lines(body: Rows, span: range, above: int, labels: int) -> list[str]:
    """The rows of one chunk. `above`: header rows; `labels`: columns that tell rows apart.

    A merged value longer than the words that point to it is written where it begins, and again
    in the first row of each chunk. Labels stand in every row, and a row that is merged over the
    whole width, as the rows below belong to it, also at the head of the next chunk."""
    titles = [row for row in span_before(body, span) if _is_title(row)]
    rows = [_row([_text(titles[-1][0])], len(titles[-1]))] if titles else []
    for at in span:
        cells = body[at]
        if _is_title(cells):
            rows.append(_row([_text(cells[0])], len(cells)))
            continue
        shown = []
        for column, cell in enumerate(cells):
            text = _text(cell)
            if column >= labels and cell.column < column and len(text) > len(AS_LEFT):
                text = AS_LEFT
            elif column >= labels and cell.row < at + above and at > span.start:
                text = AS_ABOVE if len(text) > len(AS_ABOVE) else text
            shown.append(text)
        rows.append(_row(shown, len(cells)))
    return rows


def span_before(body: Rows, span: range) -> Rows:
    """The rows above, unless the first row of the span is a title itself."""
    return () if _is_title(body[span.start]) else body[: span.start]


def header_lines(names: Sequence[str]) -> str:
    return f"{_row([_escaped(name) for name in names], len(names))}\n|{'---|' * len(names)}\n"


def _is_title(row: Sequence[Cell]) -> bool:
    first = row[0]
    return len(row) > 1 and first.column_span == len(row) and bool(first.text.strip())


def _row(cells: Iterable[str], width: int) -> str:
    shown = list(cells)
    return f"| {' | '.join([*shown, *[''] * (width - len(shown))])} |"


def _text(cell: Cell) -> str:
    return _escaped(cell.markdown.strip() or cell.text.strip())


def _escaped(text: str) -> str:
    return text.replace("\n", "<br>").replace("|", "\\|")
