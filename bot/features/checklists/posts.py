"""The messages of a checklist: each is posted once, and ends up in the newest state."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import structlog

from bot.blocks.kit import Json
from bot.blocks.render import SlackMessage
from bot.features.checklists.progress import Checklist, ChecklistProgress
from bot.features.checklists.store import ChecklistStore
from bot.features.checklists.views import (
    NameOf,
    checklist_message,
    page_of,
    pages,
    summary_messages,
)
from bot.posting.posts import post_once, post_with_fallback
from bot.slack.client import SlackClient, SlackRefused
from bot.slack.messages import fetch, part_of, payload_of

log = structlog.get_logger()

POST_EVENT = "oncall_checklist"
FIRST_SUMMARY_PART = 1_000
"""This part and later ones are the summary's messages."""
MAX_REMEMBERED = 500
"""Messages; one that is dropped is sent once more."""
DELETED_CODES = {"message_not_found", "cant_update_message", "channel_not_found", "is_archived"}


@dataclass(frozen=True, kw_only=True)
class ChecklistPosts:
    web: SlackClient
    store: ChecklistStore
    name_of: NameOf
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _pending: dict[str, set[int]] = field(default_factory=dict)
    """Checklist that a thread is updating → parts to update again after that."""
    _sent: dict[tuple[str, int], SlackMessage] = field(default_factory=dict)
    """(checklist, part) → the last message that this process sent."""

    def post(self, checklist: Checklist) -> None:
        """Post the missing parts. Called by one worker at a time, and again after a crash."""
        progress = self.store.progress(checklist)
        for part in range(len(pages(checklist))):
            self._post(checklist, part, checklist_message(checklist, progress, part))
        self.show(checklist)

    def post_summary(self, checklist: Checklist) -> None:
        """As `post`."""
        progress = self.store.progress(checklist)
        for at, message in enumerate(summary_messages(checklist, progress, self.name_of)):
            self._post(checklist, FIRST_SUMMARY_PART + at, message)
        self.show(checklist)

    def show(self, checklist: Checklist, steps: Iterable[int] = ()) -> None:
        """Update the messages. `steps`: places that changed.

        One thread of a process does it for all presses meanwhile. Another process may update at the
        same time, and Slack may apply the updates in any order: each process checks after its last
        update that the state was the newest, and repeats it otherwise."""
        changed = {page_of(checklist, step) for step in steps} | {0}
        with self._lock:
            if checklist.id in self._pending:
                self._pending[checklist.id] |= changed
                return
            self._pending[checklist.id] = changed
        try:
            while (parts := self._next(checklist.id)) is not None:
                self._update_all(checklist.id, parts)
        except BaseException:
            with self._lock:
                self._pending.pop(checklist.id, None)
            raise

    def _next(self, checklist_id: str) -> set[int] | None:
        """Parts requested since; None, and the update ends, when there are none."""
        with self._lock:
            parts = self._pending[checklist_id]
            if not parts:
                del self._pending[checklist_id]
                return None
            self._pending[checklist_id] = set()
            return parts

    def _update_all(self, checklist_id: str, parts: set[int]) -> None:
        while checklist := self.store.get(checklist_id):
            progress = self.store.progress(checklist)
            for part, ts in self.store.posts(checklist).items():
                self._update(checklist, progress, part, ts, parts)
            if self._is_newest(checklist, progress):
                return

    def _is_newest(self, checklist: Checklist, progress: ChecklistProgress) -> bool:
        now = self.store.get(checklist.id)
        if now is None:
            return True
        return (now.changed, self.store.progress(now).version) == (
            checklist.changed,
            progress.version,
        )

    def _update(
        self, checklist: Checklist, progress: ChecklistProgress, part: int, ts: str, parts: set[int]
    ) -> None:
        message = self._message(checklist, progress, part)
        key = (checklist.id, part)
        # An unchanged message is sent again only where another process may have sent another one.
        if message is None or (part not in parts and self._sent.get(key) == message):
            return
        arguments: Json = {
            "channel": checklist.channel,
            "ts": ts,
            "metadata": self._metadata(checklist, part),
        }
        try:
            post_with_fallback(self.web, self.web.call, "chat.update", message, arguments)
        except SlackRefused as refused:
            if refused.code not in DELETED_CODES:
                raise
            log.info("checklist message was deleted", reason=refused.code)
        self._remember(key, message)

    def _message(
        self, checklist: Checklist, progress: ChecklistProgress, part: int
    ) -> SlackMessage | None:
        if part < FIRST_SUMMARY_PART:
            return checklist_message(checklist, progress, part)
        messages: Sequence[SlackMessage] = summary_messages(checklist, progress, self.name_of)
        place = part - FIRST_SUMMARY_PART
        return messages[place] if place < len(messages) else None

    def _post(self, checklist: Checklist, part: int, message: SlackMessage) -> None:
        if part in self.store.posts(checklist):
            return

        def find() -> str | None:
            return self._posted(checklist, part)

        ts = find() or post_once(
            self.web,
            message,
            channel=checklist.channel,
            thread_ts=checklist.thread_ts,
            metadata=self._metadata(checklist, part),
            find=find,
        )
        self.store.add_post(checklist, part, ts)
        self._remember((checklist.id, part), message)

    def _remember(self, key: tuple[str, int], message: SlackMessage) -> None:
        if len(self._sent) >= MAX_REMEMBERED:
            self._sent.clear()
        self._sent[key] = message

    def _posted(self, checklist: Checklist, part: int) -> str | None:
        """A message that an attempt before a crash posted."""
        for message in fetch(self.web, checklist.channel, checklist.thread_ts):
            is_ours = payload_of(message, POST_EVENT).get("checklist") == checklist.id
            if is_ours and part_of(message) == part:
                return str(message["ts"])
        return None

    @staticmethod
    def _metadata(checklist: Checklist, part: int) -> Json:
        return {
            "event_type": POST_EVENT,
            "event_payload": {"checklist": checklist.id, "part": part},
        }
