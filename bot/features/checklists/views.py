"""A checklist as messages, and its summary for a review. Pure.

A step is always in the same message. The summary is a code block with names and times in UTC:
mentions and Slack's dates would be lost when it is pasted into a document."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import lru_cache
from typing import Any

from bot.blocks.body import bodies, prose_blocks
from bot.blocks.kit import (
    Json,
    actions,
    button,
    characters,
    context,
    link,
    local_time,
    section,
    short,
)
from bot.blocks.render import SlackMessage
from bot.blocks.sanitize.text import Links, sanitize_mrkdwn, sanitize_plain
from bot.features.checklists.progress import (
    Checklist,
    ChecklistProgress,
    StepMark,
    StepReport,
    day,
    lasted,
)
from bot.features.checklists.step_views import MAX_REPORT_CHARS, first_words, step_blocks
from bot.slack.messages import mention

STATES = {"done": "done", "skipped": "not needed", "": "left open"}
MAX_LINE_CHARS = 110
MAX_REPORTS = 3
"""The latest reports of each step; the owner gets all of them."""
NameOf = Callable[[str], str]
"""Slack id → the person's name."""


def summary_messages(
    checklist: Checklist, progress: ChecklistProgress, name_of: NameOf
) -> list[SlackMessage]:
    text = "\n".join(_lines(checklist, progress, name_of)).replace("```", "'''")
    fence = f"```\n{text}\n```"
    took = lasted(checklist.started_at, progress.finished_at or progress.last_at)
    who = mention(progress.finished_by)
    title = sanitize_mrkdwn(short(checklist.runbook.name, 250))
    head = f":checkered_flag: *{title}*: finished by {who} in {took}. For the review:"
    sized: list[tuple[Json, int]] = [(section(head), len(head)), *prose_blocks(fence, Links())]
    return [
        SlackMessage(text=head if n == 0 else title, blocks=body)
        for n, body in enumerate(bodies(sized))
    ]


def _lines(checklist: Checklist, progress: ChecklistProgress, name_of: NameOf) -> Iterator[str]:
    start, end = checklist.started_at, progress.finished_at or progress.last_at
    steps, marks = checklist.runbook.steps, progress.marks
    yield _flat(checklist.runbook.name)
    if checklist.runbook.modified_at:
        yield f"Runbook as of {checklist.runbook.modified_at:%Y-%m-%d}"
    yield f"Started   {start:%Y-%m-%d %H:%M} UTC by {_flat(name_of(checklist.started_by))}"
    yield f"Finished  {end:%Y-%m-%d %H:%M} UTC by {_flat(name_of(progress.finished_by))}"
    yield f"Duration  {lasted(start, end)}"
    acts = [mark.act for mark in marks.values()]
    yield (
        f"Steps     {acts.count('done')} done, {acts.count('skipped')} not needed, "
        f"{len(steps) - len(acts)} left open"
    )
    yield ""
    wide = max(len(step.number) for step in steps)
    people = {mark.by for mark in marks.values()} | {
        report.by for reports in progress.reports.values() for report in reports
    }
    names = {one: _flat(name_of(one)) for one in people}
    long = max((len(name) for name in names.values()), default=0)

    def row(at: str, state: str, number: str, who: str, words: str) -> str:
        return f"{at}  {state:10}  {number:{wide}}  {names.get(who, ''):{long}}  {words}"

    for place, step in enumerate(steps):
        mark = marks.get(place)
        at, state = (f"{mark.at:%H:%M}", STATES[mark.act]) if mark else ("  -  ", STATES[""])
        words = _flat(first_words(step, MAX_LINE_CHARS))
        yield row(at, state, step.number, mark.by if mark else "", words)
        reports = progress.reports.get(place, ())
        if earlier := reports[:-MAX_REPORTS]:
            yield row("  -  ", "reported", "", "", f"{len(earlier)} more before these")
        for report in reports[-MAX_REPORTS:]:
            quote = f"“{_flat(short(report.words, 500))}”"
            yield row(f"{report.at:%H:%M}", "reported", "", report.by, quote)


def _flat(text: str) -> str:
    """One line, without markup, links or mentions."""
    return sanitize_plain(" ".join(text.split()))


TAKE_OVER = "checklist_take"
FINISH = "checklist_finish"
MAX_CHARS = 10_500
"""Characters of a message's steps in their longest state; Slack fails near 13,200 in all."""
MAX_BLOCKS = 44
"""Slack accepts 50: the others are a title, two lines below it, and the buttons with a line."""
MAX_ID_CHARS = 40
"""Maximum length of a Slack id."""


@lru_cache(256)
def pages(checklist: Checklist) -> tuple[range, ...]:
    """Places of the steps of each message, which has room for them in every state. Cached, as every
    message needs all of them."""
    ranges: list[range] = []
    start, blocks, characters = 0, 0, 0
    for place in range(len(checklist.runbook.steps)):
        high, long = _largest(checklist, place)
        full = blocks + high > MAX_BLOCKS or characters + long > MAX_CHARS
        if place > start and full:
            ranges.append(range(start, place))
            start, blocks, characters = place, 0, 0
        blocks, characters = blocks + high, characters + long
    return (*ranges, range(start, len(checklist.runbook.steps)))


def page_of(checklist: Checklist, place: int) -> int:
    """Which message holds a step."""
    return next((at for at, page in enumerate(pages(checklist)) if place in page), 0)


def checklist_message(checklist: Checklist, progress: ChecklistProgress, part: int) -> SlackMessage:
    ranges = pages(checklist)
    is_last = part == len(ranges) - 1
    open_ones = (at for at in range(len(checklist.runbook.steps)) if at not in progress.marks)
    next_one = next(open_ones, None)
    blocks = (
        list(_head(checklist, progress)) if part == 0 else [_continued(checklist, ranges[part])]
    )
    for place in ranges[part]:
        if checklist.runbook.steps[place].level == 0 and place > ranges[part].start:
            blocks.append({"type": "divider"})
        blocks += step_blocks(checklist, progress, place, is_next=place == next_one)
    if is_last:
        blocks += _foot(checklist, progress)
    name = sanitize_mrkdwn(short(checklist.runbook.name, 200))
    text = f"Checklist: {name}, {step_count(checklist, progress)}"
    return SlackMessage(text=text, blocks=blocks)


def step_count(checklist: Checklist, progress: ChecklistProgress) -> str:
    """`4 of 11 steps`."""
    return f"{len(progress.marks)} of {len(checklist.runbook.steps)} steps"


def _head(checklist: Checklist, progress: ChecklistProgress) -> Iterator[Json]:
    runbook = checklist.runbook
    title = link(runbook.url, short(runbook.name, 250))
    yield section(f":clipboard: *{title}*", block_id="checklist_title")
    facts = [f"*{step_count(checklist, progress)}*"]
    if skipped := sum(mark.act == "skipped" for mark in progress.marks.values()):
        facts[0] += f" ({skipped} not needed)"
    if progress.is_finished and progress.finished_at:
        took = lasted(checklist.started_at, progress.finished_at)
        by = f"{mention(progress.finished_by)} {local_time(progress.finished_at)}"
        facts.append(f":checkered_flag: Finished by {by}, in {took}")
    else:
        if progress.marks:
            facts.append(f"{lasted(checklist.started_at, progress.last_at)} so far")
        since = local_time(progress.driving_since)
        facts.append(f"Driving: {mention(progress.driver)} since {since}")
    if runbook.modified_at:
        facts.append(f"Runbook of {day(runbook.modified_at)}")
    yield context([" · ".join(facts)], block_id="checklist_progress")
    if checklist.changed:
        what = "has changed" if checklist.changed == "changed" else "is no longer there"
        note = "this checklist keeps the steps that it began with."
        yield context([f":warning: The runbook {what} since: {note}"], block_id="checklist_changed")


def _continued(checklist: Checklist, page: range) -> Json:
    steps = checklist.runbook.steps
    span = f"steps {steps[page.start].number} to {steps[page.stop - 1].number}"
    name = sanitize_mrkdwn(short(checklist.runbook.name, 200))
    return context([f":clipboard: *{name}*, {span}"], block_id="checklist_title")


def _foot(checklist: Checklist, progress: ChecklistProgress) -> Iterator[Json]:
    if progress.is_finished:
        return
    left = len(checklist.runbook.steps) - len(progress.marks)
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
    """(blocks, characters) of a step in its longest state, with the line above it."""
    at, who = checklist.started_at + timedelta(hours=1), "U" * MAX_ID_CHARS
    reports = [
        StepReport(id=str(n), step=place, words="w" * MAX_REPORT_CHARS, by=who, at=at)
        for n in range(2)
    ]
    mark = StepMark(act="skipped", by=who, at=at, press="")
    forms = [
        step_blocks(
            checklist,
            ChecklistProgress(
                marks=marks, driver=who, driving_since=at, last_at=at, reports={place: reports}
            ),
            place,
        )
        for marks in ({}, {place: mark})
    ]
    line = checklist.runbook.steps[place].level == 0
    return line + max(map(len, forms)), max(map(characters, forms))
