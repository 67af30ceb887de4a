from __future__ import annotations

import pytest

from agents.extractive.relevance import (
    DOUBTFUL,
    ENOUGH,
    confidence_parts,
    is_too_little,
    may_not_answer,
    score_units,
)
from agents.plan import Plan
from agents.retrieval import retrieve
from tests.agents.corpus import LAPTOPS, ROTATION, snapshot

BADGES = """# Badges

## Lost badge

A lost badge is replaced by the front desk.

A lost badge is replaced within two days.
"""


def parts_of(question: str) -> dict[str, float]:
    plan, view = Plan(question=question, kind="in_domain"), snapshot(LAPTOPS, ROTATION)
    return confidence_parts(plan, view, score_units(plan, view, retrieve(plan, view), {}))


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("how long until a lost badge is replaced?", "within two days"),
        ("who replaced the lost badge?", "by the front desk"),
    ],
)
def test_the_statement_with_the_kind_of_value_asked_for_comes_first(
    question: str, first: str
) -> None:
    plan, view = Plan(question=question, kind="in_domain"), snapshot(BADGES)
    best = score_units(plan, view, retrieve(plan, view), {})[0]
    assert first in best.unit.text


def test_a_longer_question_may_miss_more_words() -> None:
    short, longer = parts_of("key age in okta"), parts_of("key age in okta, jira and zoom")
    assert longer["words missing"] > short["words missing"] > 0


@pytest.mark.parametrize(
    ("evidence", "refused", "doubted"),
    [(ENOUGH - 0.01, True, True), (ENOUGH, False, True), (DOUBTFUL, False, False)],
)
def test_between_the_thresholds_a_reply_is_given_and_doubted(
    evidence: float, refused: bool, doubted: bool
) -> None:
    parts = {"evidence": evidence}
    assert (is_too_little(parts), may_not_answer(parts)) == (refused, doubted)


def test_without_any_evidence_nothing_is_answered() -> None:
    assert is_too_little({})
    assert may_not_answer({})
