"""Ask a human: a card for whoever is on call, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import structlog
from prometheus_client import Histogram
from sqlalchemy import Engine, RowMapping, insert, select, update
from sqlalchemy.exc import IntegrityError

from agents.answer import Answer
from bot.blocks.kit import Json
from bot.blocks.render import SlackMessage
from bot.db import now
from bot.features.handoff.calls import FIRST, LEVEL, CallStore
from bot.features.handoff.views import Handoff, card, show_used
from bot.posting.posts import find_post, metadata_of, post_key, post_once, post_with_fallback
from bot.questions.store import QuestionRecord, QuestionStore, decoded
from bot.questions.tables import HandoffRow
from bot.rotas.on_call import OnCallResolver
from bot.rotas.rota import RotaCache
from bot.slack.client import SlackClient, SlackRefused
from bot.slack.messages import ERASED
from config.domain import Domain
from config.domain import domain_of as channel_owner
from config.errors import IndexUnavailable
from telemetry import metrics

log = structlog.get_logger()

CARD_EVENT = "oncall_handoff"
DONE_EMOJI = "white_check_mark"


class HandoffService:
    """Calls a human once per question, and remembers who came and what they said."""

    def __init__(
        self,
        web: SlackClient,
        engine: Engine,
        records: QuestionStore,
        *,
        domains: Callable[[], Mapping[str, Domain]],
        bot_user: str,
        is_private: Callable[[Domain, Answer], bool],
    ) -> None:
        """`is_private`: whether some of a domain's channel may not read what an answer says."""
        self._web = web
        self._engine = engine
        self._records = records
        self._domains = domains
        self._bot_user = bot_user
        self._is_private = is_private
        self.rotas = RotaCache()
        self.whom = OnCallResolver(web, self.rotas)
        self.calls = CallStore(engine)
        self._followers: list[Callable[[str], None]] = []

    def follow(self, changed: Callable[[str], None]) -> None:
        """`changed` is called with a question's id after its hand-off was asked for, taken,
        resolved or withdrawn, and again when that is repeated after a crash."""
        self._followers.append(changed)

    def get(self, question_id: str) -> Handoff | None:
        query = select(HandoffRow).where(HandoffRow.question_id == question_id)
        with self._engine.connect() as connection:
            row = connection.execute(query).mappings().first()
        return _handoff(row) if row else None

    def request(
        self, question_id: str, user: str, pressed: Mapping[str, str] | None = None
    ) -> None:
        """Post the card, unless there is one. Safe to repeat.

        `pressed`: channel and timestamp of the message whose button it was."""
        record = self._records.get(question_id)
        if record is None:
            log.warning("a human was asked about an unknown question", question=question_id)
            return
        domain = self.domain_of(record)
        known = self.get(question_id)
        if known is None:
            self._insert(record, user, self._call_first(record, domain))
            known = self.get(question_id)
        if known is None:
            return
        if not known.card_ts:
            self._post_card(record, known, domain)
        if pressed and pressed["channel"] != record.channel:
            key = post_key(record.event_id)
            self._records.found_in(key, pressed["ts"], pressed["channel"])
        show_used(self._web, self._records, record, known)
        self._tell_followers(question_id)

    def _post_card(self, record: QuestionRecord, known: Handoff, domain: Domain | None) -> None:
        event = record.event

        def find() -> str | None:
            return find_post(self._web, event, self._bot_user, CARD_EVENT).get(0)

        ts = find() or post_once(
            self._web,
            self._card(record, known, domain),
            channel=record.channel,
            thread_ts=record.thread_ts,
            metadata=metadata_of(CARD_EVENT, record.id),
            find=find,
        )
        self._set(record.id, card_ts=ts)

    def take(self, question_id: str, user: str) -> None:
        """Somebody is on it; the first who says so, unless that one was erased since."""
        values = {"taken_by": user, "taken_at": now()}
        if self._set(question_id, HandoffRow.taken_by.in_(["", ERASED]), **values):
            self._observe(question_id, metrics.HANDOFF_TAKEN)
        self._refresh(question_id)
        self._tell_followers(question_id)

    def free(self, question_id: str, taker: str) -> None:
        """Whoever had taken it can't go on."""
        self._set(question_id, HandoffRow.taken_by == taker, taken_by="", taken_at=None)
        self._refresh(question_id)

    def resolve(self, question_id: str, user: str, resolution: str = "") -> None:
        """A human solved it; their words are kept when there are any."""
        if self.get(question_id) is None:
            return
        values: Json = {"resolved_by": user, "resolved_at": now()}
        if self._set(question_id, HandoffRow.resolved_by == "", **values):
            self._observe(question_id, metrics.HANDOFF_RESOLVED)
        if resolution.strip():
            self._set(question_id, resolution=resolution.strip())
        self._records.mark(question_id, resolved_by=user)
        self._refresh(question_id)
        self._tick(question_id)
        self._tell_followers(question_id)

    def withdrawn(self, question_id: str) -> None:
        """The question was taken back: its words go from the card, and nobody has to come."""
        if self.get(question_id):
            self._refresh(question_id)
            self._tell_followers(question_id)

    def was_called(self, question_id: str, user: str) -> bool:
        """In a direct message of their own, which is where they may act on it."""
        return any(one.who == user for one in self.calls.everything_of(question_id))

    def show(self, question_id: str) -> None:
        """What is known now, on the card and wherever it was asked for. Safe to repeat."""
        self._refresh(question_id)

    def asked_since(self, at: datetime) -> list[Handoff]:
        """Oldest first; `at`: UTC, without a zone."""
        query = select(HandoffRow).where(HandoffRow.requested_at >= at)
        with self._engine.connect() as connection:
            rows = connection.execute(query.order_by(HandoffRow.requested_at)).mappings().all()
        return [_handoff(row) for row in rows]

    def any_open(self, channel: str) -> bool:
        """Somebody in the channel waits for a human."""
        query = select(HandoffRow.question_id).where(
            HandoffRow.channel == channel, HandoffRow.resolved_by == ""
        )
        with self._engine.connect() as connection:
            return connection.execute(query.limit(1)).first() is not None

    def open_in(self, channel: str, thread_ts: str) -> list[Handoff]:
        """Unresolved hand-offs of a thread."""
        ids = [record.id for record in self._records.in_thread(channel, thread_ts)]
        found = [self.get(question_id) for question_id in ids]
        return [handoff for handoff in found if handoff and not handoff.resolved_by]

    def of_card(self, channel: str, ts: str) -> Handoff | None:
        query = select(HandoffRow.question_id).where(
            HandoffRow.channel == channel, HandoffRow.card_ts == ts
        )
        with self._engine.connect() as connection:
            found = connection.execute(query).scalar()
        return self.get(found) if found else None

    def _refresh(self, question_id: str) -> None:
        """Show on the card what is known now."""
        known, record = self.get(question_id), self._records.get(question_id)
        if not (known and record and known.card_ts):
            return
        show_used(self._web, self._records, record, known)
        arguments = {
            "channel": known.channel,
            "ts": known.card_ts,
            "metadata": metadata_of(CARD_EVENT, question_id),
        }
        shown = self._card(record, known, self.domain_of(record))
        try:
            post_with_fallback(self._web, self._web.call, "chat.update", shown, arguments)
        except SlackRefused as refused:
            log.warning("the hand-off card could not be updated", reason=refused.code)

    def _card(
        self, record: QuestionRecord, handoff: Handoff, domain: Domain | None
    ) -> SlackMessage:
        called = self.calls.of(record.id)
        return card(record, handoff, domain, private=self._hides(record, domain), called=called)

    def _hides(self, record: QuestionRecord, domain: Domain | None) -> bool:
        """Some who see the card may not read what was answered: where the channel is none of the
        domain's, nobody says that they may."""
        if not (record.answer and domain):
            return False
        if not record.channel.startswith("D") and record.channel not in domain.channels:
            return True
        try:
            return self._is_private(domain, decoded(record.answer))
        except IndexUnavailable:
            return True  # A human is called all the same.

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
            log.debug("no tick on the thread", reason=refused.code)

    def _call_first(self, record: QuestionRecord, domain: Domain | None) -> str:
        """Slack id of the first who can be reached, on record with those who couldn't be."""
        if domain is None:
            return ""
        reached = self.whom.first(domain)
        self._keep_call(record, FIRST, domain, who=reached.who, why=reached.why)
        for number, level in enumerate(domain.escalation.levels, start=1):
            if reached.who:
                break
            reached = self.whom.level(domain, level)
            more = {"who": reached.who, "why": reached.why, "label": level.name}
            self._keep_call(record, f"{LEVEL}{number}", domain, **more)
        # After a crash what was decided before it stands.
        return next((one.who for one in self.calls.of(record.id) if one.who), "")

    def _keep_call(self, record: QuestionRecord, step: str, domain: Domain, **more: str) -> None:
        if self.calls.keep(record.id, step, domain.domain, **more) and more["who"]:
            metrics.HANDOFF_CALLS.labels(domain.domain, step).inc()

    def domain_of(self, record: QuestionRecord) -> Domain | None:
        """Whose question it is; None when no domain file knows its channel any more."""
        known = self._domains()
        return known.get(record.domain) or channel_owner(known.values(), record.channel)

    def _insert(self, record: QuestionRecord, user: str, called: str) -> None:
        values = {
            "question_id": record.id, "channel": record.channel, "called": called,
            "requested_by": user, "requested_at": now(),
        }  # fmt: skip
        try:
            with self._engine.begin() as connection:
                connection.execute(insert(HandoffRow).values(**values))
        except IntegrityError:
            log.debug("a human was asked already", question=record.id)

    def _set(self, question_id: str, *only_if: Any, **values: Any) -> bool:
        """False where that isn't so any more."""
        change = update(HandoffRow).where(HandoffRow.question_id == question_id, *only_if)
        with self._engine.begin() as connection:
            return connection.execute(change.values(**values)).rowcount > 0

    def _observe(self, question_id: str, seconds: Histogram) -> None:
        """From when it was asked for until now."""
        known, record = self.get(question_id), self._records.get(question_id)
        if known and record and known.requested_at:
            domain = self.domain_of(record)
            took = (now() - known.requested_at).total_seconds()
            seconds.labels(domain.domain if domain else "").observe(took)

    def _tell_followers(self, question_id: str) -> None:
        for changed in self._followers:
            changed(question_id)


def _handoff(row: RowMapping) -> Handoff:
    return Handoff(**{name: row[name] for name in Handoff.__dataclass_fields__})
