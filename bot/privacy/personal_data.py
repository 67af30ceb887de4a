"""Exports or erases all data about one person, for `oncall privacy`, while a bot runs or not.

Slack's own messages stay in Slack. The audit log is exported and not erased: see
docs/privacy.md."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Engine, or_, select, update

from agents.answer_cache.store import delete_answering, entries_answering
from agents.thread.store import forget_threads_of as forget_threads_by
from agents.thread.store import slack_place, turns_at, turns_of_people
from bot.bus.stored_items import InboxAdmin, StoredItem, stored_items
from bot.connection import inbox_url, resolve_person
from bot.privacy.other_tables import owned_tables
from bot.privacy.retention import Purged, Retention, scrub_all
from bot.privacy.tables import (
    FeatureTables,
    delete_questions,
    erase_in_features,
    forget_threads_of,
    ids_of,
    rows_of,
)
from bot.questions.personal import questions_with_words_of
from bot.questions.store import answers_of, forget_details
from bot.questions.tables import QuestionRow
from config.domain import Domain
from config.settings import Settings
from index.audit import AuditLog
from index.permissions.rules import Person, address_of

PATIENCE_SECONDS = 30.0
"""Seconds to wait for events that a worker has begun."""


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
            own = ids_of(connection, select(QuestionRow.id).where(QuestionRow.asker.in_(askers)))
            shared = questions_with_words_of(connection, askers)
            answers = answers_of(connection, QuestionRow.id.in_([*own, *shared]))
            stored = {
                **rows_of(connection, askers, [*self.features.every, *owned_tables(connection)]),
                "threads": [*turns_of_people(connection, askers), *_turns(connection, shared)],
                "cached": entries_answering(connection, answers),
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
            "inbox": [{"id": one.id, "status": one.status, "item": one.item} for one in events],
            "shown": list(self.audit.export(askers=askers)),
        }

    def erase(self, user: str, email: str = "") -> Erased:
        """Erase everything of theirs but the audit log. Safe to repeat.

        `email`: as for `export`."""
        self.features.create(self.engine)
        names = _names(user, email)
        with self.engine.begin() as connection:
            # Before their answers are deleted, which lead there.
            shared = questions_with_words_of(connection, names)
            theirs = or_(QuestionRow.asker.in_(names), QuestionRow.id.in_(shared))
            delete_answering(connection, answers_of(connection, theirs))
        self._withdraw(user)
        deleted, working = self._empty_inbox(user, shared)
        events = [one.id for one in working]
        with self.engine.begin() as connection:
            threads = forget_threads_by(connection, names)
            threads += forget_threads_of(connection, shared)
            mine = select(QuestionRow.id).where(QuestionRow.asker.in_(names))
            busy = ids_of(connection, mine.where(QuestionRow.event_id.in_(events)))
            questions = delete_questions(
                connection, ids_of(connection, mine) - busy, self.features.tables
            )
            every = [*self.features.every, *owned_tables(connection)]
            rows = erase_in_features(connection, names, every, busy)
        return Erased(
            questions=questions, feedback=rows["bot_feedback"], handoffs=rows["bot_handoffs"],
            threads=threads, inbox=deleted, still_working=len(working),
        )  # fmt: skip

    def _withdraw(self, user: str) -> None:
        """Withdraw questions that are being answered, as if their asker had deleted them."""
        mine = (QuestionRow.asker == user, QuestionRow.state.in_(["working", "answered"]))
        change = update(QuestionRow).where(*mine)
        with self.engine.begin() as connection:
            ids = ids_of(connection, select(QuestionRow.id).where(*mine))
            connection.execute(change.values(state="withdrawn", text="", answer=None))
            forget_details(connection, ids)

    def _empty_inbox(self, user: str, shared: Collection[str]) -> tuple[int, Sequence[StoredItem]]:
        """Delete the person's items, and those about their questions and `shared` ones. Returns how
        many, and those that a worker has begun."""
        if self.inbox is None:
            return 0, ()
        count, pauses = 0, iter([1.0] * int(PATIENCE_SECONDS))
        with self.engine.connect() as connection:
            theirs = ids_of(connection, select(QuestionRow.id).where(QuestionRow.asker == user))
        questions = theirs | set(shared)
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
    return [one for one in dict.fromkeys((user, email, address_of(email))) if one]


def _turns(connection: Connection, questions: Collection[str]) -> list[dict[str, Any]]:
    """Turns of these questions that may hold another person's words, as far as they are people's:
    what a model drew from documents is the asker's alone."""
    places = select(QuestionRow.channel, QuestionRow.thread_ts).where(QuestionRow.id.in_(questions))
    turns = [
        turn
        for place in dict.fromkeys(slack_place(*row) for row in connection.execute(places))
        for turn in turns_at(connection, place)
    ]
    return [
        {"domain": turn["domain"], "id": turn["id"], "question": turn["question"]}
        for turn in turns
        if turn.get("id") in questions and turn.get("restated_from") == []
    ]


@dataclass(frozen=True, kw_only=True)
class PrivacyCommands:
    settings: Settings
    engine: Engine
    features: FeatureTables
    domains: Callable[[], Mapping[str, Domain]]
    audit: AuditLog

    def purge(self) -> Purged:
        """Run the daily purge."""
        with stored_items(inbox_url(self.settings), self.engine) as items:
            if items:
                items.forget_done()
            return self._retention(items).purge()

    def daily(self) -> Purged | None:
        """The same, unless it was done today; for a server without a bot."""
        with stored_items(inbox_url(self.settings), self.engine) as items:
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
        with stored_items(inbox_url(self.settings), self.engine) as items:
            return self._data(items).export(person.slack_user, person.email)

    def erase(self, person: Person) -> Erased:
        with stored_items(inbox_url(self.settings), self.engine) as items:
            erased = self._data(items).erase(person.slack_user, person.email)
        scrub_all(self.engine, self.settings)
        return erased

    def _data(self, items: InboxAdmin | None) -> PersonalData:
        return PersonalData(
            engine=self.engine, features=self.features, audit=self.audit, inbox=items
        )
