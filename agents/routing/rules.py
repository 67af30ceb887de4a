"""An alert belongs to the domain whose documents hold its row.

Somebody who was asked which domain they mean says its name.

What is said where a domain was chosen: which it was, which else it may be, which is meant."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from agents.alerts.parser import alerts_in
from agents.answer import AlternativeDomain, Answer, Passage, Question
from agents.confidence import ASKED_BACK_BY_A_MODEL
from agents.extractive.excerpts import passages_text
from agents.runbooks.matching import match_alerts, worth_answering
from agents.runbooks.narrowing import RunbookMatch
from config.domain import Domain
from config.errors import IndexUnavailable, PermissionsUnknown
from enrichment.language.words import tokens
from index.permissions.rules import visible_to
from index.search import Snapshot


@dataclass(frozen=True, kw_only=True)
class AlertAmong:
    """What several domains know of the alerts of one message."""

    names: tuple[str, ...]
    domains: tuple[Domain, ...]
    """Those that have a row for one of them; of several, those for whose row its labels speak."""
    nearly: tuple[Domain, ...]
    """Those that have a row for other labels."""
    failed: PermissionsUnknown | None
    """Why one could not be looked into."""


def alert_among(
    text: str,
    domains: Sequence[Domain],
    question_in: Callable[[Domain], Question],
    snapshot: Callable[[str], Snapshot],
) -> AlertAmong | None:
    """None where it is no alert, or may be none and nobody knows it."""
    alerts = alerts_in(text)
    if not alerts:
        return None
    found: list[tuple[Domain, list[RunbookMatch]]] = []
    failed: PermissionsUnknown | None = None
    for domain in domains:
        try:
            seen = visible_to(snapshot(domain.domain), question_in(domain).readers)
            found.append((domain, match_alerts(alerts, seen, domain)))
        except IndexUnavailable:
            continue
        except PermissionsUnknown as error:
            failed = error
    if not any(worth_answering(matches) for _, matches in found):
        return None
    have = [(one, matches) for one, matches in found if _best(matches)]
    most = max((_best(matches) for _, matches in have), default=0)
    return AlertAmong(
        names=tuple(dict.fromkeys(one.name for one in alerts)),
        domains=tuple(one for one, matches in have if _best(matches) == most),
        nearly=tuple(
            one for one, matches in found if any(m.outcome == "other_scope" for m in matches)
        ),
        failed=failed,
    )


def _best(matches: Sequence[RunbookMatch]) -> int:
    """0: nothing; more for a row than for a mention, and for one that is sure to be meant."""
    ranks = {"found": 2, "several": 1}
    return max(
        (
            2 * ranks[one.outcome] + one.sure - (one.entries[0].kind == "introduction")
            for one in matches
            if one.outcome in ranks
        ),
        default=0,
    )


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
    second = AlternativeDomain(
        domain=domain.domain, title=domain.title, generation=other.generation, passages=passages
    )
    text = f"{answer.text}\n\n{passages_text(f'From *{domain.title}*:', passages)}"
    return replace(answer, text=text, beside=(second,))


def which_one(domains: Sequence[Domain]) -> Answer:
    """A question back. It names domains alone: nothing of their documents is told."""
    titles = [f"**{one.title}**" for one in domains]
    listed = f"{', '.join(titles[:-1])} or {titles[-1]}"
    return Answer(
        text=f"Is this a question for {listed}? Each has its own rules for it.",
        path="ambiguous_query",
        confidence=ASKED_BACK_BY_A_MODEL,
        beside=tuple(AlternativeDomain(domain=one.domain, title=one.title) for one in domains),
    )


def _numbered(passage: Passage, number: int) -> Passage:
    return replace(passage, citation=replace(passage.citation, number=number))
