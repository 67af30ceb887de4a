"""Facets: which values the passages of a search have, so that a user can narrow it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from enrichment.chunk import DocumentCard
from index.search import Hit

VALUES = 20
"""Number of most frequent values returned for each facet; all values are counted."""
MAX_COUNTED = 1_000
"""Number of best hits counted. Each is read from the database, and where permissions differ between
readers, Drive may be asked about its document."""


@dataclass(frozen=True, kw_only=True)
class Facets:
    facets: Mapping[str, list[dict[str, Any]]] = field(default_factory=dict)
    """Facet → `{value, count, documents}`: the number of passages with the value and of their
    documents; most frequent first, at most VALUES.

    There is a facet for each kind of entity (`code`, `system`, …), and `document_type`,
    `document` and `tab`."""
    totals: Mapping[str, Any] | None = None
    """`{passages, documents, complete, values: facet → number of distinct values}`."""


def is_found(hit: Hit) -> bool:
    """Whether a hit contains a searched word or scores close to the best hundred of a ranking.

    A vector search ranks every chunk, however distant. See `fusion.blend`."""
    return "keywords" in hit.ranks or hit.score > 0


def count_facets(hits: Sequence[Hit], documents: Mapping[str, DocumentCard]) -> Facets:
    """Counts the first MAX_COUNTED hits. `hits`: best first, without duplicates."""
    having: defaultdict[str, defaultdict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    counted = hits[:MAX_COUNTED]
    for hit in counted:
        for facet, values in _values(hit, documents).items():
            for value in values:
                having[facet][value].append(hit.chunk.document_id)
    return Facets(
        facets={facet: _most_common(having[facet]) for facet in sorted(having)},
        totals={
            "passages": len(counted),
            "documents": len({hit.chunk.document_id for hit in counted}),
            "complete": len(hits) <= MAX_COUNTED,
            "values": {facet: len(having[facet]) for facet in sorted(having)},
        },
    )


def _values(hit: Hit, documents: Mapping[str, DocumentCard]) -> dict[str, set[str]]:
    chunk = hit.chunk
    values = {"document": {chunk.document_id}}
    for entity in chunk.entities:
        values.setdefault(entity.kind, set()).add(entity.value)
    card = documents.get(chunk.document_id)
    kind = chunk.document_type or (card.document_type if card else "")
    if kind:
        values["document_type"] = {kind}
    if chunk.tab:
        values["tab"] = {chunk.tab}
    return values


def _most_common(having: Mapping[str, Sequence[str]]) -> list[dict[str, Any]]:
    """`having`: value → the document of each passage that has it."""
    ordered = sorted(having.items(), key=lambda one: (-len(one[1]), one[0]))
    return [
        {"value": value, "count": len(of), "documents": len(set(of))}
        for value, of in ordered[:VALUES]
    ]
