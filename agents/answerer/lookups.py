"""Carries out the lookups that an answerer requests, on the documents its reader may read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from agents.context.sources import Source
from agents.requests import LookupRequest
from enrichment.chunk import Chunk
from enrichment.language.words import codes
from enrichment.references import as_ids
from index.search import Hit, SearchQuery, Snapshot

_SEARCH_LIMIT = 6
"""Passages per search."""
_NEIGHBORS = 2
"""Passages before and after a source."""
_MAX_SECTION_CHARS = 8_000


def look_up_requests(
    requests: Sequence[LookupRequest], sources: Sequence[Source], snapshot: Snapshot
) -> tuple[list[Hit], list[str]]:
    """(passages new to the answerer, best first per request; a line on each request's outcome).

    `sources`: the sources that the answerer has, `around: n` is `sources[n - 1]`."""
    known_ids = {chunk.id for source in sources for chunk in source.chunks}
    hits: dict[str, Hit] = {}
    notes: list[str] = []
    for request in requests:
        fresh = 0
        for hit in _hits_for(request, sources, snapshot):
            if hit.chunk.id not in known_ids:
                fresh += hit.chunk.id not in hits
                hits.setdefault(hit.chunk.id, hit)
        count = f"{fresh} new passage{'s' * (fresh != 1)}" if fresh else "nothing new"
        notes.append(f"{request} → {count}")
    return list(hits.values()), notes


def _hits_for(request: LookupRequest, sources: Sequence[Source], snapshot: Snapshot) -> list[Hit]:
    if request.tool == "find":
        return _find(request, snapshot)
    chunks: Iterable[Chunk] = ()
    if request.tool == "open":
        chunks = _open(request, snapshot)
    elif request.tool == "around" and 1 <= request.number <= len(sources):
        chunks = _around(sources[request.number - 1], snapshot)
    return [Hit(chunk=chunk, score=0.0) for chunk in chunks]


def _find(request: LookupRequest, snapshot: Snapshot) -> list[Hit]:
    document = document_meant(request.document, snapshot)
    return snapshot.search(
        SearchQuery(
            variants=(request.words,),
            keywords=tuple(codes(request.words)),
            limit=_SEARCH_LIMIT,
            documents=frozenset((document,)) if document else None,
            escape=0,
        )
    )


def _open(request: LookupRequest, snapshot: Snapshot) -> Iterator[Chunk]:
    document = document_meant(request.document, snapshot)
    heading = _plain(request.words)
    room = _MAX_SECTION_CHARS
    for chunk in snapshot.chunks(document) if document else ():
        # Headings above count too: a chapter opens with its sections.
        if heading and not any(
            heading in _plain(name) for name in (*chunk.heading_path, chunk.tab)
        ):
            continue
        room -= len(chunk.text)
        if room < 0:
            break
        yield chunk


def _around(source: Source, snapshot: Snapshot) -> list[Chunk]:
    first, last = source.chunks[0].position - _NEIGHBORS, source.chunks[-1].position + _NEIGHBORS
    return [
        chunk
        for chunk in snapshot.chunks(source.first.document_id)
        if first <= chunk.position <= last
    ]


def document_meant(name: str, snapshot: Snapshot) -> str:
    """The id of a document by id, path, title or an unambiguous part of one; else ''."""
    cards = snapshot.documents.values()
    named = as_ids([name], cards)[0]
    if not name or named in snapshot.documents:
        return named
    plain_name = _plain(name)
    titles = {document: _plain(card.title) for document, card in snapshot.documents.items()}
    exact = [document for document, title in titles.items() if title == plain_name]
    like = [document for document, title in titles.items() if plain_name in title]
    return next(iter(exact if exact else like if len(like) == 1 else ()), "")


def _plain(name: str) -> str:
    return " ".join(name.casefold().split())
