"""Why an answer was given stays on record for days, without the texts that it was drawn from."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, datetime, timedelta

import pytest
from pydantic import TypeAdapter
from sqlalchemy import Engine, create_engine, select, update

from agents.answer import Answer
from agents.plan import Plan, SourceChoice, Trace
from bot.features.registry import FEATURE_TABLES
from bot.privacy.retention import Retention, UpkeepRow
from bot.questions.explanations import MAX_HITS, with_explanation
from bot.questions.store import QuestionStore, decode_answer
from bot.questions.tables import ExplanationRow, QuestionRow
from config.settings import Settings
from durable.database import now
from enrichment.chunk import Chunk, Unit
from index.audit import AuditLog
from index.search import Hit
from tests.bot.fakes import answer, claim, domain

WORD = "heliotrope"
QUESTION = "C1:1.0"


def chunk(number: int) -> Chunk:
    text = f"{WORD} {number} " * 60
    unit = Unit(kind="sentence", text=text, index_text=text)
    return Chunk(
        id=f"{number:032x}", document_id=f"document-{number % 3}", document_title=WORD.title(),
        kind="text", position=number, heading_path=(WORD,), text=text, index_text=text, tokens=60,
        units=(unit, unit),
    )  # fmt: skip


CHUNKS = [chunk(number) for number in range(60)]
TRACE = Trace(
    plan=Plan(question="what opens?", kind="in_domain"),
    sources=SourceChoice(reasons={"document-1": "rank 1 by its passages"}),
    hits=tuple(
        Hit(chunk=one, score=60 - rank, similarity=0.5, ranks={"chunks": rank + 1})
        for rank, one in enumerate(CHUNKS)
    ),
    dropped={one.id: "no room left" for one in CHUNKS[8:]},
    notes=("one claim is not supported",),
)
ANSWER = answer(trace=TRACE, context=tuple(CHUNKS[:8]))


@pytest.fixture
def engine() -> Iterator[Engine]:
    made = create_engine("sqlite://")
    FEATURE_TABLES.create(made)
    yield made
    made.dispose()


def answered(engine: Engine) -> QuestionStore:
    records = QuestionStore(engine)
    record = claim(
        records, question_id=QUESTION, channel="C1", thread_ts="1.0", asker="U0INES",
        text="what opens?", event_id="Ev1", domain="security",
    )  # fmt: skip
    assert record
    assert records.store_answer(record, "security", ANSWER)
    return records


def stored(engine: Engine) -> tuple[str, str]:
    """The answer and its explanation."""
    with engine.connect() as connection:
        reply = connection.scalar(select(QuestionRow.answer)) or ""
        return reply, connection.scalar(select(ExplanationRow.explanation)) or ""


def explained(engine: Engine, published: list[Chunk]) -> Answer:
    with engine.connect() as connection:
        return with_explanation(
            connection, QUESTION, decode_answer(stored(engine)[0]),
            lambda document: [one for one in published if one.document_id == document],
        )  # fmt: skip


def retention(engine: Engine, **settings: object) -> Retention:
    return Retention(
        engine=engine, features=FEATURE_TABLES, domains=lambda: {"security": domain()},
        audit=AuditLog(engine), settings=Settings(**settings), unfinished=frozenset,
    )  # fmt: skip


def test_a_record_is_small_and_explains_its_answer_as_long_as_the_texts_are_published(
    engine: Engine,
) -> None:
    answered(engine)
    reply, explanation = stored(engine)
    as_before = TypeAdapter(Answer).dump_json(replace(ANSWER, context=()))
    assert len(reply) + len(explanation) < len(as_before) / 20
    assert WORD not in (reply + explanation).casefold()
    whole = explained(engine, CHUNKS)
    assert whole.trace == replace(
        TRACE, hits=TRACE.hits[:MAX_HITS],
        dropped={one.id: "no room left" for one in CHUNKS[8:MAX_HITS]},
    )  # fmt: skip
    assert whole.context == ANSWER.context
    changed = explained(engine, CHUNKS[1:])
    assert changed.trace
    assert "changed or deleted since" in changed.trace.hits[0].chunk.place
    assert changed.trace.hits[1:] == TRACE.hits[1:MAX_HITS]


def test_an_explanation_goes_after_its_days_or_with_its_question(engine: Engine) -> None:
    records = answered(engine)
    retention(engine).purge()
    assert stored(engine)[1]
    with engine.begin() as connection:
        connection.execute(update(ExplanationRow).values(at=now() - timedelta(days=15)))
    retention(engine, explanation_days=16).purge()
    assert stored(engine)[1]
    retention(engine).purge()
    reply, explanation = stored(engine)
    assert (bool(reply), explanation) == (True, "")
    assert explained(engine, CHUNKS) == decode_answer(reply)

    for forget in (
        lambda: records.withdraw(QUESTION),
        lambda: records.reopen(QUESTION, event_id="Ev2", text="and now?"),
    ):
        records.mark(QUESTION, state="working")
        record = records.get(QUESTION)
        assert record
        assert records.store_answer(record, "security", ANSWER)
        assert stored(engine)[1]
        forget()
        assert stored(engine) == ("", "")
        assert not records.store_answer(record, "security", ANSWER)


def test_answers_of_older_releases_are_slimmed_once_and_stragglers_after(engine: Engine) -> None:
    records = answered(engine)
    fat = TypeAdapter(Answer).dump_json(replace(ANSWER, context=())).decode()

    def slimmed(asked_at: datetime) -> bool:
        records.mark(QUESTION, answer=fat, state="posted", asked_at=asked_at)
        retention(engine, data_dir="nowhere").purge()
        reply = stored(engine)[0]
        assert decode_answer(reply) == replace(ANSWER, context=(), trace=None)
        return json.loads(reply)["trace"] is None

    assert slimmed(now() - timedelta(days=100))
    assert not slimmed(now() - timedelta(days=100))
    assert slimmed(now() - timedelta(days=1))
    with engine.begin() as connection:
        connection.execute(update(UpkeepRow).values(done_on=date.min))
    assert slimmed(now() - timedelta(days=100))
