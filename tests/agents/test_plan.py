"""What a plan says of the question that it is for."""

from __future__ import annotations

import pytest

from agents.plan import Plan
from config.domain import RetrievalPolicy
from config.parsing.fields import Strategy


@pytest.mark.parametrize(
    ("question", "parts", "kind"),
    [
        ("who owns SEC-1234?", [], "code"),
        ("how long are `web-eu1` and its spare kept?", ["how long is web-eu1 kept?"], "code"),
        ("who approves a loan, and until when?", ["who approves?", "until when?"], "several"),
        ("The pager rang twice. Nobody picked up. What now?", [], "situation"),
        ("who approves a loan?", [], "plain"),
    ],
)
def test_a_question_has_one_kind(question: str, parts: list[str], kind: str) -> None:
    plan = Plan(question=question, kind="in_domain", sub_questions=parts)
    assert plan.query_kind == kind


@pytest.mark.parametrize(
    ("policy", "strategy"),
    [
        (RetrievalPolicy(), "hybrid"),
        (RetrievalPolicy(strategy="planned"), "semantic"),
        (RetrievalPolicy(strategy="planned", strategies={"plain": "keyword"}), "keyword"),
        (RetrievalPolicy(strategy="keyword", strategies={"code": "semantic"}), "keyword"),
    ],
)
def test_the_domain_file_decides_how_a_kind_of_question_is_searched(
    policy: RetrievalPolicy, strategy: Strategy
) -> None:
    plan = Plan(question="who approves a loan?", kind="in_domain", strategy="semantic")
    assert plan.searched_by(policy).strategy == strategy
