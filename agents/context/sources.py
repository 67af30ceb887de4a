"""Sources: the context joined by sections, one for each `[n]` of an answer."""

from __future__ import annotations

import posixpath
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby
from urllib.parse import urlsplit

from agents.context.sections import is_same_table, section_text
from enrichment.chunk import Chunk, DocumentCard
from index.search import Snapshot

MAX_SOURCE_CHARS = 4_000
"""Characters: a citation must be readable at a glance."""

_MAX_HEADING_CHARS = 80


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


def outline_of(sources: Sequence[Source], snapshot: Snapshot, *, characters: int) -> list[str]:
    """`title: headings` of the sources' documents: sections without any passage in the sources.

    In reading order, in at most so many characters, shared by the documents; what has no room is
    counted."""
    read_paths: dict[str, set[tuple[str, ...]]] = {}
    for source in sources:
        read_paths.setdefault(source.first.document_id, set()).add(source.first.heading_path)
    names = names_of_equals(snapshot.documents)
    outline: list[str] = []
    for waiting, document in zip(range(len(read_paths), 0, -1), read_paths, strict=True):
        chunks = snapshot.chunks(document)
        paths = dict.fromkeys(one.heading_path for one in chunks)
        headings = _short_headings([path for path in paths if path not in read_paths[document]])
        sizes = accumulate(len(heading) for heading in headings)
        fitting = headings[: sum(size <= characters // waiting for size in sizes)]
        characters -= sum(map(len, fitting))
        if headings:
            count = len(headings) - len(fitting)
            listed = "; ".join([*fitting, *[f"… {count} more"] * bool(count)])
            outline.append(f"{names.get(document, chunks[0].document_title)}: {listed}")
    return outline


def _short_headings(paths: Sequence[tuple[str, ...]]) -> list[str]:
    """The last heading of each path; of equal ones, the paths."""
    last = Counter(path[-1:] for path in paths)
    whole = (path if last[path[-1:]] > 1 else path[-1:] for path in paths)
    return [" › ".join(path)[:_MAX_HEADING_CHARS] for path in whole if path]


def names_of_equals(documents: Mapping[str, DocumentCard]) -> dict[str, str]:
    """Id → `title (folder)` of documents that share their title; by the site or the date where the
    folder doesn't tell all of them apart, and by the id where nothing else does."""
    equals: dict[str, list[DocumentCard]] = defaultdict(list)
    for card in documents.values():
        equals[card.title.casefold()].append(card)
    names: dict[str, str] = {}
    for cards in equals.values():
        ways = (
            [posixpath.dirname(card.path) for card in cards],
            [urlsplit(card.url).netloc for card in cards],
            [f"{card.modified_at:%Y-%m-%d}" if card.modified_at else "" for card in cards],
            [card.id for card in cards],
        )
        marks = next(way for way in ways if len({*way}) == len(cards))
        pairs = zip(cards, marks, strict=True) if len(cards) > 1 else ()
        names |= {card.id: f"{card.title} ({mark})" for card, mark in pairs if mark}
    return names


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
