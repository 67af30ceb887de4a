"""A published index of a few made documents, in a test's memory."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any

import numpy as np

from config.models import Vectors
from enrichment.chunk import Chunk, DocumentCard, Faq
from enrichment.language.words import search_terms, stems
from index.search import Hit, SearchQuery
from loaders.document import Permission
from tests.agents.memory import documents_named

ANYONE = (Permission(kind="anyone"),)
AGE = "https://docs.google.com/document/d/KEYS/edit?tab=t.0#heading=h.age"


def card(name: str, title: str, **more: Any) -> DocumentCard:
    values: dict[str, Any] = {
        "url": f"https://docs.google.com/document/d/{name}/edit",
        "summary": "",
        "owner": "Security Engineering",
        "modified_at": datetime.now(UTC) - timedelta(days=95),
        "permissions": ANYONE,
        "source": "google_drive",
    }
    return DocumentCard(id=name, title=title, **(values | more))


def chunk(document: str, text: str, *, heading: str = "", url: str = "", n: int = 0) -> Chunk:
    return Chunk(
        id=f"{document}-{n}", document_id=document, document_title=document, kind="text",
        position=n, heading_path=(heading,) if heading else (), url=url, text=text,
        index_text=text, tokens=len(text.split()),
    )  # fmt: skip


CARDS = (
    card("KEYS", "Key Rotation Standard", faqs=(
        Faq(question="What is a merchant webhook secret?", answer="One."),
        Faq(question="When is a key overdue?", answer="Later."),
    )),
    card("OLD", "Key Rotation Standard 2024", status="superseded", superseded_by="KEYS",
         faqs=(Faq(question="What was the old maximum age?", answer="A year."),)),
    card("DESK", "Device Security Standard", faqs=(
        Faq(question="Who approves a lost laptop's wipe?", answer="The CISO."),
    )),
    card("HIDDEN", "Merger Plan", permissions=()),
)  # fmt: skip
CHUNKS = (
    chunk("KEYS", "How often do we rotate keys? Signing keys get 60 days in SG, 90 in the EU. "
          "Ask who approves an exception: the CISO may.", heading="Maximum age", url=AGE),
    chunk("KEYS", "An overlap of 7 days is allowed for webhook secrets.", heading="Overlap",
          url="https://docs.google.com/document/d/KEYS/edit?tab=t.0#heading=h.overlap", n=1),
    chunk("OLD", "A key may be a year old."),
    chunk("DESK", "A lost laptop is wiped within the hour, says the CISO."),
    chunk("HIDDEN", "We buy Harbour Bank."),
)  # fmt: skip


class Shelf:
    """See `index.search.Snapshot`; as everybody may read it, when `everybody`."""

    domain = "security"
    language = "English"

    def __init__(
        self, generation: int = 7, *, everybody: bool = False, without: Sequence[str] = ()
    ) -> None:
        self.generation = generation
        hidden = {one.id for one in CARDS if everybody and not one.permissions}
        self._cards = {one.id: one for one in CARDS if one.id not in hidden}
        self._chunks = [
            one for one in CHUNKS if one.document_id in self._cards and one.id not in without
        ]

    @property
    def documents(self) -> Any:
        return MappingProxyType(self._cards)

    def cards(self, documents: Iterable[str]) -> list[DocumentCard]:
        return [self._cards[one] for one in documents if one in self._cards]

    def chunks(self, document_id: str) -> Sequence[Chunk]:
        return [one for one in self._chunks if one.document_id == document_id]

    def named(self, keys: Collection[str], *, mentions: bool = False) -> dict[str, tuple[str, ...]]:
        return documents_named(keys, self._chunks, self._cards, mentions=mentions)

    def rarity(self, term: str, *, readable: frozenset[str] | None = None) -> float:
        held = [sum(part in search_terms(one.text) for one in self._chunks)
                for part in search_terms(term)]  # fmt: skip
        return float(np.log((len(self._chunks) + 1) / (min(held, default=len(self._chunks)) + 1)))

    def is_unheard_of(self, term: str, *, readable: frozenset[str] | None = None) -> bool:
        return False

    def search(self, query: SearchQuery) -> list[Hit]:
        return []

    def unit_similarities(self, question: str, chunk_ids: Any) -> dict[str, Sequence[float]]:
        return {}


def embed(texts: Sequence[str]) -> Vectors:
    """Texts of the same words lie close together."""
    known = sorted(set().union(*map(stems, texts)))
    rows = [[float(word in stems(text)) for word in known] for text in texts]
    vectors = np.array(rows, dtype=np.float32)
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-6))
