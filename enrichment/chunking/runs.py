"""Which chunks are parts of one list or code block."""

from __future__ import annotations

from collections.abc import Sequence

from enrichment.chunk import ChunkRun
from enrichment.chunking.pieces import Piece, Stretch


def runs_of(groups: Sequence[Sequence[Piece]]) -> list[tuple[ChunkRun, ...]]:
    """For each group of a section the lists and code blocks that others have the rest of."""
    places: dict[str, dict[int, list[Stretch]]] = {}
    for at, group in enumerate(groups):
        for piece in group:
            for stretch in piece.stretches:
                places.setdefault(stretch.run, {}).setdefault(at, []).append(stretch)
    found: list[list[ChunkRun]] = [[] for _ in groups]
    for run, parts in places.items():
        for part, (at, stretches) in enumerate(parts.items() if len(parts) > 1 else ()):
            first = min(stretch.first for stretch in stretches)
            found[at].append(
                ChunkRun(
                    id=run,
                    what=stretches[0].what,
                    part=part,
                    parts=len(parts),
                    first=first,
                    count=max(stretch.end for stretch in stretches) - first,
                    total=stretches[0].total,
                )
            )
    return [tuple(runs) for runs in found]
