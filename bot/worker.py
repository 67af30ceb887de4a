"""What the inbox's items mean, and who handles each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from bot.access.doors import Door
from bot.access.gate import Gate
from bot.feature import Feature
from bot.handoff.handoffs import Handoffs
from bot.home.example_asked import ExampleAsked
from bot.home.home_page import Home
from bot.home.pane import greet
from bot.home.suggestions import Suggest
from bot.inbox.durable_queue import Item
from bot.link_previews.link_previews import LinkPreviews
from bot.memory.record import Record
from bot.question.intake import Intake
from bot.slack.event import Asked, Deleted, HomeOpened, LinksShared, PaneOpened, Reacted, read
from bot.slack.message_words import plain, words_of
from bot.slack.thread import earlier, fetch, is_own
from bot.slack.web import Web
from config.domain import Domain
from telemetry.tracing import span

RESOLVED = {"white_check_mark", "heavy_check_mark", "ballot_box_with_check"}


@dataclass(frozen=True, kw_only=True)
class Worker:
    """Called by the inbox for each item, and again for the same item after a crash."""

    web: Web
    intake: Intake
    handoffs: Handoffs
    home: Home
    gate: Gate
    domains: Callable[[], Mapping[str, Domain]]
    bot_user: str
    suggest: Suggest
    example_asked: ExampleAsked
    link_previews: LinkPreviews
    features: Sequence[Feature] = ()

    def __call__(self, event_id: str, item: Item) -> None:
        about = {"messaging.system": "slack", "messaging.message.id": event_id}
        with span("worked off", about, kind="consumer", within=item.get("trace", "")):
            self._work_off(event_id, item)

    def _work_off(self, event_id: str, item: Item) -> None:
        if "event" in item:
            if not self._taken(event_id, item):
                self._event(event_id, item)
        elif "asked" in item:
            self.intake.asked(event_id, Asked.stored(item["asked"]))
        elif "example" in item:
            self.example_asked(event_id, **item["example"])
        elif "human" in item:
            request = partial(self.handoffs.request, pressed=item.get("pressed"))
            self._handed_off(request, item["human"])
        elif "take" in item:
            self._handed_off(self.handoffs.take, item["take"])
        elif "resolve" in item:
            self._handed_off(self.handoffs.resolve, item["resolve"])
        elif "timer" in item:
            self._timer(**item["timer"])
        else:
            self._of_a_feature(event_id, item)

    def _taken(self, event_id: str, item: Item) -> bool:
        """By a feature, and so for nobody else."""
        return any(
            one.on_event(event_id, item["event"], item["team"])
            for one in self.features
            if one.on_event
        )

    def _of_a_feature(self, event_id: str, item: Item) -> None:
        """Of each that knows the key: what one of them tells, several may want to hear."""
        for one in self.features:
            for key, handle in one.items.items():
                if key in item:
                    handle(event_id, item[key])

    def _timer(self, kind: str, subject: str) -> None:
        for one in self.features:
            if kind in one.timers:
                one.timers[kind](subject)

    def _event(self, event_id: str, item: Item) -> None:
        match read(item["event"], bot_user=self.bot_user, team=item["team"]):
            case Asked() as event:
                self.intake.asked(event_id, event)
            case Deleted() as event:
                self.intake.deleted(event_id, event)
                self.handoffs.withdrawn(event.id)
            case PaneOpened() as event:
                greet(self.web, event, self.domains().values(), self.gate, self.suggest)
            case HomeOpened() as event:
                self.home.publish(event.user)
            case Reacted() as event:
                self._reacted(event)
            case LinksShared() as event:
                self.link_previews.unfurl(event_id, event)

    def _handed_off(self, act: Callable[..., None], pressed: Item) -> None:
        """A step of a hand-off, if whoever pressed its button may ask in the question's domain."""
        record = self.intake.records.get(pressed["question_id"])
        if record and self._may_act(Door.HAND_OFF, pressed["user"], record):
            act(**pressed)
        elif record and not record.channel.startswith("D"):
            self.intake.say_why_not(replace(record.event, user=pressed["user"]))

    def _may_act(self, door: Door, user: str, record: Record) -> bool:
        """What was asked in a direct message is its asker's alone, and whose they had called."""
        if record.channel.startswith("D") and user != record.asker:
            return door is Door.HAND_OFF and self.handoffs.was_called(record.id, user)
        domain = self.handoffs.domain_of(record)
        return bool(domain and self.gate.open_to(door, user, [domain]))

    def _reacted(self, event: Reacted) -> None:
        """A tick by a person: on an answer, a question, a card, or the reply that solved it."""
        if event.reaction not in RESOLVED or event.user == self.bot_user:
            return
        records = self.intake.records
        record = records.of_post(event.channel, event.ts) or records.get(
            f"{event.channel}:{event.ts}"
        )
        card = self.handoffs.of_card(event.channel, event.ts)
        about = record or (records.get(card.question_id) if card else None)
        if about and not self._may_act(Door.REACTION, event.user, about):
            return
        if record:
            records.mark(record.id, resolved_by=event.user)
        if card:
            self.handoffs.resolve(card.question_id, event.user, self._last_words(card.question_id))
        elif record and self.handoffs.get(record.id):
            self.handoffs.resolve(record.id, event.user, self._last_words(record.id))
        elif not record and self.handoffs.any_open(event.channel):
            self._solved_by(event)

    def _solved_by(self, event: Reacted) -> None:
        """The ticked message is a reply in a thread that waits for a human."""
        for message in fetch(self.web, event.channel, event.ts):
            if message.get("ts") != event.ts:
                continue
            thread_ts = str(message.get("thread_ts") or event.ts)
            words = plain(words_of(message), bot_user=self.bot_user)
            for handoff in self.handoffs.open_in(event.channel, thread_ts):
                record = self.intake.records.get(handoff.question_id)
                if record and self._may_act(Door.REACTION, event.user, record):
                    self.handoffs.resolve(handoff.question_id, event.user, words)

    def _last_words(self, question_id: str) -> str:
        """What a human other than the asker said last, after the card was posted."""
        record, handoff = self.intake.records.get(question_id), self.handoffs.get(question_id)
        if not (record and handoff):
            return ""
        said = [
            message
            for message in fetch(self.web, record.channel, record.thread_ts)
            if not is_own(message, self.bot_user)
            and message.get("user") != record.asker
            and earlier({"ts": handoff.card_ts}, str(message.get("ts")))
        ]
        return plain(words_of(said[-1]), bot_user=self.bot_user) if said else ""
