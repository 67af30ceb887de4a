"""Which way next: all bounds and thresholds of `thorough`, and nothing else."""

from __future__ import annotations

from typing import Literal

from agents.second_look.answerer import ROUNDS
from agents.thorough.values import Critique, Judgement

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
