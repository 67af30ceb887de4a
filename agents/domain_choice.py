"""Which domain answers when several might: asked in turn, by one rule behind every door."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from agents.answer import Answer
from agents.confidence.confidence_levels import CONFIDENT
from config.domain import Domain
from config.errors import CopilotError, IndexUnavailable, PermissionsUnknown


def first_confident(
    domains: Iterable[Domain], ask: Callable[[Domain], Answer]
) -> tuple[Answer, Domain]:
    """The first answer that is worth saying, else the best: an answer, then passages, then a
    refusal; of a kind the one whose documents speak of the question most, the most confident one,
    or the refusal that is least sure that the documents don't say.

    Raises IndexUnavailable when none of the domains has published documents, and
    PermissionsUnknown when nothing was found but one of them could not be searched for it."""
    best: tuple[Answer, Domain] | None = None
    unavailable: CopilotError | None = None
    for domain in domains:
        try:
            answer = ask(domain)
        except IndexUnavailable as error:
            unavailable = unavailable or error
            continue
        except PermissionsUnknown as error:
            unavailable = error
            continue
        if worth_saying(answer):
            return answer, domain
        if best is None or _rank(answer) > _rank(best[0]):
            best = answer, domain
    # That the documents say nothing is known only once all of them could be searched.
    unchecked = isinstance(unavailable, PermissionsUnknown)
    if best is None or (unchecked and best[0].found_nothing):
        raise unavailable or IndexUnavailable("no domain is configured")
    return best


def worth_saying(answer: Answer) -> bool:
    """Good enough to say without being asked."""
    return (
        answer.from_documents
        and not answer.unsure
        and min(answer.confidence, _evidence(answer, otherwise=1.0)) >= CONFIDENT
    )


def _rank(answer: Answer) -> tuple[int, float, bool, float]:
    # Whether documents speak of it tells domains apart better than how well it is said.
    evidence = _evidence(answer, otherwise=0.0)
    # The less sure it is that the documents don't say, the more its nearest ones are worth.
    sure = -answer.confidence if answer.found_nothing else answer.confidence
    kind = 0 if answer.found_nothing else 1 if answer.path == "passages_found" else 2
    return kind, evidence, not answer.unsure, sure


def _evidence(answer: Answer, *, otherwise: float) -> float:
    """Probability that the documents speak of the question, 0–1."""
    return answer.confidence_parts.get("evidence", otherwise)
