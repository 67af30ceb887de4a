"""The inbox's items as they are stored, for whoever has to hand them out or forget them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import create_engine, inspect, make_url

from durable.worker import AT_ONCE, KEEP, Application, forget_done

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
    """Over DBOS's client, which needs no running inbox."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def unfinished(self) -> frozenset[str]:
        """Ids of the events that are still worked on, or will be."""
        found = self._client.list_workflows(
            status=[*WAITING, *STARTED], load_input=False, load_output=False
        )
        return frozenset(one.workflow_id for one in found)

    def forget_done(self, keep: timedelta = KEEP) -> int:
        """Delete what was finished that long ago."""
        return forget_done(self._client, keep)

    def of(self, user: str, questions: Collection[str] = ()) -> list[StoredItem]:
        """Items that hold this person's words or presses, or are about these questions."""
        return [
            one
            for one in self._all()
            if speaks(user, one.item) or (questions and _is_about(questions, one.item))
        ]

    def forget(self, ids: list[str]) -> None:
        if ids:
            self._client.delete_workflows(ids)

    def _all(self) -> Iterator[StoredItem]:
        known = self._client.list_workflows(load_input=False, load_output=False)
        ids = [one.workflow_id for one in known]
        for first in range(0, len(ids), AT_ONCE):
            batch = ids[first : first + AT_ONCE]
            for one in self._client.list_workflows(workflow_ids=batch, load_output=False):
                arguments: list[Any] = list((one.input or {}).get("args") or ())
                item = arguments[1] if len(arguments) > 1 else {}
                yield StoredItem(id=one.workflow_id, status=str(one.status), item=item)


def speaks(user: str, item: Any) -> bool:
    """Whether this person is named as who did or wrote something in it, however deep."""
    if isinstance(item, Mapping):
        if item.get("words_by") == user:  # what an owner accepted of theirs
            return True
        # Someone who is only mentioned stands in an element of a rich text, by `user_id` too.
        named = (
            item.get("user")
            or item.get("by")
            or (item.get("user_id") if item.get("type") != "user" else None)
        )
        return named == user or any(speaks(user, value) for value in item.values())
    return isinstance(item, list | tuple) and any(speaks(user, value) for value in item)


def _is_about(questions: Collection[str], item: Any) -> bool:
    """Such as a suggestion, which quotes its question, or a flag."""
    if isinstance(item, Mapping):
        of_them = item.get("question_id") in questions
        return of_them or any(_is_about(questions, value) for value in item.values())
    return isinstance(item, list | tuple) and any(_is_about(questions, value) for value in item)


@contextmanager
def stored_items(url: str) -> Iterator[InboxAdmin | None]:
    """The inbox of this database, for a process that doesn't run it; None when there is none."""
    if not _exists(url):
        yield None
        return
    client = INBOX.client(url)
    try:
        yield InboxAdmin(client)
    finally:
        client.destroy()


def _exists(url: str) -> bool:
    parsed, schema = make_url(url), None
    if parsed.get_backend_name() == "sqlite":
        if not Path(parsed.database or "").exists():
            return False
    else:
        parsed, schema = parsed.set(drivername="postgresql+psycopg"), INBOX.schema
    engine = create_engine(parsed)
    try:
        return inspect(engine).has_table("workflow_status", schema=schema)
    finally:
        engine.dispose()
