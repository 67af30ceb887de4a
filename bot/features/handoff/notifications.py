"""Messages of hand-offs: to the people who are called, as an edit of the card notifies nobody; to
the asker when it is taken and resolved; to the taker once, a day later."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from bot.blocks.kit import actions, button, link, section, short
from bot.blocks.render import SlackMessage
from bot.blocks.sanitize.text import sanitize_mrkdwn
from bot.feature import FeatureContext
from bot.features.handoff.service import HandoffService
from bot.features.handoff.store import (
    AGAIN,
    DIRECT,
    FIRST,
    FREE,
    LEVEL,
    NO_MESSAGE,
    NOTICE,
    SHIFT,
    CallStore,
    Handoff,
    HandoffCall,
)
from bot.features.handoff.views import TAKE, duration_text
from bot.posting.posts import find_posts, metadata_of, post_once
from bot.questions.store import QuestionRecord
from bot.questions.tables import WITHDRAWN
from bot.slack.client import SlackClient, SlackRefused, user_group_members
from bot.slack.messages import ERASED, mention, permalink

log = structlog.get_logger()

NOTICE_EVENT = "oncall_handoff_told"
MAX_RESOLUTION = 600
"""Characters. The card shows the whole text."""


@dataclass(frozen=True)
class AskerNotifier:
    context: FeatureContext
    handoffs: HandoffService

    def notify_asker(self, record: QuestionRecord, handoff: Handoff) -> None:
        """Tell the asker that it is taken or resolved. Safe to repeat, not to run twice at once."""
        by = handoff.resolved_by or handoff.taken_by
        asker = self._asker(record, handoff)
        if by in ("", ERASED, asker) or asker in ("", ERASED):
            return
        about, news = self._about(record), news_of(handoff)
        if not handoff.resolved_by:
            self._send(record, news, asker, f":eyes: {mention(by)} took {about}.")
            return
        text = f":white_check_mark: {mention(by)} resolved {about}."
        if handoff.resolution:
            quote = sanitize_mrkdwn(short(handoff.resolution, MAX_RESOLUTION))
            text += f"\n> {quote}"
        self._send(record, news, asker, text)

    def remind_taker(self, record: QuestionRecord, handoff: Handoff) -> None:
        """Remind the taker once for each time the hand-off is taken."""
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
        key = f"taker-{_taken_key(handoff)}"
        self._send(record, key, handoff.taken_by, text, directly=True)

    def _asker(self, record: QuestionRecord, handoff: Handoff) -> str:
        """The asker; for an alert, the person who requested a human."""
        if record.asker and self.context.gate.people.member(record.asker).kind != "bot":
            return record.asker
        return handoff.requested_by

    def _about(self, record: QuestionRecord, nameless: str = "your question") -> str:
        if record.channel.startswith("D") or not record.text.strip():
            return nameless
        place = permalink(self.context.identity.team_url, record)
        return f"{nameless} ({link(place, short(record.text, 150))})"

    def _send(
        self, record: QuestionRecord, key: str, person: str, text: str, *, directly: bool = False
    ) -> None:
        step, calls = f"{NOTICE}{key}", self.handoffs.calls
        domain = self.handoffs.domain_of(record)
        calls.add(record.id, step, domain.domain if domain else "", who=person)
        notice = calls.get(record.id, step)
        if notice is None or notice.ts:
            return
        in_thread = record.channel.startswith("D") and not directly

        def find() -> str | None:
            """A person's direct messages can't be searched before one is posted: a crash may send
            the same twice there."""
            if not in_thread:
                return None
            own = find_posts(self.context.web, record.event, NOTICE_EVENT, step=step)
            return next(iter(own), None)

        try:
            ts = find() or post_once(
                self.context.web,
                SlackMessage(text=text, blocks=[section(text)]),
                channel=record.channel if in_thread else person,
                thread_ts=record.thread_ts if in_thread else None,
                metadata=metadata_of(NOTICE_EVENT, record.id, step=step),
                find=find,
            )
        except SlackRefused as refused:
            log.info("hand-off notice could not be sent", reason=refused.code)
            ts = NO_MESSAGE
        calls.set(record.id, step, ts=ts)


def news_of(handoff: Handoff) -> str:
    """A key that changes each time a person takes it, and when it is resolved."""
    return "resolved" if handoff.resolved_by else f"taken-{_taken_key(handoff)}"


def _taken_key(handoff: Handoff) -> str:
    return f"{handoff.taken_at:%Y%m%d%H%M%S%f}" if handoff.taken_at else ""


CALL_EVENT = "oncall_call"
MAX_MEMBERS = 15
"""Maximum members of a group, called one by one where the question is in a direct message."""


@dataclass(frozen=True)
class CallMessages:
    web: SlackClient
    calls: CallStore

    def pending(self, record: QuestionRecord, handoff: Handoff) -> list[HandoffCall]:
        """Stored calls that have no message yet; the first one's is the card."""
        pending = []
        for call in self.calls.of(record.id):
            if not call.who or call.ts:
                continue
            by_the_card = call.who == handoff.called and not self._has_earlier_call(record, call)
            if by_the_card and not record.channel.startswith("D"):
                self.calls.set(record.id, call.step, ts=handoff.card_ts)
            else:
                pending.append(call)
        return pending

    def post(self, record: QuestionRecord, handoff: Handoff, call: HandoffCall) -> None:
        """Safe to repeat, but not twice at once: neither would find the other's message."""
        if record.channel.startswith("D"):
            self._call_directly(record, call)
        else:
            self._post(record, call.step, call_text(call, handoff))

    def close(self, record: QuestionRecord, handoff: Handoff) -> None:
        """Remove the buttons of all calls, which are no longer needed."""
        for call in self.calls.with_messages(record.id):
            if call.step.startswith(NOTICE) or call.ts in ("", NO_MESSAGE, handoff.card_ts):
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
                log.debug("call message could not be updated", reason=refused.code)

    def _has_earlier_call(self, record: QuestionRecord, call: HandoffCall) -> bool:
        """Whether another person was called earlier, perhaps by a release that stored no calls: the
        card mentions them."""
        if call.step != FIRST and not call.step.startswith(LEVEL):
            return True
        calls = [one for one in self.calls.of(record.id) if one.who]
        return calls[0].step != call.step

    def _post(self, record: QuestionRecord, step: str, text: str, person: str = "") -> None:
        """In the thread, or to a person directly."""

        def find() -> str | None:
            # A person's messages can't be searched: a second call is better than none.
            own = () if person else find_posts(self.web, record.event, CALL_EVENT, step=step)
            return next(iter(own), None)

        def on_placed(channel: str) -> None:
            if person:
                self.calls.set(record.id, step, channel=channel)

        take = actions([button("I'll take it", TAKE, record.id, style="primary")])
        try:
            ts = find() or post_once(
                self.web,
                SlackMessage(text=text, blocks=[section(text), take]),
                channel=person or record.channel,
                thread_ts=None if person else record.thread_ts,
                metadata=metadata_of(CALL_EVENT, record.id, step=step),
                find=find,
                on_placed=on_placed,
            )
        except SlackRefused as refused:
            what = (
                "direct call could not be sent" if person else "hand-off call could not be posted"
            )
            log.error(what, step=step, reason=refused.code)
            ts = NO_MESSAGE
        self.calls.set(record.id, step, ts=ts)

    def _call_directly(self, record: QuestionRecord, call: HandoffCall) -> None:
        """Call each person in a separate direct message, which names the asker and not the
        question: only the asker sees their direct message with the bot."""
        text = f":raising_hand: {mention(record.asker)} asked me in a direct message and would "
        text += "like a human to help. Please write to them."
        for number, person in enumerate(self._people(call.who)):
            if person == record.asker:
                continue
            step = f"{call.step}{DIRECT}{number}"
            self.calls.add(record.id, step, call.domain, who=person)
            direct = self.calls.get(record.id, step)
            if direct and not direct.ts:
                self._post(record, step, text, person)
        self.calls.set(record.id, call.step, ts=NO_MESSAGE)

    def _people(self, who: str) -> Sequence[str]:
        if not who.startswith("S"):
            return [who]
        members = user_group_members([who], self.web)[who]
        if isinstance(members, str):
            log.error("members of the user group to call can't be read", group=who, reason=members)
            return []
        return sorted(members)[:MAX_MEMBERS]


def call_text(call: HandoffCall, handoff: Handoff) -> str:
    label = f" ({sanitize_mrkdwn(call.label)})" if call.label else ""
    whom = f":raising_hand: {mention(call.who)}{label}"
    waits = (
        duration_text(call.called_at - handoff.requested_at) if handoff.requested_at else "a while"
    )
    if call.step.startswith(SHIFT):
        return f"{whom} you have the shift now, and nobody has taken this for {waits}."
    if call.step.startswith(FREE):
        return f"{whom} whoever had taken this is gone. Can you help?"
    if handoff.is_taken or handoff.resolved_by:  # calls have ended
        return f"{mention(call.who)}{label} was called after {waits}."
    again = " once more:" if call.step == AGAIN else ":" if label else ""
    return f"{whom}{again} nobody has taken this for {waits}. Can you help?"


def settled_text(call: HandoffCall, record: QuestionRecord, handoff: Handoff) -> str:
    """The text for a person who was called in a direct message of their own."""
    asker = mention(record.asker)
    if record.state == WITHDRAWN:
        return f":wastebasket: {asker} asked me in a direct message, and took it back."
    if handoff.resolved_by:
        return f":white_check_mark: {asker} asked me in a direct message; it is resolved."
    if handoff.taken_by == call.who:
        return f":eyes: You took this: please write to {asker}, who asked me in a direct message."
    taker = mention(handoff.taken_by)
    return f":eyes: {taker} took this: {asker} asked me in a direct message."
