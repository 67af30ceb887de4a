"""What people thought of an answer, and what would have been right."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Engine, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from bot.blocks.kit import MAX_TEXT, Json, input_block, modal, text_input
from bot.db import now
from bot.feature import Verdicts
from bot.questions.store import forget_cached
from bot.questions.tables import FeedbackRow, QuestionRow, create_tables

REASON_VIEW = "feedback_reason"
REASONS = {
    "wrong": "It is wrong",
    "outdated": "It is out of date",
    "incomplete": "Something is missing",
    "other_question": "It answers another question",
    "no_answer": "It should have known this",
    "sources": "The sources don't say that",
}


class Feedback:
    """One verdict per person and question; the last one counts."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        create_tables(engine)

    def give(self, question_id: str, user: str, verdict: str) -> None:
        values = {"verdict": verdict, "given_at": now()}
        key = {"question_id": question_id, "user": user}
        try:
            with self._engine.begin() as connection:
                connection.execute(insert(FeedbackRow).values(**key, **values))
        except IntegrityError:
            self._update(question_id, user, values)
        if verdict == "unhelpful":
            forget_cached(self._engine, question_id)

    def explain(
        self, question_id: str, user: str, *, reason: str, correction: str, source: str
    ) -> None:
        """Why it was not helpful, and what would have been right."""
        if not self._exists(question_id, user):
            self.give(question_id, user, "unhelpful")
        values = {
            "reason": reason if reason in REASONS else "",
            "correction": correction.strip()[:MAX_TEXT],
            "source": source.strip()[:MAX_TEXT],
        }
        self._update(question_id, user, values)

    def verdicts(self, domain: str, since: datetime, until: datetime) -> Verdicts:
        query = (
            select(FeedbackRow.verdict, func.count())
            .join(QuestionRow, QuestionRow.id == FeedbackRow.question_id)
            .where(QuestionRow.domain == domain)
            .where(FeedbackRow.given_at >= since, FeedbackRow.given_at < until)
            .group_by(FeedbackRow.verdict)
        )
        with self._engine.connect() as connection:
            counts = {verdict: count for verdict, count in connection.execute(query)}  # noqa: C416 - rows are not tuples to mypy
        return Verdicts(helpful=counts.get("helpful", 0), unhelpful=counts.get("unhelpful", 0))

    def _exists(self, question_id: str, user: str) -> bool:
        query = select(FeedbackRow.user).where(
            FeedbackRow.question_id == question_id, FeedbackRow.user == user
        )
        with self._engine.connect() as connection:
            return connection.execute(query).first() is not None

    def _update(self, question_id: str, user: str, values: dict[str, Any]) -> None:
        change = update(FeedbackRow).where(
            FeedbackRow.question_id == question_id, FeedbackRow.user == user
        )
        with self._engine.begin() as connection:
            connection.execute(change.values(**values))


def reason_view(remember: str) -> Json:
    """The modal behind *Not helpful*. `remember` comes back with its submission."""
    options = [
        {"text": {"type": "plain_text", "text": text}, "value": value}
        for value, text in REASONS.items()
    ]
    reasons = {"type": "radio_buttons", "options": options}
    return modal(
        REASON_VIEW,
        "What was wrong?",
        [
            input_block("reason", "Reason", reasons, optional=False),
            input_block("correction", "What would have been right?", text_input(multiline=True)),
            input_block("source", "Where does it say so?", text_input(multiline=False)),
        ],
        remember=remember,
        submit="Send",
        close="Skip",
    )
