"""Verdicts on answers, and corrections of them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Engine, func, literal, select, update

from bot.blocks.kit import MAX_INPUT_CHARS
from bot.feature import Verdicts
from bot.questions.store import forget_cached
from bot.questions.tables import FeedbackRow, QuestionRow, create_tables, sent_privately
from bot.slack.messages import moment
from durable.database import insert_once, now

REASONS = {
    "wrong": "It is wrong",
    "outdated": "It is out of date",
    "incomplete": "Something is missing",
    "other_question": "It answers another question",
    "no_answer": "It should have known this",
    "sources": "The sources don't say that",
}
"""Why an answer was not helpful: value on record → label in the form."""


class FeedbackStore:
    """One verdict per person and question; the last one counts."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        create_tables(engine)

    def give(self, question_id: str, user: str, verdict: str, at: str = "") -> None:
        """`verdict`: helpful | unhelpful; an unhelpful answer leaves the answer cache. `at`:
        Slack's timestamp, by which the last press counts, whichever is handled last."""
        key = {"question_id": question_id, "user": user}
        given_at = min(moment(at), now())
        values = {"verdict": verdict, "given_at": given_at}
        if not insert_once(self._engine, FeedbackRow, **key, **values):
            self._update(question_id, user, FeedbackRow.given_at <= given_at, **values)
        if verdict == "unhelpful":
            forget_cached(self._engine, question_id)

    def explain(
        self, question_id: str, user: str, *, reason: str, correction: str, source: str,
        private: bool = False,
    ) -> None:  # fmt: skip
        """Add a reason and a correction to a verdict; without a verdict, it becomes unhelpful.

        `private`: only its asker may see the answer; also where it was sent privately."""
        values = {
            "reason": reason if reason in REASONS else "",
            "correction": correction.strip()[:MAX_INPUT_CHARS],
            "source": source.strip()[:MAX_INPUT_CHARS],
            "private": private or self.is_private(question_id),
        }
        if not self._update(question_id, user, **values):
            self.give(question_id, user, "unhelpful")
            self._update(question_id, user, **values)

    def is_private(self, question_id: str) -> bool:
        """Whether only its asker sees the answer: what they say about it goes to nobody else."""
        if question_id.startswith("D"):
            return True
        with self._engine.connect() as connection:
            return bool(connection.scalar(select(sent_privately(literal(question_id)))))

    def verdicts(self, domain: str, since: datetime, until: datetime) -> Verdicts:
        return self._verdicts(
            QuestionRow.domain == domain,
            FeedbackRow.given_at >= since,
            FeedbackRow.given_at < until,
        )

    def verdicts_on(self, question_id: str) -> Verdicts:
        return self._verdicts(QuestionRow.id == question_id)

    def _verdicts(self, *where: ColumnElement[bool]) -> Verdicts:
        query = (
            select(FeedbackRow.verdict, func.count())
            .join(QuestionRow, QuestionRow.id == FeedbackRow.question_id)
            .where(*where)
            .group_by(FeedbackRow.verdict)
        )
        with self._engine.connect() as connection:
            counts = {verdict: count for verdict, count in connection.execute(query)}  # noqa: C416 - rows are not tuples to mypy
        return Verdicts(helpful=counts.get("helpful", 0), unhelpful=counts.get("unhelpful", 0))

    def _update(
        self, question_id: str, user: str, *conditions: ColumnElement[bool], **values: Any
    ) -> bool:
        """False where the person gave no such verdict on this question."""
        change = update(FeedbackRow).where(
            FeedbackRow.question_id == question_id, FeedbackRow.user == user, *conditions
        )
        with self._engine.begin() as connection:
            return connection.execute(change.values(**values)).rowcount > 0
