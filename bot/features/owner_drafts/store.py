"""Drafts for the owners of documents, and the messages that show them: each added once, decided
once; the messages to one person in a day are limited."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import (
    Engine,
    Executable,
    Index,
    RowMapping,
    String,
    Text,
    and_,
    delete,
    func,
    literal,
    or_,
    outerjoin,
    select,
    update,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from bot.bus.events import Suggestion
from bot.questions.personal import Authors, PersonalTable, nothing, question_words
from bot.questions.store import QuestionStore
from bot.questions.tables import (
    FORGOTTEN,
    FeedbackRow,
    HandoffRow,
    QuestionRow,
    typed_privately,
)
from bot.slack.messages import ERASED
from durable.database import insert_once, now, table_of
from durable.migration import expanding, migrate
from index.permissions.words import Words


class Base(DeclarativeBase):
    """Migration part `bot-owners`."""


class OwnerDraftRow(Base):
    """A suggestion and its decision."""

    __tablename__ = "bot_owner_drafts"
    __table_args__ = (
        Index("bot_owner_drafts_question", "question_id"),
        Index("bot_owner_drafts_waiting", "state", "domain"),
    )
    key: Mapped[str] = mapped_column(
        String(16), primary_key=True, comment="of the suggestion's id, hashed"
    )
    id: Mapped[str] = mapped_column(Text)
    kind: Mapped[str] = mapped_column(String(24))
    domain: Mapped[str] = mapped_column(String(64))
    document: Mapped[str] = mapped_column(Text)
    title: Mapped[str] = mapped_column(Text, default="")
    url: Mapped[str] = mapped_column(Text, default="", comment="opens the place meant")
    heading: Mapped[str] = mapped_column(Text, default="")
    question: Mapped[str] = mapped_column(Text, default="")
    words: Mapped[str] = mapped_column(Text, default="")
    by: Mapped[str] = mapped_column(String(40), default="", comment="whose words they are")
    question_id: Mapped[str] = mapped_column(String(80), default="")
    channel: Mapped[str] = mapped_column(String(40), default="")
    permalink: Mapped[str] = mapped_column(Text, default="")
    made_at: Mapped[datetime]
    state: Mapped[str] = mapped_column(String(16), comment="waiting | accepted | dismissed | gone")
    addressee: Mapped[str] = mapped_column(String(40), default="")
    role: Mapped[str] = mapped_column(
        String(16), default="", comment="owner | editor | manager | admin | escalation"
    )
    decided_by: Mapped[str] = mapped_column(String(40), default="")
    decided_at: Mapped[datetime | None]
    decided_event: Mapped[str] = mapped_column(String(160), default="", comment="whose work it is")
    final_heading: Mapped[str] = mapped_column(Text, default="")
    final_words: Mapped[str] = mapped_column(Text, default="")
    final_by: Mapped[str] = mapped_column(String(40), default="")
    reason: Mapped[str] = mapped_column(Text, default="")
    comment: Mapped[str] = mapped_column(
        String(16),
        default="",
        comment="made | off | refused | gone | later; empty while nobody tried",
    )
    comment_why: Mapped[str] = mapped_column(Text, default="")
    drawn_from: Mapped[str | None] = mapped_column(
        Text, comment="JSON: ids of the documents whose text it repeats; NULL: unknown"
    )

    @property
    def waits(self) -> bool:
        return self.state == "waiting"

    @property
    def mark(self) -> str:
        """Marks our comment among those of its document."""
        return f"[copilot {self.key[:8]}]"


class OwnerMessageRow(Base):
    __tablename__ = "bot_owner_messages"
    __table_args__ = (Index("bot_owner_messages_addressee", "addressee", "at"),)
    key: Mapped[str] = mapped_column(String(16), primary_key=True)
    part: Mapped[int] = mapped_column(primary_key=True, comment="0 the draft, 1 its reminder")
    domain: Mapped[str] = mapped_column(String(64))
    addressee: Mapped[str] = mapped_column(String(40))
    channel: Mapped[str] = mapped_column(String(40), default="")
    ts: Mapped[str] = mapped_column(String(40), default="", comment="empty: about to be posted")
    at: Mapped[datetime]
    withdrawn: Mapped[bool] = mapped_column(default=False, comment="shows no words any more")


PERSONAL_TABLES = (
    PersonalTable(
        table=table_of(OwnerDraftRow),
        at="made_at",
        people=("by", "addressee", "decided_by", "final_by"),
        words={
            "words": Authors(by=("by",), parts=("resolution",)),
            "question": Authors(
                by=("by",), asker=True, parts=("message", "thread"), shared=nothing
            ),
            "final_words": Authors(by=("final_by", "decided_by"), parts=("resolution",)),
            "final_heading": Authors(by=("decided_by",)),
            "reason": Authors(by=("decided_by",)),
        },
        question="question_id",
        documents="title heading",
        plain="key id kind document url channel permalink state role decided_event comment "
        "comment_why drawn_from",
        drawn_from="document drawn_from",
        emptied="title heading",
        moot=OwnerDraftRow.kind != "answer",
        restated="question",
    ),
    PersonalTable(
        table=table_of(OwnerMessageRow), at="at", people=("addressee",), plain="key channel ts"
    ),
)  # fmt: skip


_STEPS = (expanding("ALTER TABLE bot_owner_drafts ADD COLUMN drawn_from TEXT"),)


def create_tables(engine: Engine) -> None:
    migrate(engine, Base.metadata, "bot-owners", _STEPS)


@dataclass(frozen=True, kw_only=True)
class DraftWords:
    """What a draft says, with its provenance."""

    words: Words
    question: Words


DAY = timedelta(days=1)
MAX_MESSAGES_PER_DAY = 5
"""Messages to one person in 24 hours, reminders included; further drafts wait in their App Home."""
REMINDER = 1
_QUESTION_COLUMNS = (
    QuestionRow.id, QuestionRow.domain, QuestionRow.text, QuestionRow.answer, QuestionRow.path,
)  # fmt: skip


def key_of(suggestion_id: str) -> str:
    """Short enough for a button, a timer and the end of a comment."""
    return hashlib.sha256(suggestion_id.encode()).hexdigest()[:16]


class DraftStore:
    """Thread-safe."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._records = QuestionStore(engine)
        self._claiming = threading.Lock()
        create_tables(engine)

    def add(self, suggestion: Suggestion) -> str:
        """Returns its key; an existing draft stays as it is."""
        key = key_of(suggestion.id)
        values = {
            name: getattr(suggestion, name)
            for name in (
                "id", "kind", "domain", "document", "heading", "question", "words", "by",
                "question_id", "channel", "permalink",
            )
        }  # fmt: skip
        drawn_from = None if suggestion.drawn_from is None else json.dumps(suggestion.drawn_from)
        insert_once(
            self._engine, OwnerDraftRow, key=key, made_at=now(), state="waiting",
            drawn_from=drawn_from, **values,
        )  # fmt: skip
        return key

    def words(self, draft: OwnerDraftRow) -> DraftWords:
        """Words of a conversation are people's; those without one are drawn from documents."""
        stored = json.loads(draft.drawn_from) if draft.drawn_from else None
        sources = frozenset(stored) if stored is not None else None
        words = Words(
            text=draft.words, own=draft.words, domain=draft.domain, author=draft.by,
            place=draft.channel, private=self._is_private(draft),
            drawn_from=frozenset() if draft.channel or draft.kind == "review" else sources,
        )  # fmt: skip
        question = replace(words, text=draft.question, own=draft.question, author="", private=False)
        if draft.kind == "answer" and draft.question_id:
            # Older releases stored the self-contained question with the draft.
            record = self._records.get(draft.question_id)
            question = replace(question, own="", drawn_from=sources)
            question = question_words(record) if record else question
        elif draft.kind == "drill":
            question = replace(question, own="", drawn_from=sources)
        elif draft.kind == "step":
            question = replace(question, own="", drawn_from=frozenset((draft.document,)))
        return DraftWords(words=replace(words, own=""), question=question)

    def _is_private(self, draft: OwnerDraftRow) -> bool:
        """Whether it repeats a correction that was typed where only the asker sees the answer;
        older releases suggested those, too."""
        query = select(FeedbackRow.question_id).where(
            FeedbackRow.question_id == draft.question_id, FeedbackRow.user == draft.by,
            FeedbackRow.correction != "", typed_privately(),
        )  # fmt: skip
        with self._engine.connect() as connection:
            return connection.execute(query).first() is not None

    def get(self, key: str) -> OwnerDraftRow | None:
        with self._engine.connect() as connection:
            query = select(OwnerDraftRow).where(OwnerDraftRow.key == key)
            row = connection.execute(query).mappings().first()
        return OwnerDraftRow(**row) if row else None

    def set(self, key: str, **values: Any) -> None:
        with self._engine.begin() as connection:
            connection.execute(update(OwnerDraftRow).where(OwnerDraftRow.key == key).values(values))

    def decide(self, key: str, state: str, **values: Any) -> bool:
        """Whether this was the first decision."""
        change = update(OwnerDraftRow).where(
            OwnerDraftRow.key == key, OwnerDraftRow.state == "waiting"
        )
        with self._engine.begin() as connection:
            result = connection.execute(change.values(state=state, decided_at=now(), **values))
            return result.rowcount > 0

    def waiting(self, user: str, domains: Collection[str], limit: int) -> Sequence[OwnerDraftRow]:
        """Addressed to this person or in these domains; oldest first."""
        theirs = or_(OwnerDraftRow.addressee == user, OwnerDraftRow.domain.in_(list(domains)))
        query = (
            select(OwnerDraftRow)
            .where(OwnerDraftRow.state == "waiting", theirs)
            .order_by(OwnerDraftRow.made_at, OwnerDraftRow.key)
            .limit(limit)
        )
        with self._engine.connect() as connection:
            return [OwnerDraftRow(**row) for row in connection.execute(query).mappings()]

    def messages(self, key: str) -> dict[int, OwnerMessageRow]:
        """Messages by part; also those that are about to be posted."""
        query = select(OwnerMessageRow).where(OwnerMessageRow.key == key)
        with self._engine.connect() as connection:
            rows = connection.execute(query).mappings()
            return {row["part"]: OwnerMessageRow(**row) for row in rows}

    def claim(self, draft: OwnerDraftRow, part: int) -> int:
        """Reserve a send slot. Returns the message's number today, from 1; 0 at the daily limit.

        Workers that claim the last slot at the same moment may all get 0: each counts after its
        claim."""
        mine = and_(OwnerMessageRow.key == draft.key, OwnerMessageRow.part == part)
        with self._claiming:
            is_new = insert_once(
                self._engine, OwnerMessageRow, key=draft.key, part=part, domain=draft.domain,
                addressee=draft.addressee, at=now(),
            )  # fmt: skip
            if not is_new:
                return max(1, self.count_today(draft.addressee))
            if (count := self.count_today(draft.addressee)) <= MAX_MESSAGES_PER_DAY:
                return count
            with self._engine.begin() as connection:
                connection.execute(delete(OwnerMessageRow).where(mine))
            return 0

    def count_today(self, user: str) -> int:
        query = select(func.count()).where(
            OwnerMessageRow.addressee == user, OwnerMessageRow.at > now() - DAY
        )
        with self._engine.connect() as connection:
            return int(connection.execute(query).scalar_one())

    def set_posted(self, key: str, part: int, channel: str, ts: str) -> None:
        mine = and_(OwnerMessageRow.key == key, OwnerMessageRow.part == part)
        with self._engine.begin() as connection:
            connection.execute(update(OwnerMessageRow).where(mine).values(channel=channel, ts=ts))

    def channel_with(self, user: str) -> str:
        """Channel id of their direct messages; empty before the first message."""
        query = select(OwnerMessageRow.channel).where(
            OwnerMessageRow.addressee == user, OwnerMessageRow.channel != ""
        )
        with self._engine.connect() as connection:
            return str(connection.execute(query.limit(1)).scalar() or "")

    def messages_to_withdraw(self) -> list[tuple[str, int]]:
        """(key, part) of messages with erased words, or whose question was erased."""
        joined = outerjoin(OwnerMessageRow, OwnerDraftRow, OwnerDraftRow.key == OwnerMessageRow.key)
        people = (OwnerDraftRow.by, OwnerDraftRow.final_by, OwnerDraftRow.decided_by)
        is_erased = or_(*(column == ERASED for column in people))
        query = (
            select(OwnerMessageRow.key, OwnerMessageRow.part)
            .select_from(joined)
            .where(OwnerMessageRow.withdrawn.is_(False), OwnerMessageRow.ts != "")
            .where(or_(OwnerDraftRow.key.is_(None), is_erased))
            .limit(200)
        )
        with self._engine.connect() as connection:
            return [(row.key, row.part) for row in connection.execute(query)]

    def withdraw(self, key: str, part: int) -> None:
        mine = and_(OwnerMessageRow.key == key, OwnerMessageRow.part == part)
        with self._engine.begin() as connection:
            connection.execute(update(OwnerMessageRow).where(mine).values(withdrawn=True))

    def corrections(self) -> Sequence[RowMapping]:
        """Corrected answers, the oldest correction first; columns as in `resolutions`."""
        query = (
            select(
                *_QUESTION_COLUMNS, FeedbackRow.correction.label("reference"), FeedbackRow.source,
                FeedbackRow.user.label("by"), typed_privately().label("private"),
            )
            .join(FeedbackRow, FeedbackRow.question_id == QuestionRow.id)
            .where(FeedbackRow.correction != "", QuestionRow.state != FORGOTTEN)
            .order_by(FeedbackRow.given_at)
        )  # fmt: skip
        return self._rows(query)

    def resolutions(self) -> Sequence[RowMapping]:
        """Questions that a human resolved, with the `reference`, its `source`, and `by` whom."""
        query = (
            select(
                *_QUESTION_COLUMNS, HandoffRow.resolution.label("reference"),
                literal("").label("source"), HandoffRow.resolved_by.label("by"),
                QuestionRow.id.startswith("D").label("private"),
            )
            .join(HandoffRow, HandoffRow.question_id == QuestionRow.id)
            .where(HandoffRow.resolution != "", QuestionRow.state != FORGOTTEN)
        )  # fmt: skip
        return self._rows(query)

    def accepted_answers(self) -> Sequence[RowMapping]:
        """Accepted drafts with answers, and their questions; other kinds answer no question."""
        query = (
            select(OwnerDraftRow, QuestionRow.text, QuestionRow.answer, QuestionRow.path)
            .outerjoin(QuestionRow, QuestionRow.id == OwnerDraftRow.question_id)
            .where(OwnerDraftRow.kind == "answer", OwnerDraftRow.state == "accepted")
            .where(OwnerDraftRow.final_words != "")
            .order_by(OwnerDraftRow.decided_at)
        )
        return self._rows(query)

    def dismissed_questions(self) -> list[str]:
        """Ids of the questions whose draft of an answer was dismissed."""
        query = select(OwnerDraftRow.question_id).where(
            OwnerDraftRow.kind == "answer",
            OwnerDraftRow.state == "dismissed",
            OwnerDraftRow.question_id != "",
        )
        with self._engine.connect() as connection:
            return list(connection.scalars(query))

    def _rows(self, query: Executable) -> Sequence[RowMapping]:
        with self._engine.connect() as connection:
            return connection.execute(query).mappings().all()
