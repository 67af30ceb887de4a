"""The steps to an answer: complete, in progress and pending. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from agents.steps import Step
from bot.blocks.kit import Json
from bot.blocks.sanitize.text import sanitize_plain

StepState = Literal["pending", "in_progress", "complete", "error"]
MAX_TITLE = 250
"""Slack accepts 256 characters."""
WRITING = "Writing the answer…"
FAILED = "This is how far I came"

_COURSE = (
    (Step.UNDERSTAND, "Understand the question"),
    (Step.SEARCH, "Search the documents"),
    (Step.READ, "Read what was found"),
    (Step.WRITE, "Write the answer"),
)
"""Visible from the start. A check is added below them when it begins."""


@dataclass(frozen=True)
class WorkStep:
    id: str
    title: str
    state: StepState = "pending"


@dataclass(frozen=True, kw_only=True)
class ProgressPlan:
    """The steps of a question so far and to come; the title is the current status."""

    title: str
    steps: tuple[WorkStep, ...] = tuple(WorkStep(*named) for named in _COURSE)

    def doing(self, step: Step, line: str) -> ProgressPlan:
        """This step begins, and the one in progress is complete."""
        new = WorkStep(step, line, "in_progress")
        done = tuple(map(_done, self.steps))
        if all(one.id != step for one in done):
            return replace(self, steps=(*done, new))
        return replace(self, steps=tuple(new if one.id == step else one for one in done))

    def writing(self) -> ProgressPlan:
        """The plan while the answer is being written."""
        return (
            self
            if self.title == WRITING
            else replace(self.doing(Step.WRITE, WRITING), title=WRITING)
        )

    def failed(self) -> ProgressPlan:
        """The step in progress failed; pending steps are dropped."""
        steps = (
            replace(_done(step), state="error") if step.state == "in_progress" else step
            for step in self.steps
            if step.state != "pending"
        )
        return ProgressPlan(title=FAILED, steps=tuple(steps))

    @property
    def has_begun(self) -> bool:
        return any(step.state == "in_progress" for step in self.steps)


def _done(step: WorkStep) -> WorkStep:
    if step.state != "in_progress":
        return step
    return WorkStep(step.id, step.title.rstrip("….") or step.title, "complete")


def plan_block(plan: ProgressPlan) -> Json:
    """A plan block for a message; a stream uses `changes`."""
    tasks = [
        {"type": "task_card", "task_id": step.id, "title": _title(step.title), "status": step.state}
        for step in plan.steps
    ]
    return {
        "type": "plan",
        "block_id": "oncall_status",
        "title": _title(plan.title),
        "tasks": tasks,
    }


def changes(before: ProgressPlan | None, after: ProgressPlan) -> Iterator[Json]:
    """Chunks that bring a stream from one to the other."""
    if before is None or before.title != after.title:
        yield {"type": "plan_update", "title": _title(after.title)}
    earlier = set(before.steps) if before else set()
    for step in after.steps:
        if step not in earlier:
            yield task(step)


def task(step: WorkStep) -> Json:
    """A stream chunk with a step's title and state."""
    return {"type": "task_update", "id": step.id, "title": _title(step.title), "status": step.state}


def current_status(plan: Json) -> str:
    """A plan block in one line: the step in progress or failed, else its title."""
    titles = [t["title"] for t in plan["tasks"] if t["status"] in ("in_progress", "error")]
    return str(titles[-1] if titles else plan["title"])


def _title(text: str) -> str:
    return sanitize_plain(text)[:MAX_TITLE] or "…"
