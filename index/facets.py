"""Counting what the found passages name, to narrow a search by."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from enrichment.chunk import DocumentCard
from index.search import Hit

VALUES = 20
"""Most frequent values shown of each facet; all are counted."""
MOST_COUNTED = 1_000
"""Best hits that are looked through: each is read from the database, and where every reader has
permissions of their own, Drive is asked about its document."""


@dataclass(frozen=True, kw_only=True)
class Facets:
    facets: Mapping[str, list[dict[str, Any]]] = field(default_factory=dict)
    """Facet → `{value, count, documents}`: passages that have the value and documents that these
    are of, each counted once; most frequent first, at most VALUES.

    One for each kind of entity (`code`, `system`, …), and `document_type`, `document`, `tab`."""
    totals: Mapping[str, Any] | None = None
    """`{passages, documents, complete, values: facet → how many different ones there are}`."""


NO_FACETS = Facets()


def is_found(hit: Hit) -> bool:
    """A vector is somewhere near every other: found is what holds a word that was searched for,
    or is not far behind the best hundred of one ranking (see `fusion.blend`)."""
    return "keywords" in hit.ranks or hit.score > 0


def count_facets(hits: Sequence[Hit], documents: Mapping[str, DocumentCard]) -> Facets:
    """Of the first MOST_COUNTED hits, best first; none of them comes twice."""
    having: defaultdict[str, defaultdict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    counted = hits[:MOST_COUNTED]
    for hit in counted:
        for facet, values in _values(hit, documents).items():
            for value in values:
                having[facet][value].append(hit.chunk.document_id)
    return Facets(
        facets={facet: _most_common(having[facet]) for facet in sorted(having)},
        totals={
            "passages": len(counted),
            "documents": len({hit.chunk.document_id for hit in counted}),
            "complete": len(hits) <= MOST_COUNTED,
            "values": {facet: len(having[facet]) for facet in sorted(having)},
        },
    )


def _values(hit: Hit, documents: Mapping[str, DocumentCard]) -> dict[str, set[str]]:
    chunk = hit.chunk
    found = {"document": {chunk.document_id}}
    for entity in chunk.entities:
        found.setdefault(entity.kind, set()).add(entity.value)
    card = documents.get(chunk.document_id)
    kind = chunk.document_type or (card.document_type if card else "")
    if kind:
        found["document_type"] = {kind}
    if chunk.tab:
        found["tab"] = {chunk.tab}
    return found


def _most_common(having: Mapping[str, Sequence[str]]) -> list[dict[str, Any]]:
    """`having`: value → the document of each passage that has it."""
    ordered = sorted(having.items(), key=lambda one: (-len(one[1]), one[0]))
    return [
        {"value": value, "count": len(of), "documents": len(set(of))}
        for value, of in ordered[:VALUES]
    ]
