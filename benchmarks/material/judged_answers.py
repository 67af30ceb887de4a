"""Judged answers and their statistics: shares, means, agreement."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from agents.judging.judge import ACCEPTABLE, HIGHEST


@dataclass(frozen=True)
class Verdict:
    """What one judge said of one answer."""

    judge: str
    score: int
    incorrect: bool
    padded: bool
    note: str = ""

    @property
    def acceptable(self) -> bool:
        return self.score >= ACCEPTABLE


@dataclass(frozen=True)
class Judged:
    """An answer, one line of `with_a_model`, with a verdict on it."""

    line: dict[str, Any]
    verdict: Verdict

    @property
    def key(self) -> str:
        return f"{self.line['set']}/{self.line['id']}"

    @property
    def kind(self) -> str:
        return str(self.line["kind"])


SHARES: dict[str, Callable[[Judged], bool]] = {
    "acceptable": lambda one: one.verdict.acceptable,
    "full marks": lambda one: one.verdict.score == HIGHEST,
    "incorrect": lambda one: one.verdict.incorrect,
    "padded": lambda one: one.verdict.padded,
}
MEANS: dict[str, Callable[[Judged], float]] = {
    "calls": lambda one: float(one.line["calls"]),
    "input tokens": lambda one: float(one.line["input_tokens"]),
}
