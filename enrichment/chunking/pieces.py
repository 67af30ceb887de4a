"""What a section is made of before it is packed into chunks: pieces that are never cut further."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from enrichment.chunk import ChunkTable, Unit

CountTokens = Callable[[str], int]
Joiner = Literal["\n\n", "\n", " "]

LONGEST_HEADING = 100
"""Characters of the heading that each sentence and row is indexed under."""


@dataclass(frozen=True, kw_only=True)
class Stretch:
    """The items of a list, or the lines of a code block, that a piece is made of."""

    run: str
    """Id of the list or code block."""
    what: Literal["items", "lines"]
    first: int
    end: int
    """One past the last."""
    total: int


@dataclass(frozen=True, kw_only=True)
class Piece:
    """A paragraph, list item, sentence of a long paragraph, code block or group of table rows."""

    text: str
    """Markdown."""
    plain: str
    tokens: int
    kind: Literal["text", "table", "code", "picture"] = "text"
    units: tuple[Unit, ...] = ()
    table: ChunkTable | None = None
    stretches: tuple[Stretch, ...] = ()
    """Outermost first."""
    leads: tuple[Piece, ...] = ()
    """What must stand above it in its chunk to be understood, outermost first."""
    joiner: Joiner = "\n\n"
    """Set between it and the piece before."""
    page: int | None = None
    starts_topic: bool = False
    """A better place than others to begin a new chunk."""


def joined(pieces: Sequence[Piece], leads: tuple[Piece, ...]) -> Piece:
    following = (part for piece in pieces[1:] for part in (piece.joiner, piece.text))
    return replace(
        pieces[0],
        text="".join([pieces[0].text, *following]),
        plain="\n".join(piece.plain for piece in pieces),
        tokens=sum(piece.tokens for piece in pieces),
        units=tuple(unit for piece in pieces for unit in piece.units),
        leads=leads,
    )
