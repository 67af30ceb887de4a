"""Human answers to questions that the documents don't answer: suggestions to the owner, and their
outcome."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Engine, func, select, update

from bot.bus.events import SuggestionDecided
from bot.db import batches, now
from bot.features.gaps.store import GapDraftRow
from bot.questions.tables import FeedbackRow, HandoffRow
from bot.slack.messages import ERASED
from durable.database import insert_once

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
        """Resolutions of hand-offs and corrections of answers, by question id. Questions from
        direct messages have none here: they are their asker's alone."""
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
                    .where(FeedbackRow.verdict == "unhelpful")
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
        """Store an owner's decision. Returns the id of the draft's gap; empty where the suggestion
        is another feature's."""
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
