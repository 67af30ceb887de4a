"""Paragraphs of a Word file: what they are, their numbers and their pieces."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from loaders.document import Image
from loaders.text.markdown import Span
from loaders.word.drawings import Box, Lines, alternative
from loaders.word.inline import Inline, Piece
from loaders.word.numbering import Numbering
from loaders.word.package import MC, Element, W, child, is_on, value
from loaders.word.styles import Styles, as_heading

_BLOCKS = frozenset((f"{W}p", f"{W}tbl", f"{W}altChunk", f"{W}subDoc"))
_NO_BLOCKS = frozenset(
    W + name for name in ("del", "moveFrom", "sectPr", "sdtPr", "sdtEndPr", "tcPr", "customXmlPr")
)


@dataclass(frozen=True)
class Paragraph:
    pieces: list[Piece]
    kind: Literal["", "heading", "quote", "code"]
    level: int
    """Heading: 1 to 6."""
    marker: str
    """`-` or its number; '' when it is no item."""
    depth: int
    """List item: nesting depth from 0."""
    bookmark: str

    @property
    def spans(self) -> list[Span]:
        return [piece for piece in self.pieces if isinstance(piece, Span)]

    @property
    def images(self) -> list[Image]:
        return [piece for piece in self.pieces if isinstance(piece, Image)]

    @property
    def floating(self) -> list[Box | Lines]:
        return [piece for piece in self.pieces if isinstance(piece, Box | Lines)]


def blocks(holder: Element) -> Iterator[Element]:
    """Paragraphs, tables and embedded documents in reading order, also inside content controls."""
    for one in holder:
        if one.tag in _BLOCKS:
            yield one
        elif one.tag == f"{MC}AlternateContent":
            chosen = alternative(one)
            yield from () if chosen is None else blocks(chosen)
        elif one.tag not in _NO_BLOCKS:
            yield from blocks(one)


@dataclass
class Paragraphs:
    styles: Styles
    numbering: Numbering
    _waiting: list[Piece] = field(default_factory=list)
    """Pieces of paragraphs whose end was deleted, and large first letters, which have a paragraph
    of their own: they belong to the next one."""
    _open: list[int] = field(default_factory=list)
    """Levels of the list items around the next one."""

    def read(self, element: Element, inline: Inline) -> Paragraph | None:
        """None for a paragraph that is deleted or hidden, or that the next one goes on with."""
        properties = child(element, "pPr")
        style = self.styles.paragraph(properties)
        pieces = inline.pieces(element, style)
        mark = child(properties, "rPr")
        is_deleted = any(child(mark, name) is not None for name in ("del", "moveFrom"))
        frame = child(properties, "framePr")
        is_initial = frame is not None and frame.get(f"{W}dropCap") in ("drop", "margin")
        goes_on = is_deleted or is_initial
        following = next(element.itersiblings(*_BLOCKS), None) if goes_on else None
        if following is not None and following.tag == f"{W}p":
            self._waiting += pieces
            return None
        if not pieces and is_on(child(mark, "vanish")):
            return None
        pieces, self._waiting = [*self._waiting, *pieces], []
        number = self.numbering.next(properties, style)
        kind, level = style.kind, style.level
        if outline := value(properties, "outlineLvl"):
            kind, level = as_heading(outline)
        if kind == "heading":
            self._open = []
        marker, at = number or ("", 0)
        inline.drawings.budget.spend(marker)
        return Paragraph(
            pieces=pieces,
            kind=kind,
            level=level,
            marker=marker,
            depth=self._depth(at) if number and kind != "heading" else 0,
            bookmark=inline.bookmark,
        )

    def _depth(self, level: int) -> int:
        while self._open and self._open[-1] >= level:
            self._open.pop()
        self._open.append(level)
        return len(self._open) - 1
