"""One step of a checklist as Slack shows it, with all of its author's words. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from agents.runbooks.step import RunbookStep, StepPart
from bot.blocks.kit import Json, actions, button, section, short
from bot.blocks.markdown import as_mrkdwn, fitting
from bot.blocks.sanitize.markdown import sanitize_markdown
from bot.blocks.sanitize.text import Links, links_to, sanitize_mrkdwn
from bot.features.checklists.progress import (
    Checklist,
    ChecklistProgress,
    StepMark,
    StepReport,
    clock,
)
from bot.slack.messages import mention
from loaders.text.plain import plain_text

DONE = "checklist_done"
MORE = "checklist_more"
NOT_NEEDED, UNDO, REPORT = "skipped", "undone", "report"
OPTIONS = {NOT_NEEDED: "Not needed", UNDO: "Undo", REPORT: "Wrong or outdated…"}
MAX_SECTION_CHARS = 2_800
"""Characters; a section takes 3,000."""
MAX_STEP_CHARS = 9_000
MAX_REPORT_CHARS = 160
MARKS = {"": ":white_large_square:", "done": ":white_check_mark:", "skipped": ":heavy_minus_sign:"}
_IF = re.compile(r"(?:only )?if\s+", re.IGNORECASE)
_UNLESS = re.compile(r"unless\s+", re.IGNORECASE)


def step_blocks(
    checklist: Checklist, progress: ChecklistProgress, place: int, *, is_next: bool = False
) -> list[Json]:
    """`is_next`: the one that is to be done now."""
    steps = checklist.runbook.steps
    step, mark = steps[place], progress.marks.get(place)
    links = links_to(checklist.runbook.links)
    said = progress.reports.get(place, ())
    texts = list(_packed(_lines(step, steps, mark, said, links)))
    blocks = [section(text) for text in texts]
    if progress.is_finished:
        return blocks
    if mark:
        blocks[-1]["accessory"] = _menu(checklist, place, (UNDO, REPORT))
        return blocks
    named = f"Done: step {step.number}"
    more = {"style": "primary"} if is_next else {}
    done = button("Done", f"{DONE}_{place}", checklist.id, accessibility_label=named, **more)
    return [*blocks, actions([done, _menu(checklist, place, (NOT_NEEDED, REPORT))])]


def first_words(step: RunbookStep, most: int) -> str:
    """How a step begins, in plain words: to name it where it isn't shown."""
    said = (
        part.text if part.kind == "command" else plain_text(part.text)
        for part in (StepPart(kind="words", text=step.condition), *step.parts)
    )
    words = re.sub(r"\s+([.,;:])", r"\1", " ".join(filter(None, said)))
    return short(words, most)


def _menu(checklist: Checklist, place: int, offered: Sequence[str]) -> Json:
    options = [
        {
            "text": {"type": "plain_text", "text": OPTIONS[act], "emoji": False},
            "value": f"{act} {place} {checklist.id}",
        }
        for act in offered
    ]
    return {"type": "overflow", "action_id": f"{MORE}_{place}", "options": options}


def _lines(
    step: RunbookStep,
    steps: Sequence[RunbookStep],
    mark: StepMark | None,
    said: Sequence[StepReport],
    links: Links,
) -> Iterator[str]:
    """Each fits a section."""
    if step.lead:
        yield f"_{_in_a_line(plain_text(step.lead))[:MAX_SECTION_CHARS]}_"
    sign = f"{MARKS[mark.act if mark else '']} *{sanitize_mrkdwn(step.number)}*  "
    body = list(_body(step, mark, links))
    head = f"{sign}{_condition(step, links)}"
    if body and not body[0].startswith("```") and len(head) + len(body[0]) < MAX_SECTION_CHARS:
        head = f"{head.rstrip()} {body.pop(0)}" if step.condition else f"{head}{body.pop(0)}"
    yield head.rstrip()
    if step.parallel and not mark:
        yield ":twisted_rightwards_arrows: _In parallel with what goes on_"
    yield from body
    if not mark:
        yield from _leads(step, steps)
    if mark:
        verb = "" if mark.act == "done" else "Not needed: "
        yield f"{verb}{mention(mark.by)} {clock(mark.at)}"
    if said:
        yield from _reported(said)


def _condition(step: RunbookStep, links: Links) -> str:
    """The author's words behind *Only if:*, without an *if* of their own. What follows from it goes
    on in the same line: the sign between them is the author's."""
    words = step.condition.strip()
    if not words:
        return ""
    label = "Only if"
    if found := _IF.match(words):
        words = words[found.end() :]
    elif found := _UNLESS.match(words):
        label, words = "Unless", words[found.end() :]
    return f"*{label}:* {_shown(words, links)}"


def _body(step: RunbookStep, mark: StepMark | None, links: Links) -> Iterator[str]:
    """Commands stand apart, to be copied, until the step is ticked."""
    if mark:
        whole = " ".join(_inline(part.text) if _is_line(part) else part.text for part in step.parts)
        parts: Iterable[StepPart] = (StepPart(kind="words", text=whole),)
        if not all(part.kind == "words" or _is_line(part) for part in step.parts):
            parts = step.parts
    else:
        parts = step.parts
    for at, part in enumerate(parts):
        text = part.text if part.kind == "words" else _fenced(part.text)
        if part.kind == "words" and at:  # the sign that ended the sentence before a command
            text = text.lstrip(" .,;:")
        text = re.sub(r"(`) ([.,;:])", r"\1\2", text) if mark else text
        for piece in fitting(text, MAX_SECTION_CHARS, lambda cut: _shown(cut, links)):
            yield piece.strip("\n")


def _is_line(part: StepPart) -> bool:
    return part.kind == "command" and "\n" not in part.text


def _inline(code: str) -> str:
    fence = "``" if "`" in code else "`"
    return f"{fence}{code}{fence}"


def _fenced(code: str) -> str:
    longest = max((len(run) for run in re.findall("`+", code)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{code}\n{fence}"


def _shown(markdown: str, links: Links) -> str:
    return as_mrkdwn(sanitize_markdown(markdown, links), links)


def _leads(step: RunbookStep, steps: Sequence[RunbookStep]) -> Iterator[str]:
    """What the steps are that it names: on a phone they are far away."""
    named = {one.number: one for one in steps}
    if 0 < len(step.leads_to) <= 2:
        for number in step.leads_to:
            begins = _in_a_line(first_words(named[number], 80))
            yield f":arrow_right: _Step {sanitize_mrkdwn(number)}: {begins}_"


def _in_a_line(text: str) -> str:
    """mrkdwn that can't begin a block of code, which would turn all blocks below it inside out."""
    return sanitize_mrkdwn(" ".join(text.split()).replace("```", "'''"))


def _reported(said: Sequence[StepReport]) -> Iterator[str]:
    last = said[-1]
    words = f": “{_in_a_line(short(last.words, MAX_REPORT_CHARS))}”" if last.words else ""
    earlier = f" (and {len(said) - 1} more)" if len(said) > 1 else ""
    yield f":warning: Reported by {mention(last.by)} {clock(last.at)}{words}{earlier}"


def _packed(lines: Iterable[str]) -> Iterator[str]:
    """Texts of sections; a step that no message takes ends with a word where the rest is."""
    text, used = "", 0
    for line in lines:
        used += len(line)
        if used > MAX_STEP_CHARS:
            yield text
            yield "_The rest of this step is in the runbook._"
            return
        if text and len(text) + len(line) + 1 > MAX_SECTION_CHARS:
            yield text
            text = line
        else:
            text = f"{text}\n{line}" if text else line
    yield text
