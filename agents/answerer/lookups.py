"""Carries out what an answerer asks for, on what its reader may read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agents.context.sources import Source
from agents.requests import LookupRequest
from enrichment.chunk import Chunk
from enrichment.language.words import codes
from index.search import Hit, SearchQuery, Snapshot

_FOUND = 6
"""Passages that a search brings."""
_BESIDE = 2
"""Passages before a source, and after it."""
_LONGEST_SECTION = 8_000
"""Characters of a section that is opened."""


@dataclass(frozen=True, kw_only=True)
class LookupResult:
    """What one round brought."""

    hits: tuple[Hit, ...]
    """Passages that the answerer has not read, best first for each request."""
    notes: tuple[str, ...]
    """One line for each request: what became of it."""


def look(
    requests: Sequence[LookupRequest], read: Sequence[Source], snapshot: Snapshot
) -> LookupResult:
    """`read`: the sources that the answerer has, `around: n` is `read[n - 1]`."""
    known = {chunk.id for source in read for chunk in source.chunks}
    hits: dict[str, Hit] = {}
    notes: list[str] = []
    for request in requests:
        fresh = 0
        for hit in _carried_out(request, read, snapshot):
            if hit.chunk.id not in known:
                fresh += hit.chunk.id not in hits
                hits.setdefault(hit.chunk.id, hit)
        notes.append(f"{request} → {_counted(fresh)}")
    return LookupResult(hits=tuple(hits.values()), notes=tuple(notes))


def _carried_out(
    request: LookupRequest, read: Sequence[Source], snapshot: Snapshot
) -> Iterator[Hit]:
    if request.tool == "find":
        yield from _find(request, snapshot)
    elif request.tool == "open":
        yield from map(_shown, _open(request, snapshot))
    elif request.tool == "around" and 1 <= request.number <= len(read):
        yield from map(_shown, _around(read[request.number - 1], snapshot))


def _find(request: LookupRequest, snapshot: Snapshot) -> list[Hit]:
    document = document_meant(request.document, snapshot)
    return snapshot.search(
        SearchQuery(
            variants=(request.words,),
            keywords=tuple(codes(request.words)),
            limit=_FOUND,
            documents=frozenset((document,)) if document else None,
            escape=0,
        )
    )


def _open(request: LookupRequest, snapshot: Snapshot) -> Iterator[Chunk]:
    document = document_meant(request.document, snapshot)
    heading = _plain(request.words)
    room = _LONGEST_SECTION
    for chunk in snapshot.chunks(document) if document else ():
        # Headings above it count too: a chapter is opened with its sections.
        if heading and not any(
            heading in _plain(name) for name in (*chunk.heading_path, chunk.tab)
        ):
            continue
        room -= len(chunk.text)
        if room < 0:
            break
        yield chunk


def _around(source: Source, snapshot: Snapshot) -> list[Chunk]:
    first, last = source.chunks[0].position - _BESIDE, source.chunks[-1].position + _BESIDE
    return [
        chunk
        for chunk in snapshot.chunks(source.first.document_id)
        if first <= chunk.position <= last
    ]


def document_meant(named: str, snapshot: Snapshot) -> str:
    """Its id, by id or title, or by a part of a title that only one has; else ''."""
    if not named or named in snapshot.documents:
        return named
    sought = _plain(named)
    titles = {document: _plain(card.title) for document, card in snapshot.documents.items()}
    exact = [document for document, title in titles.items() if title == sought]
    like = [document for document, title in titles.items() if sought in title]
    return next(iter(exact if exact else like if len(like) == 1 else ()), "")


def _plain(name: str) -> str:
    return " ".join(name.casefold().split())


def _shown(chunk: Chunk) -> Hit:
    return Hit(chunk=chunk, score=0.0)


def _counted(fresh: int) -> str:
    return f"{fresh} new passage{'s' * (fresh != 1)}" if fresh else "nothing new"
