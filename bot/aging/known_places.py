"""Cited places as they are kept, and as the documents of today have them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import structlog
from pydantic import TypeAdapter

from agents.answer import Answer, Citation
from agents.freshness.cited_places import KnownPlace, places_cited, whole_section
from config.errors import CopilotError
from index.search import Snapshot

log = structlog.get_logger()

_places = TypeAdapter(KnownPlace)
SnapshotOf = Callable[[str], Snapshot | None]
"""Domain name → what everybody may read of it now; None where nothing is published."""


def kept_as(place: KnownPlace) -> str:
    return _places.dump_json(place).decode()


def kept_place(text: str) -> KnownPlace:
    return _places.validate_json(text)


def snapshots(published: Callable[[str], Snapshot] | None) -> SnapshotOf:
    """None as well where the documents can't be looked at now."""

    def of(domain: str) -> Snapshot | None:
        if published is None:
            return None
        try:
            return published(domain)
        except CopilotError as error:
            log.info("documents can't be looked at", domain=domain, reason=str(error))
            return None

    return of


def places_of(answer: Answer, snapshot: Snapshot) -> Iterator[KnownPlace]:
    """Of all its citations, each once."""
    seen: set[str] = set()
    for citation in answer.citations:
        for place in places_cited(citation, snapshot):
            if place.key not in seen:
                seen.add(place.key)
                yield place


def place_meant(citation: Citation, snapshot: Snapshot | None) -> KnownPlace:
    """The nearest that is known of it; without marks where nobody in particular may read it, or it
    is gone."""
    if snapshot:
        found = next(iter(places_cited(citation, snapshot)), None)
        if place := found or whole_section(citation, snapshot):
            return place
    heading = "" if citation.heading == citation.title else citation.heading
    return KnownPlace(document=citation.document, title=citation.title, path=heading)
