"""Enrichment without a model: for installations without a key, and the fallback for a failed call.

A document's summary quotes its own sentences, or is empty."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice

from enrichment.chunk import Chunk, ChunkTable, DocumentCard
from enrichment.extractive.keyphrases import document_keywords, entities, key_phrases, system_names
from enrichment.extractive.lifecycle import (
    predecessors,
    review_date,
    says_it_is_out_of_force,
    successor,
)
from enrichment.extractive.profile import document_type, faqs, technical_density
from enrichment.language.phrases import abbreviations, expansions
from enrichment.language.words import prose_words, sentences, stems
from loaders.document import Document

_MAX_SENTENCES = 400
_OPENING_SENTENCES = 3
_MAX_SUMMARY_SENTENCES, _MAX_SUMMARY_CHARS = 2, 300
_SUBJECT_WORDS = 6
_WORDS = range(6, 45)
_ENDS = re.compile(r"""[.!。！]["'”’)\]]*$""")
_OF_ITSELF = re.compile(
    r"this (?:\w+ )?(?:page|document|section|guide|handbook|plan|policy|standard|process|procedure|"
    r"runbook|playbook|register|schedule|calendar|catalogue|index|overview|edition)\b",
    re.I,
)
_HANGS_ON_WHAT_IS_BEFORE = re.compile(
    r"(?:it|its|they|their|them|this|that|these|those|he|she|his|her|both|so|then|such|also|another|"
    r"others?|however|therefore|instead|otherwise|likewise|first|second|third|next|finally|"
    r"for example|in addition|in other words|as (?:a result|such|well)|"
    r"the (?:same|latter|former|above|following|two|three|four|rest|others?))\b",
    re.I,
)
_REFERS_ELSEWHERE = re.compile(
    r"\b(?:section|table|figure|appendix|chapter|step|paragraph)s? [\dA-Z]"
    r"|\b(?:above|below|following)\b|^(?:see|note|visit|refer|click|go to|optional)\b|:\s*$",
    re.I,
)
_DETAIL = re.compile(r"(?:if|when|where|while|although|even|once|depending|as)\b", re.I)
_PAIRS = (("(", ")"), ("[", "]"), ("“", "”"))


def summarize(document: Document) -> str:
    """Up to two whole sentences in reading order, or ''.

    Only sentences about the document itself (`This page sets …`), and opening sentences about the
    subject of its title. Any other sentence is one detail of many and says less than the
    headings."""
    title = frozenset(stems(document.title))
    candidates = _candidates(document, title)
    of_itself = [each for each in candidates if _OF_ITSELF.match(each) and " not " not in each]
    of_subject = [
        each
        for each in candidates[:_OPENING_SENTENCES]
        if stems(" ".join(each.split()[:_SUBJECT_WORDS])) & title and not _DETAIL.match(each)
    ]
    summary: list[str] = []
    for sentence in dict.fromkeys((*of_itself, *of_subject)):
        length = sum(map(len, summary)) + len(sentence)
        if len(summary) < _MAX_SUMMARY_SENTENCES and length < _MAX_SUMMARY_CHARS:
            summary.append(sentence)
    return " ".join(sorted(summary, key=candidates.index))


def _candidates(document: Document, title: frozenset[str]) -> list[str]:
    paragraphs = (block.text for block in document.blocks if block.kind == "paragraph")
    # Quotes are not the document's own words.
    candidates = (sentence for text in paragraphs for sentence in sentences(text))
    return [
        sentence
        for sentence in islice(candidates, _MAX_SENTENCES)
        if _stands_alone(sentence) and not stems(sentence) <= title
    ]


def _stands_alone(sentence: str) -> bool:
    """Whether the sentence is complete and clear without its context."""
    return (
        len(prose_words(sentence)) in _WORDS
        and _ENDS.search(sentence) is not None
        and not sentence[0].islower()
        and all(sentence.count(opens) == sentence.count(closes) for opens, closes in _PAIRS)
        and sentence.count('"') % 2 == 0
        and (_OF_ITSELF.match(sentence) or not _HANGS_ON_WHAT_IS_BEFORE.match(sentence))
        and not _REFERS_ELSEWHERE.search(sentence)
    )


_MAX_HEADINGS = 20
_MAX_OUTLINE_CHARS = 600
_MAX_HEADING_CHARS = 80


def table_of_contents(document: Document) -> tuple[str, ...]:
    """Tabs and headings in reading order, each once, without the title.

    Upper levels come first: at the first heading that doesn't fit, the rest of its level and all
    deeper levels are omitted. An outline of the whole document matters more than details."""
    places: dict[str, tuple[int, int]] = {}
    for tab in document.tabs:
        places.setdefault(tab.title, (0, len(places)))
    for block in document.blocks:
        if block.kind == "heading":
            name = " ".join(block.text.split())
            places.setdefault(name, (block.level, len(places)))
    room = _MAX_OUTLINE_CHARS
    headings_left: list[str] = []
    for name in sorted(places, key=lambda name: places[name]):
        if not name or name == document.title or len(name) > _MAX_HEADING_CHARS:
            continue
        if len(name) > room or len(headings_left) == _MAX_HEADINGS:
            break
        room -= len(name)
        headings_left.append(name)
    return tuple(sorted(headings_left, key=lambda name: places[name][1]))


_CHUNK_KEYWORDS = 6
_TABLE_LABELS = 12


def extractive_card(document: Document) -> DocumentCard:
    """The document's entry in the list that the source identifier reads."""
    return DocumentCard(
        id=document.id,
        title=document.title,
        url=document.url,
        summary=summarize(document),
        headings=table_of_contents(document),
        faqs=faqs(document),
        keywords=document_keywords(document),
        document_type=document_type(document),
        technical_density=technical_density(document),
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
        path=document.path,
    )


def extractive_chunks(document: Document, chunks: Sequence[Chunk]) -> tuple[Chunk, ...]:
    """The chunks with keywords, entities, table summaries and the document's profile."""
    type_of_document = document_type(document)
    systems = system_names(document)
    short_forms = abbreviations("\n".join(_all_text(document)))
    return tuple(
        replace(
            chunk,
            summary=table_summary(chunk.table) if chunk.table else chunk.summary,
            keywords=(*expansions(chunk.text, short_forms), *_keywords(chunk)),
            entities=entities(chunk.text, systems=systems),
            document_type=type_of_document,
        )
        for chunk in chunks
    )


def table_summary(table: ChunkTable) -> str:
    """Two lines: the caption with the columns, and the labels of this chunk's rows."""
    names = [name for name in table.header if name]
    by, values = names[: table.label_columns], names[table.label_columns :]
    first = f"{table.caption}: {', '.join(values) or 'values'} by {', '.join(by) or 'row'}."
    labels = dict.fromkeys(
        " ".join(dict.fromkeys(row[: table.label_columns])).strip() for row in table.rows
    )
    visible = [label for label in labels if label][:_TABLE_LABELS]
    part = "" if len(table.rows) == table.total_rows else f" of {table.total_rows}"
    second = f"{len(table.rows)}{part} rows: {'; '.join(visible)}"
    return f"{first}\n{second}{' …' if len(labels) > _TABLE_LABELS else '.'}"


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
