"""Edges of the graph in `thorough`, with all its limits and thresholds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, cast

from agents.answerer.nodes import ROUNDS
from agents.state import State
from agents.thorough.state import Critique, Judgment, ThoroughState

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

    def verify(state: ThoroughState) -> Literal["answer", "critique"]:
        return "answer" if is_supported(state) == "answer" else "critique"

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
    """Enough → answer. Nearly → look up what is named. Poor → search in another way. After the last
    try the answerer decides, unless score and issues both say that nothing is relevant."""
    if judgment.score >= GOOD:
        return "answer"
    may_look = bool(judgment.requests) and rounds < MAX_ROUNDS
    if may_look and judgment.score >= POOR:
        return "look"
    if tries < MAX_TRIES:
        return "rewrite"
    if may_look:
        return "look"
    astray = {"off_topic", "wrong_domain"} & set(judgment.issues)
    return "refuse" if judgment.score < NOTHING_RELEVANT and astray else "answer"


def is_early_switch(judgment: Judgment, *, tries: int) -> bool:
    """The first search found little, because of its strategy or its choice of sources."""
    return tries == 1 and judgment.score < POOR


def threshold(judgment: Judgment) -> float:
    """The lowest score of a good answer."""
    return GOOD if judgment.score >= GOOD else PASSABLE


def passes(critique: Critique, judgment: Judgment) -> bool:
    return not critique.unsupported and critique.score >= threshold(judgment)


def after_critique(critique: Critique, judgment: Judgment, *, tries: int) -> AfterCritique:
    """Rewrites from the sources what they contain, and searches for what they lack."""
    if passes(critique, judgment) or tries >= MAX_TRIES:
        return "__end__"
    return "answer" if critique.mendable else "rewrite"
