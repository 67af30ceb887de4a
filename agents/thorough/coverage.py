"""Whether the passages cover every part of a question, told without a model."""

from __future__ import annotations

from collections.abc import Sequence

from agents.extractive.relevance import Scored
from enrichment.chunk import Chunk

COVERED = 2.0
"""Log-odds of its best statement from which a part counts as covered."""


def covers_every_part(scored: Sequence[Scored], context: Sequence[Chunk]) -> bool:
    """Each part, or the whole question when it has none, finds a statement of its own."""
    read = {chunk.id for chunk in context}
    strengths = [unit.aspects for unit in scored if unit.chunk.id in read]
    if not strengths:
        return False
    best = [max(of_one_part) for of_one_part in zip(*strengths, strict=True)]
    return min(best[1:] or best) >= COVERED
