"""Stored items of the inbox, for exports and deletions of personal data."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy import Engine, inspect

from durable.database import batches
from durable.dbos_upkeep import AT_ONCE, KEEP, Application, forget_done, sqlite_file

INBOX = Application(name="oncall", format="inbox-1")
WAITING = ["ENQUEUED", "DELAYED"]
STARTED = ["PENDING"]


@dataclass(frozen=True, kw_only=True)
class StoredItem:
    id: str
    status: str
    item: Mapping[str, Any]

    @property
    def is_started(self) -> bool:
        return self.status in STARTED


class InboxAdmin:
    """Uses DBOS's client, which needs no running inbox."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def unfinished(self) -> frozenset[str]:
        """Ids of events that are waiting or being handled."""
        unfinished = self._client.list_workflows(
            status=[*WAITING, *STARTED], load_input=False, load_output=False
        )
        return frozenset(one.workflow_id for one in unfinished)

    def forget_done(self, keep: timedelta = KEEP) -> int:
        """Delete items that finished longer than `keep` ago."""
        return forget_done(self._client, keep)

    def of(self, user: str, questions: Collection[str] = ()) -> list[StoredItem]:
        """Items with this person's texts or actions, or about these questions."""
        return [
            one
            for one in self._all()
            if is_by(user, one.item) or (questions and _is_about(questions, one.item))
        ]

    def forget(self, ids: list[str]) -> None:
        if ids:
            self._client.delete_workflows(ids)

    def _all(self) -> Iterator[StoredItem]:
        workflows = self._client.list_workflows(load_input=False, load_output=False)
        ids = [one.workflow_id for one in workflows]
        for batch in batches(ids, AT_ONCE):
            for one in self._client.list_workflows(workflow_ids=batch, load_output=False):
                arguments: list[Any] = list((one.input or {}).get("args") or ())
                item = arguments[1] if len(arguments) > 1 else {}
                yield StoredItem(id=one.workflow_id, status=str(one.status), item=item)


def is_by(user: str, item: Any) -> bool:
    """Whether it names this person as author or actor, at any depth."""
    if isinstance(item, Mapping):
        # An owner accepted their words, or somebody else asked about their message.
        if user in (item.get("words_by"), item.get("author")):
            return True
        # A rich text element that mentions someone has a `user_id`, too.
        by = (
            item.get("user")
            or item.get("by")
            or (item.get("user_id") if item.get("type") != "user" else None)
        )
        return by == user or any(is_by(user, value) for value in item.values())
    return isinstance(item, list | tuple) and any(is_by(user, value) for value in item)


def _is_about(questions: Collection[str], item: Any) -> bool:
    """True for a flag, or for a suggestion, which quotes its question."""
    if isinstance(item, Mapping):
        is_one = item.get("question_id") in questions
        return is_one or any(_is_about(questions, value) for value in item.values())
    return isinstance(item, list | tuple) and any(_is_about(questions, value) for value in item)


@contextmanager
def stored_items(url: str, engine: Engine) -> Iterator[InboxAdmin | None]:
    """The inbox at `url`, for a process that does not run it; None where there is none.

    `engine`: the product's, which leads to the same PostgreSQL, if it is one."""
    shared = engine if engine.dialect.name == "postgresql" else None
    if not _exists(url, shared):
        yield None
        return
    client = INBOX.client(url, shared)
    try:
        yield InboxAdmin(client)
    finally:
        client.destroy()


def _exists(url: str, shared: Engine | None) -> bool:
    table = "workflow_status"
    if shared is not None:
        return inspect(shared).has_table(table, schema=INBOX.schema)
    file = sqlite_file(url)
    if file is None or not file.exists():
        return False
    with closing(sqlite3.connect(file)) as connection:
        query = "SELECT 1 FROM sqlite_master WHERE name = ?"
        return connection.execute(query, [table]).fetchone() is not None
