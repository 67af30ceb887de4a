"""Why answers were given, on record for some days: ids, ranks and scores, without text of
documents. The text is looked up by id in the published generation."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from pydantic import TypeAdapter
from sqlalchemy import Connection, delete, select

from agents.answer import Answer
from agents.plan import Trace
from bot.questions.tables import ExplanationRow
from durable.database import batches, now, read_stored, replace_row
from enrichment.chunk import Chunk

MAX_HITS = 20
"""Best hits of an explanation; `oncall explain` prints fewer."""


@dataclass(frozen=True, kw_only=True)
class Explanation:
    trace: Trace
    """Its chunks have ids and no text."""
    context: tuple[Chunk, ...] = ()
    """The answerer's passages, likewise."""


_explanations = TypeAdapter(Explanation)


def store_explanation(connection: Connection, question_id: str, answer: Answer) -> None:
    """In place of an earlier one; within a transaction."""
    if answer.trace is None:
        return
    hits = tuple(replace(hit, chunk=_bare(hit.chunk)) for hit in answer.trace.hits[:MAX_HITS])
    ids = {hit.chunk.id for hit in hits}
    dropped = {chunk: why for chunk, why in answer.trace.dropped.items() if chunk in ids}
    explanation = Explanation(
        trace=replace(answer.trace, hits=hits, dropped=dropped),
        context=tuple(map(_bare, answer.context)),
    )
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
    places = (*(hit.chunk for hit in stored.trace.hits), *stored.context)
    published = {
        chunk.id: chunk
        for document in dict.fromkeys(one.document_id for one in places)
        for chunk in chunks(document)
    }

    def whole(chunk: Chunk) -> Chunk:
        missing = replace(chunk, document_title=f"{chunk.document_id} (changed or deleted since)")
        return published.get(chunk.id, missing)

    hits = tuple(replace(hit, chunk=whole(hit.chunk)) for hit in stored.trace.hits)
    context = tuple(map(whole, stored.context))
    return replace(answer, trace=replace(stored.trace, hits=hits), context=context)


def _bare(chunk: Chunk) -> Chunk:
    return Chunk(
        id=chunk.id, document_id=chunk.document_id, document_title="", kind=chunk.kind,
        position=chunk.position, heading_path=(), text="", index_text="", tokens=0,
    )  # fmt: skip


def forget_explanations(connection: Connection, ids: Collection[str]) -> None:
    """`ids`: of questions."""
    for batch in batches(ids):
        connection.execute(delete(ExplanationRow).where(ExplanationRow.question_id.in_(batch)))


def forget_before(connection: Connection, before: datetime) -> None:
    """`before`: UTC, without a zone."""
    connection.execute(delete(ExplanationRow).where(ExplanationRow.at < before))
