"""What one check found: fine, or wrong with its remedy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from config.errors import CopilotError

State = Literal["ok", "wrong", "skipped"]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One line for a person, and the same for programs."""

    check: str
    """What was looked at, in a few words."""
    state: State
    """`skipped`: it could not be asked, because of something else that is wrong."""
    said: str
    remedy: str = ""

    def __str__(self) -> str:
        return f"{self.said}; {self.remedy}" if self.remedy else self.said


def fine(check: str, said: str) -> Finding:
    return Finding(check=check, state="ok", said=said)


def wrong(check: str, said: str, remedy: str = "") -> Finding:
    return Finding(check=check, state="wrong", said=said, remedy=remedy)


def skipped(check: str, said: str) -> Finding:
    return Finding(check=check, state="skipped", said=said)


def of_error(check: str, error: CopilotError) -> Finding:
    return wrong(check, error.problem, error.remedy)


def attempted(check: str, look: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    """What is found until something is in the way, which is a finding, too."""
    try:
        yield from look()
    except CopilotError as error:
        yield of_error(check, error)
