"""What a human said where the documents didn't: suggested to the owner, and what comes of it."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Engine, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from bot.bus.events import SuggestionDecided
from bot.db import batches, now
from bot.features.gaps.store import gap_drafts
from bot.questions.tables import FeedbackRow, HandoffRow
from bot.slack.messages import ERASED

OUTCOMES = ("accepted", "dismissed", "gone")
"""`gone`: the document was deleted before anybody decided, or before the comment stood there."""


@dataclass(frozen=True, kw_only=True)
class HumanAnswer:
    """Somebody's answer to a question that failed."""

    question_id: str
    by: str
    words: str

    @property
    def id(self) -> str:
        """Of its suggestion: the same words for the same question are one."""
        seed = f"{self.question_id}\0{self.by}\0{self.words}".encode()
        return f"gap-{hashlib.sha256(seed).hexdigest()[:24]}"


@dataclass(frozen=True, kw_only=True)
class GapDraft:
    id: str
    gap: str
    question_id: str
    by: str
    outcome: str
    words: str
    """As an owner accepted them; empty before."""
    document: str
    heading: str
    decided_at: datetime | None


class GapDrafts:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def said(self, ids: Collection[str]) -> Iterator[HumanAnswer]:
        """What people said to these questions: resolving a hand-off, or correcting an answer. None
        of what was asked in a direct message, which is its asker's alone."""
        for batch in batches(one for one in ids if not one.startswith("D")):
            with self._engine.connect() as connection:
                resolved = connection.execute(
                    select(HandoffRow.question_id, HandoffRow.resolved_by, HandoffRow.resolution)
                    .where(HandoffRow.question_id.in_(batch), HandoffRow.resolution != "")
                    .order_by(HandoffRow.question_id)
                ).all()
                corrected = connection.execute(
                    select(FeedbackRow.question_id, FeedbackRow.user, FeedbackRow.correction)
                    .where(FeedbackRow.question_id.in_(batch), FeedbackRow.correction != "")
                    .where(FeedbackRow.verdict == "unhelpful")
                    .order_by(FeedbackRow.question_id, FeedbackRow.given_at)
                ).all()
            for question_id, by, words in (*resolved, *corrected):
                if by and by != ERASED:
                    yield HumanAnswer(question_id=question_id, by=by, words=words.strip())

    def known(self, ids: Collection[str]) -> set[str]:
        """Which suggestions of these questions were made."""
        found: set[str] = set()
        with self._engine.connect() as connection:
            for batch in batches(ids):
                query = select(gap_drafts.c.id).where(gap_drafts.c.question_id.in_(batch))
                found |= set(connection.scalars(query))
        return found

    def counts(self) -> dict[str, int]:
        """Question id → suggestions made."""
        query = select(gap_drafts.c.question_id, func.count()).group_by(gap_drafts.c.question_id)
        with self._engine.connect() as connection:
            return {row[0]: int(row[1]) for row in connection.execute(query)}

    def add(self, said: HumanAnswer, *, gap: str, domain: str, document: str, heading: str) -> None:
        values = {
            "id": said.id, "gap": gap, "question_id": said.question_id, "domain": domain,
            "by": said.by, "outcome": "", "decided_by": "", "words": "", "words_by": "",
            "document": document, "heading": heading, "made_at": now(),
        }  # fmt: skip
        try:
            with self._engine.begin() as connection:
                connection.execute(insert(gap_drafts).values(**values))
        except IntegrityError:
            return

    def of(self, gap: str) -> list[GapDraft]:
        """The one that was accepted last first, then those decided and those made before."""
        columns = [gap_drafts.c[name] for name in GapDraft.__dataclass_fields__]
        query = select(*columns).where(gap_drafts.c.gap == gap)
        query = query.order_by(gap_drafts.c.made_at.desc(), gap_drafts.c.id)
        with self._engine.connect() as connection:
            found = [GapDraft(**row) for row in connection.execute(query).mappings()]
        return sorted(
            found,
            key=lambda one: (one.outcome == "accepted", one.decided_at or datetime.min),
            reverse=True,
        )

    def decided(self, event: SuggestionDecided) -> str:
        """Returns the gap whose suggestion was decided on; '' for another feature's."""
        query = select(gap_drafts).where(gap_drafts.c.id == event.id)
        with self._engine.connect() as connection:
            known = connection.execute(query).first()
        if known is None or event.outcome not in OUTCOMES:
            return ""
        values = {
            "outcome": event.outcome,
            "decided_by": event.by,
            "decided_at": now(),
            "words": event.words.strip() if event.outcome == "accepted" else "",
            "words_by": event.words_by or event.by,
            "document": (event.document or known.document)[:200],
            "heading": event.heading or known.heading,
        }
        with self._engine.begin() as connection:
            connection.execute(
                update(gap_drafts).where(gap_drafts.c.id == known.id).values(**values)
            )
        return str(known.gap)
