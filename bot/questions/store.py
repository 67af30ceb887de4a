"""Questions and their answers on record: claimed once, answered once, posted once.

The answer cache holds no names: a question leads to its cached entries by the text of its
answer."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import structlog
from pydantic import TypeAdapter
from sqlalchemy import (
    ColumnElement,
    Connection,
    Delete,
    Engine,
    Select,
    Update,
    delete,
    func,
    insert,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from agents.answer import FOUND_NOTHING, UNSURE, Answer
from agents.answer_cache.store import create_table, delete_answering
from agents.confidence import confidence_level
from agents.thread.store import create_thread_tables, forget_places, slack_place
from bot.questions.explanations import forget_explanations, store_explanation
from bot.questions.personal import WordAuthors
from bot.questions.tables import HandoffRow, PostRow, QuestionRow, ScreenshotRow, create_tables
from bot.slack.events import IncomingMessage
from config.errors import StorageFailed
from durable.database import batches, insert_once, now, read_stored

log = structlog.get_logger()

_answers = TypeAdapter(Answer)


UNCONCLUDED = ("working", "answered")
"""States of a question whose last word is not posted."""


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
    """The answer's path; empty when the agents were not called."""
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
        """The message of the question, as far as it is on record."""
        return IncomingMessage(
            channel=self.channel, ts=self.ts, thread_ts=self.thread_ts, user=self.asker, team="",
            text=self.text,
        )  # fmt: skip


def encode_answer(answer: Answer) -> str:
    """The answer as JSON, without the texts that it was drawn from: see `explanations`."""
    return _answers.dump_json(dataclasses.replace(answer, context=(), trace=None)).decode()


def decode_answer(text: str) -> Answer:
    """Raises StorageFailed."""
    return read_stored(_answers, text, "answer")


class QuestionStore:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        create_tables(engine)
        create_thread_tables(engine)
        self.authors = WordAuthors(engine)

    def claim(
        self, event_id: str, message: IncomingMessage, domain: str = ""
    ) -> QuestionRecord | None:
        """This event's question; None when another event owns it.

        `domain`: where it counts until it is answered. The same event claims again after a crash,
        and gets the stored question."""
        is_new = insert_once(
            self._engine, QuestionRow, id=message.id, event_id=event_id, channel=message.channel,
            thread_ts=message.thread_ts, asker=message.user, text=message.text, domain=domain,
            state="working", asked_at=now(),
        )  # fmt: skip
        if is_new and message.author not in ("", message.user):
            self.authors.add(message.id, "message", [message.author], domain)
        record = self.get(message.id)
        is_ours = is_new or (record is not None and record.event_id == event_id)
        return record if is_ours else None

    def get(self, question_id: str) -> QuestionRecord | None:
        return next(iter(self._all(select(QuestionRow).where(QuestionRow.id == question_id))), None)

    def mark(self, question_id: str, **values: object) -> None:
        """Set these columns of a question."""
        self._change(update(QuestionRow).where(QuestionRow.id == question_id).values(**values))

    def withdraw(self, question_id: str) -> None:
        """Deleted by its asker: deletes its text, also in the state of its thread."""
        self.mark(question_id, state="withdrawn", text="", answer=None)
        with self._engine.begin() as connection:
            forget_details(connection, [question_id])
        if record := self.get(question_id):
            self.forget_threads([record])

    def forget_threads(self, records: Iterable[QuestionRecord]) -> None:
        """Delete the state of these questions' threads."""
        with self._engine.begin() as connection:
            forget_places(connection, (slack_place(one.channel, one.thread_ts) for one in records))

    def advance(self, record: QuestionRecord, **values: object) -> bool:
        """Set columns, unless the question was deleted or edited since `record` was read."""
        return self._change(_unless_changed(record).values(**values)) > 0

    def store_answer(self, record: QuestionRecord, domain: str, answer: Answer) -> bool:
        """Store the answer and why it was given, unless the question was deleted or edited since
        `record` was read."""
        change = _unless_changed(record).values(
            domain=domain, state="answered", answer=encode_answer(answer), path=answer.path,
            confidence=answer.confidence, generation=answer.generation, answered_at=now(),
        )  # fmt: skip
        with self._engine.begin() as connection:
            if not connection.execute(change).rowcount:
                return False
            store_explanation(connection, record.id, answer)
        return True

    def reopen(self, question_id: str, *, event_id: str, text: str) -> None:
        """Reopen a question after an edit: the same post gets a new answer."""
        self.mark(question_id, event_id=event_id, text=text, state="working", answer=None)
        with self._engine.begin() as connection:
            forget_explanations(connection, [question_id])

    def in_thread(self, channel: str, thread_ts: str) -> list[QuestionRecord]:
        """Questions of a thread, oldest first."""
        query = (
            select(QuestionRow)
            .where(QuestionRow.channel == channel, QuestionRow.thread_ts == thread_ts)
            .order_by(QuestionRow.id)
        )
        return self._all(query)

    def of_post(self, channel: str, ts: str) -> QuestionRecord | None:
        """The question that the bot's message at `ts` answers."""
        query = (
            select(QuestionRow)
            .join(PostRow, PostRow.question_id == QuestionRow.id)
            .where(PostRow.channel == channel, PostRow.ts == ts)
        )
        return next(iter(self._all(query)), None)

    def recent(self, *, limit: int, **equal: str) -> list[QuestionRecord]:
        """Newest first, where the named columns equal the values; without withdrawn questions and
        those that the bot did not reply to."""
        query = select(QuestionRow).order_by(QuestionRow.asked_at.desc()).limit(limit)
        query = query.where(QuestionRow.state.not_in(["withdrawn", "silent"]))
        return self._all(query.filter_by(**equal))

    def unconcluded(
        self, domains: Collection[str], since: datetime, before: datetime
    ) -> list[QuestionRecord]:
        """Questions of that time without a last word, also of those who are being answered."""
        query = select(QuestionRow).where(
            QuestionRow.domain.in_(domains),
            QuestionRow.asked_at.between(since, before),
            QuestionRow.state.in_(UNCONCLUDED),
        )
        return self._all(query)

    def count(self, since: datetime, **equal: str) -> int:
        """Questions that were not refused, since then."""
        query = select(func.count()).select_from(QuestionRow)
        query = query.where(QuestionRow.asked_at >= since, QuestionRow.state != "limited")
        return self._number(query.filter_by(**equal))

    def screenshots(self, question_id: str) -> str | None:
        """What was read in the question's pictures, as JSON; None before that."""
        query = select(ScreenshotRow.said).where(ScreenshotRow.question_id == question_id)
        with self._engine.connect() as connection:
            return connection.scalar(query)

    def store_screenshots(self, question_id: str, text: str) -> None:
        """Nothing of a question that was deleted while its pictures were read."""
        state = select(QuestionRow.state).where(QuestionRow.id == question_id).with_for_update()
        try:
            with self._engine.begin() as connection:
                connection.execute(
                    delete(ScreenshotRow).where(ScreenshotRow.question_id == question_id)
                )
                if connection.scalar(state) != "withdrawn":
                    row = {"question_id": question_id, "said": text}
                    connection.execute(insert(ScreenshotRow).values(row))
        except IntegrityError:
            return  # another worker has just stored the same

    def posts(self, question_id: str) -> Mapping[int, str]:
        """Part → timestamp of the bot's messages that answer this question."""
        query = select(PostRow.part, PostRow.ts).where(PostRow.question_id == question_id)
        with self._engine.connect() as connection:
            return {row.part: row.ts for row in connection.execute(query)}

    def own_post(self, question_id: str, part: int, channel: str, ts: str) -> bool:
        """Record a message as this question's; False when it is another's."""
        is_new = insert_once(
            self._engine, PostRow, question_id=question_id, part=part, channel=channel, ts=ts
        )
        return is_new or self.posts(question_id).get(part) == ts

    def place_of(self, question_id: str) -> tuple[str, str] | None:
        """Channel and timestamp of the first message under this id."""
        query = select(PostRow.channel, PostRow.ts).where(
            PostRow.question_id == question_id, PostRow.part == 0
        )
        with self._engine.connect() as connection:
            row = connection.execute(query).first()
        return (row.channel, row.ts) if row else None

    def places(self, *question_ids: str) -> list[tuple[str, str]]:
        """(channel, timestamp) of all messages under these ids. The channel of a message to a
        person is the person's id until `set_post_channel` is called."""
        query = select(PostRow.channel, PostRow.ts).where(PostRow.question_id.in_(question_ids))
        with self._engine.connect() as connection:
            return [(row.channel, row.ts) for row in connection.execute(query)]

    def set_post_channel(self, question_id: str, ts: str, channel: str) -> None:
        """The channel of a message that was sent to a person."""
        change = update(PostRow).where(PostRow.question_id == question_id, PostRow.ts == ts)
        self._change(change.values(channel=channel))

    def own_posts(self, channel: str, timestamps: list[str]) -> frozenset[str]:
        """Those of these messages that are answers or hand-off cards on record."""
        post = select(PostRow.ts).where(PostRow.channel == channel, PostRow.ts.in_(timestamps))
        card = select(HandoffRow.card_ts).where(
            HandoffRow.channel == channel, HandoffRow.card_ts.in_(timestamps)
        )
        with self._engine.connect() as connection:
            return frozenset(connection.scalars(post)) | frozenset(connection.scalars(card))

    def forget_post(self, question_id: str, part: int) -> None:
        self._change(
            delete(PostRow).where(PostRow.question_id == question_id, PostRow.part == part)
        )

    def _all(self, query: Select[Any]) -> list[QuestionRecord]:
        names = QuestionRecord.__dataclass_fields__
        with self._engine.connect() as connection:
            rows = connection.execute(query).mappings().all()
        return [QuestionRecord(**{name: row[name] for name in names}) for row in rows]

    def _number(self, query: Select[Any]) -> int:
        with self._engine.connect() as connection:
            return int(connection.scalar(query))

    def _change(self, change: Update | Delete) -> int:
        """Returns how many rows it changed."""
        with self._engine.begin() as connection:
            return connection.execute(change).rowcount


def _unless_changed(record: QuestionRecord) -> Update:
    """An update of the question, unless it was deleted or edited since."""
    mine = QuestionRow.id == record.id, QuestionRow.event_id == record.event_id
    return update(QuestionRow).where(*mine, QuestionRow.state != "withdrawn")


def forget_details(connection: Connection, ids: Collection[str]) -> None:
    """Delete the text of pictures in these questions, and why their answers were given."""
    for batch in batches(ids):
        connection.execute(delete(ScreenshotRow).where(ScreenshotRow.question_id.in_(batch)))
    forget_explanations(connection, ids)


def forget_cached(engine: Engine, question_id: str) -> None:
    """Delete the cached answer, after a user disliked it or deleted the question. Logs errors."""
    try:
        create_table(engine)
        with engine.begin() as connection:
            delete_answering(connection, answers_of(connection, QuestionRow.id == question_id))
    except SQLAlchemyError as error:
        log.error("the answer cache can't be written", cause=type(error).__name__)


def answers_of(connection: Connection, which: ColumnElement[bool]) -> set[str]:
    """Texts of the stored answers to these questions."""
    stored = connection.scalars(
        select(QuestionRow.answer).where(which, QuestionRow.answer.is_not(None))
    )
    answers = (_decoded(one) for one in stored)
    return {one.text for one in answers if one and one.text}


def _decoded(answer: str | None) -> Answer | None:
    """None for an answer of an older release that can't be read any more."""
    try:
        return decode_answer(answer) if answer else None
    except StorageFailed:
        return None


def is_question(record: QuestionRecord) -> bool:
    """Neither courtesy nor a mention without text."""
    return bool(record.text.strip()) and record.path != "small_talk"


def went_wrong(record: QuestionRecord) -> bool:
    """An apology, a refusal, or an unsure answer. Passages may have helped, and don't count."""
    if record.resolved_by or record.path == "passages_found":
        return False
    if record.state == "failed":
        return True
    return record.state == "posted" and record.path in UNSURE and is_question(record)


_OUTCOMES = {
    "": "not answered, no documents for this channel",
    "ambiguous_query": "asked back",
    "passages_found": "passages shown",
}


def outcome(record: QuestionRecord) -> str:
    """Its state, in a few words."""
    if record.resolved_by:
        return "resolved"
    if record.state == "failed":
        return f"failed, reference `{record.reference}`"
    if record.state != "posted":
        is_limited = record.state == "limited"
        return "not answered, too many questions" if is_limited else "being answered"
    if record.path in FOUND_NOTHING:
        return "no answer found"
    answered = f"answered, {confidence_level(record.confidence)} confidence"
    return _OUTCOMES.get(record.path, answered)
