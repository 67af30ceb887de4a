"""Enrichment without a model: what keyless users get, and what stands when a call fails."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from enrichment.chunk import Chunk, ChunkTable, DocumentCard
from enrichment.language.abbreviations import abbreviations, expansions
from enrichment.without_model.entities import entities, system_names
from enrichment.without_model.faqs import faqs
from enrichment.without_model.keyphrases import document_keywords, key_phrases
from enrichment.without_model.profile import Profile, profile
from enrichment.without_model.review_date import review_date
from enrichment.without_model.succession import predecessors, says_it_is_out_of_force, successor
from enrichment.without_model.summary import summarise
from enrichment.without_model.table_of_contents import table_of_contents
from loaders.document import Document

_CHUNK_KEYWORDS = 6
_TABLE_LABELS = 12


def extractive_card(document: Document) -> DocumentCard:
    """The document's entry in the list that the source identifier reads."""
    described = profile(document)
    return DocumentCard(
        id=document.id,
        title=document.title,
        url=document.url,
        summary=summarise(document),
        headings=table_of_contents(document),
        faqs=faqs(document),
        keywords=document_keywords(document),
        document_type=described.document_type,
        technical_density=described.technical_density,
        modified_at=document.modified_at,
        owner=document.owner,
        replaces=predecessors(document),
        status=document.status or ("superseded" if says_it_is_out_of_force(document) else ""),
        review_by=document.review_by or review_date(document),
        superseded_by=successor(document),
        permissions=document.permissions,
        source=document.source,
        content_hash=document.content_hash,
        version=document.version,
    )


def extractive_chunks(document: Document, chunks: Sequence[Chunk]) -> tuple[Chunk, ...]:
    """The chunks with keywords, entities, table summaries and the document's profile."""
    described = profile(document)
    systems = system_names(document)
    short_forms = abbreviations("\n".join(_all_text(document)))
    return tuple(_enriched(chunk, described, systems, short_forms) for chunk in chunks)


def table_summary(table: ChunkTable) -> str:
    """Two lines: what the table lists by what, and which rows are here."""
    named = [name for name in table.header if name]
    by, values = named[: table.label_columns], named[table.label_columns :]
    first = f"{table.caption}: {', '.join(values) or 'values'} by {', '.join(by) or 'row'}."
    labels = dict.fromkeys(
        " ".join(dict.fromkeys(row[: table.label_columns])).strip() for row in table.rows
    )
    shown = [label for label in labels if label][:_TABLE_LABELS]
    part = "" if len(table.rows) == table.total_rows else f" of {table.total_rows}"
    second = f"{len(table.rows)}{part} rows: {'; '.join(shown)}"
    return f"{first}\n{second}{' …' if len(labels) > _TABLE_LABELS else '.'}"


def _enriched(
    chunk: Chunk, described: Profile, systems: Sequence[str], short_forms: dict[str, str]
) -> Chunk:
    return replace(
        chunk,
        summary=table_summary(chunk.table) if chunk.table else chunk.summary,
        keywords=(*expansions(chunk.text, short_forms), *_keywords(chunk)),
        entities=entities(chunk.text, systems=systems),
        document_type=described.document_type,
    )


def _keywords(chunk: Chunk) -> tuple[str, ...]:
    if chunk.table:
        labels = [row[0] for row in chunk.table.rows]
        names = dict.fromkeys(word.strip() for word in (*chunk.table.header, *labels))
        return tuple(name for name in names if name and len(name) <= 60)[: 2 * _CHUNK_KEYWORDS]
    return key_phrases([*chunk.heading_path, chunk.text], most=_CHUNK_KEYWORDS)


def _all_text(document: Document) -> Iterable[str]:
    for block in document.blocks:
        yield block.text
        if block.table:
            for row in block.table.rows:
                yield from (cell.text for cell in dict.fromkeys(row))
