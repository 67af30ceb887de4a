"""Ask a human: a card for whoever is on call, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import structlog
from sqlalchemy import Engine, insert, select, update
from sqlalchemy.exc import IntegrityError

from agents.answer import Answer
from bot.codec import decode
from bot.defang import mrkdwn
from bot.delivery import find_post, metadata_of, post_once, richest
from bot.event import Asked
from bot.feedback import input_block, text_input
from bot.records import Record, Records, now
from bot.reply import (
    Json,
    Outgoing,
    button,
    confidence_words,
    context,
    link,
    section,
)
from bot.rota import on_call
from bot.tables import handoffs
from bot.web import SlackRefused, Web
from config.domain import Domain
from config.errors import ConfigError

log = structlog.get_logger()

TAKE = "handoff_take"
RESOLVE = "handoff_resolve"
RESOLVE_VIEW = "handoff_resolution"
CARD_EVENT = "oncall_handoff"
DONE_EMOJI = "white_check_mark"


@dataclass(frozen=True, kw_only=True)
class Handoff:
    """The hand-off of one question, as far as it got."""

    question_id: str
    channel: str
    card_ts: str
    called: str
    requested_by: str
    taken_by: str
    resolved_by: str
    resolution: str


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
    ) -> None:
        self._web = web
        self._engine = engine
        self._records = records
        self._domains = domains
        self._bot_user = bot_user

    def get(self, question_id: str) -> Handoff | None:
        query = select(handoffs).where(handoffs.c.question_id == question_id)
        with self._engine.connect() as connection:
            row = connection.execute(query).mappings().first()
        if row is None:
            return None
        return Handoff(**{name: row[name] for name in Handoff.__dataclass_fields__})

    def request(self, question_id: str, user: str) -> None:
        """Post the card, unless there is one. Safe to repeat."""
        record = self._records.get(question_id)
        if record is None:
            log.warning("a human was asked about an unknown question", question=question_id)
            return
        domain = self._domain(record)
        known = self.get(question_id)
        if known is None:
            called = self._on_call(domain)
            self._insert(record, user, called)
            known = self.get(question_id)
        if known is None or known.card_ts:
            return
        event = _event_of(record)

        def find() -> str | None:
            return find_post(self._web, event, self._bot_user, CARD_EVENT).get(0)

        ts = find() or post_once(
            self._web,
            self._card(record, known, domain),
            channel=record.channel,
            thread_ts=record.thread_ts,
            metadata=metadata_of(CARD_EVENT, question_id),
            find=find,
        )
        self._set(question_id, card_ts=ts)

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
        arguments = {
            "channel": known.channel,
            "ts": known.card_ts,
            "metadata": metadata_of(CARD_EVENT, question_id),
        }
        card = self._card(record, known, self._domain(record))
        try:
            richest(self._web.call, "chat.update", card, arguments)
        except SlackRefused as refused:
            log.warning("the hand-off card could not be updated", reason=refused.code)

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

    def _card(self, record: Record, handoff: Handoff, domain: Domain | None) -> Outgoing:
        answer = decode(record.answer) if record.answer else None
        called = (
            f"{_mention(handoff.called)} can you help here?"
            if handoff.called
            else ("Nobody is configured to be called here; can somebody help?")
        )
        message = domain.escalation.message if domain else ""
        blocks = [
            section(f":raising_hand: {called}" + (f"\n{mrkdwn(message)}" if message else "")),
            section(
                f"*Question* from <@{record.asker or handoff.requested_by}>\n{_quote(record.text)}"
            ),
            section(_tried(answer, private=bool(domain and domain.access.audience == "asker"))),
        ]
        progress = _progress(handoff)
        if progress:
            blocks.append(context([progress]))
        if not handoff.resolved_by:
            buttons = [button("Resolved", RESOLVE, record.id)]
            if not handoff.taken_by:
                buttons.insert(0, button("I'll take it", TAKE, record.id, style="primary"))
            blocks.append({"type": "actions", "elements": buttons})
        return Outgoing(text=f"{called} {mrkdwn(record.text)[:300]}", blocks=blocks)

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

    def _domain(self, record: Record) -> Domain | None:
        known = self._domains()
        by_channel = (d for d in known.values() if record.channel in d.channels)
        return known.get(record.domain) or next(by_channel, None)

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


def resolution_view(question_id: str, suggestion: str = "") -> Json:
    """The modal behind *Resolved*."""
    return {
        "type": "modal",
        "callback_id": RESOLVE_VIEW,
        "private_metadata": question_id,
        "title": {"type": "plain_text", "text": "Resolved"},
        "submit": {"type": "plain_text", "text": "Done"},
        "close": {"type": "plain_text", "text": "Cancel"},
        "blocks": [
            input_block(
                "resolution",
                "What was the answer? It helps me next time.",
                text_input(multiline=True, initial=suggestion),
            )
        ],
    }


def _tried(answer: Answer | None, *, private: bool) -> str:
    if answer is None:
        return "*What I tried*\nI could not answer at all."
    if private:
        return "*What I tried*\nI answered the asker alone: not everyone may read the sources."
    text = mrkdwn(" ".join(answer.text.split()))
    lines = ["*What I tried*", text if len(text) <= 600 else f"{text[:599]}…"]
    lines.extend(_cited(answer))
    lines.append(f"Confidence: {confidence_words(answer.confidence)} ({answer.confidence:.0%})")
    return "\n".join(lines)


def _cited(answer: Answer) -> Sequence[str]:
    citations = answer.citations or answer.nearest
    names = [f"{c.title} › {c.heading}" if c.heading else c.title for c in citations[:4]]
    return [
        f"• {link(c.url, n[:150])}"
        for c, n in zip(citations, names, strict=False)
        if len(c.url) < 500
    ]


def _quote(text: str) -> str:
    shown = text if len(text) <= 1_500 else f"{text[:1_499]}…"
    return "\n".join(f"> {mrkdwn(line)}" for line in shown.splitlines())


def _mention(who: str) -> str:
    return f"<!subteam^{who}>" if who.startswith("S") else f"<@{who}>"


def _progress(handoff: Handoff) -> str:
    if handoff.resolved_by:
        return f":white_check_mark: Resolved by <@{handoff.resolved_by}>"
    return f":eyes: <@{handoff.taken_by}> is on it" if handoff.taken_by else ""


def _event_of(record: Record) -> Asked:
    return Asked(
        channel=record.channel, ts=record.ts, thread_ts=record.thread_ts, user=record.asker,
        team="", text=record.text, key=record.ts,
    )  # fmt: skip
