"""Messages of calls: an edit of the card would notify nobody.

Whoever asked hears once that somebody came, and once that it is solved; whoever came is asked
once, a day later, whether it is. None of it in the channel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import structlog

from bot.access.directory import People
from bot.blocks.kit import actions, button, link, section, short
from bot.blocks.render import SlackMessage
from bot.blocks.sanitize.text import sanitize_mrkdwn
from bot.features.handoff.calls import (
    AGAIN,
    DIRECT,
    FIRST,
    FREED,
    GIVEN_UP,
    LEVEL,
    SHIFT,
    TOLD,
    CallStore,
    HandoffCall,
    lasting,
)
from bot.features.handoff.views import TAKE, Handoff
from bot.posting.posts import metadata_of, own_messages, post_once
from bot.questions.store import QuestionRecord
from bot.questions.tables import WITHDRAWN
from bot.slack.client import SlackClient, SlackRefused, user_group_members
from bot.slack.messages import ERASED, Message, mention, permalink, question_id

log = structlog.get_logger()

TOLD_EVENT = "oncall_handoff_told"
MAX_RESOLUTION = 600
"""Characters; the whole stands on the card."""


@dataclass(frozen=True, kw_only=True)
class AskerNotifier:
    web: SlackClient
    calls: CallStore
    people: People
    team_url: str
    bot_user: str

    def tell_asker(self, record: QuestionRecord, handoff: Handoff, domain: str) -> None:
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
            quoted = sanitize_mrkdwn(short(handoff.resolution, MAX_RESOLUTION))
            text += f"\n> {quoted}"
        self._tell(record, domain, news, whom, text)

    def remind_taker(self, record: QuestionRecord, handoff: Handoff, domain: str) -> None:
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

    def _asker(self, record: QuestionRecord, handoff: Handoff) -> str:
        """Of an alert, whoever asked for a human."""
        if record.asker and self.people.known(record.asker).standing != "bot":
            return record.asker
        return handoff.requested_by

    def _about(self, record: QuestionRecord, nameless: str = "your question") -> str:
        if record.channel.startswith("D") or not record.text.strip():
            return nameless
        return f"{nameless} ({link(permalink(self.team_url, record), short(record.text, 150))})"

    def _tell(
        self,
        record: QuestionRecord,
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
            return next((str(one["ts"]) for one in own if _is_notice_of(one, record, step)), None)

        try:
            ts = find() or post_once(
                self.web,
                SlackMessage(text=text, blocks=[section(text)]),
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


def _is_notice_of(message: Message, record: QuestionRecord, step: str) -> bool:
    payload = (message.get("metadata") or {}).get("event_payload") or {}
    return question_id(message, TOLD_EVENT) == record.id and payload.get("step") == step


CALL_EVENT = "oncall_call"
MOST_MEMBERS = 15
"""Of a group, called one by one because nobody but the asker sees a direct message."""


@dataclass(frozen=True, kw_only=True)
class CallMessages:
    web: SlackClient
    calls: CallStore
    bot_user: str

    def waiting(self, record: QuestionRecord, handoff: Handoff) -> list[HandoffCall]:
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

    def post(self, record: QuestionRecord, handoff: Handoff, call: HandoffCall) -> None:
        """Safe to repeat, and not to be done twice at once: neither would find what the other is
        about to post."""
        if record.channel.startswith("D"):
            self._call_directly(record, call)
        else:
            self._post(record, handoff, call)

    def give_up(self, call: HandoffCall) -> None:
        """Somebody came before it was posted."""
        self.calls.posted(call.question_id, call.step, GIVEN_UP)

    def settle(self, record: QuestionRecord, handoff: Handoff) -> None:
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

    def _others_before(self, record: QuestionRecord, call: HandoffCall) -> bool:
        """Somebody else was reached earlier, if only by a release that kept no calls: the card's
        mention was theirs."""
        if call.step != FIRST and not call.step.startswith(LEVEL):
            return True
        reached = [one for one in self.calls.of(record.id) if one.who]
        return reached[0].step != call.step

    def _post(self, record: QuestionRecord, handoff: Handoff, call: HandoffCall) -> None:
        def find() -> str | None:
            own = own_messages(self.web, record.event, self.bot_user)
            return next((str(one["ts"]) for one in own if _is_call_of(one, call)), None)

        text = call_text(call, handoff)
        try:
            ts = find() or post_once(
                self.web,
                SlackMessage(text=text, blocks=[section(text), _take(record)]),
                channel=record.channel,
                thread_ts=record.thread_ts,
                metadata=metadata_of(CALL_EVENT, record.id, step=call.step),
                find=find,
            )
        except SlackRefused as refused:
            log.error("a call could not be posted", step=call.step, reason=refused.code)
            ts = GIVEN_UP
        self.calls.posted(record.id, call.step, ts)

    def _call_directly(self, record: QuestionRecord, call: HandoffCall) -> None:
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
                    SlackMessage(text=text, blocks=[section(text), _take(record)]),
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
    label = f" ({sanitize_mrkdwn(call.label)})" if call.label else ""
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


def settled_text(call: HandoffCall, record: QuestionRecord, handoff: Handoff) -> str:
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


def _take(record: QuestionRecord) -> dict[str, object]:
    return actions([button("I'll take it", TAKE, record.id, style="primary")])


def _is_call_of(message: Message, call: HandoffCall) -> bool:
    payload = (message.get("metadata") or {}).get("event_payload") or {}
    mine = question_id(message, CALL_EVENT) == call.question_id
    return mine and payload.get("step") == call.step
