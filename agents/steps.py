"""The steps of an answer, as the agents report them while they work."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Protocol


class Step(StrEnum):
    """The current work of the agents. The values are the ids of tasks in Slack."""

    UNDERSTAND = "understand"
    SEARCH = "search"
    READ = "read"
    WRITE = "write"
    CHECK = "check"


class Progress(Protocol):
    """Receives what happens while an answer is made. An exception that it raises ends the work."""

    def step(self, step: Step, text: str, **scores: float) -> None:
        """A step begins. `text`: one short line for people, e.g. `Reading 3 documents…`.

        `scores`: 0–1, of what was done so far: `similarity` of the best passage with the question,
        `sufficiency` of the passages, `groundedness` of a draft that is written again."""
        ...

    def delta(self, text: str) -> None:
        """The next piece of the answer's text."""
        ...


class NullProgress:
    """For answers without a viewer."""

    def step(self, step: Step, text: str, **scores: float) -> None:
        """Ignored."""

    def delta(self, text: str) -> None:
        """Ignored."""


class SilentProgress:
    """Hides the work. `check` runs at each report, and ends it by raising."""

    def __init__(self, check: Callable[[], object]) -> None:
        self._check = check

    def step(self, step: Step, text: str, **scores: float) -> None:
        self._check()

    def delta(self, text: str) -> None:
        self._check()


class BufferedProgress:
    """Reports steps and withholds the answer's text: another draft may replace it."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._last = ""

    def step(self, step: Step, text: str, **scores: float) -> None:
        """A line that repeats the one before is not reported again."""
        if text != self._last:
            self._last = text
            self._progress.step(step, text, **scores)

    def delta(self, text: str) -> None:
        if text:
            self.step(Step.WRITE, "Writing the answer…")
