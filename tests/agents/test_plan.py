"""What a plan says of the question that it is for."""

from __future__ import annotations

import pytest

from agents.plan import Plan


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
