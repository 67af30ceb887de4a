"""A rehearsal: an alert, the person's answer in words or *Show me*, the entry, the next alert.

Each step is a compare-and-set in the store and then a post, which is found again after a crash. A
message or press that led to the present state only repeats its post."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, ClassVar

from agents.own_knowledge import is_named
from bot.blocks.render import SlackMessage, text_message
from bot.bus.events import Event
from bot.feature import FeatureContext
from bot.features.rehearsal.drills import Drill, Drills, score
from bot.features.rehearsal.store import Rehearsal, RehearsalStore
from bot.features.rehearsal.views import (
    NEXT,
    NOTHING_TO_REHEARSE,
    SHOW,
    STOP,
    alert_message,
    gone_message,
    result_messages,
    summary_message,
)
from bot.posting.posts import post_once
from bot.slack.events import IncomingMessage, MessageDeleted
from bot.slack.messages import fetch, payload_of
from durable.database import now
from index.audit import AuditEntry

POST_EVENT = "oncall_rehearsal"
KEPT_FOR = timedelta(days=1)
_REQUEST = re.compile(
    r"(?:please )?(?:rehearse|(?:start )?(?:a )?rehearsal)(?: (?P<subject>[^\n]{1,80}))?"
)
_WORDS = {"show me": SHOW, "next": NEXT, "next alert": NEXT, "stop": STOP}


@dataclass(frozen=True, kw_only=True)
class RehearsalPressed(Event):
    kind: ClassVar[str] = "rehearsal_pressed"
    rehearsal: str
    position: int
    act: str
    """An action id of `views`."""
    user: str


@dataclass(frozen=True)
class RehearsalService:
    """Safe to repeat."""

    context: FeatureContext
    store: RehearsalStore
    drills: Drills

    def on_message(self, event_id: str, message: IncomingMessage, event: Mapping[str, Any]) -> bool:
        """Whether it was a part of a rehearsal."""
        if message.bot or not message.direct:
            return False
        rehearsal = self.store.get(f"{message.channel}:{message.thread_ts}")
        if rehearsal and rehearsal.user == message.user:
            return self._goes_on(event_id, message, rehearsal)
        return not message.edited and self._start(event_id, message)

    def on_press(self, event_id: str, event: RehearsalPressed) -> None:
        rehearsal = self.store.get(event.rehearsal)
        if rehearsal is None or rehearsal.user != event.user:
            return
        if rehearsal.event == event_id:
            self._show(rehearsal)
        elif rehearsal.position == event.position:
            self._act(rehearsal, event.act, event_id)

    def on_deleted(self, event_id: str, event: MessageDeleted) -> None:
        self.store.delete(event.id)

    def forget_old(self) -> None:
        self.store.delete_before(now() - KEPT_FOR)

    def _start(self, event_id: str, message: IncomingMessage) -> bool:
        request = _REQUEST.fullmatch(" ".join(message.text.casefold().split()).strip(" .!/"))
        if request is None:
            return False
        words = " ".join(re.findall(r"[^\W_]+", request["subject"] or ""))
        domains = [
            one for one in self.drills.open_to(message.user)
            if is_named(words, one.title, one.domain)
        ]  # fmt: skip
        if not domains:
            return False
        rehearsal = Rehearsal(
            id=f"{message.channel}:{message.thread_ts}", user=message.user, event=event_id,
            items=self.drills.items(message.user, domains), started_at=now(),
        )  # fmt: skip
        if not rehearsal.items:
            self._post(rehearsal, "none", text_message(NOTHING_TO_REHEARSE))
        elif self.store.begin(rehearsal):
            self._show(rehearsal)
        return True

    def _goes_on(self, event_id: str, message: IncomingMessage, rehearsal: Rehearsal) -> bool:
        if rehearsal.event == event_id:
            self._show(rehearsal, message.text)
            return True
        is_early = not rehearsal.asked_ts or float(message.ts) <= float(rehearsal.asked_ts)
        if is_early or message.edited:  # delivered again; an edit changes no answer
            return self.drills.records.get(message.id) is None
        if act := _act_in(message.text):
            self._act(rehearsal, act, event_id)
        elif rehearsal.stage == "asked":
            self._answer(rehearsal, message.text, event_id)
        else:
            return False  # a question about it
        return True

    def _act(self, rehearsal: Rehearsal, act: str, event_id: str) -> None:
        if act == SHOW and rehearsal.stage == "asked":
            self._answer(rehearsal, "", event_id)
        elif act == NEXT and rehearsal.stage == "answered":
            self._go_to(rehearsal, rehearsal.position + 1, event_id)
        elif act == STOP:
            self._finish(rehearsal)

    def _answer(self, rehearsal: Rehearsal, words: str, event_id: str) -> None:
        drill = self.drills.drill(rehearsal.item, rehearsal.user)
        if drill is None:
            self._go_to(rehearsal, rehearsal.position + 1, event_id)
            return
        result = score(words, drill)
        after = replace(
            rehearsal, stage="answered", event=event_id,
            done=rehearsal.done + 1, entries=rehearsal.entries + bool(result.place),
            named=rehearsal.named + sum(result.named), steps=rehearsal.steps + len(drill.steps),
        )  # fmt: skip
        if self.store.move(rehearsal, after):
            self._show(after, words)

    def _go_to(self, rehearsal: Rehearsal, position: int, event_id: str) -> None:
        """To the alert there, or the next one that this person may still see."""
        for at in range(position, len(rehearsal.items)):
            if self.drills.drill(rehearsal.items[at], rehearsal.user):
                after = replace(rehearsal, position=at, stage="asked", event=event_id, asked_ts="")
                if self.store.move(rehearsal, after):
                    self._show(after)
                return
        self._finish(rehearsal)

    def _finish(self, rehearsal: Rehearsal) -> None:
        self._post(rehearsal, "summary", summary_message(rehearsal))
        self.store.delete(rehearsal.id)

    def _show(self, rehearsal: Rehearsal, words: str = "") -> None:
        """Post what belongs to its state. `words`: of the answer that led to it."""
        drill = self.drills.drill(rehearsal.item, rehearsal.user)
        at = rehearsal.position
        if rehearsal.stage == "answered":
            self._show_entry(rehearsal, drill, words)
        elif drill is None:
            self._go_to(rehearsal, at + 1, rehearsal.event)
        else:
            ts = self._post(rehearsal, f"alert-{at}", alert_message(rehearsal, drill))
            self.store.move(rehearsal, replace(rehearsal, asked_ts=ts))

    def _show_entry(self, rehearsal: Rehearsal, drill: Drill | None, words: str) -> None:
        at = rehearsal.position
        if drill is None:
            self._post(rehearsal, f"entry-{at}-0", gone_message(rehearsal))
            return
        self._audit(rehearsal, drill)
        is_answered = bool(words and not _act_in(words))
        result = score(words if is_answered else "", drill)
        messages = result_messages(rehearsal, drill, result, answered=is_answered)
        for number, message in enumerate(messages):
            self._post(rehearsal, f"entry-{at}-{number}", message)

    def _audit(self, rehearsal: Rehearsal, drill: Drill) -> None:
        channel, _, _ = rehearsal.id.partition(":")
        self.context.audit(
            AuditEntry(
                door="rehearsal", place=channel, asker=rehearsal.user,
                domain=drill.domain.domain, generation=drill.answer.generation,
                documents={"cited": sorted(drill.answer.documents)},
                showing=f"rehearsal-{rehearsal.id}-{rehearsal.position}",
            ),
            drill.domain,
        )  # fmt: skip

    def _post(self, rehearsal: Rehearsal, part: str, message: SlackMessage) -> str:
        """The message's timestamp; of the one that an attempt before a crash posted, if any."""
        channel, _, thread_ts = rehearsal.id.partition(":")
        payload = {"rehearsal": rehearsal.id, "part": part}

        def find() -> str | None:
            thread = fetch(self.context.web, channel, thread_ts)
            posted = (str(one["ts"]) for one in thread if payload_of(one, POST_EVENT) == payload)
            return next(posted, None)

        return find() or post_once(
            self.context.web, message, channel=channel, thread_ts=thread_ts, find=find,
            metadata={"event_type": POST_EVENT, "event_payload": payload},
        )  # fmt: skip


def _act_in(text: str) -> str:
    """The action id that the words stand for; empty for an answer."""
    return _WORDS.get(text.casefold().strip(" .!"), "")
