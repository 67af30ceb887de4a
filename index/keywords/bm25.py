"""BM25 over a chunk's text and metadata. Both engines give the same ranking.

Score: idf · tf / (tf + k1 · (1 - b + b · length / mean length)) with the Lucene form
idf = ln(1 + (N - df + ½) / (df + ½)), never negative. Source: Kamphuis et al., ECIR 2020."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from enrichment.chunk import Chunk, DocumentCard
from enrichment.language.words import search_terms
from index.keywords.columns import COUNTS, LENGTHS, Columns, Terms, save_counts
from index.memory_map import mapped

K1 = 1.2
B = 0.4
MAX_QUERY_TERMS = 256
CELLS_AT_ONCE = 2_000_000
KeywordEngine = Literal["bm25s", "rank_bm25"]

FIELD_WEIGHTS: Mapping[str, int] = {
    "text": 1, "headings": 2, "title": 2, "chunk_keywords": 1, "entities": 1, "summary": 1,
    "document_keywords": 1, "questions": 1, "path": 1,
}  # fmt: skip
"""Field → how often its terms are counted (docs/decisions/033)."""

_NO_NAME = re.compile(r"\.\w+$|[\W_]")
"""A file's suffix, and what separates the words of a path."""


def fields(chunk: Chunk, card: DocumentCard) -> dict[str, str]:
    """Field → text of a chunk and its document for keyword search."""
    return {
        "text": chunk.text,
        "headings": " ".join((chunk.tab, *chunk.heading_path)),
        "title": chunk.document_title,
        "chunk_keywords": " ".join(chunk.keywords),
        "entities": " ".join(entity.value for entity in chunk.entities),
        "summary": chunk.summary,
        "document_keywords": " ".join(card.keywords),
        "questions": " ".join(faq.question for faq in card.faqs),
        "path": words_of_path(card.path),
    }


def words_of_path(path: str) -> str:
    """A file's path in words: it names a team, product or customer that the text takes for
    granted."""
    return _NO_NAME.sub(" ", path)


def chunk_terms(chunk: Chunk, card: DocumentCard) -> list[str]:
    """A chunk's bag of terms; the terms of each field are repeated by its weight."""
    return [
        term
        for name, text in fields(chunk, card).items()
        if FIELD_WEIGHTS[name]
        for term in search_terms(text) * FIELD_WEIGHTS[name]
    ]


class Keywords(Protocol):
    """A keyword index over rows 0 … n - 1; thread-safe."""

    def scores(self, query: Sequence[str]) -> NDArray[np.float32]:
        """(n,) BM25 of each row for the terms; repeated terms count once."""
        ...

    def frequency(self, term: str) -> int:
        """Number of rows with the term."""
        ...


class RankBm25:
    """The reference engine: rank_bm25 in memory. It scores each row in Python: for small corpora.

    `rows`: the terms of each row."""

    def __init__(self, rows: Sequence[Sequence[str]]) -> None:
        from rank_bm25 import BM25Okapi

        class Lucene(BM25Okapi):  # type: ignore[misc]  # the library has no types
            def _calc_idf(self, nd: dict[str, int]) -> None:
                self.idf = {term: idf(count, self.corpus_size) for term, count in nd.items()}
                self.frequencies = nd

        # The library divides by the number and the mean length of its rows.
        self._size = len(rows)
        self._index = Lucene(rows, k1=K1, b=B) if any(rows) else None

    def scores(self, query: Sequence[str]) -> NDArray[np.float32]:
        if self._index is None:
            return np.zeros(self._size, dtype=np.float32)
        # Removes the factor k1 + 1, which the other engine leaves out.
        scores = self._index.get_scores(distinct(query)) / (K1 + 1)
        return np.asarray(scores, dtype=np.float32)

    def frequency(self, term: str) -> int:
        return int(self._index.frequencies.get(term, 0)) if self._index else 0


class SparseBm25:
    """Precomputed scores in bm25s' format, memory-mapped, one column per term.

    Reading needs only numpy: importing bm25s takes up to 0.8 s in a cold process."""

    def __init__(self, folder: Path) -> None:
        def column(name: str) -> NDArray[Any]:
            return mapped(folder / f"{name}.csc.index.npy")

        self._data, self._rows, self._starts = column("data"), column("indices"), column("indptr")
        parameters = json.loads((folder / "params.index.json").read_text("utf-8"))
        self._size = int(parameters["num_docs"])
        self.terms = Terms(folder)
        self._folder = folder

    def scores(self, query: Sequence[str]) -> NDArray[np.float32]:
        scores = np.zeros(self._size, dtype=np.float32)
        for term in distinct(query):
            start, end = self._span(term)
            # A row occurs once in a column, so indexed addition is correct.
            scores[self._rows[start:end]] += self._data[start:end]
        return scores

    def frequency(self, term: str) -> int:
        start, end = self._span(term)
        return end - start

    @property
    def columns(self) -> Columns:
        """The term counts that the scores were computed from."""
        counts, lengths = (mapped(self._folder / f"{name}.npy") for name in (COUNTS, LENGTHS))
        terms = self.terms.as_bytes()
        return Columns(
            terms=terms, starts=self._starts, rows=self._rows, counts=counts, lengths=lengths
        )

    def bags(self) -> list[list[str]]:
        """The terms of each row, in no particular order."""
        columns = self.columns
        terms: list[list[str]] = [[] for _ in range(self._size)]
        for term, (start, end) in zip(self.terms, pairwise(columns.starts.tolist()), strict=True):
            cells = zip(columns.rows[start:end], columns.counts[start:end], strict=True)
            for row, count in cells:
                terms[row] += [term] * int(count)
        return terms

    def _span(self, term: str) -> tuple[int, int]:
        column = self.terms.place(term)
        return (
            (0, 0) if column is None else (int(self._starts[column]), int(self._starts[column + 1]))
        )


def save_sparse(folder: Path, columns: Columns) -> None:
    """Writes the bm25s index and the counts from which the next index is built."""
    import bm25s

    class Vectorised(bm25s.BM25):  # type: ignore[misc]  # the library has no types
        # For 50,000 rows of 120 terms, the library's loop takes 4.7 s and this one a tenth.
        def build_index_from_ids(self, *_: object, **__: object) -> dict[str, Any]:
            self.nonoccurrence_array = None  # only methods other than Lucene's need it
            return {
                "data": _scores(columns),
                "indices": columns.rows,
                "indptr": columns.starts,
                "num_docs": len(columns.lengths),
            }

    index = Vectorised(method="lucene", k1=K1, b=B, backend="numpy")
    vocabulary = (term.decode("utf-8", "surrogatepass") for term in columns.terms)
    index.index(([[]], {term: place for place, term in enumerate(vocabulary)}), False, False)
    index.save(folder, show_progress=False)
    save_counts(folder, columns)


def _scores(columns: Columns) -> NDArray[np.float32]:
    """BM25 score of each cell."""
    size, lengths = len(columns.lengths), columns.lengths
    frequencies = np.diff(columns.starts)
    rarity = np.log1p((size - frequencies + 0.5) / (frequencies + 0.5))
    mean = lengths.mean() if lengths.any() else 1.0
    weight = K1 * (1 - B + B * lengths / mean)
    weights = np.empty(len(columns.rows), dtype=np.float32)
    of_cell = np.repeat(np.arange(len(frequencies), dtype=np.int32), frequencies)
    for start in range(0, len(weights), CELLS_AT_ONCE):
        part = slice(start, start + CELLS_AT_ONCE)
        counts = columns.counts[part].astype(np.float64)
        saturated = counts / (counts + weight[columns.rows[part]])
        weights[part] = rarity[of_cell[part]] * saturated
    return weights


def idf(frequency: int, size: int) -> float:
    return math.log1p((size - frequency + 0.5) / (frequency + 0.5))


def distinct(query: Sequence[str]) -> list[str]:
    """Each term once, in order, at most MAX_QUERY_TERMS."""
    return list(dict.fromkeys(query))[:MAX_QUERY_TERMS]
