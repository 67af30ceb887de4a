"""Sources: the context joined by sections, one for each `[n]` of an answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from agents.context.sections import is_same_table, section_text
from enrichment.chunk import Chunk
from index.search import Snapshot

MAX_SOURCE_CHARS = 4_000
"""Characters: a citation must be readable at a glance."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """Passages of one section, as the answerer reads them and `[n]` cites them."""

    chunks: tuple[Chunk, ...]
    """In reading order; never empty, all of one document, tab and heading."""
    text: str
    """Markdown."""

    @property
    def first(self) -> Chunk:
        """Its citation opens here."""
        return self.chunks[0]

    @property
    def from_picture(self) -> bool:
        return self.first.from_picture

    @property
    def place(self) -> str:
        """`title › headings`, each name once."""
        return " › ".join(dict.fromkeys((self.first.document_title, *self.first.heading_path)))


def build_sources(context: Sequence[Chunk], snapshot: Snapshot | None = None) -> tuple[Source, ...]:
    """Joins neighbors of one section, in the order of the context.

    With the snapshot, omitted parts of a section are noted."""
    sources: list[Source] = []
    whole: dict[str, Sequence[Chunk]] = {}
    for _, group in groupby(context, key=_citation_key):
        chunks = list(group)
        document = chunks[0].document_id
        if document not in whole:
            whole[document] = snapshot.chunks(document) if snapshot else ()
        section = [one for one in whole[document] if _citation_key(one) == _citation_key(chunks[0])]
        parts = list(_short_enough(chunks))
        for place, part in enumerate(parts):
            text = section_text(
                part,
                section,
                before=parts[place - 1][-1] if place else None,
                after=parts[place + 1][0] if place + 1 < len(parts) else None,
            )
            sources.append(Source(chunks=tuple(part), text=text))
    return tuple(sources)


def outline_of(
    sources: Sequence[Source], snapshot: Snapshot, *, most: int
) -> list[tuple[str, tuple[str, ...]]]:
    """(title, headings) of the sources' documents: sections without any passage in the sources.

    In reading order, at most `most` in all, spread evenly over the documents."""
    shown_headings: dict[str, set[tuple[str, ...]]] = {}
    for source in sources:
        shown_headings.setdefault(source.first.document_id, set()).add(source.first.heading_path)
    others = {
        document: [chunk for chunk in snapshot.chunks(document) if chunk.heading_path not in paths]
        for document, paths in shown_headings.items()
    }
    outline: list[tuple[str, tuple[str, ...]]] = []
    room = most
    waiting = len(others)
    for chunks in others.values():
        share = room // waiting
        waiting -= 1
        headings = tuple(dict.fromkeys(filter(None, map(_heading, chunks))))[:share]
        if headings:
            outline.append((chunks[0].document_title, headings))
            room -= len(headings)
    return outline


def _heading(chunk: Chunk) -> str:
    path = chunk.heading_path
    return " › ".join(path[1:] if path[:1] == (chunk.document_title,) else path)


def _citation_key(chunk: Chunk) -> tuple[str, str, tuple[str, ...], str, bool]:
    """Passages with the same key share a number."""
    return *chunk.section, chunk.url, chunk.from_picture


def _short_enough(chunks: Sequence[Chunk]) -> Iterator[list[Chunk]]:
    """Splits between tables and lists rather than inside them."""
    part: list[Chunk] = []
    size = 0
    for piece in _pieces(chunks):
        length = sum(len(chunk.text) for chunk in piece)
        if part and size + length > MAX_SOURCE_CHARS:
            yield part
            part, size = [], 0
        for chunk in piece:
            if part and size + len(chunk.text) > MAX_SOURCE_CHARS:
                yield part
                part, size = [], 0
            part.append(chunk)
            size += len(chunk.text)
    if part:
        yield part


def _pieces(chunks: Sequence[Chunk]) -> Iterator[list[Chunk]]:
    """Row groups of one table, and parts of one list, are one piece."""
    piece: list[Chunk] = []
    for chunk in chunks:
        if piece and not share_a_block(piece[-1], chunk):
            yield piece
            piece = []
        piece.append(chunk)
    if piece:
        yield piece


def share_a_block(one: Chunk, other: Chunk) -> bool:
    """Whether both hold a part of the same table, list or code block."""
    same_run = {run.id for run in one.runs} & {run.id for run in other.runs}
    return bool(same_run) or is_same_table(one, other)
