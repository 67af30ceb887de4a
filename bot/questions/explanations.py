"""Why answers were given, on record for some days: ids, ranks and scores, without text of
documents. The text is looked up by id in the published generation."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from pydantic import TypeAdapter
from sqlalchemy import Connection, delete, select

from agents.answer import Answer
from agents.plan import Plan, SourceChoice, Trace
from bot.questions.tables import ExplanationRow
from durable.database import batches, now, read_stored, replace_row
from enrichment.chunk import Chunk
from index.search import Hit

MAX_HITS = 12
"""Best hits of an explanation, as many as `oncall explain` prints."""
Place = tuple[str, str]
"""Ids of a chunk and its document."""


@dataclass(frozen=True, kw_only=True)
class _Hit:
    """See `index.search.Hit`."""

    place: Place
    score: float
    similarity: float
    ranks: Mapping[str, int]
    escaped: bool = False


@dataclass(frozen=True, kw_only=True)
class _Explanation:
    plan: Plan | None
    sources: SourceChoice
    hits: tuple[_Hit, ...]
    dropped: Mapping[str, str]
    notes: tuple[str, ...]
    context: tuple[Place, ...]


_explanations = TypeAdapter(_Explanation)


def store_explanation(connection: Connection, question_id: str, answer: Answer) -> None:
    """In place of an earlier one; within a transaction."""
    trace = answer.trace
    if trace is None:
        return
    hits = tuple(
        _Hit(
            place=(hit.chunk.id, hit.chunk.document_id), score=round(hit.score, 4),
            similarity=round(hit.similarity, 3), ranks=hit.ranks, escaped=hit.escaped,
        )
        for hit in trace.hits[:MAX_HITS]
    )  # fmt: skip
    ids = {hit.place[0] for hit in hits}
    explanation = _Explanation(
        plan=trace.plan, sources=trace.sources, hits=hits, notes=trace.notes,
        dropped={chunk: why for chunk, why in trace.dropped.items() if chunk in ids},
        context=tuple((one.id, one.document_id) for one in answer.context),
    )  # fmt: skip
    text = _explanations.dump_json(explanation, exclude_defaults=True).decode()
    replace_row(connection, ExplanationRow, question_id=question_id, at=now(), explanation=text)


def with_explanation(
    connection: Connection,
    question_id: str,
    answer: Answer,
    chunks: Callable[[str], Sequence[Chunk]],
) -> Answer:
    """The answer with its trace and context, as far as they are still on record.

    `chunks`: the published chunks of a document. Raises StorageFailed."""
    query = select(ExplanationRow.explanation).filter_by(question_id=question_id)
    if not (text := connection.scalar(query)):
        return answer
    stored = read_stored(_explanations, text, "explanation")
    places = (*(hit.place for hit in stored.hits), *stored.context)
    published = {
        chunk.id: chunk
        for document in dict.fromkeys(document for _, document in places)
        for chunk in chunks(document)
    }

    def chunk_at(place: Place) -> Chunk:
        chunk, document = place
        return published.get(chunk) or Chunk(
            id=chunk, document_id=document, document_title=f"{document} (changed or deleted since)",
            kind="text", position=0, heading_path=(), text="", index_text="", tokens=0,
        )  # fmt: skip

    trace = Trace(
        plan=stored.plan, sources=stored.sources, dropped=stored.dropped, notes=stored.notes,
        hits=tuple(
            Hit(
                chunk=chunk_at(hit.place), score=hit.score, similarity=hit.similarity,
                ranks=hit.ranks, escaped=hit.escaped,
            )
            for hit in stored.hits
        ),
    )  # fmt: skip
    return replace(answer, trace=trace, context=tuple(map(chunk_at, stored.context)))


def forget_explanations(connection: Connection, ids: Collection[str]) -> None:
    """`ids`: of questions."""
    for batch in batches(ids):
        connection.execute(delete(ExplanationRow).where(ExplanationRow.question_id.in_(batch)))


def forget_before(connection: Connection, before: datetime) -> None:
    """`before`: UTC, without a zone."""
    connection.execute(delete(ExplanationRow).where(ExplanationRow.at < before))
