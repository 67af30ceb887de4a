"""What stands around a hit: its section, and the other rows of its table."""

from __future__ import annotations

from enrichment.chunk import Chunk
from index.search import Snapshot


def adjacent(snapshot: Snapshot, chunk: Chunk, *, before: int = 1, after: int = 1) -> list[Chunk]:
    """Chunks of the same section beside `chunk`, in reading order, without it."""
    return [
        other
        for other in snapshot.chunks(chunk.document_id)
        if other.id != chunk.id
        and -before <= other.position - chunk.position <= after
        and (other.tab, other.heading_path) == (chunk.tab, chunk.heading_path)
    ]


def row_group(snapshot: Snapshot, chunk: Chunk) -> list[Chunk]:
    """All chunks of the table that `chunk` holds rows of, in order; alone when it has none."""
    if chunk.table is None:
        return [chunk]
    table = chunk.table.id
    found = [
        other
        for other in snapshot.chunks(chunk.document_id)
        if other.table is not None and other.table.id == table
    ]
    return found or [chunk]
