"""Messages of calls: an edit of the card would notify nobody."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import structlog

from bot.escalating.call_steps import lasting
from bot.handoff.handoff_card import TAKE, Handoff
from bot.handoff.kept_calls import (
    AGAIN,
    DIRECT,
    FIRST,
    FREED,
    GIVEN_UP,
    LEVEL,
    SHIFT,
    TOLD,
    Calls,
    HandoffCall,
)
from bot.memory.record import Record
from bot.memory.state_tables import WITHDRAWN
from bot.message.blockkit import actions, button, section
from bot.message.delivery import metadata_of, own_messages, post_once
from bot.message.harmless.harmless_words import mrkdwn
from bot.message.render import Outgoing
from bot.slack.message_words import mention
from bot.slack.thread import Message, question_id
from bot.slack.user_groups import user_group_members
from bot.slack.web import SlackRefused, Web

log = structlog.get_logger()

CALL_EVENT = "oncall_call"
MOST_MEMBERS = 15
"""Of a group, called one by one because nobody but the asker sees a direct message."""


@dataclass(frozen=True, kw_only=True)
class CallPosts:
    web: Web
    calls: Calls
    bot_user: str

    def waiting(self, record: Record, handoff: Handoff) -> list[HandoffCall]:
        """Those on record that have no message yet; the first one's is the card."""
        found = []
        for call in self.calls.of(record.id):
            if not call.who or call.ts:
                continue
            by_the_card = call.who == handoff.called and not self._others_before(record, call)
            if by_the_card and not record.channel.startswith("D"):
                self.calls.posted(record.id, call.step, handoff.card_ts)
            else:
                found.append(call)
        return found

    def post(self, record: Record, handoff: Handoff, call: HandoffCall) -> None:
        """Safe to repeat, and not to be done twice at once: neither would find what the other is
        about to post."""
        if record.channel.startswith("D"):
            self._call_directly(record, call)
        else:
            self._post(record, handoff, call)

    def give_up(self, call: HandoffCall) -> None:
        """Somebody came before it was posted."""
        self.calls.posted(call.question_id, call.step, GIVEN_UP)

    def settle(self, record: Record, handoff: Handoff) -> None:
        """Somebody came, or nobody has to any more: calls offer nothing."""
        for call in self.calls.everything_of(record.id):
            if call.step.startswith(TOLD) or call.ts in ("", GIVEN_UP, handoff.card_ts):
                continue
            directly = record.channel.startswith("D")
            channel = call.channel if directly else record.channel
            if not channel:
                continue
            text = settled_text(call, record, handoff) if directly else call_text(call, handoff)
            try:
                self.web.call(
                    "chat.update",
                    channel=channel,
                    ts=call.ts,
                    text=text,
                    blocks=[section(text)],
                    metadata=metadata_of(CALL_EVENT, record.id, step=call.step),
                )
            except SlackRefused as refused:
                log.debug("a call still shows its button", reason=refused.code)

    def _others_before(self, record: Record, call: HandoffCall) -> bool:
        """Somebody else was reached earlier, if only by a release that kept no calls: the card's
        mention was theirs."""
        if call.step != FIRST and not call.step.startswith(LEVEL):
            return True
        reached = [one for one in self.calls.of(record.id) if one.who]
        return reached[0].step != call.step

    def _post(self, record: Record, handoff: Handoff, call: HandoffCall) -> None:
        def find() -> str | None:
            own = own_messages(self.web, record.event, self.bot_user)
            return next((str(one["ts"]) for one in own if _is_of(one, call)), None)

        text = call_text(call, handoff)
        try:
            ts = find() or post_once(
                self.web,
                Outgoing(text=text, blocks=[section(text), _take(record)]),
                channel=record.channel,
                thread_ts=record.thread_ts,
                metadata=metadata_of(CALL_EVENT, record.id, step=call.step),
                find=find,
            )
        except SlackRefused as refused:
            log.error("a call could not be posted", step=call.step, reason=refused.code)
            ts = GIVEN_UP
        self.calls.posted(record.id, call.step, ts)

    def _call_directly(self, record: Record, call: HandoffCall) -> None:
        """Nobody but the asker sees a direct message: who is called hears of it in their own, and
        is told who asks and not what."""
        text = f":raising_hand: {mention(record.asker)} asked me in a direct message and would "
        text += "like a human to help. Please write to them."
        for number, person in enumerate(self._people(call.who)):
            if person == record.asker:
                continue
            step = f"{call.step}{DIRECT}{number}"
            self.calls.keep(record.id, step, call.domain, who=person)
            known = self.calls.get(record.id, step)
            if known is None or known.ts:
                continue
            try:
                ts = post_once(
                    self.web,
                    Outgoing(text=text, blocks=[section(text), _take(record)]),
                    channel=person,
                    thread_ts=None,
                    metadata=metadata_of(CALL_EVENT, record.id, step=step),
                    # Where to look isn't known. Better called twice than not at all.
                    find=lambda: None,
                    placed=partial(self.calls.placed, record.id, step),
                )
            except SlackRefused as refused:
                log.error("somebody could not be called", step=step, reason=refused.code)
                ts = GIVEN_UP
            self.calls.posted(record.id, step, ts)
        self.calls.posted(record.id, call.step, GIVEN_UP)

    def _people(self, who: str) -> Sequence[str]:
        if not who.startswith("S"):
            return [who]
        members = user_group_members([who], self.web)[who]
        if isinstance(members, str):
            log.error("a group could not be called", group=who, reason=members)
            return []
        return sorted(members)[:MOST_MEMBERS]


def call_text(call: HandoffCall, handoff: Handoff) -> str:
    label = f" ({mrkdwn(call.label)})" if call.label else ""
    whom = f":raising_hand: {mention(call.who)}{label}"
    came = handoff.is_taken or handoff.resolved_by
    waits = lasting(call.called_at - handoff.requested_at) if handoff.requested_at else "a while"
    if call.step.startswith(SHIFT):
        return f"{whom} you have the shift now, and nobody has taken this for {waits}."
    if call.step.startswith(FREED):
        return f"{whom} whoever had taken this is gone. Can you help?"
    if came:  # nobody is to come for nothing
        return f"{mention(call.who)}{label} was called after {waits}."
    again = " once more:" if call.step == AGAIN else ":" if label else ""
    return f"{whom}{again} nobody has taken this for {waits}. Can you help?"


def settled_text(call: HandoffCall, record: Record, handoff: Handoff) -> str:
    """To who was called in a direct message of their own."""
    asker = mention(record.asker)
    if record.state == WITHDRAWN:
        return f":wastebasket: {asker} asked me in a direct message, and took it back."
    if handoff.resolved_by:
        return f":white_check_mark: {asker} asked me in a direct message; it is resolved."
    if handoff.taken_by == call.who:
        return f":eyes: You took this: please write to {asker}, who asked me in a direct message."
    taker = mention(handoff.taken_by)
    return f":eyes: {taker} took this: {asker} asked me in a direct message."


def _take(record: Record) -> dict[str, object]:
    return actions([button("I'll take it", TAKE, record.id, style="primary")])


def _is_of(message: Message, call: HandoffCall) -> bool:
    payload = (message.get("metadata") or {}).get("event_payload") or {}
    mine = question_id(message, CALL_EVENT) == call.question_id
    return mine and payload.get("step") == call.step
