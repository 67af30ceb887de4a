"""What a hand-off looks like in Slack. Pure.

*Ask a human*, once it was used: who was asked when, and who came, in the button's place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import structlog

from agents.answer import Answer
from agents.confidence import in_words
from bot.blocks.body import source_lines
from bot.blocks.kit import Json, actions, button, context, input_block, modal, section, text_input
from bot.blocks.markdown import excerpt
from bot.blocks.render import ASK_HUMAN, SlackMessage
from bot.blocks.sanitize.text import sanitize_mrkdwn
from bot.features.handoff.calls import AGAIN, FIRST, HandoffCall
from bot.posting.posts import post_key
from bot.questions.store import QuestionRecord, QuestionStore, decoded
from bot.questions.tables import FORGOTTEN, WITHDRAWN
from bot.rotas.rota import said_at
from bot.slack.client import SlackClient, SlackRefused
from bot.slack.messages import ERASED, Message, fetch, mention
from config.domain import Domain

TAKE = "handoff_take"
RESOLVE = "handoff_resolve"
RESOLVE_VIEW = "handoff_resolution"
MAX_CALLED, MOST_CALLED = 1_900, 15
"""Characters, and lines, of who was called."""
_STEPS = {FIRST: "Whoever is on call", AGAIN: "Whoever is on call"}
MAX_TRIED = 400
"""Characters: the whole answer stands above the card."""


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
    requested_at: datetime | None = None
    """UTC, without a zone."""
    taken_at: datetime | None = None
    resolved_at: datetime | None = None

    @property
    def is_taken(self) -> bool:
        """By somebody who may still come."""
        return self.taken_by not in ("", ERASED)


def card(
    record: QuestionRecord,
    handoff: Handoff,
    domain: Domain | None,
    now: datetime | None = None,
    *,
    private: bool = False,
    called: Sequence[HandoffCall] = (),
) -> SlackMessage:
    """Who is on it, the question, what was tried and cited; once resolved, the human's answer.

    `private`: what was answered is not for everyone who sees the card. `called`: so far, in time
    order."""
    answer = decoded(record.answer) if record.answer else None
    asker = record.asker or handoff.requested_by
    headline = _headline(handoff, domain, called)
    if record.state == WITHDRAWN:
        gone = ":wastebasket: The question was taken back"
        return SlackMessage(text=gone, blocks=[section(gone)])
    forgotten = record.state == FORGOTTEN
    asked = "_Asked too long ago to be kept here._" if forgotten else _quote(record.text)
    blocks = [section(headline), section(f"*Question* from {mention(asker)}\n{asked}")]
    if handoff.resolved_by:
        if handoff.resolution:
            blocks.append(section(f"*Answer*\n{_quote(handoff.resolution)}"))
        return SlackMessage(text=headline, blocks=blocks)
    if lines := called_lines(called, domain.escalation.time_zone if domain else None):
        blocks.append(context(["\n".join(lines)[:MAX_CALLED]], block_id="oncall_called"))
    if not forgotten:
        blocks.extend(_tried(answer, now or datetime.now(UTC), private=private))
    buttons = [button("Resolved", RESOLVE, record.id)]
    if not handoff.is_taken:
        buttons.insert(0, button("I'll take it", TAKE, record.id, style="primary"))
    blocks.append(actions(buttons))
    return SlackMessage(text=f"{headline} {sanitize_mrkdwn(record.text)[:300]}", blocks=blocks)


def resolution_view(question_id: str, suggestion: str = "") -> Json:
    """The modal behind *Resolved*."""
    resolution = input_block(
        "resolution",
        "What was the answer?",
        text_input(multiline=True, initial=suggestion),
        hint="Shown in the thread, and proposed to the owners of the documents.",
    )
    return modal(
        RESOLVE_VIEW,
        "Resolved",
        [resolution],
        remember=question_id,
        submit="Done",
        close="Cancel",
    )


def called_lines(called: Sequence[HandoffCall], time_zone: str | None) -> list[str]:
    """Who was called when; nothing while it is only those whom the headline names, as it should be.

    `time_zone`: None for each reader's own."""
    if len(called) < 2 and not any(one.why for one in called):
        return []
    shown = called[-MOST_CALLED:]
    return [_called_line(one, time_zone, first=one is shown[0]) for one in shown]


def _called_line(call: HandoffCall, time_zone: str | None, *, first: bool) -> str:
    """The first one names the zone of all."""
    at = call.called_at.replace(tzinfo=UTC)
    when = said_at(at, time_zone) if time_zone else slack_time(at)
    if time_zone and first:
        when += f" ({time_zone})"
    label = sanitize_mrkdwn(call.label)
    if not call.who:
        why = sanitize_mrkdwn(call.why) or "nobody is configured"
        return f"{when}: {label or _STEPS.get(call.step, 'The next')} not called: {why}"
    told = f" ({label})" if label else ""
    again = " again" if call.step == AGAIN else ""
    why = f"; {sanitize_mrkdwn(call.why)}" if call.why else ""
    return f"{when}: called {mention(call.who)}{told}{again}{why}"


def slack_time(at: datetime) -> str:
    """In the reader's own time zone, by Slack; UTC in the words that other readers see."""
    return f"<!date^{int(at.timestamp())}^{{time}}|{at:%H:%M} UTC>"


def _headline(handoff: Handoff, domain: Domain | None, called: Sequence[HandoffCall]) -> str:
    if handoff.resolved_by:
        return f":white_check_mark: Resolved by {mention(handoff.resolved_by)}"
    if handoff.is_taken:
        return f":eyes: {mention(handoff.taken_by)} is on it"
    if not handoff.called and any(one.who for one in called):
        return ":raising_hand: Can somebody help here?"  # whoever was called is erased
    if any(one.why for one in called) and not handoff.called:
        return ":raising_hand: Nobody could be called here; can somebody help?"
    if not handoff.called:
        return ":raising_hand: Nobody is configured to be called here; can somebody help?"
    message = domain.escalation.message if domain else ""
    call = f":raising_hand: {mention(handoff.called)} can you help here?"
    return f"{call}\n{sanitize_mrkdwn(message)}" if message else call


def _tried(answer: Answer | None, now: datetime, *, private: bool) -> Iterator[Json]:
    if answer is None:
        yield section("*What I tried*\nI could not answer at all.")
    elif private:
        yield section(
            "*What I tried*\nI answered the asker alone: not everyone may read the sources."
        )
    else:
        told = "I gave no answer, only passages that speak of it."
        tried = told if answer.passages else sanitize_mrkdwn(excerpt(answer.text, MAX_TRIED))
        yield section(f"*What I tried*\n{tried}")
        if lines := source_lines(answer, now):
            yield section("\n".join(lines))
        if answer.from_documents:
            yield context([f"Confidence: {in_words(answer.confidence)}"])


def _quote(text: str) -> str:
    shown = text if len(text) <= 1_500 else f"{text[:1_499]}…"
    return "\n".join(f"> {sanitize_mrkdwn(line)}" for line in shown.splitlines())


log = structlog.get_logger()

USED = "oncall_human_asked"


def show_used(
    web: SlackClient, records: QuestionStore, record: QuestionRecord, handoff: Handoff
) -> None:
    """Wherever this question was answered. Safe to repeat."""
    threads: dict[tuple[str, str], set[str]] = {}
    for channel, ts in records.places(record.id, post_key(record.event_id)):
        thread_ts = record.thread_ts if channel == record.channel else ts
        threads.setdefault((channel, thread_ts), set()).add(ts)
    for (channel, thread_ts), posted in threads.items():
        for message in fetch(web, channel, thread_ts):
            if message.get("ts") in posted and shows_button(message.get("blocks") or []):
                _show(web, channel, message, handoff)


def _show(web: SlackClient, channel: str, message: Message, handoff: Handoff) -> None:
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
        log.warning("a used button is still shown", reason=refused.code)


def shows_button(blocks: Sequence[Json]) -> bool:
    """A message that offers a human, or says that one was asked."""
    return any(block.get("block_id") == USED or _offers(block) for block in blocks)


def with_used_button(blocks: Sequence[Json], handoff: Handoff) -> list[Json]:
    """The same blocks, as Slack returns them; what else stands beside the button stays."""
    shown: list[Json] = []
    for block in blocks:
        if _offers(block):
            others = [one for one in block["elements"] if one.get("action_id") != ASK_HUMAN]
            shown += [{**block, "elements": others}] if others else []
            shown.append(_line(handoff))
        elif block.get("block_id") == USED:
            shown.append(_line(handoff))
        else:
            shown.append(block)
    return shown


def _offers(block: Mapping[str, object]) -> bool:
    elements = block.get("elements")
    return block.get("type") == "actions" and any(
        one.get("action_id") == ASK_HUMAN
        for one in (elements if isinstance(elements, list) else [])
    )


def _line(handoff: Handoff) -> Json:
    asked = f"asked {_when(handoff.requested_at)} by {mention(handoff.requested_by)}"
    if handoff.resolved_by:
        said = f":white_check_mark: {mention(handoff.resolved_by)} resolved it · {asked}"
    elif handoff.is_taken:
        said = f":eyes: {mention(handoff.taken_by)} took it · {asked}"
    else:
        said = f":raising_hand: A human was {asked}"
    return context([said], block_id=USED)


def _when(at: datetime | None) -> str:
    """In the reader's own time zone, by Slack; UTC in the words that other readers see."""
    if at is None:
        return "earlier"
    utc = at.replace(tzinfo=UTC)
    day = f"{utc:%B} {utc.day}"
    seconds = int(utc.timestamp())
    return f"<!date^{seconds}^{{date_short_pretty}} at {{time}}|{day} at {utc:%H:%M} UTC>"
