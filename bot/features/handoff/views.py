"""Cards, forms and lines of hand-offs. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from agents.answer import Answer
from agents.confidence import confidence_level
from bot.blocks.body import source_lines
from bot.blocks.kit import (
    Json,
    actions,
    button,
    context,
    input_block,
    local_date_time,
    local_time,
    modal,
    section,
    text_input,
)
from bot.blocks.markdown import excerpt
from bot.blocks.render import ASK_HUMAN, SlackMessage, text_message
from bot.blocks.sanitize.text import sanitize_mrkdwn
from bot.features.handoff.store import AGAIN, FIRST, Handoff, HandoffCall
from bot.questions.store import QuestionRecord, decode_answer
from bot.questions.tables import FORGOTTEN, WITHDRAWN
from bot.rotas.rota import format_local
from bot.slack.messages import mention
from config.domain import Domain

TAKE = "handoff_take"
RESOLVE = "handoff_resolve"
RESOLVE_VIEW = "handoff_resolution"
MAX_CALLS_CHARS, MAX_CALLS = 1_900, 15
"""Maximum characters and number of the lines about calls."""
_STEPS = {FIRST: "Whoever is on call", AGAIN: "Whoever is on call"}
MAX_EXCERPT = 400
"""Characters. The message above the card shows the whole answer."""


def card(
    record: QuestionRecord,
    handoff: Handoff,
    domain: Domain | None,
    now: datetime | None = None,
    *,
    private: bool = False,
    calls: Sequence[HandoffCall] = (),
) -> SlackMessage:
    """A hand-off's card: its state, the question, the bot's answer and sources; once resolved, the
    human's answer.

    `private`: not everyone who sees the card may see the bot's answer. `calls`: oldest first."""
    answer = decode_answer(record.answer) if record.answer else None
    asker = record.asker or handoff.requested_by
    headline = _headline(handoff, domain, calls)
    if record.state == WITHDRAWN:
        return text_message(":wastebasket: The question was taken back")
    is_forgotten = record.state == FORGOTTEN
    question = "_Asked too long ago to be kept here._" if is_forgotten else _quote(record.text)
    blocks = [section(headline), section(f"*Question* from {mention(asker)}\n{question}")]
    if handoff.resolved_by:
        if handoff.resolution:
            blocks.append(section(f"*Answer*\n{_quote(handoff.resolution)}"))
        return SlackMessage(text=headline, blocks=blocks)
    if lines := call_lines(calls, domain.escalation.time_zone if domain else None):
        blocks.append(context(["\n".join(lines)[:MAX_CALLS_CHARS]], block_id="oncall_called"))
    if not is_forgotten:
        blocks.extend(_answer_blocks(answer, now or datetime.now(UTC), private=private))
    buttons = [button("Resolved", RESOLVE, record.id)]
    if not handoff.is_taken:
        buttons.insert(0, button("I'll take it", TAKE, record.id, style="primary"))
    blocks.append(actions(buttons))
    return SlackMessage(text=f"{headline} {sanitize_mrkdwn(record.text)[:300]}", blocks=blocks)


def resolution_view(question_id: str) -> Json:
    """The modal behind *Resolved*."""
    resolution = input_block(
        "resolution",
        "What was the answer?",
        text_input(multiline=True),
        hint="Shown in the thread, and proposed to the owners of the documents.",
    )
    return modal(
        RESOLVE_VIEW, "Resolved", [resolution], remember=question_id, submit="Done", close="Cancel"
    )


def call_lines(calls: Sequence[HandoffCall], time_zone: str | None) -> list[str]:
    """One line per call, with person and time; none while the headline says everything.

    `time_zone`: None for each reader's own."""
    if len(calls) < 2 and not any(one.why for one in calls):
        return []
    last = calls[-MAX_CALLS:]
    return [_call_line(one, time_zone, first=one is last[0]) for one in last]


def _call_line(call: HandoffCall, time_zone: str | None, *, first: bool) -> str:
    """The first one names the zone of all."""
    at = call.called_at.replace(tzinfo=UTC)
    when = format_local(at, time_zone) if time_zone else local_time(at)
    if time_zone and first:
        when += f" ({time_zone})"
    label = sanitize_mrkdwn(call.label)
    if not call.who:
        why = sanitize_mrkdwn(call.why) or "nobody is configured"
        return f"{when}: {label or _STEPS.get(call.step, 'The next')} not called: {why}"
    level = f" ({label})" if label else ""
    again = " again" if call.step == AGAIN else ""
    why = f"; {sanitize_mrkdwn(call.why)}" if call.why else ""
    return f"{when}: called {mention(call.who)}{level}{again}{why}"


def _headline(handoff: Handoff, domain: Domain | None, calls: Sequence[HandoffCall]) -> str:
    if handoff.resolved_by:
        return f":white_check_mark: Resolved by {mention(handoff.resolved_by)}"
    if handoff.is_taken:
        return f":eyes: {mention(handoff.taken_by)} is on it"
    if not handoff.called and any(one.who for one in calls):
        return ":raising_hand: Can somebody help here?"  # the person who was called is erased
    if any(one.why for one in calls) and not handoff.called:
        return ":raising_hand: Nobody could be called here; can somebody help?"
    if not handoff.called:
        return ":raising_hand: Nobody is configured to be called here; can somebody help?"
    message = domain.escalation.message if domain else ""
    call = f":raising_hand: {mention(handoff.called)} can you help here?"
    return f"{call}\n{sanitize_mrkdwn(message)}" if message else call


def _answer_blocks(answer: Answer | None, now: datetime, *, private: bool) -> Iterator[Json]:
    if answer is None:
        yield section("*What I tried*\nI could not answer at all.")
    elif private:
        yield section(
            "*What I tried*\nI answered the asker alone: not everyone may read the sources."
        )
    else:
        text = "I gave no answer, only passages that speak of it."
        if not answer.passages:
            text = sanitize_mrkdwn(excerpt(answer.text, MAX_EXCERPT))
        yield section(f"*What I tried*\n{text}")
        if lines := source_lines(answer, now):
            yield section("\n".join(lines))
        if answer.from_documents:
            yield context([f"Confidence: {confidence_level(answer.confidence)}"])


def _quote(text: str) -> str:
    cut = text if len(text) <= 1_500 else f"{text[:1_499]}…"
    return "\n".join(f"> {sanitize_mrkdwn(line)}" for line in cut.splitlines())


USED = "oncall_human_asked"


def shows_button(blocks: Sequence[Json]) -> bool:
    """Whether the message offers a human, or says that one was requested."""
    return any(block.get("block_id") == USED or _offers(block) for block in blocks)


def with_used_button(blocks: Sequence[Json], handoff: Handoff) -> list[Json]:
    """The same blocks, as Slack returns them; other elements next to the button stay."""
    updated: list[Json] = []
    for block in blocks:
        if _offers(block):
            others = [one for one in block["elements"] if one.get("action_id") != ASK_HUMAN]
            updated += [{**block, "elements": others}] if others else []
            updated.append(_line(handoff))
        elif block.get("block_id") == USED:
            updated.append(_line(handoff))
        else:
            updated.append(block)
    return updated


def _offers(block: Mapping[str, object]) -> bool:
    elements = block.get("elements")
    return block.get("type") == "actions" and any(
        one.get("action_id") == ASK_HUMAN
        for one in (elements if isinstance(elements, list) else [])
    )


def _line(handoff: Handoff) -> Json:
    request = f"asked {local_date_time(handoff.requested_at)} by {mention(handoff.requested_by)}"
    if handoff.resolved_by:
        text = f":white_check_mark: {mention(handoff.resolved_by)} resolved it · {request}"
    elif handoff.is_taken:
        text = f":eyes: {mention(handoff.taken_by)} took it · {request}"
    else:
        text = f":raising_hand: A human was {request}"
    return context([text], block_id=USED)


def duration_text(time: timedelta) -> str:
    """`15 minutes`, `3 hours`, `2 days`."""
    minutes = max(1, round(time.total_seconds() / 60))
    for unit, length in (("day", 24 * 60), ("hour", 60)):
        if minutes >= 2 * length:
            return f"{round(minutes / length)} {unit}s"
    return f"{minutes} minute{'s' if minutes > 1 else ''}"
