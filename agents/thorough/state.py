"""Types of `thorough`: issues with search advice, judgments, critiques, and the state."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from agents.plan import Plan
from agents.requests import LookupRequest
from agents.state import Draft, State
from config.prompts import listed
from enrichment.chunk import Chunk
from index.search import Hit

_MAX_LINE_CHARS = 200
"""Characters."""


def first_lines(lines: Sequence[str], *, most: int = 4) -> tuple[str, ...]:
    """The first non-empty ones, each once, on one line, cut to `_MAX_LINE_CHARS`."""
    short = (" ".join(line[: 2 * _MAX_LINE_CHARS].split())[:_MAX_LINE_CHARS] for line in lines)
    return tuple(dict.fromkeys(line for line in short if line))[:most]


Issue = Literal[
    "missing_key_info",
    "partial_coverage",
    "off_topic",
    "wrong_domain",
    "too_general",
    "too_specific",
    "outdated",
    "contradictory",
]


@dataclass(frozen=True)
class _About:
    means: str
    """For the judge."""
    advice: str
    """For the plan of the next search."""


_ABOUT: dict[Issue, _About] = {
    "missing_key_info": _About(
        "the very fact that is asked for is not there",
        "Name the missing fact as the table, form or step that holds it would name it: the column, "
        "the field, the verb of the step.",
    ),
    "partial_coverage": _About(
        "some parts of the question are answered, others aren't",
        "Leave the parts that are answered; ask for the others alone, each in a sentence that "
        "stands by itself.",
    ),
    "off_topic": _About(
        "they share words with the question and treat another matter",
        "Drop the words that led astray; describe the situation and what somebody wants to do in "
        "it, in the words of the trade.",
    ),
    "wrong_domain": _About(
        "the matter is right, but for another system, team, region or role",
        "Name the system, team, region or role that is meant in every wording, and nothing that "
        "fits the others.",
    ),
    "too_general": _About(
        "they give principles where a case, a value or a step is asked for",
        "Ask for the instance: the procedure, the table, the exception, by the most particular "
        "words of the question.",
    ),
    "too_specific": _About(
        "they give single cases where the rule is asked for",
        "Ask for the rule above the cases: the policy, the definition, the overview, one level "
        "more general than the question.",
    ),
    "outdated": _About(
        "they are out of force, or older than what is asked about",
        "Ask for what is in force: the successor, the current version, the change, with the date "
        "or version that the question means.",
    ),
    "contradictory": _About(
        "they contradict each other in what is asked",
        "Ask for what decides between them: which of the two is in force, for whom each holds, "
        "since when.",
    ),
}
_NONE_NAMED = "Ask in other words than before: by the thing, by the task, by the document's kind."


def explain_issues() -> str:
    """The list that a judge chooses from."""
    return "\n".join(f"  - `{issue}`: {about.means}" for issue, about in _ABOUT.items())


def advice_for(issues: Sequence[Issue]) -> str:
    """Advice for each issue, in the table's order."""
    advice = [f"{issue}: {about.advice}" for issue, about in _ABOUT.items() if issue in issues]
    return listed(advice, otherwise=_NONE_NAMED)


@dataclass(frozen=True, kw_only=True)
class Judgment:
    """Of the passages."""

    score: float
    """0–1, as in the judge's prompt."""
    issues: tuple[Issue, ...] = ()
    missing: tuple[str, ...] = ()
    requests: tuple[LookupRequest, ...] = ()
    """Lookups that would find the missing information."""


@dataclass(frozen=True, kw_only=True)
class Critique:
    """Of an answer."""

    score: float
    """0–1: the lowest of its marks."""
    objections: tuple[str, ...] = ()
    """Problems, one line each."""
    unsupported: tuple[str, ...] = ()
    """Sentences of the answer, verbatim, that their sources don't support."""
    mendable: bool = False
    """Another draft from the same sources can fix it."""


@dataclass(frozen=True, kw_only=True)
class RatedDraft:
    """A draft with its context and rating."""

    draft: Draft
    context: tuple[Chunk, ...]
    score: float
    passed: bool
    unsupported: tuple[str, ...] = ()


class ThoroughState(State, total=False):
    """The graph's state with the fields of the gates."""

    tries: Annotated[int, operator.add]  # counted by rewrite and critique: further ones
    next_node: str  # set by judge, rewrite and critique: the node that comes next
    judgment: Judgment  # set by judge
    judged_chunks: tuple[str, ...]  # set by judge: ids of the chunks that it judged
    earlier_plans: Annotated[tuple[Plan, ...], operator.add]  # added to by rewrite: what didn't do
    earlier_hits: list[Hit]  # set by rewrite: what the next search adds to
    best_draft: RatedDraft  # set by critique
    critiqued_draft: Draft  # set by critique: what it looked at last
