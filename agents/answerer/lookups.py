"""Carries out the lookups that an answerer requests, on the documents its reader may read."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from agents.context.sources import Source, names_of_equals, share_a_block
from agents.requests import LookupRequest
from enrichment.chunk import Chunk
from enrichment.language.words import codes, stems
from enrichment.references import as_ids
from index.search import Hit, SearchQuery, Snapshot

_SEARCH_LIMIT = 6
"""Passages per search."""
_NEIGHBORS = 2
"""Passages before and after a source."""
_MAX_SECTION_CHARS = 8_000
_MAX_HEADINGS = 8


def look_up_requests(
    requests: Sequence[LookupRequest], sources: Sequence[Source], snapshot: Snapshot
) -> tuple[list[Hit], list[str]]:
    """(passages new to the answerer, best first per request; a line on each request's outcome).

    `sources`: the sources that the answerer has, `around: n` is `sources[n - 1]`."""
    present = {chunk.id for source in sources for chunk in source.chunks}
    hits: dict[str, Hit] = {}
    notes: list[str] = []
    for request in requests:
        problem, results = _carry_out(request, sources, snapshot)
        fresh = [hit for hit in results if hit.chunk.id not in present | hits.keys()]
        hits |= {hit.chunk.id: hit for hit in fresh}
        outcome = [problem] if problem else []
        if fresh:
            outcome.append(f"{len(fresh)} new passage{'s' * (len(fresh) != 1)}")
        elif results:
            outcome.append("nothing new: all that it brings is among the sources already")
        notes.append(f"{request} → {'; '.join(outcome)}")
    return list(hits.values()), notes


def _carry_out(
    request: LookupRequest, sources: Sequence[Source], snapshot: Snapshot
) -> tuple[str, list[Hit]]:
    """What was wrong with the request, and what it brought all the same."""
    if request.tool == "around":
        if not 1 <= request.number <= len(sources):
            return f"there is no source {request.number}", []
        chunks = _around(sources[request.number - 1], snapshot)
        return "", [Hit(chunk=chunk, score=0.0) for chunk in chunks]
    document = document_meant(request.document, snapshot)
    unknown = f"no document has the title “{request.document}”" if request.document else ""
    if request.tool == "find":
        hits = _find(request.words, document, snapshot)
        problem = f"{unknown}, so all were searched" if unknown and not document else ""
        return (problem, hits) if hits else (f"{problem}; " * bool(problem) + "no passage", [])
    if not document:
        return unknown, []
    chunks, left_out = _open(request.words, snapshot.chunks(document))
    problem = f"{left_out:,} further characters of it left out" if left_out else ""
    if not chunks:
        problem = _no_section(request.words, snapshot.chunks(document))
    return problem, [Hit(chunk=chunk, score=0.0) for chunk in chunks]


def _find(words: str, document: str, snapshot: Snapshot) -> list[Hit]:
    return snapshot.search(
        SearchQuery(
            variants=(words,),
            keywords=tuple(codes(words)),
            limit=_SEARCH_LIMIT,
            documents=frozenset((document,)) if document else None,
            escape=0,
        )
    )


def _open(heading: str, document: Sequence[Chunk]) -> tuple[list[Chunk], int]:
    """(the section's passages as far as there is room, characters left out)."""
    section = [chunk for chunk in document if _is_below(chunk, _plain(heading))]
    chunks: list[Chunk] = []
    room = _MAX_SECTION_CHARS
    for chunk in section:
        room -= len(chunk.text)
        if room < 0:
            break
        chunks.append(chunk)
    return chunks, sum(len(chunk.text) for chunk in section[len(chunks) :])


def _is_below(chunk: Chunk, heading: str) -> bool:
    """Headings above count too: a chapter opens with its sections. '' is the whole document."""
    names = (*chunk.heading_path, chunk.tab, " › ".join(chunk.heading_path))
    return any(heading in _plain(name) for name in names)


def _no_section(heading: str, document: Sequence[Chunk]) -> str:
    """Names the headings that share most words with the one requested."""
    if not document:
        return "the document has no text"
    words = stems(heading)
    headings = dict.fromkeys(chunk.heading for chunk in document if chunk.heading)
    likest = sorted(headings, key=lambda one: -len(stems(one) & words))[:_MAX_HEADINGS]
    return f"the document has no section “{heading}”; it has: {'; '.join(likest)}"


def _around(source: Source, snapshot: Snapshot) -> list[Chunk]:
    """The rest of the source's lists and tables, and what stands before and after it."""
    first, last = source.chunks[0].position - _NEIGHBORS, source.chunks[-1].position + _NEIGHBORS
    rest = [
        chunk
        for chunk in snapshot.chunks(source.first.document_id)
        if first <= chunk.position <= last or any(share_a_block(chunk, o) for o in source.chunks)
    ]
    center = source.first.position
    nearest = sorted(rest, key=lambda chunk: abs(chunk.position - center))
    sizes = accumulate(len(chunk.text) for chunk in nearest)
    return [one for one, size in zip(nearest, sizes, strict=True) if size <= _MAX_SECTION_CHARS]


def document_meant(name: str, snapshot: Snapshot) -> str:
    """The id of a document by id, path, title or an unambiguous part of one; else ''."""
    cards = snapshot.documents.values()
    named = as_ids([name], cards)[0]
    if not name or named in snapshot.documents:
        return named
    plain_name = _plain(name)
    named_apart = names_of_equals(snapshot.documents).items()
    if apart := [document for document, other in named_apart if _plain(other) == plain_name]:
        return apart[0]
    titles = {document: _plain(card.title) for document, card in snapshot.documents.items()}
    exact = [document for document, title in titles.items() if title == plain_name]
    like = [document for document, title in titles.items() if plain_name in title]
    return next(iter(exact if exact else like if len(like) == 1 else ()), "")


def _plain(name: str) -> str:
    return " ".join(name.casefold().split())
