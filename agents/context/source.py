"""What one number of an answer cites."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from enrichment.chunk import Chunk


@dataclass(frozen=True, kw_only=True)
class Source:
    """Passages of one section, as the answerer reads them and as `[n]` opens them."""

    chunks: tuple[Chunk, ...]
    """In reading order; never empty, all of one document, tab and heading."""
    text: str
    """Markdown."""

    @property
    def first(self) -> Chunk:
        """Where its citation opens."""
        return self.chunks[0]

    @property
    def place(self) -> str:
        """`title › headings`, each name once."""
        return " › ".join(dict.fromkeys((self.first.document_title, *self.first.heading_path)))


def sources_of(context: Sequence[Chunk]) -> tuple[Source, ...]:
    """The context as its reader gets it, in the same order."""
    return tuple(Source(chunks=(chunk,), text=chunk.text) for chunk in context)
