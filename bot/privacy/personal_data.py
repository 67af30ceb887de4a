"""Exports or erases all data about one person, for `oncall privacy`, while a bot runs or not.

Slack's own messages stay in Slack. The audit log is exported and not erased: see
docs/privacy.md."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Engine, delete, or_, select, update
from sqlalchemy.orm import InstrumentedAttribute

from agents.answer_cache.store import delete_answering
from agents.thread.store import forget_threads_of, turns_of_people
from bot.bus.stored_items import InboxAdmin, StoredItem, stored_items
from bot.connection import inbox_url, resolve_person
from bot.privacy.retention import Purged, Retention, scrub_all
from bot.privacy.tables import (
    FeatureTables,
    delete_questions,
    erase_in_features,
    forget_screenshots,
    ids_of,
    rows_of,
)
from bot.questions.store import answers_of, cached_of
from bot.questions.tables import FeedbackRow, HandoffRow, QuestionRow, ScreenshotRow
from bot.slack.messages import ERASED
from config.domain import Domain
from config.settings import Settings
from index.audit import AuditLog
from index.permissions.rules import Person

PATIENCE_SECONDS = 30.0
"""Seconds to wait for events that a worker has begun."""
_SECRET = {"event_id"}


@dataclass(frozen=True, kw_only=True)
class Erased:
    """Counts of a person's erased data."""

    questions: int = 0
    """Theirs, with answers, posts, feedback and hand-offs."""
    feedback: int = 0
    """Their verdicts and corrections on others' questions."""
    handoffs: int = 0
    """Others' hand-offs, from which their id and words were removed."""
    threads: int = 0
    """Threads they asked in, with stored state for follow-ups."""
    inbox: int = 0
    """Stored events."""
    still_working: int = 0
    """Stored events that a worker has begun; the next run erases them."""


@dataclass(frozen=True, kw_only=True)
class PersonalData:
    engine: Engine
    features: FeatureTables
    audit: AuditLog
    inbox: InboxAdmin | None
    """None where no bot has run."""
    sleep: Callable[[float], None] = time.sleep

    def export(self, user: str, email: str = "") -> dict[str, Any]:
        """Everything, as JSON; `email`: the API may have stored them by it."""
        self.features.create(self.engine)
        askers = _names(user, email)
        with self.engine.connect() as connection:
            own = ids_of(connection, select(QuestionRow.id).where(QuestionRow.asker == user))
            stored = {
                "questions": _rows(connection, user, QuestionRow.asker),
                "screenshots": [
                    row
                    for one in sorted(own)
                    for row in _rows(connection, one, ScreenshotRow.question_id)
                ],
                "feedback": _rows(connection, user, FeedbackRow.user),
                "handoffs": _rows(connection, user, *_PEOPLE),
                "resolved": _rows(connection, user, QuestionRow.resolved_by),
                "threads": turns_of_people(connection, askers),
                **rows_of(connection, askers, self.features.tables),
            }
        proposals = [
            {"id": one.id, "domain": one.domain, "question": one.question,
             "reference": one.reference, "source": one.source}
            for one in self.features.proposals(self.engine)
            if one.by == user or one.id in own
        ]  # fmt: skip
        events = self.inbox.of(user) if self.inbox else []
        return {
            "user": user,
            **stored,
            "proposals": proposals,
            "cached": cached_of(self.engine, user),
            "inbox": [{"id": one.id, "status": one.status, "item": one.item} for one in events],
            "shown": list(self.audit.export(askers=askers)),
        }

    def erase(self, user: str, email: str = "") -> Erased:
        """Erase everything of theirs but the audit log. Safe to repeat.

        `email`: as for `export`."""
        self.features.create(self.engine)
        with self.engine.begin() as connection:
            # Before their answers are deleted, which lead there.
            delete_answering(connection, answers_of(connection, QuestionRow.asker == user))
        self._withdraw(user)
        deleted, working = self._empty_inbox(user)
        events = [one.id for one in working]
        with self.engine.begin() as connection:
            threads = forget_threads_of(connection, _names(user, email))
            mine = select(QuestionRow.id).where(QuestionRow.asker == user)
            busy = ids_of(connection, mine.where(QuestionRow.event_id.in_(events)))
            questions = delete_questions(
                connection, ids_of(connection, mine) - busy, self.features.tables
            )
            by_user = delete(FeedbackRow).where(FeedbackRow.user == user)
            feedback = connection.execute(by_user).rowcount
            handoffs = _erase_helper(connection, user)
            erase_in_features(connection, _names(user, email), self.features.tables)
        return Erased(
            questions=questions, feedback=feedback, handoffs=handoffs, threads=threads,
            inbox=deleted, still_working=len(working),
        )  # fmt: skip

    def _withdraw(self, user: str) -> None:
        """Withdraw questions that are being answered, as if their asker had deleted them."""
        mine = (QuestionRow.asker == user, QuestionRow.state.in_(["working", "answered"]))
        change = update(QuestionRow).where(*mine)
        with self.engine.begin() as connection:
            forget_screenshots(connection, ids_of(connection, select(QuestionRow.id).where(*mine)))
            connection.execute(change.values(state="withdrawn", text="", answer=None))

    def _empty_inbox(self, user: str) -> tuple[int, Sequence[StoredItem]]:
        """Delete the person's items. Returns how many, and those that a worker has begun."""
        if self.inbox is None:
            return 0, ()
        count, pauses = 0, iter([1.0] * int(PATIENCE_SECONDS))
        with self.engine.connect() as connection:
            questions = ids_of(connection, select(QuestionRow.id).where(QuestionRow.asker == user))
        while True:
            items = self.inbox.of(user, questions)
            idle = [one.id for one in items if not one.is_started]
            self.inbox.forget(idle)
            count += len(idle)
            working = [one for one in items if one.is_started]
            if not working or (pause := next(pauses, None)) is None:
                return count, working
            self.sleep(pause)
            self._withdraw(user)  # one that has just begun


def _names(user: str, email: str) -> list[str]:
    """Names under which a person may be stored."""
    return [one for one in dict.fromkeys((user, email, email.strip().casefold())) if one]


_PEOPLE = (
    HandoffRow.requested_by, HandoffRow.taken_by, HandoffRow.resolved_by, HandoffRow.called,
)  # fmt: skip


def _rows(
    connection: Connection, user: str, *people: InstrumentedAttribute[str]
) -> list[Mapping[str, Any]]:
    """Rows of one table in which a column of `people` equals `user`."""
    query = select(people[0].class_).where(or_(*(column == user for column in people)))
    return [
        {name: value for name, value in row.items() if name not in _SECRET}
        for row in connection.execute(query).mappings()
    ]


def _erase_helper(connection: Connection, user: str) -> int:
    """Erase a person from others' hand-offs, which stay taken and resolved. Returns how many."""
    handoffs = ids_of(
        connection,
        select(HandoffRow.question_id).where(or_(*(column == user for column in _PEOPLE))),
    )
    for column in _PEOPLE:
        values: dict[str, Any] = {column.key: "" if column.key == "called" else ERASED}
        if column.key == "resolved_by":
            values["resolution"] = ""
        connection.execute(update(HandoffRow).where(column == user).values(**values))
    connection.execute(
        update(QuestionRow).where(QuestionRow.resolved_by == user).values(resolved_by=ERASED)
    )
    return len(handoffs)


@dataclass(frozen=True, kw_only=True)
class PrivacyCommands:
    settings: Settings
    engine: Engine
    features: FeatureTables
    domains: Callable[[], Mapping[str, Domain]]
    audit: AuditLog

    def purge(self) -> Purged:
        """Run the daily purge."""
        with stored_items(inbox_url(self.settings)) as items:
            if items:
                items.forget_done()
            return self._retention(items).purge()

    def daily(self) -> Purged | None:
        """The same, unless it was done today; for a server without a bot."""
        with stored_items(inbox_url(self.settings)) as items:
            return self._retention(items).daily()

    def _retention(self, items: InboxAdmin | None) -> Retention:
        return Retention(
            engine=self.engine,
            features=self.features,
            domains=self.domains,
            audit=self.audit,
            settings=self.settings,
            unfinished=items.unfinished if items else frozenset,
        )

    def person(self, name: str) -> Person:
        """Finds a person by Slack user id or e-mail address. Raises UsageError."""
        return resolve_person(self.settings, name)

    def export(self, person: Person) -> dict[str, Any]:
        with stored_items(inbox_url(self.settings)) as items:
            return self._data(items).export(person.slack_user, person.email)

    def erase(self, person: Person) -> Erased:
        with stored_items(inbox_url(self.settings)) as items:
            erased = self._data(items).erase(person.slack_user, person.email)
        scrub_all(self.engine, self.settings)
        return erased

    def _data(self, items: InboxAdmin | None) -> PersonalData:
        return PersonalData(
            engine=self.engine, features=self.features, audit=self.audit, inbox=items
        )
