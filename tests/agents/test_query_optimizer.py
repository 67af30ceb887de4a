"""The planner as a search without an answer uses it."""

from __future__ import annotations

import pytest

from agents.answer import Question
from agents.query_optimizer import query_optimizer, search_planner
from config.domain import RetrievalPolicy
from config.errors import ModelUnavailable
from tests.agents.corpus import domain, snapshot
from tests.agents.scripted import PLAN, Says, ScriptedModel

ASKED = "how old can a signing key get, and who replaces SEC-1234?"
MADE = {
    **PLAN,
    "sub_questions": ["who replaces SEC-1234?"],
    "paraphrases": ["signing key rotation interval", "age limit of signing keys"],
    "keywords": ["signing key"],
    "hypothetical_answer": "A signing key may be some days old.",
}


def test_every_wording_of_the_plan_is_searched_the_question_as_asked_first() -> None:
    searches = search_planner(domain(), ScriptedModel({"plan": MADE}), snapshot())(ASKED)
    assert searches.queries == (
        ASKED,
        "maximum age of an API signing key",
        "who replaces SEC-1234?",
        "signing key rotation interval",
        "age limit of signing keys",
    )
    assert searches.keywords == ("signing key", "SEC-1234")
    assert searches.hypothetical_answer == "A signing key may be some days old."


def test_an_answer_is_searched_with_a_hypothetical_one_only_where_the_domain_says_so() -> None:
    asked = Question(text=ASKED)
    for hyde in (True, False):
        wanted = domain().model_copy(update={"retrieval": RetrievalPolicy(hyde=hyde)})
        plan = query_optimizer(wanted, ScriptedModel({"plan": MADE}))(asked, snapshot()).value
        assert bool(plan.hypothetical_answer) == hyde


@pytest.mark.parametrize("script", [{"plan": ModelUnavailable("down")}, None])
def test_without_its_model_it_plans_as_far_as_rules_can(script: dict[str, Says] | None) -> None:
    model = ScriptedModel(script) if script else None
    searches = search_planner(domain(), model, snapshot())(ASKED)
    assert searches.queries[0] == ASKED
    assert "SEC-1234" in searches.keywords
    assert searches.hypothetical_answer == ""


@pytest.mark.parametrize("kind", ["general", "small_talk"])
def test_whatever_the_kind_there_is_something_to_search_for(kind: str) -> None:
    model = ScriptedModel({"plan": {**MADE, "kind": kind}})
    assert len(search_planner(domain(), model, snapshot())(ASKED).queries) == 5
    assert search_planner(domain(), model, snapshot())("thanks!").queries == ("thanks!",)
