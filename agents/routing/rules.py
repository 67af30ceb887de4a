"""Rules that choose a domain without a search, and the texts about the choice.

An alert belongs to the domain whose documents contain its row. After a question back, the user
names a domain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from agents.alerts.reader import alerts_in
from agents.answer import AlternativeDomain, Answer, Question
from agents.confidence import ASKED_BACK_BY_A_MODEL
from agents.extractive.markdown import passages_text
from agents.runbooks.matching import RunbookMatch, match_alerts, worth_answering
from config.domain import Domain
from config.errors import IndexUnavailable, PermissionsUnknown
from enrichment.language.words import tokens
from index.permissions.rules import visible_to
from index.search import Snapshot


@dataclass(frozen=True, kw_only=True)
class AlertDomains:
    """The domains that know the alerts of one message."""

    names: tuple[str, ...]
    domains: tuple[Domain, ...]
    """Domains with a row for one of the alerts; of several, those whose row matches the labels."""
    nearly: tuple[Domain, ...]
    """Domains with a row for other labels."""
    failed: PermissionsUnknown | None
    """The error of a domain that could not be read."""


def alert_domains(
    text: str,
    domains: Sequence[Domain],
    question_in: Callable[[Domain], Question],
    snapshot: Callable[[str], Snapshot],
) -> AlertDomains | None:
    """None for a text without alerts, or with doubtful ones that no domain knows."""
    alerts = alerts_in(text)
    if not alerts:
        return None
    matched_domains: list[tuple[Domain, list[RunbookMatch]]] = []
    failed: PermissionsUnknown | None = None
    for domain in domains:
        try:
            visible = visible_to(snapshot(domain.domain), question_in(domain).readers)
            matched_domains.append((domain, match_alerts(alerts, visible, domain)))
        except IndexUnavailable:
            continue
        except PermissionsUnknown as error:
            failed = error
    if not any(worth_answering(matches) for _, matches in matched_domains):
        return None
    with_row = [(one, matches) for one, matches in matched_domains if _best(matches)]
    most = max((_best(matches) for _, matches in with_row), default=0)
    nearly = (
        domain
        for domain, matches in matched_domains
        if any(one.outcome == "other_scope" for one in matches)
    )
    return AlertDomains(
        names=tuple(dict.fromkeys(one.name for one in alerts)),
        domains=tuple(one for one, matches in with_row if _best(matches) == most),
        nearly=tuple(nearly),
        failed=failed,
    )


def _best(matches: Sequence[RunbookMatch]) -> int:
    """0: no match. A certain match counts most, several possible entries least."""
    ranks = {"found": 2, "several": 1}
    return max(
        (2 * ranks[one.outcome] + one.sure for one in matches if one.outcome in ranks),
        default=0,
    )


_MAX_WORDS = 6


def domain_by_name(question: Question, domains: Sequence[Domain]) -> tuple[Domain, str] | None:
    """The named domain and the user's previous question, which it is to answer.

    `Privacy help`, `privacy` and `the privacy one please` name *Privacy help*, unless there is also
    *Privacy incidents*."""
    before = [turn for turn in question.history if turn.role == "user"]
    reply = {word.casefold() for word in tokens(question.text)}
    if not before or question.history[-1].role != "assistant" or len(reply) > _MAX_WORDS:
        return None
    distinct = [_distinct_words(one, domains) for one in domains]
    matches = [one for one, words in zip(domains, distinct, strict=True) if words & reply]
    if len(matches) != 1 or not reply <= _words(matches[0]) | _FILLER_WORDS:
        return None
    return matches[0], before[-1].content


_FILLER_WORDS = frozenset(
    ("the", "a", "in", "for", "it", "its", "i", "mean", "meant", "one", "please", "thanks")
)
"""Words that may surround a name."""


def _distinct_words(domain: Domain, domains: Sequence[Domain]) -> frozenset[str]:
    """Words of this domain's name that no other name contains."""
    others = [_words(one) for one in domains if one.domain != domain.domain]
    return _words(domain).difference(*others)


def _words(domain: Domain) -> frozenset[str]:
    return frozenset(word.casefold() for word in tokens(f"{domain.title} {domain.domain}"))


SECOND_DOMAIN_PASSAGES = 2
"""The first domain shows up to three."""


def with_title(answer: Answer, domain: Domain) -> Answer:
    """Adds the domain's title, unless the text comes from no document."""
    if answer.path in {"small_talk", "general_llm_knowledge"}:
        return answer
    return replace(answer, from_title=domain.title)


def joined_titles(domains: Sequence[Domain]) -> str:
    """For a greeting."""
    titles = [one.title for one in domains]
    return titles[0] if len(titles) == 1 else f"{'*, *'.join(titles[:-1])}* and *{titles[-1]}"


def with_second_domain(answer: Answer, other: Answer, domain: Domain) -> Answer:
    """Adds the passages of a second, close domain. `domain`: the second."""
    added = enumerate(other.passages[:SECOND_DOMAIN_PASSAGES], start=len(answer.citations) + 1)
    passages = tuple(
        replace(passage, citation=replace(passage.citation, number=number))
        for number, passage in added
    )
    second = AlternativeDomain(
        domain=domain.domain, title=domain.title, generation=other.generation, passages=passages
    )
    text = f"{answer.text}\n\n{passages_text(f'From *{domain.title}*:', passages)}"
    unread_since = min(filter(None, (answer.unread_since, other.unread_since)), default=None)
    return replace(answer, text=text, beside=(second,), unread_since=unread_since)


def ask_which_domain(domains: Sequence[Domain], own: str = "rules for it") -> Answer:
    """A question back. It names the domains and nothing of their documents. `own`: what differs."""
    titles = [f"**{one.title}**" for one in domains]
    listed = f"{', '.join(titles[:-1])} or {titles[-1]}"
    return Answer(
        text=f"Is this a question for {listed}? Each has its own {own}.",
        path="ambiguous_query",
        confidence=ASKED_BACK_BY_A_MODEL,
        beside=tuple(AlternativeDomain(domain=one.domain, title=one.title) for one in domains),
    )
