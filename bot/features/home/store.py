"""Stored questions that were answered well, to suggest to others."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from sqlalchemy import Engine, case, func, select

from agents.answer import Answer
from agents.confidence import HIGH
from bot.questions.store import decode_answer
from bot.questions.tables import FeedbackRow, HandoffRow, QuestionRow

MAX_QUESTIONS = 200
ANSWERED_PATHS = ("company_specific_rag_success", "cached")


@dataclass(frozen=True, kw_only=True)
class WellAnswered:
    """A question that a person asked in a channel."""

    id: str
    text: str
    answer: Answer


class WellAnsweredStore:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def of(self, domain: str, channels: Collection[str]) -> list[WellAnswered]:
        """Questions with a helpful verdict or a high confidence, best first. Those with an
        unhelpful verdict or a hand-off are left out."""
        helpful = func.coalesce(func.sum(case((FeedbackRow.verdict == "helpful", 1), else_=0)), 0)
        unhelpful = func.coalesce(
            func.sum(case((FeedbackRow.verdict == "unhelpful", 1), else_=0)), 0
        )
        row = QuestionRow
        query = (
            select(row.id, row.text, row.answer)
            .outerjoin(FeedbackRow, FeedbackRow.question_id == row.id)
            .outerjoin(HandoffRow, HandoffRow.question_id == row.id)
            .where(row.domain == domain, row.channel.in_(list(channels)))
            .where(row.state == "posted", row.path.in_(ANSWERED_PATHS))
            .where(row.answer.is_not(None), HandoffRow.question_id.is_(None))
            .group_by(row.id, row.text, row.answer, row.confidence, row.asked_at)
            .having(unhelpful == 0)
            .having((helpful > 0) | (row.confidence >= HIGH))
            .order_by(helpful.desc(), row.confidence.desc(), row.asked_at.desc(), row.id)
            .limit(MAX_QUESTIONS)
        )
        with self._engine.connect() as connection:
            rows = connection.execute(query).all()
        return [
            WellAnswered(id=one.id, text=one.text, answer=decode_answer(one.answer)) for one in rows
        ]

    def unchanged(self, texts: Mapping[str, str]) -> frozenset[str]:
        """Ids of questions that still have these texts and no unhelpful verdict: not erased,
        deleted or edited since. `texts`: id → text."""
        if not texts:
            return frozenset()
        disliked = select(FeedbackRow.question_id).where(FeedbackRow.verdict == "unhelpful")
        query = (
            select(QuestionRow.id, QuestionRow.text)
            .where(QuestionRow.id.in_(list(texts)), QuestionRow.state == "posted")
            .where(QuestionRow.id.not_in(disliked))
        )
        with self._engine.connect() as connection:
            rows = connection.execute(query).all()
        return frozenset(one.id for one in rows if one.text.strip() == texts[one.id])
