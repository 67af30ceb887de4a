"""The messages of a checklist: posted once, and at the end always in the newest state."""

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
from bot.slack.messages import fetch, part_of

log = structlog.get_logger()

POST_EVENT = "oncall_checklist"
SUMMARY = 1_000
"""Parts from here on are the summary's messages."""
MOST_REMEMBERED = 500
"""Messages; forgotten, they are shown once more."""
GONE = {"message_not_found", "cant_update_message", "channel_not_found", "is_archived"}


@dataclass(frozen=True, kw_only=True)
class ChecklistPosts:
    web: SlackClient
    kept: ChecklistStore
    name_of: NameOf
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _asked_for: dict[str, set[int]] = field(default_factory=dict)
    """Checklist that somebody is showing → parts that are to be shown anew after that."""
    _shown: dict[tuple[str, int], SlackMessage] = field(default_factory=dict)
    """What this process showed last."""

    def post(self, checklist: Checklist) -> None:
        """Whatever isn't posted yet. To be called by one worker at a time; again after a crash."""
        standing = self.kept.standing(checklist)
        for part in range(len(pages(checklist))):
            self._post(checklist, part, checklist_message(checklist, standing, part))
        self.show(checklist)

    def post_summary(self, checklist: Checklist) -> None:
        """As `post`."""
        standing = self.kept.standing(checklist)
        for at, message in enumerate(summary_messages(checklist, standing, self.name_of)):
            self._post(checklist, SUMMARY + at, message)
        self.show(checklist)

    def show(self, checklist: Checklist, steps: Iterable[int] = ()) -> None:
        """Show what is known now; `steps`: where something changed.

        One thread of a process does it for all that press meanwhile. Another process may do the
        same at the same time, and Slack may take the two in any order: so each looks again after
        its last update whether that was the newest, and whoever was overtaken repeats it."""
        parts = {page_of(checklist, step) for step in steps}
        with self._lock:
            if checklist.id in self._asked_for:
                self._asked_for[checklist.id] |= parts | {0}
                return
            self._asked_for[checklist.id] = parts | {0}
        try:
            while (wanted := self._next(checklist.id)) is not None:
                self._show_newest(checklist.id, wanted)
        except BaseException:
            with self._lock:
                self._asked_for.pop(checklist.id, None)
            raise

    def _next(self, checklist_id: str) -> set[int] | None:
        """Parts that were asked for since; None when there are none, and nobody shows it now."""
        with self._lock:
            wanted = self._asked_for[checklist_id]
            if not wanted:
                del self._asked_for[checklist_id]
                return None
            self._asked_for[checklist_id] = set()
            return wanted

    def _show_newest(self, checklist_id: str, wanted: set[int]) -> None:
        while checklist := self.kept.get(checklist_id):
            standing = self.kept.standing(checklist)
            for part, ts in self.kept.posts(checklist).items():
                self._update(checklist, standing, part, ts, wanted)
            if self._is_newest(checklist, standing):
                return

    def _is_newest(self, checklist: Checklist, standing: ChecklistProgress) -> bool:
        now = self.kept.get(checklist.id)
        if now is None:
            return True
        return (now.changed, self.kept.standing(now).version) == (
            checklist.changed,
            standing.version,
        )

    def _update(
        self,
        checklist: Checklist,
        standing: ChecklistProgress,
        part: int,
        ts: str,
        wanted: set[int],
    ) -> None:
        message = self._message(checklist, standing, part)
        key = (checklist.id, part)
        # Slack is told of what looks the same only where another process may have said otherwise.
        if message is None or (part not in wanted and self._shown.get(key) == message):
            return
        arguments: Json = {
            "channel": checklist.channel,
            "ts": ts,
            "metadata": self._metadata(checklist, part),
        }
        try:
            post_with_fallback(self.web, self.web.call, "chat.update", message, arguments)
        except SlackRefused as refused:
            if refused.code not in GONE:
                raise
            log.info("a checklist is not shown any more", reason=refused.code)
        self._remember(key, message)

    def _message(
        self, checklist: Checklist, standing: ChecklistProgress, part: int
    ) -> SlackMessage | None:
        if part < SUMMARY:
            return checklist_message(checklist, standing, part)
        made: Sequence[SlackMessage] = summary_messages(checklist, standing, self.name_of)
        return made[part - SUMMARY] if part - SUMMARY < len(made) else None

    def _post(self, checklist: Checklist, part: int, message: SlackMessage) -> None:
        if part in self.kept.posts(checklist):
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
        self.kept.posted(checklist, part, ts)
        self._remember((checklist.id, part), message)

    def _remember(self, key: tuple[str, int], message: SlackMessage) -> None:
        if len(self._shown) >= MOST_REMEMBERED:
            self._shown.clear()
        self._shown[key] = message

    def _posted(self, checklist: Checklist, part: int) -> str | None:
        """A message that an attempt before a crash posted."""
        for message in fetch(self.web, checklist.channel, checklist.thread_ts):
            metadata = message.get("metadata") or {}
            payload = metadata.get("event_payload") or {}
            is_ours = metadata.get("event_type") == POST_EVENT
            if is_ours and payload.get("checklist") == checklist.id and part_of(message) == part:
                return str(message["ts"])
        return None

    @staticmethod
    def _metadata(checklist: Checklist, part: int) -> Json:
        return {
            "event_type": POST_EVENT,
            "event_payload": {"checklist": checklist.id, "part": part},
        }
