"""Footnotes stand with what refers to them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from enrichment.chunking.pieces import Piece, joined
from enrichment.chunking.text_pieces import TextCutter
from loaders.document import Block

Notes = dict[str, list[Piece]]
"""Mark, as `[^1]`, → the footnote, as one piece or, when long, several."""
_MARK = re.compile(r"\[\^[^\[\]]+\]")
_MOST_REPEATED = 3


def note_pieces(footnotes: Sequence[Block], cutter: TextCutter) -> Notes:
    found: Notes = {}
    for note in footnotes:
        mark = f"[^{note.marker}]"
        body = replace(note, markdown=f"{mark}: {note.markdown or note.text}")
        found.setdefault(mark, []).extend(cutter.paragraph(body))
    return found


def with_footnotes(pieces: Sequence[Piece], notes: Notes) -> list[Piece]:
    """Each footnote below the first piece that refers to it; alone when none does."""
    below: list[list[Piece]] = [[piece] for piece in pieces]
    first: dict[str, int] = {}

    def refers(piece: Piece, at: int) -> None:
        for mark in _MARK.findall(piece.text):
            first[mark] = min(at, first.get(mark, at))

    for at, piece in enumerate(pieces if notes else ()):
        refers(piece, at)
    for mark, own in notes.items():
        at = first.get(mark, len(below))
        if at < len(below):
            below[at] += own
        else:
            below += [[piece] for piece in own]
        for offset, piece in enumerate(own):
            refers(piece, at + offset if mark not in first else at)
    return [joined(group, group[0].leads) if len(group) > 1 else group[0] for group in below]


def with_notes_repeated(group: Sequence[Piece], notes: Notes, most_tokens: int) -> list[Piece]:
    """The group, and below it the short notes that it refers to and that stand in another."""
    text = "\n".join(piece.text for piece in group)
    missing = [
        replace(own[0], units=())
        for mark, own in notes.items()
        if mark in text and f"{mark}: " not in text
        if len(own) == 1 and own[0].tokens <= most_tokens
    ]
    return [*group, *missing[:_MOST_REPEATED]]
