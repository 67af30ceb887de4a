"""What the gates of `thorough` say, and what they keep of a question."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Annotated

from agents.look_requests import LookRequest
from agents.plan import Plan
from agents.state import Draft, State
from agents.thorough.issues import Issue
from enrichment.chunk import Chunk
from index.search import Hit


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """Of the passages found."""

    score: float
    """0–1, as in the judge's prompt."""
    issues: tuple[Issue, ...] = ()
    missing: tuple[str, ...] = ()
    requests: tuple[LookRequest, ...] = ()
    """What would fetch it."""


@dataclass(frozen=True, kw_only=True)
class Critique:
    """Of an answer."""

    score: float
    """0–1: of its weakest side."""
    objections: tuple[str, ...] = ()
    """What to mend, one line each."""
    unsupported: tuple[str, ...] = ()
    """Sentences of the answer, verbatim, that their sources don't hold up."""
    mendable: bool = False
    """By writing again from the same sources."""


@dataclass(frozen=True, kw_only=True)
class Rated:
    """A draft with what it was written from."""

    draft: Draft
    context: tuple[Chunk, ...]
    score: float
    passed: bool
    unsupported: tuple[str, ...] = ()


class ThoroughState(State, total=False):
    """A question on its way through the gates as well."""

    tries: Annotated[int, operator.add]  # counted by rewrite and critique: further ones
    way: str  # set by judge, rewrite and critique: the node that comes next
    judgement: Judgement  # set by judge
    judged: tuple[str, ...]  # set by judge: ids of the chunks that it judged
    searched: Annotated[tuple[Plan, ...], operator.add]  # added to by rewrite: what didn't do
    found_before: list[Hit]  # set by rewrite: what the next search adds to
    best: Rated  # set by critique
    criticised: Draft  # set by critique: what it looked at last
