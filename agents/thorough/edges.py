"""Where the graph goes in `thorough`: its questions, asked with the gates in between."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, cast

from agents.state import State
from agents.thorough.values import ThoroughState

MOST_STEPS = 80
"""Nodes that one question runs through; `routes` keeps it below, this is the fuse behind it."""

Edge = Callable[[State], str]


def with_gates(edges: Mapping[str, Edge]) -> dict[str, Edge]:
    """The graph's own edges (node → the question asked after it), and those of the gates."""
    has_found_more, is_held_up = edges["look"], edges["verify"]

    def look(state: ThoroughState) -> Literal["post_processor", "judge", "answer", "verify"]:
        """Back to whoever asked for it; a refusal that was just made stands."""
        if has_found_more(state) == "post_processor":
            return "post_processor"
        if state["way"] == "look":
            return "judge"
        return "answer" if has_found_more(state) == "answer" or is_stale(state) else "verify"

    def verify(state: ThoroughState) -> Literal["answer", "critique"]:
        return "answer" if is_held_up(state) == "answer" else "critique"

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
