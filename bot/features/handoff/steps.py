"""Handles actions on a hand-off: presses of its buttons, and ticks on messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self

from bot.access.gate import Place
from bot.bus.events import Event, Item
from bot.feature import FeatureContext, SayWhyNot
from bot.features.handoff.service import HandoffService
from bot.questions.store import QuestionRecord, QuestionStore
from bot.questions.tables import WITHDRAWN
from bot.slack.events import ReactionAdded
from bot.slack.messages import earlier, fetch, is_own, plain, words_of
from index.permissions.acts import Act

RESOLVING_EMOJI = {"white_check_mark", "heavy_check_mark", "ballot_box_with_check"}


@dataclass(frozen=True, kw_only=True)
class HumanRequested(Event):
    kind: ClassVar[str] = "human"
    question_id: str
    user: str
    pressed: Mapping[str, str] | None = None
    """Channel and timestamp of the message whose button it was."""

    def item(self) -> Item:
        item = {"human": {"question_id": self.question_id, "user": self.user}}
        return {**item, "pressed": self.pressed} if self.pressed else item

    @classmethod
    def from_item(cls, item: Mapping[str, Any]) -> Self:
        request = item["human"]
        return cls(
            question_id=request["question_id"], user=request["user"], pressed=item.get("pressed")
        )


@dataclass(frozen=True, kw_only=True)
class TakeRequested(Event):
    kind: ClassVar[str] = "take"
    question_id: str
    user: str


@dataclass(frozen=True, kw_only=True)
class ResolveRequested(Event):
    kind: ClassVar[str] = "resolve"
    question_id: str
    user: str
    resolution: str = ""


@dataclass(frozen=True)
class HandoffSteps:
    """Safe to repeat after a crash."""

    context: FeatureContext
    records: QuestionStore
    handoffs: HandoffService
    say_why_not: SayWhyNot

    def request(self, _: str, event: HumanRequested) -> None:
        self._act(event, partial(self.handoffs.request, pressed=event.pressed))

    def take(self, _: str, event: TakeRequested) -> None:
        self._act(event, self.handoffs.take)

    def resolve(self, _: str, event: ResolveRequested) -> None:
        self._act(event, partial(self.handoffs.resolve, resolution=event.resolution))

    def _act(
        self,
        event: HumanRequested | TakeRequested | ResolveRequested,
        do: Callable[[str, str], None],
    ) -> None:
        """Call `do` if this person may ask in the question's domain."""
        record = self.records.get(event.question_id)
        if record and record.state == WITHDRAWN and not self.handoffs.get(record.id):
            return  # nobody is called for a question that its asker has deleted
        if record and self._may_act(Act.HAND_OFF, event.user, record):
            do(event.question_id, event.user)
        elif record and not record.channel.startswith("D"):
            self.say_why_not(replace(record.event, user=event.user))

    def _may_act(self, act: Act, user: str, record: QuestionRecord) -> bool:
        """In a direct message only the asker and the people who were called may act."""
        if record.channel.startswith("D") and user != record.asker:
            calls = self.handoffs.calls.with_messages(record.id)
            return act is Act.HAND_OFF and any(one.who == user for one in calls)
        place = Place(
            domain=self.handoffs.domain_of(record),
            channel=record.channel,
            owner=record.asker,
            is_private=record.channel.startswith("D"),
        )
        return self.context.gate.may_act(act, user, place)

    def tick(self, _: str, event: ReactionAdded) -> None:
        """A tick by a person: on an answer, a question, a card, or the reply that solved it."""
        if event.reaction not in RESOLVING_EMOJI or event.user == self.context.identity.user:
            return
        record = self.records.of_post(event.channel, event.ts) or self.records.get(
            f"{event.channel}:{event.ts}"
        )
        card = self.handoffs.store.of_card(event.channel, event.ts)
        about = record or (self.records.get(card.question_id) if card else None)
        if about and not self._may_act(Act.REACTION, event.user, about):
            return
        if record:
            self.records.mark(record.id, resolved_by=event.user)
        if card:
            last = self._last_words(card.question_id)
            self.handoffs.resolve(card.question_id, event.user, *last)
        elif record and self.handoffs.get(record.id):
            self.handoffs.resolve(record.id, event.user, *self._last_words(record.id))
        elif not record and self.handoffs.store.has_open(event.channel):
            self._resolve_with_reply(event)

    def _resolve_with_reply(self, event: ReactionAdded) -> None:
        """The ticked message is a reply in a thread that waits for a human."""
        for message in fetch(self.context.web, event.channel, event.ts):
            if message.get("ts") != event.ts:
                continue
            thread_ts = str(message.get("thread_ts") or event.ts)
            bot_user = self.context.identity.user
            reply = plain(words_of(message), bot_user=bot_user), str(message.get("user") or "")
            for handoff in self.handoffs.open_in(event.channel, thread_ts):
                record = self.records.get(handoff.question_id)
                if record and self._may_act(Act.REACTION, event.user, record):
                    # The bot's own, such as a card before it is on record, solves nothing.
                    is_bots = is_own(message, bot_user)
                    solution = self._last_words(record.id) if is_bots else reply
                    self.handoffs.resolve(record.id, event.user, *solution)

    def _last_words(self, question_id: str) -> tuple[str, str]:
        """The last message of a human other than the asker after the card was posted, and its
        author; '' for none."""
        record, handoff = self.records.get(question_id), self.handoffs.get(question_id)
        if not (record and handoff and handoff.card_ts):
            return "", ""
        messages = [
            message
            for message in fetch(self.context.web, record.channel, record.thread_ts)
            if not is_own(message, self.context.identity.user)
            and message.get("user") != record.asker
            and earlier({"ts": handoff.card_ts}, str(message.get("ts")))
        ]
        if not messages:
            return "", ""
        words = plain(words_of(messages[-1]), bot_user=self.context.identity.user)
        return words, str(messages[-1].get("user") or "")
