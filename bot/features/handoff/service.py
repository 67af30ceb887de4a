"""*Ask a human*: the card of a hand-off, who takes it, and how it is resolved."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import structlog
from prometheus_client import Histogram

from bot.blocks.kit import Json
from bot.blocks.render import SlackMessage
from bot.feature import FeatureContext, IsPrivate
from bot.features.handoff.store import (
    FIRST,
    FREE,
    LEVEL,
    SHIFT,
    CallStore,
    Handoff,
    HandoffCall,
    HandoffStore,
)
from bot.features.handoff.views import card, shows_button, with_used_button
from bot.posting.posts import (
    find_posts,
    metadata_of,
    post_once,
    post_with_fallback,
)
from bot.questions.store import QuestionRecord, QuestionStore, decode_answer
from bot.questions.tables import HandoffRow, private_post_key
from bot.rotas.on_call import CallTarget, OnCallResolver
from bot.rotas.rota import RotaCache
from bot.slack.client import SlackClient, SlackRefused
from bot.slack.messages import ERASED, Message, fetch
from config.domain import Domain
from config.domain import domain_of as channel_owner
from config.errors import IndexUnavailable
from durable.database import now
from telemetry import metrics

log = structlog.get_logger()

HANDOFF_TAKEN = metrics.histogram(
    "oncall_handoff_taken_seconds",
    "From asking for a human to somebody's taking it",
    "domain",
    buckets=metrics.HUMAN,
)
HANDOFF_RESOLVED = metrics.histogram(
    "oncall_handoff_resolved_seconds",
    "From asking for a human to its being resolved",
    "domain",
    buckets=metrics.HUMAN,
)
HANDOFF_CALLS = metrics.counter(
    "oncall_handoff_calls_total",
    "Calls of people: first, again, level-1, …, shift (to who came on call later), freed (whoever "
    "had taken it is gone)",
    "domain",
    "step",
)

_State = tuple[Handoff | None, QuestionRecord | None, Sequence[HandoffCall]]
"""What a card shows."""
CARD_EVENT = "oncall_handoff"
DONE_EMOJI = "white_check_mark"


class HandoffService:
    """One hand-off per question: requested, taken, resolved. Every method is safe to repeat."""

    def __init__(
        self,
        context: FeatureContext,
        records: QuestionStore,
        is_private: IsPrivate,
        rotas: RotaCache,
    ) -> None:
        self._web = context.web
        self._records = records
        self._domains = context.domains
        self._is_private = is_private
        self.rotas = rotas
        self.on_call = OnCallResolver(
            context.web,
            self.rotas,
            lambda address: context.gate.people.member_by_email(address).person.slack_user,
        )
        self.store = HandoffStore(context.engine)
        self.calls = CallStore(context.engine)
        self._followers: list[Callable[[str], None]] = []

    def follow(self, changed: Callable[[str], None]) -> None:
        """`changed` is called with a question's id after its hand-off was requested, taken,
        resolved or withdrawn, and again when that is repeated after a crash."""
        self._followers.append(changed)

    def get(self, question_id: str) -> Handoff | None:
        return self.store.get(question_id)

    def request(
        self, question_id: str, user: str, pressed: Mapping[str, str] | None = None
    ) -> None:
        """Call a person and post the card, unless there is one.

        `pressed`: channel and timestamp of the message whose button was pressed."""
        record = self._records.get(question_id)
        if record is None:
            log.warning("hand-off requested for an unknown question", question=question_id)
            return
        domain = self.domain_of(record)
        if self.get(question_id) is None:
            called = self._call_first(record, domain)
            self.store.add(record.id, record.channel, called=called, requested_by=user)
        handoff, record, calls = self._state(question_id)
        if handoff is None or record is None:
            return
        if not handoff.card_ts:
            handoff = replace(handoff, card_ts=self._post_card(record, handoff, domain))
            self.store.set(question_id, card_ts=handoff.card_ts)
        if pressed and pressed["channel"] != record.channel:
            key = private_post_key(record.event_id)
            self._records.set_post_channel(key, pressed["ts"], pressed["channel"])
        _update_used_buttons(self._web, self._records, record, handoff, pressed)
        if self._state(question_id) != (handoff, record, calls):
            self.refresh(question_id)  # e.g. taken before the card's timestamp was stored
        self._notify_followers(question_id)

    def _post_card(self, record: QuestionRecord, handoff: Handoff, domain: Domain | None) -> str:
        """The card's timestamp."""

        def find() -> str | None:
            return next(reversed(find_posts(self._web, record.event, CARD_EVENT)), None)

        return find() or post_once(
            self._web,
            self._card(record, handoff, domain),
            channel=record.channel,
            thread_ts=record.thread_ts,
            metadata=metadata_of(CARD_EVENT, record.id),
            find=find,
        )

    def take(self, question_id: str, user: str) -> None:
        """Assign it to the user, unless another person has it; an erased one doesn't count."""
        values = {"taken_by": user, "taken_at": now()}
        if self.store.set(question_id, HandoffRow.taken_by.in_(["", ERASED]), **values):
            self._observe(question_id, HANDOFF_TAKEN)
        self.refresh(question_id)
        self._notify_followers(question_id)

    def free(self, question_id: str, taker: str) -> None:
        """The person who took it has left."""
        self.store.set(question_id, HandoffRow.taken_by == taker, taken_by="", taken_at=None)
        self.refresh(question_id)

    def resolve(self, question_id: str, user: str, resolution: str = "", author: str = "") -> None:
        """Store who solved it, and the answer where there is one. `author`: who wrote it, if not
        the user."""
        if self.get(question_id) is None:
            return
        values: Json = {"resolved_by": user, "resolved_at": now()}
        if self.store.set(question_id, HandoffRow.resolved_by == "", **values):
            self._observe(question_id, HANDOFF_RESOLVED)
        if resolution.strip():
            if author != user:
                self._records.authors.add(question_id, "resolution", [author])
            self.store.set(question_id, resolution=resolution.strip())
        self._records.mark(question_id, resolved_by=user)
        self.refresh(question_id)
        self._tick(question_id)
        self._notify_followers(question_id)

    def withdraw(self, question_id: str) -> None:
        """The question was deleted: its text is removed from the card, and the calls end."""
        if self.get(question_id):
            self.refresh(question_id)
            self._notify_followers(question_id)

    def open_in(self, channel: str, thread_ts: str) -> list[Handoff]:
        """Unresolved hand-offs of a thread."""
        ids = [record.id for record in self._records.in_thread(channel, thread_ts)]
        handoffs = [self.get(question_id) for question_id in ids]
        return [handoff for handoff in handoffs if handoff and not handoff.resolved_by]

    def refresh(self, question_id: str) -> None:
        """Update the card, and the buttons wherever it was requested.

        Once more where anything changed meanwhile: of two updates the slower one may show what is
        over."""
        state: _State | None = None
        while (latest := self._state(question_id)) != state:
            state = latest
            self._update_card(*latest[:2])

    def _state(self, question_id: str) -> _State:
        calls = [replace(one, ts="", channel="") for one in self.calls.of(question_id)]
        return self.get(question_id), self._records.get(question_id), calls

    def _update_card(self, handoff: Handoff | None, record: QuestionRecord | None) -> None:
        if not (handoff and record and handoff.card_ts):
            return
        _update_used_buttons(self._web, self._records, record, handoff)
        arguments = {
            "channel": handoff.channel,
            "ts": handoff.card_ts,
            "metadata": metadata_of(CARD_EVENT, record.id),
        }
        message = self._card(record, handoff, self.domain_of(record))
        try:
            post_with_fallback(self._web, self._web.call, "chat.update", message, arguments)
        except SlackRefused as refused:
            log.warning("the hand-off card could not be updated", reason=refused.code)

    def _card(
        self, record: QuestionRecord, handoff: Handoff, domain: Domain | None
    ) -> SlackMessage:
        private, calls = self._is_private_card(record, domain), self.calls.of(record.id)
        return card(record, handoff, domain, private=private, calls=calls)

    def _is_private_card(self, record: QuestionRecord, domain: Domain | None) -> bool:
        """Some who see the card may not read the answer, e.g. in a channel of no domain."""
        if not (record.answer and domain):
            return False
        if not record.channel.startswith("D") and record.channel not in domain.channels:
            return True
        try:
            return self._is_private(domain, decode_answer(record.answer))
        except IndexUnavailable:
            return True  # a human is called all the same

    def _tick(self, question_id: str) -> None:
        record = self._records.get(question_id)
        if record is None:
            return
        try:
            self._web.call(
                "reactions.add",
                channel=record.channel,
                timestamp=record.thread_ts,
                name=DONE_EMOJI,
                patience=60.0,
            )
        except SlackRefused as refused:
            log.debug("done reaction could not be added", reason=refused.code)

    def _call_first(self, record: QuestionRecord, domain: Domain | None) -> str:
        """Slack id of the first who can be reached; stores them, and those who can't."""
        if domain is None:
            return ""
        target = self.on_call.first(domain)
        self.add_call(record.id, FIRST, domain, target)
        for number, level in enumerate(domain.escalation.levels, start=1):
            if target.who:
                break
            target = self.on_call.level(domain, level)
            self.add_call(record.id, f"{LEVEL}{number}", domain, target, level.name)
        # After a crash, the calls that were stored before it count.
        return next((one.who for one in self.calls.of(record.id) if one.who), "")

    def add_call(
        self, question_id: str, step: str, domain: Domain, target: CallTarget, label: str = ""
    ) -> None:
        """Store and count a call; a second time it changes nothing. `label`: the level's name."""
        values = {"who": target.who, "why": target.why, "label": label}
        if self.calls.add(question_id, step, domain.domain, **values) and target.who:
            kind = next((one for one in (SHIFT, FREE) if step.startswith(one)), step).rstrip("-")
            HANDOFF_CALLS.labels(domain.domain, kind).inc()

    def domain_of(self, record: QuestionRecord) -> Domain | None:
        """None where no domain file names its channel any more."""
        domains = self._domains()
        return domains.get(record.domain) or channel_owner(domains.values(), record.channel)

    def _observe(self, question_id: str, seconds: Histogram) -> None:
        """From the request until now."""
        handoff, record = self.get(question_id), self._records.get(question_id)
        if handoff and record and handoff.requested_at:
            domain = self.domain_of(record)
            elapsed = (now() - handoff.requested_at).total_seconds()
            seconds.labels(domain.domain if domain else "").observe(elapsed)

    def _notify_followers(self, question_id: str) -> None:
        for changed in self._followers:
            changed(question_id)


def _update_used_buttons(
    web: SlackClient,
    records: QuestionStore,
    record: QuestionRecord,
    handoff: Handoff,
    pressed: Mapping[str, str] | None = None,
) -> None:
    """Wherever this question was answered. `pressed`: a message that may not be on record yet."""
    places = records.places(record.id, private_post_key(record.event_id))
    if pressed:
        places.append((pressed["channel"], pressed["ts"]))
    threads: dict[tuple[str, str], set[str]] = {}
    for channel, ts in places:
        thread_ts = record.thread_ts if channel == record.channel else ts
        threads.setdefault((channel, thread_ts), set()).add(ts)
    for (channel, thread_ts), timestamps in threads.items():
        for message in fetch(web, channel, thread_ts):
            if message.get("ts") in timestamps and shows_button(message.get("blocks") or []):
                _update_used_button(web, channel, message, handoff)


def _update_used_button(web: SlackClient, channel: str, message: Message, handoff: Handoff) -> None:
    blocks = with_used_button(message["blocks"], handoff)
    if blocks == message["blocks"]:
        return
    try:
        web.call(
            "chat.update",
            channel=channel,
            ts=message["ts"],
            text=message.get("text") or "",
            blocks=blocks,
            metadata=message.get("metadata"),
        )
    except SlackRefused as refused:
        log.warning("used button could not be removed", reason=refused.code)
