from __future__ import annotations

import pytest

from agents.answer import Answer, AnswerPath
from agents.confidence import CONFIDENT, HIGH, MEDIUM, confidence, confidence_level, path_for

SURE = {"share shown": 1.0, "searches agree": 1.0, "evidence": 1.0, "sufficiency": 1.0}


@pytest.mark.parametrize(
    ("sure", "words"),
    [(1.0, "high"), (HIGH, "high"), (0.89, "medium"), (MEDIUM, "medium"), (0.39, "low")],
)
def test_a_confidence_is_told_in_a_word(sure: float, words: str) -> None:
    assert confidence_level(sure) == words


def test_the_levels_ask_for_more_and_more() -> None:
    assert 0 < MEDIUM < CONFIDENT < HIGH < 1


def test_passages_are_never_as_sure_as_an_answer() -> None:
    assert MEDIUM < confidence(SURE) < HIGH


def test_passages_that_show_little_of_what_was_found_are_less_probable() -> None:
    assert confidence({**SURE, "share shown": 0.2}) < confidence(SURE)
    assert confidence({**SURE, "searches agree": 0.2}) < confidence(SURE)


@pytest.mark.parametrize("grounded", [1.0, 0.8, 0.5, 0.0])
def test_what_a_model_wrote_is_as_sure_as_it_is_grounded(grounded: float) -> None:
    sure = confidence({**SURE, "groundedness": grounded}, by_model=True)
    assert (
        confidence_level(sure) == {1.0: "high", 0.8: "medium", 0.5: "medium", 0.0: "low"}[grounded]
    )


def test_a_refusal_is_the_surer_the_less_there_is() -> None:
    nothing = confidence({}, refused=True)
    assert confidence({"evidence": 0.3}, refused=True) < nothing < HIGH


def test_a_models_refusal_is_surer_after_a_second_look() -> None:
    first = confidence(SURE, refused=True, by_model=True)
    second = confidence({**SURE, "looked again": 1.0}, refused=True, by_model=True)
    assert (round(first, 2), round(second, 2)) == (0.75, 0.9)


@pytest.mark.parametrize(
    ("sure", "needed", "path"),
    [
        (MEDIUM, MEDIUM, "company_specific_rag_success"),
        (MEDIUM - 0.01, MEDIUM, "company_specific_rag_failure"),
        (0.9, 0.95, "company_specific_rag_failure"),
    ],
)
def test_an_answer_below_what_is_needed_says_so_by_its_path(
    sure: float, needed: float, path: AnswerPath
) -> None:
    assert path_for("company_specific_rag_success", sure, needed) == path
    assert path_for("no_answer_found", sure, needed) == "no_answer_found"
    assert path_for("ambiguous_query", sure, needed) == "ambiguous_query"


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
        ("passages_found", False, False),
    ],
)
def test_an_answer_knows_whether_documents_hold_it(
    path: AnswerPath, from_documents: bool, found_nothing: bool
) -> None:
    answer = Answer(text="", path=path, confidence=1.0)
    assert (answer.from_documents, answer.found_nothing) == (from_documents, found_nothing)
