"""Which domain answers when several might: asked in turn, by one rule behind every door."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from agents.answer import Answer
from agents.extractive.confidence_levels import CONFIDENT
from config.domain import Domain
from config.errors import IndexUnavailable


def first_confident(
    domains: Iterable[Domain], ask: Callable[[Domain], Answer]
) -> tuple[Answer, Domain]:
    """The first answer that is worth saying, else the best: one that found something, then the
    more confident one.

    Raises IndexUnavailable when none of the domains has published documents."""
    best: tuple[Answer, Domain] | None = None
    unavailable: IndexUnavailable | None = None
    for domain in domains:
        try:
            answer = ask(domain)
        except IndexUnavailable as error:
            unavailable = error
            continue
        if worth_saying(answer):
            return answer, domain
        if best is None or _rank(answer) > _rank(best[0]):
            best = answer, domain
    if best is None:
        raise unavailable or IndexUnavailable("no domain is configured")
    return best


def worth_saying(answer: Answer) -> bool:
    """Good enough to say without being asked."""
    return answer.from_documents and answer.confidence >= CONFIDENT


def _rank(answer: Answer) -> tuple[bool, float]:
    return not answer.found_nothing, answer.confidence
