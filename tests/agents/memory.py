"""A second, small implementation of the Snapshot port: everything in memory, for tests."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache

import numpy as np

from config.models import Vectors
from enrichment.chunk import Chunk, DocumentCard
from enrichment.language.words import stems
from enrichment.names import names_of
from index.search import Hit, SearchQuery

Embed = Callable[[Sequence[str]], Vectors]


def bag_of_words(texts: Sequence[str], dimensions: int = 512) -> Vectors:
    """Hashed word counts, normalised: cosine is the share of words in common."""
    vectors = np.zeros((len(texts), dimensions), dtype=np.float32)
    for row, text in enumerate(texts):
        for word in stems(text):
            vectors[row, _hashed(word) % dimensions] += 1
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths == 0, 1, lengths)


@cache
def _hashed(word: str) -> int:
    return sum(ord(c) * 31**i for i, c in enumerate(word))


def documents_named(
    keys: Collection[str],
    chunks: Iterable[Chunk],
    cards: Mapping[str, DocumentCard],
    *,
    mentions: bool,
) -> dict[str, tuple[str, ...]]:
    """See `Snapshot.named`."""
    documents: dict[str, dict[bool, dict[str, None]]] = {}
    for chunk in chunks:
        for key, is_about in names_of(chunk, cards[chunk.document_id]).items():
            if key in keys and (is_about or mentions):
                by_use = documents.setdefault(key, {True: {}, False: {}})
                by_use[is_about][chunk.document_id] = None
    return {key: tuple(one[True] | one[False]) for key, one in documents.items()}


class MemorySnapshot:
    def __init__(
        self,
        chunks: Sequence[Chunk],
        cards: Sequence[DocumentCard],
        embed: Embed = bag_of_words,
        domain: str = "security",
        unheard_of: frozenset[str] = frozenset(),
    ) -> None:
        self._unheard_of = unheard_of
        self.domain = domain
        self.generation = 1
        self.language = "English"
        self.documents: Mapping[str, DocumentCard] = {card.id: card for card in cards}
        self._all = list(chunks)
        self._embed = embed
        self._words = [Counter(stems(chunk.index_text)) for chunk in chunks]
        self._holding = Counter(word for words in self._words for word in words)
        self._chunk_vectors = embed([chunk.index_text for chunk in chunks])
        units = [(place, unit.index_text) for place, c in enumerate(chunks) for unit in c.units]
        self._unit_chunk = np.array([place for place, _ in units], dtype=int)
        self._unit_vectors = embed([text for _, text in units])
        self._first_unit = np.cumsum([0, *(len(chunk.units) for chunk in chunks)])

    def cards(self, documents: Iterable[str]) -> list[DocumentCard]:
        return [self.documents[document] for document in documents if document in self.documents]

    def search(self, query: SearchQuery) -> list[Hit]:
        scores = np.zeros(len(self._all))
        ranks: list[dict[str, int]] = [{} for _ in self._all]
        similarity = np.full(len(self._all), -1.0)
        for variant in query.variants:
            vector = self._embed([variant])[0]
            by_chunk = self._chunk_vectors @ vector
            by_unit = np.full(len(self._all), -1.0)
            np.maximum.at(by_unit, self._unit_chunk, self._unit_vectors @ vector)
            words = stems(" ".join((variant, *query.keywords)))
            by_word = np.array([self._bm25(words, place) for place in range(len(self._all))])
            similarity = np.maximum(similarity, np.maximum(by_chunk, by_unit))
            for name, found in (("chunks", by_chunk), ("units", by_unit), ("keywords", by_word)):
                for rank, place in enumerate(np.argsort(-found, kind="stable")[:100], start=1):
                    if found[place] <= 0:
                        break
                    scores[place] += 1 / (60 + rank)
                    ranks[place][name] = min(rank, ranks[place].get(name, rank))
        order = [
            int(place)
            for place in np.argsort(-scores, kind="stable")
            if scores[place] > 0 and self._readable(int(place), query)
        ]
        inside = [p for p in order if self._allowed(p, query)]
        escaped = [p for p in order if p not in set(inside)][: query.escape]
        chosen = sorted([*inside[: query.limit], *escaped], key=lambda p: -scores[p])
        return [
            Hit(
                chunk=self._all[place],
                score=float(scores[place]),
                similarity=float(similarity[place]),
                ranks=ranks[place],
                escaped=place in escaped,
            )
            for place in chosen[: query.limit]
        ]

    def chunks(self, document_id: str) -> Sequence[Chunk]:
        return [chunk for chunk in self._all if chunk.document_id == document_id]

    def named(
        self, keys: Collection[str], *, mentions: bool = False
    ) -> Mapping[str, tuple[str, ...]]:
        return documents_named(keys, self._all, self.documents, mentions=mentions)

    def unit_similarities(
        self, question: str, chunk_ids: Collection[str]
    ) -> Mapping[str, Sequence[float]]:
        similarities = self._unit_vectors @ self._embed([question])[0]
        wanted = set(chunk_ids)
        return {
            chunk.id: similarities[self._first_unit[place] : self._first_unit[place + 1]].tolist()
            for place, chunk in enumerate(self._all)
            if chunk.id in wanted
        }

    def rarity(self, term: str, *, readable: frozenset[str] | None = None) -> float:
        among = [
            words
            for chunk, words in zip(self._all, self._words, strict=True)
            if readable is None or chunk.document_id in readable
        ]
        counts = self._holding if readable is None else Counter(w for words in among for w in words)
        holding = max((counts[word] for word in stems(term)), default=0)
        return math.log(1 + (len(among) - holding + 0.5) / (holding + 0.5))

    def is_unheard_of(self, term: str, *, readable: frozenset[str] | None = None) -> bool:
        return term in self._unheard_of

    def _readable(self, place: int, query: SearchQuery) -> bool:
        return query.readable is None or self._all[place].document_id in query.readable

    def _allowed(self, place: int, query: SearchQuery) -> bool:
        return query.documents is None or self._all[place].document_id in query.documents

    def _bm25(self, words: frozenset[str], place: int) -> float:
        held = self._words[place]
        return sum(self.rarity(word) for word in words if word in held)
