"""What a plan says of the question that it is for."""

from __future__ import annotations

import pytest

from agents.answer import Question
from agents.plan import Plan, reply_type
from agents.query_optimizer import query_optimizer
from config.domain import RetrievalPolicy
from config.parsing.fields import Strategy
from tests.agents.corpus import domain, snapshot
from tests.agents.scripted import ScriptedModel


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


@pytest.mark.parametrize(
    ("policy", "is_asked"),
    [
        (RetrievalPolicy(), False),
        (RetrievalPolicy(hyde=True), True),
        (RetrievalPolicy(strategies={"code": "planned"}), True),
    ],
)
def test_the_model_is_asked_for_a_strategy_and_a_guess_only_where_they_are_used(
    policy: RetrievalPolicy, is_asked: bool
) -> None:
    asked = domain().model_copy(update={"retrieval": policy})
    plan = {"question": "who approves a loan?", "kind": "in_domain", "strategy": "keyword"}
    model = ScriptedModel({"plan": plan})
    query_optimizer(asked, model)(Question(text="who approves a loan?"), snapshot())
    (prompt,) = model.prompts
    assert ("`strategy`" in prompt.system) == is_asked
    fields = reply_type(policy).model_json_schema()["properties"]
    assert {"strategy", "reason", "hypothetical_answer"}.isdisjoint(fields) != is_asked
