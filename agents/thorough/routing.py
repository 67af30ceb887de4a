"""Where the graph goes in `thorough`: its questions, asked with the gates in between.

Which way next: all bounds and thresholds of `thorough`, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, cast

from agents.answerer.nodes import ROUNDS
from agents.state import State
from agents.thorough.state import Critique, Judgement, ThoroughState

MAX_STEPS = 80
"""Nodes that one question runs through; `routes` keeps it below, this is the fuse behind it."""

Edge = Callable[[State], str]


def with_gates(edges: Mapping[str, Edge]) -> dict[str, Edge]:
    """The graph's own edges (node → the question asked after it), and those of the gates."""
    has_found_more, is_supported = edges["look"], edges["verify"]

    def look(state: ThoroughState) -> Literal["post_processor", "judge", "answer", "verify"]:
        """Back to whoever asked for it; a refusal that was just made stands."""
        if has_found_more(state) == "post_processor":
            return "post_processor"
        if state["way"] == "look":
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
    """The draft was criticised already: no other one came since."""
    return "draft" in state and state.get("criticised") is state["draft"]


def is_there_a_judge(_: ThoroughState) -> Literal["judge"]:
    return "judge"


def is_it_enough(
    state: ThoroughState,
) -> Literal["answer", "look", "rewrite", "refuse", "critique"]:
    return cast("Literal['answer', 'look', 'rewrite', 'refuse', 'critique']", state["way"])


def is_there_another_search(_: ThoroughState) -> Literal["retrieval"]:
    return "retrieval"


def is_there_an_answer(state: ThoroughState) -> Literal["look", "verify", "critique"]:
    if state.get("requests"):
        return "look"
    return "critique" if is_stale(state) else "verify"


def is_it_good_enough(state: ThoroughState) -> Literal["__end__", "answer", "rewrite"]:
    return cast("Literal['__end__', 'answer', 'rewrite']", state["way"])


MOST_TRIES = 3
"""Searches and writings in all: the first, and two more of either."""
MOST_ROUNDS = ROUNDS["thorough"]
"""Times that somebody may look for more, judge and answerer together."""
MOST_CALLS = 20
"""Of a model for one question: plan, general answer and sources; a judgement of each search and
after each round that the judge asks for; an answer of each try, after each round that the answerer
asks for, and once after the check without a model; two rewritings; a critique of each try."""
GOOD = 0.65
"""What the prompts call enough: of a retrieval, and of an answer after a good one."""
PASSABLE = 0.5
"""The same of an answer after a poor retrieval: it can't be better than its sources."""
POOR = 0.35
"""Below this the sources don't settle the matter, as the judge's prompt has it: other words rather
than more of the same."""
NOTHING_RELEVANT = 0.2
"""Nearer to `something else` than to `the matter`."""

AfterJudging = Literal["answer", "look", "rewrite", "refuse"]
AfterCritique = Literal["__end__", "answer", "rewrite"]


def after_judging(judgement: Judgement, *, tries: int, rounds: int) -> AfterJudging:
    """Enough → answer. Nearly → fetch what is named. Poor → search in another way. When all tries
    are used up, the answerer has the last word, unless two signs say that nothing is relevant."""
    if judgement.score >= GOOD:
        return "answer"
    may_look = bool(judgement.requests) and rounds < MOST_ROUNDS
    if may_look and judgement.score >= POOR:
        return "look"
    if tries < MOST_TRIES:
        return "rewrite"
    if may_look:
        return "look"
    astray = {"off_topic", "wrong_domain"} & set(judgement.issues)
    return "refuse" if judgement.score < NOTHING_RELEVANT and astray else "answer"


def is_early_switch(judgement: Judgement, *, tries: int) -> bool:
    """The first search found little: its strategy and its narrowing are to blame."""
    return tries == 1 and judgement.score < POOR


def threshold(judgement: Judgement) -> float:
    """What an answer has to reach."""
    return GOOD if judgement.score >= GOOD else PASSABLE


def passes(critique: Critique, judgement: Judgement) -> bool:
    return not critique.unsupported and critique.score >= threshold(judgement)


def after_critique(critique: Critique, judgement: Judgement, *, tries: int) -> AfterCritique:
    """What the sources hold is written again; what they lack is searched for."""
    if passes(critique, judgement) or tries >= MOST_TRIES:
        return "__end__"
    return "answer" if critique.mendable else "rewrite"
