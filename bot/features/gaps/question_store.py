"""Failed questions in the database, people's answers to them, and the suggestions to document
owners that are made of those answers."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import cast

from sqlalchemy import Engine, func, not_, or_, select, update

from bot.bus.events import SuggestionDecided
from bot.features.gaps.questions import (
    ANSWERED_PATHS,
    ANSWERED_STATES,
    FAILED_PATHS,
    NO_SEARCH_PATHS,
    FailureSignals,
)
from bot.features.gaps.store import GapDraftRow
from bot.questions.personal import StoredQuestion, question_words
from bot.questions.tables import FeedbackRow, HandoffRow, QuestionRow, typed_privately
from bot.slack.messages import ERASED
from durable.database import batches, insert_once, now
from index.permissions.words import Words


def failed_questions(engine: Engine) -> dict[str, FailureSignals]:
    """Failed questions by id, oldest first."""
    unhelpful = FeedbackRow.verdict == "unhelpful"
    disliked = select(FeedbackRow.question_id).where(unhelpful)
    query = (
        select(
            QuestionRow.id.label("question_id"), QuestionRow.event_id, QuestionRow.domain,
            QuestionRow.asker, QuestionRow.path, QuestionRow.state, QuestionRow.asked_at,
        )
        .where(QuestionRow.state.in_(ANSWERED_STATES), QuestionRow.path.not_in(NO_SEARCH_PATHS))
        .where(
            or_(
                QuestionRow.path.in_(FAILED_PATHS),
                QuestionRow.id.in_(disliked),
                QuestionRow.id.in_(select(HandoffRow.question_id)),
            )
        )
        .order_by(QuestionRow.asked_at, QuestionRow.id)
    )  # fmt: skip
    columns = (
        FeedbackRow.question_id, FeedbackRow.reason, FeedbackRow.correction,
        typed_privately().label("private"),
    )  # fmt: skip
    with engine.connect() as connection:
        rows = connection.execute(query).mappings().all()
        verdicts = connection.execute(select(*columns).where(unhelpful)).all()
        resolutions = connection.execute(
            select(HandoffRow.question_id, HandoffRow.resolution)
        ).all()
    reasons: dict[str, set[str]] = defaultdict(set)
    for verdict in verdicts:
        reasons[verdict.question_id].add(verdict.reason)
    words = Counter(one.question_id for one in verdicts if one.correction and not one.private)
    words.update(one.question_id for one in resolutions if one.resolution)
    handed_off = {one.question_id for one in resolutions}
    return {
        row["question_id"]: FailureSignals(
            **row,
            handed_off=row["question_id"] in handed_off,
            reasons=frozenset(reasons[row["question_id"]]),
            words=words[row["question_id"]],
        )
        for row in rows
    }


def question_words_of(engine: Engine, ids: Collection[str]) -> dict[str, Words]:
    """Question id → its words; without those that were deleted."""
    row = QuestionRow
    query = select(row.id, row.domain, row.channel, row.asker, row.text, row.answer)
    query = query.where(row.state.in_(ANSWERED_STATES))
    words: dict[str, Words] = {}
    with engine.connect() as connection:
        for batch in batches(ids):
            for one in connection.execute(query.where(row.id.in_(batch))):
                words[one.id] = question_words(cast("StoredQuestion", one))
    return {name: one for name, one in words.items() if one.text}


def question_texts(engine: Engine, ids: Collection[str]) -> dict[str, str]:
    """Question id → the question, self-contained, to compare and to ask again; never displayed."""
    return {name: one.text for name, one in question_words_of(engine, ids).items()}


def answered_questions(engine: Engine, ids: Collection[str]) -> set[str]:
    """Those that got an answer from the documents, which helped nobody."""
    answered: set[str] = set()
    with engine.connect() as connection:
        for batch in batches(ids):
            query = select(QuestionRow.id).where(QuestionRow.path.in_(ANSWERED_PATHS))
            answered |= set(connection.scalars(query.where(QuestionRow.id.in_(batch))))
    return answered


OUTCOMES = ("accepted", "dismissed", "gone")
"""`gone`: the document was deleted before a decision, or before the comment was written."""


@dataclass(frozen=True, kw_only=True)
class HumanAnswer:
    """A person's answer to a question that failed."""

    question_id: str
    by: str
    words: str

    @property
    def id(self) -> str:
        """Id of the suggestion, the same for the same text on the same question."""
        seed = f"{self.question_id}\0{self.by}\0{self.words}".encode()
        return f"gap-{hashlib.sha256(seed).hexdigest()[:24]}"


class GapDraftStore:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def human_answers(self, ids: Collection[str]) -> Iterator[HumanAnswer]:
        """Resolutions and corrections. What was said privately is its author's alone."""
        for batch in batches(one for one in ids if not one.startswith("D")):
            with self._engine.connect() as connection:
                resolutions = connection.execute(
                    select(HandoffRow.question_id, HandoffRow.resolved_by, HandoffRow.resolution)
                    .where(HandoffRow.question_id.in_(batch), HandoffRow.resolution != "")
                    .order_by(HandoffRow.question_id)
                ).all()
                corrections = connection.execute(
                    select(FeedbackRow.question_id, FeedbackRow.user, FeedbackRow.correction)
                    .where(FeedbackRow.question_id.in_(batch), FeedbackRow.correction != "")
                    .where(FeedbackRow.verdict == "unhelpful", not_(typed_privately()))
                    .order_by(FeedbackRow.question_id, FeedbackRow.given_at)
                ).all()
            for question_id, by, words in (*resolutions, *corrections):
                if by and by != ERASED:
                    yield HumanAnswer(question_id=question_id, by=by, words=words.strip())

    def existing_ids(self, question_ids: Collection[str]) -> set[str]:
        """Ids of the suggestions that these questions have."""
        ids: set[str] = set()
        with self._engine.connect() as connection:
            for batch in batches(question_ids):
                query = select(GapDraftRow.id).where(GapDraftRow.question_id.in_(batch))
                ids |= set(connection.scalars(query))
        return ids

    def counts(self) -> dict[str, int]:
        """Question id → suggestions made."""
        query = select(GapDraftRow.question_id, func.count()).group_by(GapDraftRow.question_id)
        with self._engine.connect() as connection:
            return {row[0]: int(row[1]) for row in connection.execute(query)}

    def add(
        self, answer: HumanAnswer, *, gap: str, domain: str, document: str, heading: str
    ) -> None:
        insert_once(
            self._engine, GapDraftRow, id=answer.id, gap=gap, question_id=answer.question_id,
            domain=domain, by=answer.by, outcome="", decided_by="", words="", words_by="",
            document=document, heading=heading, made_at=now(),
        )  # fmt: skip

    def of_gap(self, gap: str) -> list[GapDraftRow]:
        """Accepted ones first, the last decision before earlier ones."""
        query = select(GapDraftRow).where(GapDraftRow.gap == gap)
        query = query.order_by(GapDraftRow.made_at.desc(), GapDraftRow.id)
        with self._engine.connect() as connection:
            drafts = [GapDraftRow(**row) for row in connection.execute(query).mappings()]
        return sorted(
            drafts,
            key=lambda one: (one.outcome == "accepted", one.decided_at or datetime.min),
            reverse=True,
        )

    def record_outcome(self, event: SuggestionDecided) -> str:
        """Returns the id of the draft's gap; empty for a suggestion of another feature."""
        query = select(GapDraftRow).where(GapDraftRow.id == event.id)
        with self._engine.connect() as connection:
            draft = connection.execute(query).first()
        if draft is None or event.outcome not in OUTCOMES:
            return ""
        values = {
            "outcome": event.outcome,
            "decided_by": event.by,
            "decided_at": now(),
            "words": event.words.strip() if event.outcome == "accepted" else "",
            "words_by": event.words_by or event.by,
            "document": (event.document or draft.document)[:200],
            "heading": event.heading or draft.heading,
        }
        with self._engine.begin() as connection:
            connection.execute(
                update(GapDraftRow).where(GapDraftRow.id == draft.id).values(**values)
            )
        return str(draft.gap)
