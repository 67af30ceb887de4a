"""What a rehearsal shows: an alert, how much of its entry was named, the summary. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from bot.blocks.kit import Json, actions, button, context, section, short
from bot.blocks.render import SlackMessage, render, text_message
from bot.blocks.sanitize.text import BACKTICK_LOOKALIKE, sanitize_mrkdwn
from bot.features.rehearsal.drills import Drill, Score
from bot.features.rehearsal.store import Rehearsal

SHOW, NEXT, STOP = "rehearsal_show", "rehearsal_next", "rehearsal_stop"
MAX_TEXT = 2_500
"""Characters of an alert, with Slack's escapes."""
MAX_STEP = 110
NOTHING_TO_REHEARSE = (
    "There is nothing to rehearse yet: no alert of the last 90 days that you may see has a runbook "
    "entry, and no document names alerts with a first step. Alerts come from the bots that "
    "`answer.alert_bots` lists."
)
ROW_IS_GONE = "The runbook entry of this alert can't be shown any more."
HOW = "Answer in this thread: which runbook entry would you open, and what would you do first?"
KEPT = "No answer and no count of it is kept."
PRIVATE = f"Only you see this rehearsal. {KEPT}"


def alert_message(rehearsal: Rehearsal, drill: Drill) -> SlackMessage:
    number, total = rehearsal.position + 1, len(rehearsal.items)
    title = f"*Alert {number} of {total}* · {sanitize_mrkdwn(short(drill.domain.title, 80))}"
    if not rehearsal.item.question:
        title += " · made up from the documents"
    return SlackMessage(
        text=title,
        blocks=[
            section(title),
            section(f"```\n{_within(drill.text)}\n```"),
            context([f"{HOW} {PRIVATE}" if not rehearsal.position else HOW]),
            actions([_button("Show me", SHOW, rehearsal), _button("Stop", STOP, rehearsal)]),
        ],
    )


def result_messages(
    rehearsal: Rehearsal, drill: Drill, result: Score, *, answered: bool
) -> list[SlackMessage]:
    """The entry as the bot answers the alert, below what was named of it where the person
    `answered`; the last with the buttons."""
    messages = render(drill.answer, question_id="", allowed_hosts=drill.domain.answer.links)
    kinds = ("actions", "context_actions")
    bodies = [[one for one in each.blocks if one["type"] not in kinds] for each in messages]
    if answered:
        bodies[0] = [section(_verdict(drill, result)), *bodies[0]]
    bodies[-1] = [*bodies[-1], _onward(rehearsal)]
    return [
        SlackMessage(text=one.text, blocks=blocks, links=one.links)
        for one, blocks in zip(messages, bodies, strict=True)
    ]


def gone_message(rehearsal: Rehearsal) -> SlackMessage:
    return SlackMessage(text=ROW_IS_GONE, blocks=[section(ROW_IS_GONE), _onward(rehearsal)])


def summary_message(rehearsal: Rehearsal) -> SlackMessage:
    if not rehearsal.done:
        return text_message(f"The rehearsal is over. {KEPT}")
    alerts = "1 alert" if rehearsal.done == 1 else f"{rehearsal.done} alerts"
    steps = f"; steps {rehearsal.named} of {rehearsal.steps}" if rehearsal.steps else ""
    return text_message(
        f"*The rehearsal is over.* {alerts}: named the entry for {rehearsal.entries}{steps}. {KEPT}"
    )


def _verdict(drill: Drill, result: Score) -> str:
    places = dict.fromkeys((drill.entry.chunk.document_title, drill.entry.chunk.heading))
    place = sanitize_mrkdwn(short(" › ".join(filter(None, places)), 150))
    own = sanitize_mrkdwn(short(result.place, 150))
    lines = [f"You named *{own}*." if own else f"It is written in *{place}*."]
    if drill.steps:
        lines.append(f"You named {sum(result.named)} of {_steps(len(drill.steps))}:")
    for step, is_named in zip(drill.steps, result.named, strict=True):
        text = sanitize_mrkdwn(short(step.replace("`", ""), MAX_STEP))
        lines.append(f":white_check_mark: {text}" if is_named else f"• not mentioned: {text}")
    while len(verdict := "\n".join(lines)) > MAX_TEXT:
        lines.pop()
    return verdict


def _steps(count: int) -> str:
    return "1 step" if count == 1 else f"{count} steps"


def _onward(rehearsal: Rehearsal) -> Json:
    if rehearsal.is_last:
        return actions([_button("Finish", NEXT, rehearsal)])
    buttons: Sequence[tuple[str, str]] = (("Next alert", NEXT), ("Stop", STOP))
    return actions([_button(text, action, rehearsal) for text, action in buttons])


def _button(text: str, action: str, rehearsal: Rehearsal) -> Json:
    return button(text, action, f"{rehearsal.id} {rehearsal.position}")


def _within(text: str) -> str:
    """As much of it as a section holds."""
    text = text.strip().replace("`", BACKTICK_LOOKALIKE)
    while len(safe := sanitize_mrkdwn(text)) > MAX_TEXT:
        text = f"{text[: len(text) * 2 // 3]}…"
    return safe
