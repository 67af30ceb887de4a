"""Questions on record that were answered well, for others to ask."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from sqlalchemy import Engine, case, func, select

from agents.answer import Answer
from agents.confidence import HIGH
from bot.memory.record import decoded
from bot.memory.state_tables import feedback, handoffs, questions

MOST = 200
WELL = ("company_specific_rag_success", "cached")


@dataclass(frozen=True, kw_only=True)
class WellAnswered:
    """A question that somebody asked in a channel."""

    id: str
    text: str
    answer: Answer
    helpful: int
    """How many said so."""


def well_answered(engine: Engine, domain: str, channels: Collection[str]) -> list[WellAnswered]:
    """Best first: said to be helpful, or answered with high confidence; none that anybody found
    unhelpful, or that a human had to be called for."""
    helpful = func.coalesce(func.sum(case((feedback.c.verdict == "helpful", 1), else_=0)), 0)
    unhelpful = func.coalesce(func.sum(case((feedback.c.verdict == "unhelpful", 1), else_=0)), 0)
    query = (
        select(questions.c.id, questions.c.text, questions.c.answer, helpful.label("helpful"))
        .outerjoin(feedback, feedback.c.question_id == questions.c.id)
        .outerjoin(handoffs, handoffs.c.question_id == questions.c.id)
        .where(questions.c.domain == domain, questions.c.channel.in_(list(channels)))
        .where(questions.c.state == "posted", questions.c.path.in_(WELL))
        .where(questions.c.answer.is_not(None), handoffs.c.question_id.is_(None))
        .group_by(
            questions.c.id,
            questions.c.text,
            questions.c.answer,
            questions.c.confidence,
            questions.c.asked_at,
        )
        .having(unhelpful == 0)
        .having((helpful > 0) | (questions.c.confidence >= HIGH))
        .order_by(
            helpful.desc(),
            questions.c.confidence.desc(),
            questions.c.asked_at.desc(),
            questions.c.id,
        )
        .limit(MOST)
    )
    with engine.connect() as connection:
        rows = connection.execute(query).all()
    return [
        WellAnswered(id=row.id, text=row.text, answer=decoded(row.answer), helpful=int(row.helpful))
        for row in rows
    ]


def still_kept(engine: Engine, asked: Mapping[str, str]) -> frozenset[str]:
    """Ids of those that are on record with these words: not erased, taken back or edited since,
    nor found unhelpful. `asked`: id → words."""
    if not asked:
        return frozenset()
    disliked = select(feedback.c.question_id).where(feedback.c.verdict == "unhelpful")
    query = (
        select(questions.c.id, questions.c.text)
        .where(questions.c.id.in_(list(asked)), questions.c.state == "posted")
        .where(questions.c.id.not_in(disliked))
    )
    with engine.connect() as connection:
        return frozenset(
            row.id for row in connection.execute(query) if row.text.strip() == asked[row.id]
        )
