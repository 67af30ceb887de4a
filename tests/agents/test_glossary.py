from __future__ import annotations

import pytest

from agents.answer import Question
from agents.extractive.glossary import explained, other_ways, same_words
from agents.extractive.relevance import aspects_of
from agents.plan import Plan
from agents.query_optimizer import PlanRequest, query_optimizer
from config.domain import Domain, Sources
from enrichment.language.words import stems
from tests.agents.corpus import snapshot

GLOSSARY = {"US": ["United States"], "KEK": ["key encryption key"], "HQ": ["Oslo", "head office"]}


@pytest.mark.parametrize(
    ("text", "others"),
    [
        ("how old may a kek get?", ["key encryption key"]),
        ("how old may a key get?", []),
        ("rules for the united states", ["US"]),
        ("rules for the US", ["United States"]),
        ("can you tell us", []),
        ("who is in HQ", ["Oslo", "head office"]),
        ("who is in oslo", ["HQ"]),
    ],
)
def test_a_short_form_and_its_meaning_stand_for_each_other(text: str, others: list[str]) -> None:
    assert [other for _, other in other_ways(GLOSSARY, text)] == others


def test_each_word_of_a_meaning_is_said_by_the_short_form() -> None:
    same = same_words(GLOSSARY, "phone of the head office")
    assert same == {"head": (frozenset({"hq"}),), "offic": (frozenset({"hq"}),)}


@pytest.mark.parametrize(
    ("question", "passage"),
    [
        ("lifetime of a KEK", "The lifetime of a key encryption key is a year."),
        ("lifetime of a key encryption key", "The lifetime of a KEK is a year."),
    ],
)
def test_a_passage_in_other_words_covers_the_question_only_with_the_glossary(
    question: str, passage: str
) -> None:
    plan, documents = Plan(question=question, kind="in_domain"), snapshot()
    with_it = aspects_of(plan, documents, GLOSSARY)[0].coverage(stems(passage))
    without = aspects_of(plan, documents, {})[0].coverage(stems(passage))
    assert without < with_it == pytest.approx(1.0)


def test_without_a_model_the_other_words_are_searched_too() -> None:
    domain = Domain(domain="keys", title="Keys", sources=Sources(), glossary=GLOSSARY)
    asked = PlanRequest(question=Question(text="how old may a KEK get?"), snapshot=snapshot())
    plan = query_optimizer(domain, None)(asked).value
    assert plan.paraphrases == ["how old may a KEK get? key encryption key"]
    assert plan.keywords == ["KEK", "key encryption key"]


def test_a_model_is_told_every_meaning() -> None:
    assert explained(GLOSSARY).splitlines()[2] == "- HQ: Oslo or head office"
    assert explained({}) == "none"
