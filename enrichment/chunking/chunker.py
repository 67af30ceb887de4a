"""Splits documents into chunks by structure: never across headings, never inside a table row."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Literal

from config.domain import ChunkOptions
from config.models import Vectors
from enrichment.chunk import Chunk, ChunkRun
from enrichment.chunking.code_blocks import CodeCutter
from enrichment.chunking.pieces import CountTokens, Piece, pack, runs_of, text_of
from enrichment.chunking.sections import Section, SectionCutter, breadcrumb, sections
from enrichment.chunking.tables import TableCutter
from enrichment.chunking.text import (
    TextCutter,
    note_pieces,
    with_footnotes,
    with_notes_repeated,
    without_addresses,
)
from loaders.document import Document


def split(
    document: Document,
    *,
    count_tokens: CountTokens,
    options: ChunkOptions = ChunkOptions(),
    embed: Callable[[Sequence[str]], Vectors] | None = None,
) -> list[Chunk]:
    """Chunks in reading order. `embed` is needed only for `semantic_threshold`."""
    chunks: list[Chunk] = []
    repeats: Counter[str] = Counter()
    for number, section in enumerate(sections(document)):
        crumbs = breadcrumb(document, section)
        for group, runs in _groups(document, section, number, count_tokens, options, embed):
            text = text_of(group)
            # Everything that is displayed, embedded or opened.
            content = "\x1f".join((document.id, section.url, crumbs, text))
            repeats[content] += 1
            plain = "\n".join(piece.plain for piece in group if piece.plain)
            chunk = Chunk(
                id=_id(content, repeats[content]),
                document_id=document.id,
                document_title=document.title,
                kind=_kind(group),
                position=len(chunks),
                heading_path=section.heading_path,
                tab=section.tab,
                url=section.url,
                page=group[0].page,
                text=text,
                index_text=f"{crumbs}\n{plain}",
                tokens=count_tokens(text),
                units=tuple(unit for piece in group for unit in piece.units),
                table=next((piece.table for piece in group if piece.table), None),
                runs=runs,
                from_picture=group[0].kind == "picture",
            )
            chunks.append(chunk)
    return chunks


def _groups(
    document: Document,
    section: Section,
    number: int,
    count_tokens: CountTokens,
    options: ChunkOptions,
    embed: Callable[[Sequence[str]], Vectors] | None,
) -> Iterator[tuple[Sequence[Piece], tuple[ChunkRun, ...]]]:
    """For each chunk of a section: its pieces, and the runs that continue in other chunks."""
    count = without_addresses(count_tokens)
    text = TextCutter(count_tokens=count, size=options.size, heading=section.title)
    cutter = SectionCutter(
        text=text,
        codes=CodeCutter(count_tokens=count, size=options.size, heading=section.title),
        tables=TableCutter(
            count_tokens=count,
            size=options.table_size,
            heading=section.title,
            document_id=document.id,
        ),
        section=f"{document.id}.{number}",
    )
    notes = note_pieces(section.footnotes, text)
    pieces = with_footnotes(cutter.pieces(section.blocks), notes)
    if options.semantic_threshold is not None and embed is not None:
        pieces = _with_topics(pieces, options.semantic_threshold, embed)
    groups = pack(pieces, size=options.size, table_size=options.table_size, overlap=options.overlap)
    for group, runs in zip(groups, runs_of(groups), strict=True):
        yield with_notes_repeated(group, notes, options.size // 4), runs


def _with_topics(
    pieces: list[Piece], threshold: float, embed: Callable[[Sequence[str]], Vectors]
) -> list[Piece]:
    """Mark text pieces whose vector differs much from the piece before."""
    if len(pieces) < 2:
        return pieces
    vectors = embed([piece.plain for piece in pieces])
    likeness = (vectors[1:] * vectors[:-1]).sum(axis=1)
    return [
        replace(piece, starts_topic=piece.kind == "text" and near < threshold and not piece.leads)
        for piece, near in zip(pieces, [1.0, *likeness], strict=True)
    ]


def _kind(group: Sequence[Piece]) -> Literal["text", "table", "code"]:
    kinds = {piece.kind for piece in group}
    return "table" if "table" in kinds else "code" if kinds == {"code"} else "text"


def _id(content: str, occurrence: int) -> str:
    """`occurrence` distinguishes chunks of equal content in a document, from 1."""
    return hashlib.sha256(f"{content}\x1f{occurrence}".encode()).hexdigest()[:32]
