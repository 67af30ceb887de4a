"""The port through which agents read one published generation."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from config.parsing.fields import Strategy
from enrichment.chunk import Chunk, DocumentCard


@dataclass(frozen=True, kw_only=True)
class SearchQuery:
    """One retrieval: every variant is searched, the rankings are fused."""

    variants: tuple[str, ...]
    """The self-contained question first, then sub-questions and paraphrases."""
    keywords: tuple[str, ...] = ()
    """Exact terms, added to the keyword search of every variant."""
    strategy: Strategy = "hybrid"
    limit: int = 20
    documents: frozenset[str] | None = None
    """Restrict to these documents; None searches all."""
    escape: int = 3
    """Number of best hits from outside the restriction that are also allowed, so that a wrong
    restriction can't hide the answer."""
    readable: frozenset[str] | None = None
    """Documents that the asker may read; `escape` stays within them. None: all documents."""


@dataclass(frozen=True, kw_only=True)
class Hit:
    """A chunk that matched, with its scores."""

    chunk: Chunk
    score: float
    """Fused score, comparable within one search only."""
    similarity: float = 0.0
    """Best cosine of any variant with the chunk or one of its units, -1 to 1."""
    ranks: Mapping[str, int] = field(default_factory=dict)
    """Ranking name (`chunks`, `units`, `keywords`) → best rank, from 1."""
    unit: int | None = None
    """Index in `chunk.units` of the unit that matched best."""
    escaped: bool = False
    """Whether it is outside `SearchQuery.documents`, see `SearchQuery.escape`."""


class Snapshot(Protocol):
    """One immutable generation of one domain. Thread-safe; nothing in it ever changes."""

    @property
    def domain(self) -> str: ...

    @property
    def generation(self) -> int: ...

    @property
    def documents(self) -> Mapping[str, DocumentCard]: ...

    @property
    def language(self) -> str:
        """The one language in which questions are understood; see `config.models.Embedder`."""
        ...

    def cards(self, documents: Iterable[str]) -> list[DocumentCard]:
        """The cards of these documents, in this order; unknown ids are left out.

        Use this for anything shown to a user: `documents` may list a document that was readable
        only at its last check."""
        ...

    def named(
        self, keys: Collection[str], *, mentions: bool = False
    ) -> Mapping[str, tuple[str, ...]]:
        """Key (`enrichment.names.name_key`, `range_key`) → ids of the documents with a row, section
        or the like of that name, in the generation's order; keys of no document are left out.
        `mentions`: then also those that only mention it, after the others. Where in a document:
        `enrichment.names.name_places`."""
        ...

    def search(self, query: SearchQuery) -> list[Hit]:
        """Best first, at most `query.limit`."""
        ...

    def chunks(self, document_id: str) -> Sequence[Chunk]:
        """In reading order; empty for an unknown document."""
        ...

    def unit_similarities(
        self, question: str, chunk_ids: Collection[str]
    ) -> Mapping[str, Sequence[float]]:
        """Cosine of each unit of each chunk with the question, in the order of `chunk.units`."""
        ...

    def rarity(self, term: str, *, readable: frozenset[str] | None = None) -> float:
        """Inverse document frequency of a term after tokenization: 0 for a term in every chunk,
        highest for an unseen one. `readable`: count only these documents."""
        ...

    def is_unheard_of(self, term: str, *, readable: frozenset[str] | None = None) -> bool:
        """Whether no chunk contains the term and it is no common word: a name that these
        documents don't cover, or a typing error. `readable`: as for `rarity`."""
        ...
