"""Passages and questions of any number, the same on every run, with vectors that need no model."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from config.models import Vectors
from enrichment.chunk import Chunk, DocumentCard, Unit

DIMENSIONS = 384
WORDS_A_CHUNK = 80
CHUNKS_A_DOCUMENT = 20
VOCABULARY = 30_000
QUESTION_WORDS = 8


class HashedVectors:
    """A vector drawn from its text's hash, around one of 500 subjects: passages cluster as real
    ones do. Vectors are remembered, so that searching measures searching."""

    name = "made-up"
    dimensions = DIMENSIONS
    max_tokens = 256
    language = ""

    def __init__(self) -> None:
        random = np.random.default_rng(0)
        self._subjects = random.standard_normal((500, DIMENSIONS)).astype(np.float32)
        self._noise = random.standard_normal((4096, DIMENSIONS)).astype(np.float32)
        self._known: dict[str, Vectors] = {}

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def knows(self, word: str) -> bool:
        return True

    def __call__(self, texts: Sequence[str]) -> Vectors:
        return np.array([self._vector(text) for text in texts], dtype=np.float32)

    def _vector(self, text: str) -> Vectors:
        if text not in self._known:
            mark = np.frombuffer(hashlib.sha256(text.encode()).digest(), dtype=np.uint16)
            made = self._subjects[mark[0] % 500] + 0.5 * (
                self._noise[mark[1] % 4096] + self._noise[mark[2] % 4096]
            )
            self._known[text] = made / np.linalg.norm(made)
        return self._known[text]


@dataclass(frozen=True)
class MadeUpCorpus:
    """`size` chunks of Zipf-distributed words in documents of twenty."""

    size: int
    units: int = 0
    """Unit vectors of each chunk, besides its own."""

    @cached_property
    def words(self) -> list[str]:
        random = np.random.default_rng(1)
        letters = np.array(list("abcdefghijklmnoprstuvw"))
        made = ["".join(random.choice(letters, random.integers(3, 9))) for _ in range(VOCABULARY)]
        return [word if n % 50 else f"{word[:3]}-{n}" for n, word in enumerate(made)]

    def document(self, number: int, version: int = 0) -> tuple[DocumentCard, list[Chunk]]:
        """A later version differs in its first chunk."""
        name = f"document-{number:05d}"
        count = min(CHUNKS_A_DOCUMENT, self.size - number * CHUNKS_A_DOCUMENT)
        chunks = [self._chunk(name, number, position) for position in range(count)]
        if version:
            edited = f"{chunks[0].text} version{version}"
            chunks[0] = replace(chunks[0], id=f"{chunks[0].id}-{version}", text=edited)
            chunks[0] = replace(chunks[0], index_text=edited)
        card = DocumentCard(id=name, title=name, url="", summary="", version=str(version))
        return card, chunks

    @property
    def documents(self) -> int:
        return -(-self.size // CHUNKS_A_DOCUMENT)

    def questions(self, count: int) -> list[str]:
        random = np.random.default_rng(2)
        found = []
        for _ in range(count):
            number = int(random.integers(self.documents))
            words = self._chunk("", number, 0).text.split()
            found.append(" ".join(random.choice(words, QUESTION_WORDS, replace=False)))
        return found

    def _chunk(self, document: str, number: int, position: int) -> Chunk:
        random = np.random.default_rng((number, position))
        # Word r comes up in proportion to 1 / (r + 30): Zipf's law without its stop words.
        ranks = 30 * np.exp(random.random(WORDS_A_CHUNK) * np.log(VOCABULARY / 30)) - 30
        words = [self.words[rank] for rank in ranks.astype(int)]
        text = " ".join(words)
        step = WORDS_A_CHUNK // max(1, self.units)
        parts = [" ".join(words[n * step : (n + 1) * step]) for n in range(self.units)]
        return Chunk(
            id=f"{document}-{position}",
            document_id=document,
            document_title=document,
            kind="text",
            position=position,
            heading_path=(f"Section {position}",),
            text=text,
            index_text=text,
            tokens=WORDS_A_CHUNK,
            units=tuple(Unit(kind="sentence", text=part, index_text=part) for part in parts),
        )
