"""A chunk cut down to the rows that matter: what a small budget shows of a table."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from enrichment.chunk import Chunk


def excerpt(chunk: Chunk, units: Collection[int]) -> str:
    """`chunk.text` with only those table rows that `units` (indexes in `chunk.units`) point to.

    Lead-in, header and the text around the table stay, and no row is cut. Text chunks, and tables
    of which no row is named, are returned whole."""
    rows = {chunk.units[unit].row for unit in units} - {None}
    if chunk.table is None or not rows:
        return chunk.text
    return "\n".join(_kept_lines(chunk.text, rows))


def _kept_lines(text: str, rows: Collection[int | None]) -> Iterator[str]:
    row: int | None = None
    for line in text.split("\n"):
        if row is None:
            row = 0 if line.startswith("|---") else None
            yield line
        elif line.startswith("| "):
            if row in rows:
                yield line
            row += 1
        else:
            yield line
