"""A small made-up corpus, an embedder without a model, and an index in a temporary folder."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from config.models import Vectors
from config.settings import Settings
from enrichment.chunk import Chunk, ChunkTable, DocumentCard, Entity, Faq, Unit
from index.publish import Index, open_index

DIMENSIONS = 32


class WordEmbedder:
    """Texts that share words have near vectors; counts what it is asked."""

    max_tokens = 256

    def __init__(self, name: str = "words", dimensions: int = DIMENSIONS) -> None:
        self.name = name
        self.dimensions = dimensions
        self.texts = 0

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def __call__(self, texts: Sequence[str]) -> Vectors:
        self.texts += len(texts)
        vectors = np.full((len(texts), self.dimensions), 1e-3, dtype=np.float32)
        for row, text in enumerate(texts):
            for word in text.lower().split():
                mark = hashlib.sha256(word.strip(".,?!›").encode("utf-8", "replace")).digest()
                vectors[row, mark[0] % self.dimensions] += 1
                vectors[row, mark[1] % self.dimensions] += 0.5
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def make_chunk(document: str, position: int, text: str, **more: Any) -> Chunk:
    heading = more.pop("heading", f"Section {position}")
    title = more.pop("title", document.replace("-", " ").title())
    sentences = [part.strip() + "." for part in text.split(".") if part.strip()]
    units = tuple(Unit(kind="sentence", text=s, index_text=f"{heading} {s}") for s in sentences)
    identity = f"{document}|{heading}|{position}|{text}"
    return Chunk(
        id=hashlib.sha256(identity.encode("utf-8", "replace")).hexdigest()[:16],
        document_id=document,
        document_title=title,
        kind="text",
        position=position,
        heading_path=(heading,),
        text=text,
        index_text=f"{title} › {heading} {text}",
        tokens=len(text.split()),
        units=more.pop("units", units),
        **more,
    )


def make_card(document: str, **more: Any) -> DocumentCard:
    return DocumentCard(
        id=document,
        title=more.pop("title", document.replace("-", " ").title()),
        url=f"https://docs.example.com/{document}",
        summary=more.pop("summary", f"About {document}."),
        **more,
    )


TEXTS: dict[str, list[str]] = {
    "key-rotation": [
        "Signing keys are rotated every 90 days. The owner is the identity team.",
        "An expired key is revoked within one hour. Tell SEC-1234 in the channel.",
    ],
    "incident-guide": [
        "A P0 incident pages the commander at once. Everyone joins the bridge.",
        "Severity P1 is answered within fifteen minutes during office hours.",
        "Write the report within five days after the incident.",
    ],
    "laptop-policy": [
        "Laptops are encrypted. Lost laptops are reported to the service desk.",
        "Guests use the visitor network in region hbr-eu1 only.",
    ],
}


@pytest.fixture
def chunk() -> Callable[..., Chunk]:
    return make_chunk


@pytest.fixture
def card() -> Callable[..., DocumentCard]:
    return make_card


@pytest.fixture
def embedder() -> WordEmbedder:
    return WordEmbedder()


@pytest.fixture
def make_embedder() -> Callable[..., WordEmbedder]:
    return WordEmbedder


@pytest.fixture
def corpus() -> dict[str, tuple[DocumentCard, list[Chunk]]]:
    made = {
        document: (make_card(document), [make_chunk(document, i, t) for i, t in enumerate(texts)])
        for document, texts in TEXTS.items()
    }
    table = ChunkTable(
        id="t1",
        caption="Response times",
        header=("Severity", "Minutes"),
        rows=(("P0", "5"), ("P1", "15")),
        total_rows=2,
    )
    rows = tuple(
        Unit(
            kind="row",
            text=f"{a} | {b}",
            index_text=f"Response times Severity: {a}; Minutes: {b}",
            row=i,
        )
        for i, (a, b) in enumerate(table.rows)
    )
    faqs = (Faq(question="Who runs the bridge?", answer="The commander."),)
    made["incident-guide"] = (
        make_card("incident-guide", faqs=faqs, document_type="runbook", keywords=("escalation",)),
        [
            *made["incident-guide"][1],
            make_chunk(
                "incident-guide",
                3,
                "| Severity | Minutes |\n|---|---|\n| P0 | 5 |\n| P1 | 15 |",
                heading="Response times",
                table=table,
                units=rows,
                entities=(Entity(kind="code", value="P0"), Entity(kind="code", value="P1")),
            ),
        ],
    )
    return made


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(_env_file=None, data_dir=tmp_path / "var")


@pytest.fixture
def index(settings: Settings, embedder: WordEmbedder) -> Iterator[Index]:
    opened = open_index(settings, embedder)
    yield opened
    opened.close()


@pytest.fixture
def publish(index: Index) -> Callable[..., Any]:
    """Put documents into the domain `help` and commit."""

    def run(documents: dict[str, tuple[DocumentCard, list[Chunk]]], **cursors: str) -> Any:
        with index.stage("help") as staging:
            for one, content in documents.values():
                staging.put(one, content)
            return staging.commit(cursors)

    return run
