"""Somebody who was asked which domain they mean says its name."""

from __future__ import annotations

from collections.abc import Sequence

from agents.answer import Question
from config.domain import Domain
from enrichment.language.words import tokens

_MOST_WORDS = 6


def answered_by_name(question: Question, domains: Sequence[Domain]) -> tuple[Domain, str] | None:
    """The domain, and the question that it is to answer: what the same person asked before.

    `Privacy help`, `privacy` and `the privacy one please` all name *Privacy help*, as long as
    there is no *Privacy incidents* beside it."""
    before = [turn for turn in question.history if turn.role == "user"]
    said = {word.casefold() for word in tokens(question.text)}
    if not before or question.history[-1].role != "assistant" or len(said) > _MOST_WORDS:
        return None
    distinct = [_telling(one, domains) for one in domains]
    meant = [one for one, words in zip(domains, distinct, strict=True) if words & said]
    if len(meant) != 1 or not said <= _words(meant[0]) | _AROUND:
        return None
    return meant[0], before[-1].content


_AROUND = frozenset(
    ("the", "a", "in", "for", "it", "its", "i", "mean", "meant", "one", "please", "thanks")
)
"""What a name may be said with."""


def _telling(domain: Domain, domains: Sequence[Domain]) -> frozenset[str]:
    """Words that name it and none of the others."""
    others = [_words(one) for one in domains if one.domain != domain.domain]
    return _words(domain).difference(*others)


def _words(domain: Domain) -> frozenset[str]:
    return frozenset(word.casefold() for word in tokens(f"{domain.title} {domain.domain}"))
