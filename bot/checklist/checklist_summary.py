"""What was done when and by whom, as plain text for a review. Pure.

In a code block, with names written out and times in UTC: pasted into a document it is the same
for everybody, where a mention or a time of Slack's would be left behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from bot.checklist.checklist_standing import Checklist, ChecklistStanding
from bot.checklist.checklist_times import lasted
from bot.checklist.step_blocks import first_words
from bot.message.blockkit import Json, section, short
from bot.message.body_blocks import bodies, prose_blocks
from bot.message.harmless.harmless_words import mrkdwn, plain
from bot.message.harmless.web_address import Links
from bot.message.render import Outgoing
from bot.slack.message_words import mention

STATES = {"done": "done", "skipped": "not needed", "": "left open"}
LONGEST_LINE = 110
MOST_REPORTS = 3
"""Of each step, the last ones: the owner was sent all of them."""
NameOf = Callable[[str], str]
"""Slack id → what the person is called."""


def summary_messages(
    checklist: Checklist, standing: ChecklistStanding, name_of: NameOf
) -> list[Outgoing]:
    text = "\n".join(_lines(checklist, standing, name_of)).replace("```", "'''")
    fence = f"```\n{text}\n```"
    took = lasted(checklist.started_at, standing.finished_at or standing.last_at)
    who = mention(standing.finished_by)
    title = mrkdwn(short(checklist.runbook.name, 250))
    head = f":checkered_flag: *{title}*: finished by {who} in {took}. For the review:"
    sized: list[tuple[Json, int]] = [(section(head), len(head)), *prose_blocks(fence, Links())]
    return [
        Outgoing(text=head if n == 0 else title, blocks=body)
        for n, body in enumerate(bodies(sized))
    ]


def _lines(checklist: Checklist, standing: ChecklistStanding, name_of: NameOf) -> Iterator[str]:
    start, end = checklist.started_at, standing.finished_at or standing.last_at
    steps, marks = checklist.runbook.steps, standing.marks
    yield _flat(checklist.runbook.name)
    if checklist.runbook.modified_at:
        yield f"Runbook as of {checklist.runbook.modified_at:%Y-%m-%d}"
    yield f"Started   {start:%Y-%m-%d %H:%M} UTC by {_flat(name_of(checklist.started_by))}"
    yield f"Finished  {end:%Y-%m-%d %H:%M} UTC by {_flat(name_of(standing.finished_by))}"
    yield f"Duration  {lasted(start, end)}"
    acts = [mark.act for mark in marks.values()]
    yield (
        f"Steps     {acts.count('done')} done, {acts.count('skipped')} not needed, "
        f"{len(steps) - len(acts)} left open"
    )
    yield ""
    wide = max(len(step.number) for step in steps)
    people = {mark.by for mark in marks.values()} | {
        report.by for said in standing.reports.values() for report in said
    }
    called = {one: _flat(name_of(one)) for one in people}
    long = max((len(name) for name in called.values()), default=0)

    def row(at: str, state: str, number: str, who: str, words: str) -> str:
        return f"{at}  {state:10}  {number:{wide}}  {called.get(who, ''):{long}}  {words}"

    for place, step in enumerate(steps):
        mark = marks.get(place)
        at, state = (f"{mark.at:%H:%M}", STATES[mark.act]) if mark else ("  -  ", STATES[""])
        words = _flat(first_words(step, LONGEST_LINE))
        yield row(at, state, step.number, mark.by if mark else "", words)
        reported = standing.reports.get(place, ())
        if earlier := reported[:-MOST_REPORTS]:
            yield row("  -  ", "reported", "", "", f"{len(earlier)} more before these")
        for report in reported[-MOST_REPORTS:]:
            said = f"“{_flat(short(report.words, 500))}”"
            yield row(f"{report.at:%H:%M}", "reported", "", report.by, said)


def _flat(text: str) -> str:
    """One line, in which nothing is opened or called."""
    return plain(" ".join(text.split()))
