"""The state of `thorough`, its edges of the graph, and all its limits and thresholds."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, cast

from agents.answerer.nodes import ROUNDS
from agents.plan import Plan
from agents.requests import LookupRequest
from agents.state import Draft, State
from config.parsing.fields import Strategy
from config.prompts import listed
from enrichment.chunk import Chunk
from index.search import Hit

_MAX_LINE_CHARS = 200
_ORDER: tuple[Strategy, ...] = ("semantic", "keyword", "hybrid")


def first_lines(lines: Sequence[str], *, most: int = 4) -> tuple[str, ...]:
    """The first non-empty ones, each once, on one line, cut to `_MAX_LINE_CHARS`."""
    short = (" ".join(line[: 2 * _MAX_LINE_CHARS].split())[:_MAX_LINE_CHARS] for line in lines)
    return tuple(dict.fromkeys(line for line in short if line))[:most]


Issue = Literal[
    "missing_key_info", "partial_coverage", "off_topic", "wrong_domain", "too_general",
    "too_specific", "outdated", "contradictory",
]  # fmt: skip

_ISSUES: dict[Issue, tuple[str, str, Strategy]] = {
    "missing_key_info": (
        "the very fact that is asked for is not there",
        "Name the missing fact as the table, form or step that holds it would name it: the column, "
        "the field, the verb of the step.",
        "semantic",
    ),
    "partial_coverage": (
        "some parts of the question are answered, others aren't",
        "Leave the parts that are answered; ask for the others alone, each in a sentence that "
        "stands by itself.",
        "semantic",
    ),
    "off_topic": (
        "they share words with the question and treat another matter",
        "Drop the words that led astray; describe the situation and what somebody wants to do in "
        "it, in the words of the trade.",
        "keyword",
    ),
    "wrong_domain": (
        "the matter is right, but for another system, team, region or role",
        "Name the system, team, region or role that is meant in every wording, and nothing that "
        "fits the others.",
        "keyword",
    ),
    "too_general": (
        "they give principles where a case, a value or a step is asked for",
        "Ask for the instance: the procedure, the table, the exception, by the most particular "
        "words of the question.",
        "keyword",
    ),
    "too_specific": (
        "they give single cases where the rule is asked for",
        "Ask for the rule above the cases: the policy, the definition, the overview, one level "
        "more general than the question.",
        "semantic",
    ),
    "outdated": (
        "they are out of force, or older than what is asked about",
        "Ask for what is in force: the successor, the current version, the change, with the date "
        "or version that the question means.",
        "keyword",
    ),
    "contradictory": (
        "they contradict each other in what is asked",
        "Ask for what decides between them: which of the two is in force, for whom each holds, "
        "since when.",
        "hybrid",
    ),
}
"""Issue → (its meaning, for the judge; advice for the plan of the next search; its strategy, where
it changes). What is astray or too general is searched for by its exact words, what is missing by
its meaning. It decides little: of 59 questions whose evidence a hybrid search missed, keywords
alone bring in 7 and vectors alone 5 (`python -m benchmarks.strategies`)."""
_ASTRAY: frozenset[Issue] = frozenset(("off_topic", "wrong_domain"))
_NONE_NAMED = "Ask in other words than before: by the thing, by the task, by the document's kind."


def explain_issues() -> str:
    """The list that a judge chooses from."""
    return "\n".join(f"  - `{issue}`: {meaning}" for issue, (meaning, *_) in _ISSUES.items())


def advice_for(issues: Sequence[Issue]) -> str:
    """Advice for each issue, in the table's order."""
    advice = [f"{issue}: {advice}" for issue, (_, advice, _) in _ISSUES.items() if issue in issues]
    return listed(advice, otherwise=_NONE_NAMED)


def other_strategy(issues: Sequence[Issue], plans: Sequence[Plan]) -> Strategy:
    """The first untried one of those for the issues, then of all; `hybrid` when all were tried."""
    tried = {plan.strategy for plan in plans}
    preferred = (strategy for issue, (*_, strategy) in _ISSUES.items() if issue in issues)
    return next((one for one in (*preferred, *_ORDER) if one not in tried), "hybrid")


@dataclass(frozen=True, kw_only=True)
class Judgment:
    score: float
    """0–1, as in the judge's prompt."""
    issues: tuple[Issue, ...] = ()
    missing: tuple[str, ...] = ()
    requests: tuple[LookupRequest, ...] = ()
    """Lookups that would find the missing information."""
    searched_enough: bool = False
    """Whether no further search has prospects."""


@dataclass(frozen=True, kw_only=True)
class Critique:
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


MAX_STEPS = 80
"""Nodes per question. The edges stay far below it; this is a safeguard."""

Edge = Callable[[State], str]


def with_gates(edges: Mapping[str, Edge]) -> dict[str, Edge]:
    """The graph's edges by node, replaced and extended by those of the gates."""
    has_found_more, is_supported = edges["look"], edges["verify"]

    def look(state: ThoroughState) -> Literal["post_processor", "judge", "answer", "verify"]:
        """Back to the node that requested the lookup; a new refusal is final."""
        if has_found_more(state) == "post_processor":
            return "post_processor"
        if state["next_node"] == "look":
            return "judge"
        return "answer" if has_found_more(state) == "answer" or is_stale(state) else "verify"

    def verify(state: ThoroughState) -> Literal["look", "answer", "critique"]:
        next_node = cast("Literal['__end__', 'look', 'answer']", is_supported(state))
        return "critique" if next_node == "__end__" else next_node

    gated = {
        "post_processor": is_there_a_judge,
        "judge": is_it_enough,
        "rewrite": is_there_another_search,
        "answer": is_there_an_answer,
        "look": look,
        "verify": verify,
        "critique": is_it_good_enough,
    }
    return {**edges, **cast("dict[str, Edge]", gated)}


def is_stale(state: ThoroughState) -> bool:
    """The draft was criticized already and is still the newest."""
    return "draft" in state and state.get("critiqued_draft") is state["draft"]


def is_there_a_judge(_: ThoroughState) -> Literal["judge"]:
    return "judge"


def is_it_enough(
    state: ThoroughState,
) -> Literal["answer", "look", "rewrite", "refuse", "critique"]:
    return cast("Literal['answer', 'look', 'rewrite', 'refuse', 'critique']", state["next_node"])


def is_there_another_search(_: ThoroughState) -> Literal["retrieval"]:
    return "retrieval"


def is_there_an_answer(state: ThoroughState) -> Literal["look", "verify", "critique"]:
    if state.get("requests"):
        return "look"
    return "critique" if is_stale(state) else "verify"


def is_it_good_enough(state: ThoroughState) -> Literal["__end__", "answer", "rewrite"]:
    return cast("Literal['__end__', 'answer', 'rewrite']", state["next_node"])


MAX_TRIES = 3
"""Searches and drafts in all: the first, and two more of either."""
MAX_ROUNDS = ROUNDS["thorough"]
"""Rounds of lookups, by judge and answerer together."""
MAX_CALLS = 20
"""Model calls for one question: plan, general answer and sources; a judgment of each search and of
each round that the judge requests; an answer of each try, of each round that the answerer requests,
and one after the check without a model; two rewritings; a critique of each try."""
GOOD = 0.65
"""`Enough` in the prompts: for a retrieval, and for an answer after a good one."""
PASSABLE = 0.5
"""The same for an answer after a poor retrieval: it can't be better than its sources."""
POOR = 0.35
"""Below this, by the judge's prompt, the sources don't settle the matter: other words are needed
rather than more of the same."""
NOTHING_RELEVANT = 0.2
"""Nearer to `something else` than to `the matter`."""

AfterJudging = Literal["answer", "look", "rewrite", "refuse"]
AfterCritique = Literal["__end__", "answer", "rewrite"]


def after_judging(judgment: Judgment, *, tries: int, rounds: int) -> AfterJudging:
    """Enough → answer. Nearly → look up what is named. Poor → search in another way. When the judge
    has searched enough, and after the last try, the answerer decides, unless score and issues both
    say that nothing is relevant."""
    if judgment.score >= GOOD:
        return "answer"
    may_search = not judgment.searched_enough
    may_look = may_search and bool(judgment.requests) and rounds < MAX_ROUNDS
    if may_look and judgment.score >= POOR:
        return "look"
    if may_search and tries < MAX_TRIES:
        return "rewrite"
    if may_look:
        return "look"
    astray = not _ASTRAY.isdisjoint(judgment.issues)
    return "refuse" if judgment.score < NOTHING_RELEVANT and astray else "answer"


def is_early_switch(judgment: Judgment, *, tries: int) -> bool:
    """The first search found little or went astray, by its strategy or its choice of sources."""
    return tries == 1 and (judgment.score < POOR or not _ASTRAY.isdisjoint(judgment.issues))


def threshold(judgment: Judgment) -> float:
    """The lowest score of a good answer."""
    return GOOD if judgment.score >= GOOD else PASSABLE


def passes(critique: Critique, judgment: Judgment) -> bool:
    return not critique.unsupported and critique.score >= threshold(judgment)


def after_critique(critique: Critique, judgment: Judgment, *, tries: int) -> AfterCritique:
    """Rewrites from the sources what they contain, and searches for what they lack."""
    if passes(critique, judgment) or tries >= MAX_TRIES:
        return "__end__"
    if critique.mendable:
        return "answer"
    return "__end__" if judgment.searched_enough else "rewrite"
