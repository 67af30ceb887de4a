"""A checklist as messages: the same steps always stand in the same one of them. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from functools import lru_cache
from typing import Any

from bot.checklist.checklist_standing import (
    Checklist,
    ChecklistStanding,
    StepMark,
    StepReport,
)
from bot.checklist.checklist_times import clock, day, lasted
from bot.checklist.step_blocks import SHOWN_REPORT, step_blocks
from bot.message.blockkit import Json, actions, button, context, link, section, short
from bot.message.harmless.harmless_words import mrkdwn
from bot.message.render import Outgoing
from bot.slack.message_words import mention

TAKE_OVER = "checklist_take"
FINISH = "checklist_finish"
MOST_CHARACTERS = 10_500
"""Of the steps of a message, at their largest; Slack fails near 13,200 of a whole message."""
MOST_BLOCKS = 44
"""Of 50: a title, two lines below it, and the buttons at the end with a line above them."""
LONGEST_ID = 40
"""Characters of a Slack id, at the most."""


@lru_cache(256)
def pages(checklist: Checklist) -> tuple[range, ...]:
    """Places of the steps of each message, so that it takes them in every state. Remembered: each
    message that is shown asks for all of them."""
    found: list[range] = []
    start, blocks, characters = 0, 0, 0
    for place in range(len(checklist.runbook.steps)):
        high, long = _largest(checklist, place)
        full = blocks + high > MOST_BLOCKS or characters + long > MOST_CHARACTERS
        if place > start and full:
            found.append(range(start, place))
            start, blocks, characters = place, 0, 0
        blocks, characters = blocks + high, characters + long
    return (*found, range(start, len(checklist.runbook.steps)))


def page_of(checklist: Checklist, place: int) -> int:
    """Which message holds a step."""
    return next((at for at, page in enumerate(pages(checklist)) if place in page), 0)


def checklist_message(checklist: Checklist, standing: ChecklistStanding, part: int) -> Outgoing:
    shown = pages(checklist)
    is_last = part == len(shown) - 1
    open_ones = (at for at in range(len(checklist.runbook.steps)) if at not in standing.marks)
    next_one = next(open_ones, None)
    blocks = list(_head(checklist, standing)) if part == 0 else [_goes_on(checklist, shown[part])]
    for place in shown[part]:
        if checklist.runbook.steps[place].level == 0 and place > shown[part].start:
            blocks.append({"type": "divider"})
        blocks += step_blocks(checklist, standing, place, is_next=place == next_one)
    if is_last:
        blocks += _foot(checklist, standing)
    text = (
        f"Checklist: {mrkdwn(short(checklist.runbook.name, 200))}, {progress(checklist, standing)}"
    )
    return Outgoing(text=text, blocks=blocks)


def progress(checklist: Checklist, standing: ChecklistStanding) -> str:
    """`4 of 11 steps`."""
    return f"{len(standing.marks)} of {len(checklist.runbook.steps)} steps"


def _head(checklist: Checklist, standing: ChecklistStanding) -> Iterator[Json]:
    runbook = checklist.runbook
    title = link(runbook.url, short(runbook.name, 250))
    yield section(f":clipboard: *{title}*", block_id="checklist_title")
    told = [f"*{progress(checklist, standing)}*"]
    if skipped := sum(mark.act == "skipped" for mark in standing.marks.values()):
        told[0] += f" ({skipped} not needed)"
    if standing.is_finished and standing.finished_at:
        took = lasted(checklist.started_at, standing.finished_at)
        who = mention(standing.finished_by)
        told.append(f":checkered_flag: Finished by {who} {clock(standing.finished_at)}, in {took}")
    else:
        if standing.marks:
            told.append(f"{lasted(checklist.started_at, standing.last_at)} so far")
        since = clock(standing.driving_since)
        told.append(f"Driving: {mention(standing.driver)} since {since}")
    if runbook.modified_at:
        told.append(f"Runbook of {day(runbook.modified_at)}")
    yield context([" · ".join(told)], block_id="checklist_progress")
    if checklist.changed:
        what = "has changed" if checklist.changed == "changed" else "is no longer there"
        kept = "this checklist keeps the steps that it began with."
        yield context([f":warning: The runbook {what} since: {kept}"], block_id="checklist_changed")


def _goes_on(checklist: Checklist, page: range) -> Json:
    steps = checklist.runbook.steps
    span = f"steps {steps[page.start].number} to {steps[page.stop - 1].number}"
    name = mrkdwn(short(checklist.runbook.name, 200))
    return context([f":clipboard: *{name}*, {span}"], block_id="checklist_title")


def _foot(checklist: Checklist, standing: ChecklistStanding) -> Iterator[Json]:
    if standing.is_finished:
        return
    left = len(checklist.runbook.steps) - len(standing.marks)
    more: dict[str, Any] = {} if left else {"style": "primary"}
    if left:
        steps = "step is" if left == 1 else "steps are"
        more["confirm"] = {
            "title": {"type": "plain_text", "text": "Finish now?"},
            "text": {"type": "plain_text", "text": f"{left} {steps} still open."},
            "confirm": {"type": "plain_text", "text": "Finish"},
            "deny": {"type": "plain_text", "text": "Go on"},
        }
    else:
        yield context(["All steps are ticked off. Finish posts the summary."])
    finish = button("Finish", FINISH, checklist.id, **more)
    yield {"type": "divider"}
    yield actions([finish, button("Take over", TAKE_OVER, checklist.id)])


def _largest(checklist: Checklist, place: int) -> tuple[int, int]:
    """(blocks, characters) of a step at its largest, with the line above it."""
    at, who = checklist.started_at + timedelta(hours=1), "U" * LONGEST_ID
    said = [
        StepReport(id=str(n), step=place, words="w" * SHOWN_REPORT, by=who, at=at) for n in range(2)
    ]
    mark = StepMark(act="skipped", by=who, at=at, press="")
    forms = [
        step_blocks(
            checklist,
            ChecklistStanding(
                marks=marks, driver=who, driving_since=at, last_at=at, reports={place: said}
            ),
            place,
        )
        for marks in ({}, {place: mark})
    ]
    line = checklist.runbook.steps[place].level == 0
    return line + max(map(len, forms)), max(map(_characters, forms))


def _characters(node: Any) -> int:
    if isinstance(node, list):
        return sum(map(_characters, node))
    if not isinstance(node, dict):
        return 0
    own = node.get("text")
    return (len(own) if isinstance(own, str) else 0) + sum(map(_characters, node.values()))
