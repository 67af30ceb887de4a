from __future__ import annotations

import pytest

from agents.answer import Answer, AnswerPath
from agents.extractive.confidence_levels import CONFIDENT, ENOUGH, HIGH, MEDIUM, in_words


@pytest.mark.parametrize(
    ("confidence", "words"),
    [(1.0, "high"), (HIGH, "high"), (0.74, "medium"), (MEDIUM, "medium"), (0.49, "low")],
)
def test_a_confidence_is_told_in_a_word(confidence: float, words: str) -> None:
    assert in_words(confidence) == words


def test_the_levels_ask_for_more_and_more() -> None:
    assert 0 < ENOUGH < MEDIUM < CONFIDENT < HIGH < 1


@pytest.mark.parametrize(
    ("path", "from_documents", "found_nothing"),
    [
        ("company_specific_rag_success", True, False),
        ("cached", True, False),
        ("general_llm_knowledge", False, False),
        ("ambiguous_query", False, False),
        ("small_talk", False, False),
        ("no_answer_found", False, True),
        ("company_specific_rag_failure", True, False),
    ],
)
def test_an_answer_knows_whether_documents_hold_it(
    path: AnswerPath, from_documents: bool, found_nothing: bool
) -> None:
    answer = Answer(text="", path=path, confidence=1.0)
    assert (answer.from_documents, answer.found_nothing) == (from_documents, found_nothing)
