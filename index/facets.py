"""Counting what the found passages name, to narrow a search by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from enrichment.chunk import DocumentCard
from index.search import Hit

VALUES = 20
"""Most frequent values shown of each facet."""


def facets(
    hits: Sequence[Hit], documents: Mapping[str, DocumentCard]
) -> dict[str, list[dict[str, object]]]:
    """Facet → values with the number of passages that have them, most frequent first.

    One for each kind of entity (`code`, `system`, …), and `document_type`, `document`, `tab`."""
    counts: dict[str, Counter[str]] = {}
    for hit in hits:
        for facet, values in _values(hit, documents).items():
            counts.setdefault(facet, Counter()).update(set(values))
    return {facet: _most_common(found) for facet, found in sorted(counts.items())}


def _values(hit: Hit, documents: Mapping[str, DocumentCard]) -> dict[str, list[str]]:
    chunk = hit.chunk
    found: dict[str, list[str]] = {"document": [chunk.document_id]}
    for entity in chunk.entities:
        found.setdefault(entity.kind, []).append(entity.value)
    card = documents.get(chunk.document_id)
    kind = chunk.document_type or (card.document_type if card else "")
    if kind:
        found["document_type"] = [kind]
    if chunk.tab:
        found["tab"] = [chunk.tab]
    return found


def _most_common(found: Counter[str]) -> list[dict[str, object]]:
    ordered: Iterable[tuple[str, int]] = sorted(found.items(), key=lambda one: (-one[1], one[0]))
    return [{"value": value, "count": count} for value, count in list(ordered)[:VALUES]]
