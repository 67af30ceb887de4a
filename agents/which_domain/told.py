"""What is said where a domain was chosen: which it was, which else it may be, which is meant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from agents.answer import Answer, Beside, Passage
from agents.confidence.calibrated import ASKED_BACK_BY_A_MODEL
from agents.extractive.excerpt_text import written
from config.domain import Domain

SHOWN_BESIDE = 2
"""Passages of the second domain; the first shows up to three."""


def named(answer: Answer, domain: Domain) -> Answer:
    """With its domain, where what it says comes from there."""
    if answer.path in {"small_talk", "general_llm_knowledge"}:
        return answer
    return replace(answer, from_title=domain.title)


def hello(domains: Sequence[Domain]) -> str:
    """The titles of all, to stand where one domain's stands in a greeting."""
    titles = [one.title for one in domains]
    return titles[0] if len(titles) == 1 else f"{'*, *'.join(titles[:-1])}* and *{titles[-1]}"


def with_second(answer: Answer, other: Answer, domain: Domain) -> Answer:
    """Passages of two domains that are too close to leave one out; `domain`: the second."""
    first = len(answer.citations)
    passages = tuple(
        _numbered(passage, first + place)
        for place, passage in enumerate(other.passages[:SHOWN_BESIDE], start=1)
    )
    second = Beside(
        domain=domain.domain, title=domain.title, generation=other.generation, passages=passages
    )
    text = f"{answer.text}\n\n{written(f'From *{domain.title}*:', passages)}"
    return replace(answer, text=text, beside=(second,))


def which_one(domains: Sequence[Domain]) -> Answer:
    """A question back. It names domains alone: nothing of their documents is told."""
    titles = [f"**{one.title}**" for one in domains]
    listed = f"{', '.join(titles[:-1])} or {titles[-1]}"
    return Answer(
        text=f"Is this a question for {listed}? Each has its own rules for it.",
        path="ambiguous_query",
        confidence=ASKED_BACK_BY_A_MODEL,
        beside=tuple(Beside(domain=one.domain, title=one.title) for one in domains),
    )


def _numbered(passage: Passage, number: int) -> Passage:
    return replace(passage, citation=replace(passage.citation, number=number))
