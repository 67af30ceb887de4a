"""Which domain answers when several might."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from agents.domain_choice import first_confident, worth_saying

from agents.answer import Answer, AnswerPath
from agents.confidence.confidence_levels import CONFIDENT
from config.domain import Domain, Sources
from config.errors import IndexUnavailable, PermissionsUnknown

NAMES = ("security", "privacy", "platform")
DOMAINS = [Domain(domain=name, title=name, sources=Sources()) for name in NAMES]


def said(confidence: float, path: AnswerPath = "company_specific_rag_success") -> Answer:
    return Answer(text="x", path=path, confidence=confidence)


def spoken_of(evidence: float, path: AnswerPath = "company_specific_rag_success") -> Answer:
    """Of a domain whose documents speak of the question as likely as this."""
    return replace(said(0.5, path), confidence_parts={"evidence": evidence})


def chosen(says: Mapping[str, Answer | Exception]) -> tuple[str, list[str]]:
    """The domain that answers, and those that were asked."""
    asked: list[str] = []

    def ask(domain: Domain) -> Answer:
        asked.append(domain.domain)
        answer = says[domain.domain]
        if isinstance(answer, Exception):
            raise answer
        return answer

    answer, domain = first_confident(DOMAINS, ask)
    assert answer is says[domain.domain]
    return domain.domain, asked


FOUND: AnswerPath = "passages_found"
REFUSAL = said(0.9, "no_answer_found")
UNPUBLISHED = IndexUnavailable("nothing was published")


@pytest.mark.parametrize(
    ("security", "privacy", "platform", "answers", "asked"),
    [
        # The first that is worth saying; those after it are not asked.
        (said(CONFIDENT), said(1.0), said(1.0), "security", 1),
        (said(0.5), said(CONFIDENT), said(1.0), "privacy", 2),
        (REFUSAL, said(0.7, "cached"), said(1.0), "privacy", 2),
        # Else the most confident of those that found something; of equals the first.
        (said(0.2), said(0.5), said(0.4), "privacy", 3),
        (said(0.5), said(0.5), said(0.5), "security", 3),
        (REFUSAL, said(0.1), REFUSAL, "privacy", 3),
        (REFUSAL, said(0.1), said(0.5, "company_specific_rag_failure"), "privacy", 3),
        # A question back or general knowledge found something, but ends no search.
        (said(1.0, "ambiguous_query"), said(0.6), said(1.0), "privacy", 2),
        (said(0.5, "ambiguous_query"), REFUSAL, said(0.4), "security", 3),
        (said(1.0, "general_llm_knowledge"), REFUSAL, REFUSAL, "security", 3),
        # Of refusals the one that is least sure that its documents don't say.
        (said(0.4, "no_answer_found"), said(0.3, "no_answer_found"), REFUSAL, "privacy", 3),
        # An answer, then passages, then a refusal, however much the documents speak of it.
        (spoken_of(0.9, FOUND), spoken_of(0.2), REFUSAL, "privacy", 3),
        (REFUSAL, said(0.1, FOUND), REFUSAL, "privacy", 3),
        (spoken_of(0.3, FOUND), spoken_of(0.6, FOUND), REFUSAL, "privacy", 3),
        # What isn't published is passed over.
        (UNPUBLISHED, said(0.2), UNPUBLISHED, "privacy", 3),
        (UNPUBLISHED, REFUSAL, UNPUBLISHED, "privacy", 3),
    ],
)
def test_one_of_several_domains_answers(
    security: Answer, privacy: Answer, platform: Answer, answers: str, asked: int
) -> None:
    says = dict(zip(NAMES, (security, privacy, platform), strict=True))
    assert chosen(says) == (answers, list(NAMES[:asked]))


def test_without_any_published_domain_the_reason_is_told() -> None:
    with pytest.raises(IndexUnavailable, match="nothing was published"):
        chosen(dict.fromkeys(NAMES, UNPUBLISHED))


def test_without_any_domain_it_says_so() -> None:
    with pytest.raises(IndexUnavailable, match="no domain is configured"):
        first_confident([], lambda domain: said(1.0))


@pytest.mark.parametrize(
    ("answer", "worth"),
    [
        (said(CONFIDENT), True),
        (said(CONFIDENT, "cached"), True),
        (said(CONFIDENT - 0.001), False),
        (said(1.0, "no_answer_found"), False),
        (said(1.0, FOUND), False),
        (said(1.0, "company_specific_rag_failure"), False),
        (said(1.0, "ambiguous_query"), False),
        (said(1.0, "general_llm_knowledge"), False),
        (said(1.0, "small_talk"), False),
    ],
)
def test_only_a_confident_answer_from_documents_is_said_unasked(
    answer: Answer, worth: bool
) -> None:
    assert worth_saying(answer) is worth


def test_that_nothing_was_found_is_said_only_when_all_could_be_searched() -> None:
    unknown = PermissionsUnknown("Google does not answer")
    for says in (
        {"security": unknown, "privacy": REFUSAL, "platform": REFUSAL},
        {"security": REFUSAL, "privacy": UNPUBLISHED, "platform": unknown},
        {"security": unknown, "privacy": UNPUBLISHED, "platform": UNPUBLISHED},
    ):
        with pytest.raises(PermissionsUnknown):
            chosen(says)
    found = {"security": unknown, "privacy": said(0.5), "platform": REFUSAL}
    assert chosen(found)[0] == "privacy"
