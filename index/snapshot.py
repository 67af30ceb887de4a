"""One open generation: the Snapshot port over a folder and the database."""

from __future__ import annotations

import logging
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from config.errors import GenerationReplaced, IndexUnavailable, ModelUnavailable
from config.models import Vectors
from enrichment.chunk import Chunk, DocumentCard
from enrichment.extractive.lifecycle import with_successors
from enrichment.language.words import search_terms
from index.generations.engines import Searches
from index.generations.folder import Folder
from index.page_links import ReadsChunks
from index.ranking.fusion import Fused, Rankings, blend
from index.search import Hit, SearchQuery, Snapshot
from index.store.documents import GenerationInfo
from index.vectors.quantized import Mask
from index.vectors.search import LruCache, QuestionVectors

MAX_VARIANTS = 16
MIN_DEPTH = 100
DEPTH_PER_LIMIT = 3
CACHED_CHUNKS = 2_000
"""Per domain; a chunk takes 8 kB in memory."""
CACHED_MASKS = 16
"""Per domain; a mask takes one byte for each chunk."""

logger = logging.getLogger(__name__)


class Generation:
    """See `search.Snapshot`."""

    def __init__(
        self,
        info: GenerationInfo,
        folder: Folder,
        searches: Searches,
        cards: Mapping[str, DocumentCard],
        store: ReadsChunks,
        questions: QuestionVectors,
    ) -> None:
        self.info = info
        self.folder = folder
        self.searches = searches
        self.searched_bytes = searches.memory_bytes + folder.keyword_bytes
        """Memory that searches take. Processes of one machine share what is mapped."""
        self._store = store
        self._questions = questions
        self._embedder = questions.embedder
        self._cards = {card.id: card for card in with_successors(cards.values())}
        self._ids = tuple(self._cards)
        self._place = {document: place for place, document in enumerate(self._cards)}
        self._document_of = np.repeat(np.arange(len(self._cards)), np.diff(folder.row_starts))
        self._rankings = Rankings(folder, searches)
        self._keywords = folder.keywords
        self._read: LruCache[int, Chunk] = LruCache(CACHED_CHUNKS)
        self._masks: LruCache[frozenset[str], Mask] = LruCache(CACHED_MASKS)

    @property
    def domain(self) -> str:
        return self.info.domain

    @property
    def generation(self) -> int:
        return self.info.number

    @property
    def language(self) -> str:
        return self._embedder.language

    @property
    def documents(self) -> Mapping[str, DocumentCard]:
        return MappingProxyType(self._cards)

    def cards(self, documents: Iterable[str]) -> list[DocumentCard]:
        return [self._cards[document] for document in documents if document in self._cards]

    def named(
        self, keys: Collection[str], *, mentions: bool = False
    ) -> Mapping[str, tuple[str, ...]]:
        rows = {key: self.folder.names.rows(key, mentions=mentions) for key in keys}
        return {
            key: tuple(self._ids[place] for place in dict.fromkeys(self._document_of[one].tolist()))
            for key, one in rows.items()
            if len(one)
        }

    def search(self, query: SearchQuery) -> list[Hit]:
        variants = _distinct(query.variants) or _distinct(query.keywords)
        if query.limit <= 0 or not variants or not len(self._document_of):
            return []
        vectors = self._embed_if_possible(variants)
        extra = search_terms(" ".join(query.keywords))
        bags = [[*search_terms(variant), *extra] for variant in variants]
        depth = max(MIN_DEPTH, DEPTH_PER_LIMIT * query.limit)
        # Without vectors, during an outage of the embedding model, keywords still give hits.
        strategy = query.strategy if len(vectors) else "keyword"

        def ranked(allowed: Mask | None, limit: int | None = query.limit) -> list[Fused[int]]:
            rankings = self._rankings(
                vectors, bags, strategy=strategy, depth=depth, allowed=allowed
            )
            return blend(rankings, limit=limit)

        allowed = None if query.readable is None else self._mask_of(query.readable)
        fused = ranked(allowed, query.limit if query.documents is None else None)
        inside = None
        if query.documents is not None:
            inside = self._rows_of(query.documents)
            escapes = [one.row for one in fused if not inside[one.row]][: max(0, query.escape)]
            reachable = inside.copy() if allowed is None else inside & allowed
            reachable[escapes] = True
            # One ranking over both: an escape ranks below better hits from inside.
            fused = ranked(reachable)
        return self._hits(fused, vectors, inside)

    def chunks(self, document_id: str) -> Sequence[Chunk]:
        place = self._place.get(document_id)
        if place is None:
            return ()
        first, last = self.folder.row_starts[place : place + 2]
        return self._chunks_at(range(first, last))

    def unit_similarities(
        self, question: str, chunk_ids: Collection[str]
    ) -> Mapping[str, Sequence[float]]:
        """See the port. Unknown chunks are left out; the result is empty during an outage of the
        embedding model."""
        vectors = self._embed_if_possible([question])
        if not len(vectors):
            return {}
        ids = list(chunk_ids)
        matches = zip(ids, self.folder.chunk_ids.rows(ids), strict=True)
        rows = {one: int(held[-1]) for one, held in matches if len(held)}
        return {one: (self._units_at(row) @ vectors[0]).tolist() for one, row in rows.items()}

    def rarity(self, term: str, *, readable: frozenset[str] | None = None) -> float:
        size = len(self._document_of)
        if readable is not None:
            size = int(self._mask_of(readable).sum())
        parts = search_terms(term)
        if not size or not parts:
            return 0.0
        rarest = min(self._frequency(part, readable) for part in parts)
        return math.log((size + 1) / (rarest + 1))

    def is_unheard_of(self, term: str, *, readable: frozenset[str] | None = None) -> bool:
        parts = search_terms(term)
        if not parts or term[0].isdigit():  # `2pm` is no name
            return False
        occurs = any(self._frequency(part, readable) for part in parts)
        return not occurs and not any(map(self._embedder.knows, (term.lower(), *parts)))

    def _embed_if_possible(self, texts: Sequence[str]) -> Vectors:
        """(len(texts), dimensions), or no rows at all while the model is unavailable."""
        try:
            vectors = self._questions(texts)
        except ModelUnavailable as error:
            logger.warning("searching by keywords alone: %s", error)
            return np.zeros((0, self.info.dimensions), dtype=np.float32)
        if vectors.shape[1] != self.info.dimensions:
            raise IndexUnavailable(
                f"{self._embedder.name!r} gives vectors of {vectors.shape[1]} dimensions, "
                f"the index of {self.domain!r} has {self.info.dimensions}",
                remedy=f"run `oncall ingest {self.domain} --full`",
            )
        return vectors

    def _frequency(self, term: str, readable: frozenset[str] | None) -> int:
        """Number of rows with the term, in these documents or in all."""
        if readable is None:
            return self._keywords.frequency(term)
        return int(np.count_nonzero(self._keywords.scores([term])[self._mask_of(readable)]))

    def _mask_of(self, documents: frozenset[str]) -> Mask:
        """The rows of these documents. Cached: the searches of one question use the same set."""
        mask = self._masks.get(documents)
        if mask is None:
            among = np.fromiter((one in documents for one in self._cards), bool, len(self._cards))
            mask = among[self._document_of]
            self._masks.put(documents, mask)
        return mask

    def _rows_of(self, documents: Collection[str]) -> Mask:
        mask = np.zeros(len(self._document_of), dtype=bool)
        for document in documents:
            if (place := self._place.get(document)) is not None:
                first, last = self.folder.row_starts[place : place + 2]
                mask[first:last] = True
        return mask

    def _hits(
        self, fused: Sequence[Fused[int]], vectors: Vectors, inside: Mask | None
    ) -> list[Hit]:
        chunks = self._chunks_at([one.row for one in fused])
        return [
            self._hit(one, chunk, vectors, escaped=inside is not None and not inside[one.row])
            for one, chunk in zip(fused, chunks, strict=True)
        ]

    def _hit(self, one: Fused[int], chunk: Chunk, vectors: Vectors, *, escaped: bool) -> Hit:
        similarity, unit = 0.0, None
        if len(vectors):
            similarity = float((vectors @ self.folder.chunk_vectors.row(one.row)).max())
            units = (self._units_at(one.row) @ vectors.T).max(axis=1)
            if len(units):
                unit = int(units.argmax())
                similarity = max(similarity, float(units[unit]))
        return Hit(
            chunk=chunk,
            score=one.score,
            similarity=similarity,
            ranks=one.ranks,
            unit=unit,
            escaped=escaped,
        )

    def _units_at(self, row: int) -> Vectors:
        first, last = self.folder.unit_starts[row : row + 2]
        return self.folder.unit_vectors[first:last].exactly()

    def _chunks_at(self, rows: Sequence[int]) -> list[Chunk]:
        """Raises IndexUnavailable when the database no longer has this generation."""
        ids = [int(self.folder.row_ids[row]) for row in rows]
        cached = {one: self._read.get(one) for one in ids}
        missing = [one for one, chunk in cached.items() if chunk is None]
        loaded = self._store.chunks(missing) if missing else {}
        for row_id, fresh in loaded.items():
            self._read.put(row_id, fresh)
        present = (loaded.get(one) or cached[one] for one in ids)
        chunks = [chunk for chunk in present if chunk is not None]
        if len(chunks) < len(ids):
            raise GenerationReplaced(self.domain, self.generation)
        return chunks


def _distinct(texts: Sequence[str]) -> list[str]:
    """Texts with printable characters, each once, in order, at most MAX_VARIANTS."""
    distinct = dict.fromkeys(
        text.strip() for text in texts if any(c.isprintable() for c in text.strip())
    )
    return list(distinct)[:MAX_VARIANTS]


def adjacent(snapshot: Snapshot, chunk: Chunk) -> list[Chunk]:
    """Neighbors of `chunk` in its section, in reading order, without `chunk` itself."""
    return [
        other
        for other in snapshot.chunks(chunk.document_id)
        if other.id != chunk.id
        and abs(other.position - chunk.position) <= 1
        and (other.tab, other.heading_path) == (chunk.tab, chunk.heading_path)
    ]


def row_group(snapshot: Snapshot, chunk: Chunk) -> list[Chunk]:
    """All chunks of the table of `chunk`, in order; only `chunk` when it has no table."""
    if chunk.table is None:
        return [chunk]
    of_document = snapshot.chunks(chunk.document_id)
    table = [one for one in of_document if one.table and one.table.id == chunk.table.id]
    return table or [chunk]
