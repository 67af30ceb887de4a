"""Agent 5 without a model: says the cells and sentences that answer, verbatim, each cited."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agents.answer import Citation
from agents.plan import Plan
from agents.relevance import Aspect, Scored, aspects_of
from agents.table_answer import row_in_words
from agents.words import stems
from enrichment.chunk import Chunk, DocumentCard
from index.search import Snapshot

LONGEST_ANSWER = 700
"""Characters. Someone reads this in a thread, at night, on a phone."""
_LONGEST_STATEMENT = 360
_MOST_STATEMENTS = 4
_WORTH_ADDING = 0.35
"""A further statement needs this share of the best one's score."""

_TO_THE_READER_MODEL = re.compile(
    r"\b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:instruction|rule|prompt|above|previous)"
    r"|\bsystem prompt\b|\byou are (?:now )?(?:an? )?(?:ai|assistant|chatbot|language model)\b"
    r"|\b(?:ai|assistant|chatbot|language model)s?\b.{0,30}\b(?:must|should|shall)\b",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True, kw_only=True)
class Statement:
    """One line of the answer."""

    text: str
    quote: str
    chunk: Chunk


def extractive_answer(
    plan: Plan, snapshot: Snapshot, context: Sequence[Chunk], scored: Sequence[Scored]
) -> tuple[str, tuple[Citation, ...]]:
    """Markdown and its citations; ("", ()) when the context holds nothing to say."""
    aspects = aspects_of(plan, snapshot)
    chosen = choose(scored, context)
    statements = [statement_of(unit, aspects) for unit in chosen]
    return written(statements, snapshot.documents)


def choose(scored: Sequence[Scored], context: Sequence[Chunk]) -> list[Scored]:
    """The best statement of each part of the question, then the next best while there is room."""
    visible = {chunk.id for chunk in context}
    usable = [
        unit
        for unit in scored
        if unit.chunk.id in visible and not _TO_THE_READER_MODEL.search(unit.unit.text)
    ]
    if not usable:
        return []
    parts = len(usable[0].aspects)
    leaders = [max(usable, key=lambda unit: unit.aspects[part]) for part in range(1, parts)]
    ranked = [usable[0], *leaders, *usable[1:]]
    chosen: list[Scored] = []
    room = LONGEST_ANSWER
    for unit in ranked:
        length = min(len(unit.unit.text), _LONGEST_STATEMENT)
        enough = unit.score >= _WORTH_ADDING * usable[0].score
        if len(chosen) == _MOST_STATEMENTS or (chosen and not enough):
            continue
        if (chosen and length > room) or any(_says_the_same(unit, other) for other in chosen):
            continue
        chosen.append(unit)
        room -= length
    return chosen


def statement_of(scored: Scored, aspects: Sequence[Aspect]) -> Statement:
    """The row in words, or the sentence verbatim with the heading it hangs on."""
    unit, chunk = scored.unit, scored.chunk
    if unit.row is not None and chunk.table is not None:
        best = max(range(len(aspects)), key=lambda part: scored.aspects[part])
        aspect = Aspect(text="", weights={**aspects[best].weights, **aspects[0].weights})
        said = row_in_words(chunk.table, unit.row, aspect)
    else:
        said = _shortened(unit.text)
        if unit.kind == "item" and chunk.heading_path:
            said = f"*{chunk.heading_path[-1]}*: {said}"
    return Statement(text=said, quote=unit.text, chunk=chunk)


def written(
    statements: Sequence[Statement], documents: Mapping[str, DocumentCard]
) -> tuple[str, tuple[Citation, ...]]:
    """One statement as a line, several as a list; one number for each chunk."""
    numbers: dict[str, int] = {}
    citations: list[Citation] = []
    lines: list[str] = []
    for statement in statements:
        chunk = statement.chunk
        if chunk.id not in numbers:
            numbers[chunk.id] = len(numbers) + 1
            citations.append(citation(chunk, numbers[chunk.id], statement.quote, documents))
        lines.append(f"{statement.text} [{numbers[chunk.id]}]")
    text = "\n".join(f"- {line}" for line in lines) if len(lines) > 1 else "".join(lines)
    return text, tuple(citations)


def citation(
    chunk: Chunk, number: int, quote: str, documents: Mapping[str, DocumentCard]
) -> Citation:
    card = documents.get(chunk.document_id)
    return Citation(
        number=number,
        document=chunk.document_id,
        title=chunk.document_title,
        heading=chunk.heading_path[-1] if chunk.heading_path else chunk.document_title,
        url=chunk.url,
        quote=quote,
        modified_at=card.modified_at if card else None,
        page=chunk.page,
        chunk_id=chunk.id,
    )


def _says_the_same(unit: Scored, other: Scored) -> bool:
    mine, theirs = stems(unit.unit.text), stems(other.unit.text)
    smaller = min(len(mine), len(theirs))
    return smaller > 0 and len(mine & theirs) / smaller > 0.85 and unit.unit.kind == other.unit.kind


def _shortened(text: str) -> str:
    """At a word's end, with a sign that something follows."""
    if len(text) <= _LONGEST_STATEMENT:
        return text
    return text[:_LONGEST_STATEMENT].rsplit(" ", 1)[0].rstrip(",;:") + " …"
