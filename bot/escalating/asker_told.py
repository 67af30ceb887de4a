"""Whoever asked hears once that somebody came, and once that it is solved; whoever came is asked
once, a day later, whether it is. None of it in the channel."""

from __future__ import annotations

from dataclasses import dataclass

import structlog

from bot.access.people import People
from bot.handoff.handoff_card import Handoff
from bot.handoff.kept_calls import GIVEN_UP, TOLD, Calls
from bot.memory.record import Record
from bot.message.blockkit import link, section, short
from bot.message.delivery import metadata_of, own_messages, post_once
from bot.message.harmless.harmless_words import mrkdwn
from bot.message.render import Outgoing
from bot.slack.message_words import ERASED, mention, permalink
from bot.slack.thread import Message, question_id
from bot.slack.web import SlackRefused, Web

log = structlog.get_logger()

TOLD_EVENT = "oncall_handoff_told"
MAX_RESOLUTION = 600
"""Characters; the whole stands on the card."""


@dataclass(frozen=True, kw_only=True)
class AskerTold:
    web: Web
    calls: Calls
    people: People
    team_url: str
    bot_user: str

    def tell_asker(self, record: Record, handoff: Handoff, domain: str) -> None:
        """What became of their hand-off. Safe to repeat, and not to be done twice at once."""
        by = handoff.resolved_by or handoff.taken_by
        whom = self._asker(record, handoff)
        if by in ("", ERASED, whom) or whom in ("", ERASED):
            return
        about, news = self._about(record), news_of(handoff)
        if not handoff.resolved_by:
            self._tell(record, domain, news, whom, f":eyes: {mention(by)} took {about}.")
            return
        text = f":white_check_mark: {mention(by)} resolved {about}."
        if handoff.resolution:
            quoted = mrkdwn(short(handoff.resolution, MAX_RESOLUTION))
            text += f"\n> {quoted}"
        self._tell(record, domain, news, whom, text)

    def remind_taker(self, record: Record, handoff: Handoff, domain: str) -> None:
        """Once each time that it is taken."""
        text = (
            f"You took {self._about(record, 'a question')} a day ago, and it isn't marked as "
            "resolved. When it is, press *Resolved* on its card, or put :white_check_mark: on what "
            "solved it."
        )
        if record.channel.startswith("D"):
            text = (
                f"You took a question that {mention(record.asker)} asked me in a direct message a "
                "day ago, and it isn't marked as resolved. If they are waiting, please write to "
                "them."
            )
        what = f"taker-{_taken(handoff)}"
        self._tell(record, domain, what, handoff.taken_by, text, directly=True)

    def _asker(self, record: Record, handoff: Handoff) -> str:
        """Of an alert, whoever asked for a human."""
        if record.asker and self.people.known(record.asker).standing != "bot":
            return record.asker
        return handoff.requested_by

    def _about(self, record: Record, nameless: str = "your question") -> str:
        if record.channel.startswith("D") or not record.text.strip():
            return nameless
        return f"{nameless} ({link(permalink(self.team_url, record), short(record.text, 150))})"

    def _tell(
        self,
        record: Record,
        domain: str,
        what: str,
        whom: str,
        text: str,
        *,
        directly: bool = False,
    ) -> None:
        step = f"{TOLD}{what}"
        self.calls.keep(record.id, step, domain, who=whom)
        known = self.calls.get(record.id, step)
        if known is None or known.ts:
            return
        in_thread = record.channel.startswith("D") and not directly

        def find() -> str | None:
            """In a person's direct messages there is nowhere to look until one is posted; better
            told twice than never."""
            own = own_messages(self.web, record.event, self.bot_user) if in_thread else ()
            return next((str(one["ts"]) for one in own if _is_of(one, record, step)), None)

        try:
            ts = find() or post_once(
                self.web,
                Outgoing(text=text, blocks=[section(text)]),
                channel=record.channel if in_thread else whom,
                thread_ts=record.thread_ts if in_thread else None,
                metadata=metadata_of(TOLD_EVENT, record.id, step=step),
                find=find,
            )
        except SlackRefused as refused:
            log.info("somebody could not be told of a hand-off", reason=refused.code)
            ts = GIVEN_UP
        self.calls.posted(record.id, step, ts)


def news_of(handoff: Handoff) -> str:
    """What there is to tell the asker: each time that somebody takes it, and that it is solved."""
    return "resolved" if handoff.resolved_by else f"taken-{_taken(handoff)}"


def _taken(handoff: Handoff) -> str:
    return f"{handoff.taken_at:%Y%m%d%H%M%S%f}" if handoff.taken_at else ""


def _is_of(message: Message, record: Record, step: str) -> bool:
    payload = (message.get("metadata") or {}).get("event_payload") or {}
    return question_id(message, TOLD_EVENT) == record.id and payload.get("step") == step
