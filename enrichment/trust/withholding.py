"""Keeps what is planted for a model out of the index, and says where it stood."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from enrichment.language.sentences import sentences
from enrichment.trust.addressing import addressing
from loaders.document import Block, Cell, Document, Image, Table

WITHHELD = "(withheld: addressed to an AI, not to people)"
"""Stands in the document's place for the text, so that nobody takes it for complete."""
_END = re.compile(r"(?<=[.!?])\s+")
_SHOWN = 120
"""Characters of a withheld text in a report."""


def without_planted(document: Document) -> tuple[Document, tuple[str, ...]]:
    """The document with every planted text replaced by `WITHHELD`, and `place: its beginning` for
    each. What follows a planted sentence in its paragraph or cell is its message: it goes too."""
    found: dict[str, None] = {}

    def note(place: str, before: str, after: str) -> None:
        if after != before:
            found.setdefault(f"{place}: {_beginning(before, after)!r}")

    title = kept(document.title)
    note("title", document.title, title)
    blocks: list[Block] = []
    for block in document.blocks:
        cleaned = _cleaned(block)
        place = f"under {cleaned.heading_path[-1]!r}" if cleaned.heading_path else "at the top"
        for before, after in zip(_texts(block), _texts(cleaned), strict=True):
            note(place, before, after)
        blocks.append(cleaned)
    tabs = tuple(
        replace(tab, title=kept(tab.title), path=tuple(map(kept, tab.path)))
        for tab in document.tabs
    )
    return replace(document, title=title, blocks=tuple(blocks), tabs=tabs), tuple(found)


def kept(text: str) -> str:
    """The text with what is planted replaced; the very same text when nothing is."""
    return "\n".join(_kept_line(line) for line in text.split("\n"))


def _kept_line(line: str) -> str:
    at = 0
    for sentence in _parts(line):
        at = line.index(sentence, at)
        if addressing(sentence) == "planted":
            return line[:at] + WITHHELD
        at += len(sentence)
    return line


def _parts(line: str) -> Iterator[str]:
    """Sentences, and what an end mark parts from them that opens no sentence, as braces do."""
    for sentence in sentences(line):
        yield from _END.split(sentence)


def _cleaned(block: Block) -> Block:
    text, markdown = _twice_kept(block.text, block.markdown)
    tab = block.tab and replace(
        block.tab, title=kept(block.tab.title), path=tuple(map(kept, block.tab.path))
    )
    return replace(
        block,
        text=text,
        markdown=markdown,
        heading_path=tuple(map(kept, block.heading_path)),
        tab=tab,
        table=block.table and _cleaned_table(block.table),
        image=block.image and _cleaned_image(block.image),
    )


def _twice_kept(text: str, markdown: str) -> tuple[str, str]:
    """Plain and markdown; when only one shows it, both are what is left of the plain one."""
    plain = kept(text)
    marked = plain if markdown == text else kept(markdown)
    if (plain == text) == (marked == markdown):
        return plain, marked
    left = plain if plain != text else WITHHELD
    return left, left


def _cleaned_table(table: Table) -> Table:
    return replace(table, rows=tuple(tuple(map(_cleaned_cell, row)) for row in table.rows))


def _cleaned_cell(cell: Cell) -> Cell:
    text, markdown = _twice_kept(cell.text, cell.markdown.replace("<br>", "\n"))
    return replace(
        cell,
        text=text,
        markdown=markdown.replace("\n", "<br>"),
        tables=tuple(map(_cleaned_table, cell.tables)),
        images=tuple(map(_cleaned_image, cell.images)),
    )


def _cleaned_image(image: Image) -> Image:
    return replace(
        image,
        alt=kept(image.alt),
        title=kept(image.title),
        description=kept(image.description),
    )


def _texts(block: Block) -> Iterator[str]:
    yield block.text
    if block.image:
        yield block.image.alt
        yield block.image.title
        yield block.image.description
    for row in block.table.rows if block.table else ():
        for cell in row:
            yield cell.text


def _beginning(before: str, after: str) -> str:
    """Of what was withheld."""
    same = next((i for i, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), 0)
    said = " ".join(before[same:].split())
    return said if len(said) <= _SHOWN else said[:_SHOWN] + "…"
