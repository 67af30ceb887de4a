from __future__ import annotations

import pytest

from agents.extractive.relevance import (
    ENOUGH,
    confidence_parts,
    is_too_little,
    score_units,
)
from agents.plan import Plan
from agents.retrieval import retrieve
from tests.agents.corpus import LAPTOPS, ROTATION, snapshot

BADGES = """# Badges

## Lost badge

A lost badge is replaced by the front desk.

A lost badge is replaced within two days.

1. A lost badge is reported.
"""


def parts_of(question: str) -> dict[str, float]:
    plan, view = Plan(question=question, kind="in_domain"), snapshot(LAPTOPS, ROTATION)
    return confidence_parts(plan, view, score_units(plan, view, retrieve(plan, view), {}))


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("how long until a lost badge is replaced?", "within two days"),
        ("who replaced the lost badge?", "by the front desk"),
        ("what do I do when a badge is lost?", "is reported"),
    ],
)
def test_the_statement_with_the_kind_of_value_asked_for_comes_first(
    question: str, first: str
) -> None:
    plan, view = Plan(question=question, kind="in_domain"), snapshot(BADGES)
    best = score_units(plan, view, retrieve(plan, view), {})[0]
    assert first in best.unit.text


def test_a_name_in_the_path_of_a_file_counts_for_what_stands_in_it() -> None:
    text = "# Leave\n\n## Notice\n\nLeave is asked for {} weeks before.\n"
    view = snapshot(text.format(3), text.format(6), paths=["acorn/leave.md", "birch/leave.md"])
    plan = Plan(question="how early must leave be asked for at birch?", kind="in_domain")
    best, other = score_units(plan, view, retrieve(plan, view), {})[:2]
    assert "6 weeks" in best.unit.text
    assert best.coverage > other.coverage


def test_a_longer_question_may_miss_more_words() -> None:
    short, longer = parts_of("key age in okta"), parts_of("key age in okta, jira and zoom")
    assert longer["words missing"] > short["words missing"] > 0


@pytest.mark.parametrize(("evidence", "refused"), [(ENOUGH - 0.01, True), (ENOUGH, False)])
def test_below_the_threshold_nothing_is_answered(evidence: float, refused: bool) -> None:
    assert is_too_little({"evidence": evidence}) == refused


def test_without_any_evidence_nothing_is_answered() -> None:
    assert is_too_little({})
