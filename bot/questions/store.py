"""Questions and their answers on record: claimed once, answered once, posted once.

What the answer cache holds of people's questions.

It holds no names. A question on record leads there by the words of its answer: to what was kept
for it, and to what it was given."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import structlog
from pydantic import TypeAdapter, ValidationError
from sqlalchemy import (
    ColumnElement,
    Connection,
    Engine,
    Row,
    delete,
    func,
    insert,
    select,
    tuple_,
    update,
)
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from agents.answer import Answer
from agents.answer_cache.store import create_table, drop_saying, kept_saying
from agents.thread.store import create_thread_tables, forget_places, slack_place
from bot.db import now
from bot.questions.tables import HandoffRow, PostRow, QuestionRow, ScreenshotRow, create_tables
from bot.slack.events import IncomingMessage

_answers = TypeAdapter(Answer)


@dataclass(frozen=True, kw_only=True)
class QuestionRecord:
    """One question on record."""

    id: str
    event_id: str
    domain: str
    channel: str
    thread_ts: str
    asker: str
    text: str
    state: str
    answer: str | None
    path: str
    """The answer's path; empty when the agents were not asked."""
    confidence: float
    reference: str
    resolved_by: str
    asked_at: datetime

    @property
    def ts(self) -> str:
        """The asking message's timestamp."""
        return self.id.partition(":")[2]

    @property
    def event(self) -> IncomingMessage:
        """The question as it was asked, as far as it is on record."""
        return IncomingMessage(
            channel=self.channel, ts=self.ts, thread_ts=self.thread_ts, user=self.asker, team="",
            text=self.text,
        )  # fmt: skip


def encoded(answer: Answer) -> str:
    """JSON of all that a reply, a hand-off or a golden question needs: not the context, which is
    large and can be retrieved again."""
    return _answers.dump_json(dataclasses.replace(answer, context=())).decode()


def decoded(text: str) -> Answer:
    return _answers.validate_json(text)


class QuestionStore:
    """The questions table, as the verbs the bot needs."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        create_tables(engine)
        create_thread_tables(engine)

    def claim(
        self,
        *,
        question_id: str,
        event_id: str,
        channel: str,
        thread_ts: str,
        asker: str,
        text: str,
        domain: str = "",
    ) -> QuestionRecord | None:
        """This event's question; None when another event already owns it.

        `domain`: where it counts until an answer tells which domain it came from.

        The same event claims again after a crash, and gets what was known then."""
        values = {
            "id": question_id, "event_id": event_id, "channel": channel, "thread_ts": thread_ts,
            "asker": asker, "text": text, "domain": domain, "state": "working", "asked_at": now(),
        }  # fmt: skip
        try:
            with self._engine.begin() as connection:
                connection.execute(insert(QuestionRow).values(**values))
        except IntegrityError:
            record = self.get(question_id)
            return record if record and record.event_id == event_id else None
        return self.get(question_id)

    def get(self, question_id: str) -> QuestionRecord | None:
        with self._engine.connect() as connection:
            row = connection.execute(
                select(QuestionRow).where(QuestionRow.id == question_id)
            ).first()
        return _record(row) if row else None

    def mark(self, question_id: str, **values: object) -> None:
        """Set these columns of a question."""
        change = update(QuestionRow).where(QuestionRow.id == question_id).values(**values)
        with self._engine.begin() as connection:
            connection.execute(change)

    def withdraw(self, question_id: str) -> None:
        """Taken back: its words go, also those that the agents keep of its thread."""
        self.mark(question_id, state="withdrawn", text="", answer=None)
        gone = delete(ScreenshotRow).where(ScreenshotRow.question_id == question_id)
        with self._engine.begin() as connection:
            connection.execute(gone)
        if record := self.get(question_id):
            self.forget_threads([record])

    def forget_threads(self, records: Iterable[QuestionRecord]) -> None:
        """What the agents keep of these questions' threads."""
        with self._engine.begin() as connection:
            forget_places(connection, (slack_place(one.channel, one.thread_ts) for one in records))

    def advance(self, record: QuestionRecord, **values: object) -> bool:
        """Set columns, unless the question was deleted or edited since `record` was read."""
        change = (
            update(QuestionRow)
            .where(QuestionRow.id == record.id, QuestionRow.event_id == record.event_id)
            .where(QuestionRow.state != "withdrawn")
            .values(**values)
        )
        with self._engine.begin() as connection:
            return connection.execute(change).rowcount > 0

    def reopen(self, question_id: str, *, event_id: str, text: str) -> None:
        """The asker edited the question: the same post gets a new answer."""
        self.mark(question_id, event_id=event_id, text=text, state="working", answer=None)

    def in_thread(self, channel: str, thread_ts: str) -> list[QuestionRecord]:
        """Questions of a thread, oldest first."""
        query = (
            select(QuestionRow)
            .where(QuestionRow.channel == channel, QuestionRow.thread_ts == thread_ts)
            .order_by(QuestionRow.id)
        )
        with self._engine.connect() as connection:
            return [_record(row) for row in connection.execute(query)]

    def of_post(self, channel: str, ts: str) -> QuestionRecord | None:
        """The question that the bot's message at `ts` answers."""
        query = (
            select(QuestionRow)
            .join(PostRow, PostRow.question_id == QuestionRow.id)
            .where(PostRow.channel == channel, PostRow.ts == ts)
        )
        with self._engine.connect() as connection:
            row = connection.execute(query).first()
        return _record(row) if row else None

    def recent(self, *, limit: int, **equal: str) -> list[QuestionRecord]:
        """Newest first, where the named columns equal the values; none that were taken back, or
        that the bot kept quiet about."""
        query = select(QuestionRow).order_by(QuestionRow.asked_at.desc()).limit(limit)
        query = query.where(QuestionRow.state.not_in(["withdrawn", "silent"]))
        for column, value in equal.items():
            query = query.where(QuestionRow.__table__.c[column] == value)
        with self._engine.connect() as connection:
            return [_record(row) for row in connection.execute(query)]

    def count(self, since: datetime, *, before: QuestionRecord | None = None, **equal: str) -> int:
        """Questions put to the agents since then, and `before` another one."""
        query = select(func.count()).select_from(QuestionRow)
        query = query.where(QuestionRow.asked_at >= since, QuestionRow.state != "limited")
        if before is not None:
            query = query.where(
                tuple_(QuestionRow.asked_at, QuestionRow.id) < (before.asked_at, before.id)
            )
        for column, value in equal.items():
            query = query.where(QuestionRow.__table__.c[column] == value)
        return int(self._scalar(query))

    def tokens(self, since: datetime, domain: str) -> int:
        query = select(func.coalesce(func.sum(QuestionRow.tokens), 0)).where(
            QuestionRow.asked_at >= since, QuestionRow.domain == domain
        )
        return int(self._scalar(query))

    def _scalar(self, query: Any) -> Any:
        with self._engine.connect() as connection:
            return connection.execute(query).scalar_one()

    def posts(self, question_id: str) -> Mapping[int, str]:
        """Part → timestamp of the bot's messages that answer this question."""
        query = select(PostRow.part, PostRow.ts).where(PostRow.question_id == question_id)
        with self._engine.connect() as connection:
            return {row.part: row.ts for row in connection.execute(query)}

    def own_post(self, question_id: str, part: int, channel: str, ts: str) -> bool:
        """Record a message as this question's; False when it already is another's."""
        values = {"question_id": question_id, "part": part, "channel": channel, "ts": ts}
        try:
            with self._engine.begin() as connection:
                connection.execute(insert(PostRow).values(**values))
        except IntegrityError:
            return self.posts(question_id).get(part) == ts
        return True

    def place_of(self, question_id: str) -> tuple[str, str] | None:
        """Channel and timestamp of the first message under this id."""
        query = select(PostRow.channel, PostRow.ts).where(
            PostRow.question_id == question_id, PostRow.part == 0
        )
        with self._engine.connect() as connection:
            row = connection.execute(query).first()
        return (row.channel, row.ts) if row else None

    def places(self, *question_ids: str) -> list[tuple[str, str]]:
        """(channel, timestamp) of all messages under these ids; of those that were sent to a person
        the channel is the person's id, until `found_in` says better."""
        query = select(PostRow.channel, PostRow.ts).where(PostRow.question_id.in_(question_ids))
        with self._engine.connect() as connection:
            return [(row.channel, row.ts) for row in connection.execute(query)]

    def found_in(self, question_id: str, ts: str, channel: str) -> None:
        """The channel of a message that was sent to a person."""
        change = update(PostRow).where(PostRow.question_id == question_id, PostRow.ts == ts)
        with self._engine.begin() as connection:
            connection.execute(change.values(channel=channel))

    def owned(self, channel: str, timestamps: list[str]) -> frozenset[str]:
        """Those of these messages that are on record: answers and hand-off cards."""
        post = select(PostRow.ts).where(PostRow.channel == channel, PostRow.ts.in_(timestamps))
        card = select(HandoffRow.card_ts).where(
            HandoffRow.channel == channel, HandoffRow.card_ts.in_(timestamps)
        )
        with self._engine.connect() as connection:
            return frozenset(connection.scalars(post)) | frozenset(connection.scalars(card))

    def forget_post(self, question_id: str, part: int) -> None:
        with self._engine.begin() as connection:
            connection.execute(
                delete(PostRow).where(PostRow.question_id == question_id, PostRow.part == part)
            )


def _record(row: Row[Any]) -> QuestionRecord:
    known = row._mapping
    return QuestionRecord(**{name: known[name] for name in QuestionRecord.__dataclass_fields__})


log = structlog.get_logger()


def forget_cached(engine: Engine, question_id: str) -> None:
    """The answer to this question is not given again: somebody disliked it, or took back what was
    asked. What else is done goes on without it."""
    try:
        create_table(engine)
        with engine.begin() as connection:
            drop_saying(connection, answers_of(connection, QuestionRow.id == question_id))
    except SQLAlchemyError as error:
        log.error("the answer cache can't be written", cause=type(error).__name__)


def cached_of(engine: Engine, user: str) -> list[dict[str, Any]]:
    create_table(engine)
    with engine.connect() as connection:
        return kept_saying(connection, answers_of(connection, QuestionRow.asker == user))


def answers_of(connection: Connection, which: ColumnElement[bool]) -> set[str]:
    """Texts of the answers that these questions were given from documents."""
    stored = connection.scalars(
        select(QuestionRow.answer).where(which, QuestionRow.answer.is_not(None))
    )
    return {text for one in stored if one and (text := _text_of(one))}


def _text_of(answer: str) -> str:
    try:
        return decoded(answer).text
    except ValidationError:
        return ""  # of an older release, whose answers nobody gives again
