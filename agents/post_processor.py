"""Agent 4: what the answerer reads: no duplicates, whole rows, in reading order, within budget."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agents.extractive.relevance import Scored
from enrichment.chunk import Chunk
from enrichment.language.words import stems
from index.search import Hit

NEAR_DUPLICATE = 0.92
"""Share of the larger chunk's words that both hold: of a chunk that says more, nothing is lost."""

_NOTHING = -20.0
_LAST = 100
_SEARCH = 5.0
"""Log-odds that search's first place is worth; the sixth is worth half."""
_ANY_SEARCH = 2.0
"""The same for the first place by vectors or by words alone; the eleventh is worth half."""
_ROOM = 300
"""Characters that cost one log-odds."""


@dataclass(frozen=True, kw_only=True)
class Context:
    """The chunks the answerer sees, in order, and why the others are not among them."""

    chunks: tuple[Chunk, ...]
    dropped: Mapping[str, str]


def build_context(hits: Sequence[Hit], scored: Sequence[Scored], *, characters: int) -> Context:
    """Takes the best chunks that fit, then orders documents by relevance, chunks by position."""
    relevance = chunk_scores(hits, scored)
    ranked = sorted((hit.chunk for hit in hits), key=lambda chunk: -relevance[chunk.id])
    kept: list[Chunk] = []
    dropped: dict[str, str] = {}
    room = characters
    for chunk in ranked:
        twin = next((other for other in kept if is_near_duplicate(chunk, other)), None)
        if twin:
            dropped[chunk.id] = f"says the same as {' › '.join(twin.heading_path) or twin.id}"
        elif len(chunk.text) > room:
            dropped[chunk.id] = "over the budget"
        else:
            kept.append(chunk)
            room -= len(chunk.text)
    return Context(chunks=tuple(in_reading_order(kept)), dropped=dropped)


def chunk_scores(hits: Sequence[Hit], scored: Sequence[Scored]) -> dict[str, float]:
    """Chunk id → how much of the answer it may hold for the room that it takes.

    The odds of a chunk's statements add up, so one with several that may answer comes before one
    with a single lucky one."""
    strengths: dict[str, list[float]] = {}
    for unit in scored:
        strengths.setdefault(unit.chunk.id, []).append(unit.strength)
    return {
        hit.chunk.id: _together(strengths.get(hit.chunk.id, ()))
        + _SEARCH / (1 + rank / 5)
        + _ANY_SEARCH / (1 + min(hit.ranks.values(), default=_LAST) / 10)
        - len(hit.chunk.text) / _ROOM
        for rank, hit in enumerate(hits, start=1)
    }


def _together(strengths: Sequence[float]) -> float:
    odds = sum(math.exp(strength) for strength in strengths)
    return max(_NOTHING, math.log(odds)) if odds else _NOTHING


def in_reading_order(ranked: Sequence[Chunk]) -> list[Chunk]:
    """Documents by their best chunk, chunks of a document by position."""
    order = {
        document: place
        for place, document in enumerate(dict.fromkeys(c.document_id for c in ranked))
    }
    return sorted(ranked, key=lambda chunk: (order[chunk.document_id], chunk.position))


def is_near_duplicate(chunk: Chunk, other: Chunk) -> bool:
    """Same words but for a few; tables with other cells are never duplicates of each other."""
    if chunk.text == other.text:
        return True
    if chunk.kind == "table" or other.kind == "table":
        return False
    mine, theirs = stems(chunk.text), stems(other.text)
    smaller = min(len(mine), len(theirs))
    return smaller >= 8 and len(mine & theirs) / max(len(mine), len(theirs)) >= NEAR_DUPLICATE
