"""Documents to chunks, by structure: never across headings, never inside a table row."""

from __future__ import annotations

import hashlib
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from config.domain import ChunkOptions
from config.models import Vectors
from enrichment.chunk import Chunk, Unit
from enrichment.chunking.packing import pack, text_of
from enrichment.chunking.pieces import CountTokens, Cutter, Piece, is_lead_in, with_footnotes
from enrichment.chunking.sections import Section, breadcrumb, sections
from enrichment.chunking.table_pieces import TableCutter, is_box, tells_how_to_read
from loaders.document import Block, Document


def split(
    document: Document,
    *,
    count_tokens: CountTokens,
    options: ChunkOptions = ChunkOptions(),
    embed: Callable[[Sequence[str]], Vectors] | None = None,
) -> list[Chunk]:
    """Chunks in reading order. `embed` is needed only for `semantic_threshold`."""
    chunks: list[Chunk] = []
    seen: Counter[str] = Counter()
    for section in sections(document):
        pieces = _pieces(document, section, count_tokens, options)
        if options.semantic_threshold is not None and embed is not None:
            pieces = _with_topics(pieces, options.semantic_threshold, embed)
        groups = pack(
            pieces, size=options.size, table_size=options.table_size, overlap=options.overlap
        )
        for group in groups:
            draft = _Draft(document, section, group)
            seen[draft.content] += 1
            chunks.append(draft.chunk(len(chunks), seen[draft.content], count_tokens))
    return chunks


@dataclass(frozen=True)
class _Draft:
    """A chunk before it has its id."""

    document: Document
    section: Section
    group: Sequence[Piece]

    @cached_property
    def content(self) -> str:
        """What the id is made of: everything that is shown, embedded or opened."""
        section = self.section
        crumbs = breadcrumb(self.document, section)
        return "\x1f".join((self.document.id, section.url, crumbs, text_of(self.group)))

    def chunk(self, position: int, occurrence: int, count_tokens: CountTokens) -> Chunk:
        text = text_of(self.group)
        plain = "\n".join(piece.plain for piece in self.group if piece.plain)
        return Chunk(
            id=_id(self.content, occurrence),
            document_id=self.document.id,
            document_title=self.document.title,
            kind=_kind(self.group),
            position=position,
            heading_path=self.section.heading_path,
            tab=self.section.tab,
            url=self.section.url,
            page=self.group[0].page,
            text=text,
            index_text=f"{breadcrumb(self.document, self.section)}\n{plain}",
            tokens=count_tokens(text),
            units=_units(self.group),
            table=next((piece.table for piece in self.group if piece.table), None),
        )


def _pieces(
    document: Document, section: Section, count_tokens: CountTokens, options: ChunkOptions
) -> list[Piece]:
    text = Cutter(count_tokens=count_tokens, size=options.size, heading=section.title)
    tables = TableCutter(
        count_tokens=count_tokens,
        size=options.table_size,
        heading=section.title,
        document_id=document.id,
    )
    found: list[Piece] = []
    blocks = deque(section.blocks)
    leads: tuple[Piece, ...] = ()
    while blocks:
        block = blocks.popleft()
        following = blocks[0] if blocks else None
        if is_lead_in(block, following):
            pieces = text.paragraph(block)
            leads = tuple(pieces[-1:])
            found += pieces[:-1]
            continue
        if block.kind == "list_item":
            run = [block]
            while blocks and blocks[0].kind == "list_item":
                run.append(blocks.popleft())
            found += text.list_items(run, leads)
        elif block.table and not is_box(block.table):
            note = following if following and tells_how_to_read(following) else None
            if note:
                blocks.popleft()
            found += tables.pieces(block, leads, note)
        elif block.kind == "code":
            found += text.code(block, leads)
        else:
            found += text.paragraph(_readable(block))
        leads = ()
    return with_footnotes([piece for piece in found if piece.text], section.footnotes, text)


def _readable(block: Block) -> Block:
    """Boxes and images as text."""
    if block.table:
        cell = block.table.rows[0][0]
        return replace(block, text=cell.text, markdown=cell.markdown.replace("<br>", "\n\n"))
    if block.image:
        said = ": ".join(filter(None, (block.image.title, block.image.alt)))
        return replace(block, text=said, markdown=f"[Image: {said}]" if said else "")
    return block


def _with_topics(
    pieces: list[Piece], threshold: float, embed: Callable[[Sequence[str]], Vectors]
) -> list[Piece]:
    """Mark text pieces that have little to do with the one before."""
    if len(pieces) < 2:
        return pieces
    vectors = embed([piece.plain for piece in pieces])
    likeness = (vectors[1:] * vectors[:-1]).sum(axis=1)
    return [
        replace(piece, starts_topic=piece.kind == "text" and near < threshold and not piece.leads)
        for piece, near in zip(pieces, [1.0, *likeness], strict=True)
    ]


def _units(group: Sequence[Piece]) -> tuple[Unit, ...]:
    return tuple(unit for piece in group for unit in piece.units)


def _kind(group: Sequence[Piece]) -> Literal["text", "table", "code"]:
    kinds = {piece.kind for piece in group}
    return "table" if "table" in kinds else "code" if kinds == {"code"} else "text"


def _id(content: str, occurrence: int) -> str:
    """Twins within a document are told apart by their order among themselves."""
    return hashlib.sha256(f"{content}\x1f{occurrence}".encode()).hexdigest()[:32]
