"""What the agents know of the cache: it is asked before they think, and told what they found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from agents.answer import Answer, Question
from index.search import Snapshot


@dataclass(frozen=True, kw_only=True)
class CachedAnswer:
    """What a look-up found. `note`: what an administrator should know of it."""

    answer: Answer | None = None
    note: str = ""
    nearest: float | None = None
    """Cosine of the question with the nearest one that is kept; None where none is."""
    unavailable: bool = False
    """It could not be read."""


class AnswerCache(Protocol):
    """Neither method raises: a question is answered as if there were no cache."""

    def find(self, asked: str, question: Question, snapshot: Snapshot) -> CachedAnswer:
        """`asked`: the self-contained question; `snapshot`: as its reader sees it."""
        ...

    def keep(self, answer: Answer, question: Question, snapshot: Snapshot) -> None:
        """Kept only where it may be given again."""
        ...
