"""Blocks of one checklist step, with all of its author's words. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from agents.runbooks.step import RunbookStep, StepPart
from bot.blocks.kit import (
    MAX_INPUT_CHARS,
    Json,
    actions,
    button,
    input_block,
    local_time,
    modal,
    section,
    short,
    text_input,
)
from bot.blocks.markdown import as_mrkdwn, fit_pieces
from bot.blocks.sanitize.markdown import sanitize_markdown
from bot.blocks.sanitize.text import Links, links_to, sanitize_mrkdwn, strip_invisible
from bot.features.checklists.progress import Checklist, ChecklistProgress, StepMark, StepReport
from bot.slack.messages import mention
from loaders.text.plain import plain_text

DONE = "checklist_done"
MORE = "checklist_more"
NOT_NEEDED, UNDO, REPORT, COPY = "skipped", "undone", "report", "copied"
OPTIONS = {
    NOT_NEEDED: "Not needed",
    UNDO: "Undo",
    REPORT: "Wrong or outdated…",
    COPY: "Copy the command…",
}
COPY_VIEW = "checklist_command"
MAX_COMMANDS = 20
MAX_SECTION_CHARS = 2_800
"""Characters; Slack accepts 3,000 in a section."""
MAX_STEP_CHARS = 9_000
MAX_REPORT_CHARS = 160
MARKS = {"": ":white_large_square:", "done": ":white_check_mark:", "skipped": ":heavy_minus_sign:"}
_IF = re.compile(r"(?:only )?if\s+", re.IGNORECASE)
_UNLESS = re.compile(r"unless\s+", re.IGNORECASE)


def step_blocks(
    checklist: Checklist, progress: ChecklistProgress, place: int, *, is_next: bool = False
) -> list[Json]:
    """`is_next`: the first open step."""
    steps = checklist.runbook.steps
    step, mark = steps[place], progress.marks.get(place)
    links = links_to(checklist.runbook.links)
    reports = progress.reports.get(place, ())
    texts = list(_packed(_lines(step, steps, mark, reports, links)))
    blocks = [section(text) for text in texts]
    if progress.is_finished:
        return blocks
    if mark:
        blocks[-1]["accessory"] = _menu(checklist, place, (UNDO, REPORT))
        return blocks
    named = f"Done: step {step.number}"
    more = {"style": "primary"} if is_next else {}
    done = button("Done", f"{DONE}_{place}", checklist.id, accessibility_label=named, **more)
    copy = (COPY,) if commands(step) else ()
    return [*blocks, actions([done, _menu(checklist, place, (NOT_NEEDED, REPORT, *copy))])]


def commands(step: RunbookStep) -> tuple[str, ...]:
    """What can be copied of a step; empty where a form has no room for all of it."""
    texts = tuple(strip_invisible(part.text) for part in step.parts if part.kind == "command")
    has_room = len(texts) <= MAX_COMMANDS and all(len(one) <= MAX_INPUT_CHARS for one in texts)
    return texts if has_room else ()


def command_view(texts: Sequence[str]) -> Json:
    """Each command in a field of its own, where a phone selects all of it at once."""
    blocks = [
        input_block(
            f"command_{at}", "Command", text_input(multiline=True, initial=text), optional=False
        )
        for at, text in enumerate(texts)
    ]
    return modal(COPY_VIEW, "Copy the command", blocks, remember="", submit="Done", close="Close")


def first_words(step: RunbookStep, most: int) -> str:
    """The start of a step as plain text, to name it elsewhere; at most `most` characters."""
    return short(step.words, most)


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
    reports: Sequence[StepReport],
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
        yield f"{verb}{mention(mark.by)} {local_time(mark.at)}"
    if reports:
        yield _last_report(reports)


def _condition(step: RunbookStep, links: Links) -> str:
    """The author's condition behind *Only if:*, without its own *if*. The instruction follows in
    the same line, after the author's punctuation."""
    words = step.condition.strip()
    if not words:
        return ""
    label = "Only if"
    if match := _IF.match(words):
        words = words[match.end() :]
    elif match := _UNLESS.match(words):
        label, words = "Unless", words[match.end() :]
    return f"*{label}:* {_as_mrkdwn(words, links)}"


def _body(step: RunbookStep, mark: StepMark | None, links: Links) -> Iterator[str]:
    """Commands are blocks of their own, to be copied, until the step is done."""
    if mark:
        whole = " ".join(_inline(part.text) if _is_line(part) else part.text for part in step.parts)
        parts: Iterable[StepPart] = (StepPart(kind="words", text=whole),)
        if not all(part.kind == "words" or _is_line(part) for part in step.parts):
            parts = step.parts
    else:
        parts = step.parts
    for at, part in enumerate(parts):
        text = part.text if part.kind == "words" else _fenced(part.text)
        if part.kind == "words" and at:  # punctuation that ended the sentence before a command
            text = text.lstrip(" .,;:")
        text = re.sub(r"(`) ([.,;:])", r"\1\2", text) if mark else text
        for piece in fit_pieces(text, MAX_SECTION_CHARS, lambda cut: _as_mrkdwn(cut, links)):
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


def _as_mrkdwn(markdown: str, links: Links) -> str:
    return as_mrkdwn(sanitize_markdown(markdown, links), links)


def _leads(step: RunbookStep, steps: Sequence[RunbookStep]) -> Iterator[str]:
    """The first words of the steps that it refers to: on a phone those steps are far away."""
    named = {one.number: one for one in steps}
    if 0 < len(step.leads_to) <= 2:
        for number in step.leads_to:
            begins = _in_a_line(first_words(named[number], 80))
            yield f":arrow_right: _Step {sanitize_mrkdwn(number)}: {begins}_"


def _in_a_line(text: str) -> str:
    """mrkdwn that can't open a code block, which would swallow what follows."""
    return sanitize_mrkdwn(" ".join(text.split()).replace("```", "'''"))


def _last_report(reports: Sequence[StepReport]) -> str:
    last = reports[-1]
    words = f": “{_in_a_line(short(last.words, MAX_REPORT_CHARS))}”" if last.words else ""
    earlier = f" (and {len(reports) - 1} more)" if len(reports) > 1 else ""
    return f":warning: Reported by {mention(last.by)} {local_time(last.at)}{words}{earlier}"


def _packed(lines: Iterable[str]) -> Iterator[str]:
    """Texts of sections; a step that is too long for a message ends with a note."""
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
