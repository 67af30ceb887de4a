"""What a model saw in a picture as pieces of their own, each under a line that says so."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from enrichment.chunk import Unit
from enrichment.chunking.pieces import Piece
from enrichment.chunking.text_pieces import TextCutter
from loaders.document import Block, Image, images_of
from loaders.text.markdown import escape

DESCRIBED = "Described by a model:"
_LONGEST_NAME = 200


def picture_pieces(block: Block, text: TextCutter) -> list[Piece]:
    """Of all described pictures of a block, each once."""
    described = {image.description: image for image in images_of(block) if image.description}
    return [piece for image in described.values() for piece in _pieces(image, block, text)]


def _pieces(image: Image, block: Block, text: TextCutter) -> Iterator[Piece]:
    """The author's words lead."""
    name = escape(said_of(image)[:_LONGEST_NAME])
    mark = replace(
        _paragraph(block, f"[Image{f': {name}' if name else ''}] {DESCRIBED}", text)[0],
        kind="picture",
        units=(),
    )
    yield mark
    for line in image.description.split("\n"):
        for piece in _paragraph(block, _escaped(line), text):
            units = tuple(map(_item, piece.units)) if line.startswith("- ") else piece.units
            yield replace(piece, kind="picture", leads=(mark,), joiner="\n", units=units)


def _item(unit: Unit) -> Unit:
    """Shown as an item of a list, not run on behind what stands before it."""
    return replace(unit, kind="item", text=unit.text.removeprefix("- "))


def said_of(image: Image) -> str:
    """What its author says of it."""
    return " ".join(": ".join(filter(None, (image.title, image.alt))).split())


def _paragraph(block: Block, markdown: str, text: TextCutter) -> list[Piece]:
    plain = markdown.replace("\\", "")
    return text.paragraph(
        replace(block, kind="paragraph", text=plain, markdown=markdown, table=None, image=None)
    )


def _escaped(line: str) -> str:
    """Signs in a picture are no markdown; an item stays one."""
    return f"- {escape(line[2:])}" if line.startswith("- ") else escape(line)
