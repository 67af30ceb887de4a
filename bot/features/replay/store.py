"""Past questions, alerts and hand-offs, as they are on record, to be asked again."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, cast

from sqlalchemy import Engine, select

from agents.answer import Answer
from bot.questions.personal import StoredQuestion, question_words
from bot.questions.store import decode_answer
from bot.questions.tables import FeedbackRow, HandoffRow, QuestionRow
from config.errors import StorageFailed
from index.permissions.words import Words

PastKind = Literal["question", "alert", "hand-off"]
_ANSWERED = ("posted", "silent", "failed")
"""States of a question that is over, and neither deleted nor refused by a limit."""


@dataclass(frozen=True, kw_only=True)
class PastQuestion:
    id: str
    """`channel:ts` of its message."""
    is_alert: bool = False
    """A bot's message."""
    handed_off: bool = False
    """A human was asked."""
    text: str
    """To ask again: self-contained, or an alert's whole message."""
    words: Words
    """To show."""
    asked_at: datetime
    """UTC without a zone."""
    documents: frozenset[str] = frozenset()
    """Whose text or title went into that answer."""
    quotes: tuple[tuple[str, str], ...] = ()
    """(document, quote) of its citations, if people marked it as helpful."""

    @property
    def kind(self) -> PastKind:
        return "hand-off" if self.handed_off else "alert" if self.is_alert else "question"


@dataclass(frozen=True)
class PastQuestions:
    engine: Engine
    alerts: Callable[[str], Collection[str]]
    """Domain → ids of the messages that are alerts of bots."""

    def since(
        self, domain: str, moment: datetime, *, limit: int | None = None
    ) -> list[PastQuestion]:
        """Newest first. `moment`: UTC without a zone."""
        row = QuestionRow
        columns = (
            row.id, row.domain, row.channel, row.asker, row.text, row.answer, row.asked_at
        )  # fmt: skip
        query = (
            select(*columns, HandoffRow.requested_at.label("handed_off"))
            .outerjoin(HandoffRow, HandoffRow.question_id == row.id)
            .where(row.domain == domain, row.asked_at >= moment, row.state.in_(_ANSWERED))
            .where(row.text != "", row.path != "small_talk")
            .order_by(row.asked_at.desc(), row.id)
            .limit(limit)
        )
        verdicts = select(FeedbackRow.question_id).distinct()
        with self.engine.connect() as connection:
            rows = connection.execute(query).all()
            helpful = set(connection.scalars(verdicts.where(FeedbackRow.verdict == "helpful")))
            helpful -= set(connection.scalars(verdicts.where(FeedbackRow.verdict == "unhelpful")))
        alerts = self.alerts(domain)
        past = []
        for one in rows:
            answer, is_alert = _answer_in(one.answer), one.id in alerts
            words = question_words(cast("StoredQuestion", one))
            cited = answer.citations if answer and one.id in helpful else ()
            past.append(
                PastQuestion(
                    id=one.id,
                    is_alert=is_alert,
                    handed_off=one.handed_off is not None,
                    text=one.text if is_alert else words.text,
                    words=words,
                    asked_at=one.asked_at,
                    documents=answer.drawn_from if answer else frozenset(),
                    quotes=tuple((each.document, each.quote) for each in cited),
                )
            )
        return past


def _answer_in(stored: str | None) -> Answer | None:
    """None for an answer of an older release that can't be read any more."""
    try:
        return decode_answer(stored) if stored else None
    except StorageFailed:
        return None
