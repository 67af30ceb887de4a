"""Ask a human: a card for whoever is on call, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import structlog
from sqlalchemy import Engine, insert, select, update
from sqlalchemy.exc import IntegrityError

from agents.answer import Answer
from bot.handoff.handoff_card import Handoff, card
from bot.handoff.rota import on_call
from bot.handoff.used_button import show_used
from bot.memory.record import Record, Records, decoded, now
from bot.memory.state_tables import handoffs
from bot.message.blockkit import Json
from bot.message.delivery import find_post, metadata_of, post_once, richest
from bot.message.private import post_key
from bot.message.render import Outgoing
from bot.slack.web import SlackRefused, Web
from config.domain import Domain
from config.domain import domain_of as channel_owner
from config.errors import ConfigError, IndexUnavailable

log = structlog.get_logger()

CARD_EVENT = "oncall_handoff"
DONE_EMOJI = "white_check_mark"


class Handoffs:
    """Calls a human once per question, and remembers who came and what they said."""

    def __init__(
        self,
        web: Web,
        engine: Engine,
        records: Records,
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

    def get(self, question_id: str) -> Handoff | None:
        query = select(handoffs).where(handoffs.c.question_id == question_id)
        with self._engine.connect() as connection:
            row = connection.execute(query).mappings().first()
        if row is None:
            return None
        return Handoff(**{name: row[name] for name in Handoff.__dataclass_fields__})

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
            called = self._on_call(domain)
            self._insert(record, user, called)
            known = self.get(question_id)
        if known is None:
            return
        if not known.card_ts:
            self._post_card(record, known, domain)
        if pressed and pressed["channel"] != record.channel:
            key = post_key(record.event_id)
            self._records.found_in(key, pressed["ts"], pressed["channel"])
        show_used(self._web, self._records, record, known)

    def _post_card(self, record: Record, known: Handoff, domain: Domain | None) -> None:
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
        """Somebody is on it; the first who says so."""
        known = self.get(question_id)
        if known and not known.taken_by:
            self._set(question_id, taken_by=user, taken_at=now())
        self._refresh(question_id)

    def resolve(self, question_id: str, user: str, resolution: str = "") -> None:
        """A human solved it; their words are kept when there are any."""
        known = self.get(question_id)
        if known is None:
            return
        values: Json = {"resolved_by": known.resolved_by or user, "resolved_at": now()}
        if resolution.strip():
            values["resolution"] = resolution.strip()
        self._set(question_id, **values)
        self._records.mark(question_id, resolved_by=user)
        self._refresh(question_id)
        self._tick(question_id)

    def any_open(self, channel: str) -> bool:
        """Somebody in the channel waits for a human."""
        query = select(handoffs.c.question_id).where(
            handoffs.c.channel == channel, handoffs.c.resolved_by == ""
        )
        with self._engine.connect() as connection:
            return connection.execute(query.limit(1)).first() is not None

    def open_in(self, channel: str, thread_ts: str) -> list[Handoff]:
        """Unresolved hand-offs of a thread."""
        ids = [record.id for record in self._records.in_thread(channel, thread_ts)]
        found = [self.get(question_id) for question_id in ids]
        return [handoff for handoff in found if handoff and not handoff.resolved_by]

    def of_card(self, channel: str, ts: str) -> Handoff | None:
        query = select(handoffs.c.question_id).where(
            handoffs.c.channel == channel, handoffs.c.card_ts == ts
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
            richest(self._web, self._web.call, "chat.update", shown, arguments)
        except SlackRefused as refused:
            log.warning("the hand-off card could not be updated", reason=refused.code)

    def _card(self, record: Record, handoff: Handoff, domain: Domain | None) -> Outgoing:
        return card(record, handoff, domain, private=self._hides(record, domain))

    def _hides(self, record: Record, domain: Domain | None) -> bool:
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

    def _on_call(self, domain: Domain | None) -> str:
        """Slack id of whoever is on call: the rota first, else the configured user or group."""
        if domain is None:
            return ""
        escalation = domain.escalation
        if escalation.rota:
            try:
                folder = domain.path.parent if domain.path.name else Path()
                found = on_call(escalation.rota, datetime.now(UTC), relative_to=folder)
                if who := self._slack_id(found):
                    return who
            except ConfigError as error:
                log.error("the rota can't be read", domain=domain.domain, reason=str(error))
        return escalation.user or escalation.usergroup

    def _slack_id(self, who: str) -> str:
        if "@" not in who:
            return who
        try:
            found = self._web.call("users.lookupByEmail", email=who, patience=30.0)
        except SlackRefused as refused:
            log.warning("the rota names an e-mail that Slack doesn't know", reason=refused.code)
            return ""
        return str((found.get("user") or {}).get("id") or "")

    def domain_of(self, record: Record) -> Domain | None:
        """Whose question it is; None when no domain file knows its channel any more."""
        known = self._domains()
        return known.get(record.domain) or channel_owner(known.values(), record.channel)

    def _insert(self, record: Record, user: str, called: str) -> None:
        values = {
            "question_id": record.id, "channel": record.channel, "called": called,
            "requested_by": user, "requested_at": now(),
        }  # fmt: skip
        try:
            with self._engine.begin() as connection:
                connection.execute(insert(handoffs).values(**values))
        except IntegrityError:
            log.debug("a human was asked already", question=record.id)

    def _set(self, question_id: str, **values: Any) -> None:
        change = update(handoffs).where(handoffs.c.question_id == question_id).values(**values)
        with self._engine.begin() as connection:
            connection.execute(change)
