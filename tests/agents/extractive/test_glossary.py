from __future__ import annotations

from pathlib import Path

import pytest

from agents.answer import Question
from agents.extractive.language import glossary_problems, glossary_prompt, other_ways, same_words
from agents.extractive.relevance import aspects_of
from agents.plan import Plan
from agents.query_optimizer import query_optimizer
from config.domain import Domain, Sources
from config.domain_files import check_domains
from config.errors import ConfigError
from config.settings import Settings
from enrichment.language.words import stems
from oncall import Copilot
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


JARGON = {
    "R&D": ["skunkworks"],
    "on call": ["Beacon rota"],
    "NFR": ["not for resale"],
    "M&A": ["deal team"],
    "to do": ["backlog"],
}


@pytest.mark.parametrize(
    ("text", "others"),
    [
        ("who leads R&D?", ["skunkworks"]),
        ("the r&d's budget", ["skunkworks"]),
        ("budget of the skunkworks", ["R&D"]),
        ("option R, D or E", []),
        ("who is on-call?", ["Beacon rota"]),
        ("who is on call?", ["Beacon rota"]),
        ("whom do I call?", []),
        ("what is the resale price?", []),
        ("is it not for resale?", ["NFR"]),
        ("I'm a manager", []),
        ("what is there to do?", []),
    ],
)
def test_a_phrase_of_common_words_counts_only_word_for_word(text: str, others: list[str]) -> None:
    assert [other for _, other in other_ways(JARGON, text)] == others


def test_a_passage_in_jargon_covers_the_question_in_plain_words() -> None:
    plan = Plan(question="budget of the skunkworks", kind="in_domain")
    aspect = aspects_of(plan, snapshot(), JARGON)[0]
    assert aspect.coverage(stems("The R&D budget is set in May.")) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ("us: [United States]", "5:3: glossary: `us` is a common word; write `US`"),
        ("it: [helpdesk]", "5:3: glossary: `it` is a common word; write `IT`"),
        ("A: [Alpha]", "5:3: glossary: `A` is a common word; write a longer form"),
        ("'!!!': [urgent]", "5:3: glossary: '!!!' holds no word"),
        ("🍵: [tea]", "5:3: glossary: '🍵' holds no word"),
        ("PRE: [and]", "5:9: glossary: `and` is a common word; write `AND`"),
        ("to do: [backlog]", "5:3: glossary: `to do` is made of common words; write a longer"),
    ],
)
def test_an_entry_that_no_question_can_mean_is_refused_at_its_place(
    tmp_path: Path, entry: str, problem: str
) -> None:
    path = tmp_path / "domains" / "tea.yaml"
    path.parent.mkdir()
    path.write_text(f"domain: tea\ntitle: Tea\nsources: {{files: [x]}}\nglossary:\n  {entry}\n")
    _, problems = check_domains(tmp_path, glossary_problems)
    assert [str(one).startswith(f"{path}:{problem}") for one in problems] == [True], problems
    with pytest.raises(ConfigError):
        _ = Copilot(Settings(_env_file=None).model_copy(update={"config_dir": tmp_path})).domains


@pytest.mark.parametrize("short", ["R&D", "Q&A", "US", "IT", "C++", "P1", "DPO"])
def test_typical_jargon_is_taken(tmp_path: Path, short: str) -> None:
    domain = Domain(domain="t", title="T", sources=Sources(), glossary={short: ["other words"]})
    assert list(glossary_problems(domain)) == []
    assert other_ways(domain.glossary, f"where is the {short}?") == [(short, "other words")]


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
    asked = Question(text="how old may a KEK get?")
    plan = query_optimizer(domain, None)(asked, snapshot()).value
    assert plan.paraphrases == ["how old may a KEK get? key encryption key"]
    assert plan.keywords == ["KEK", "key encryption key"]


def test_a_model_is_told_every_meaning() -> None:
    assert glossary_prompt(GLOSSARY).splitlines()[2] == "- HQ: Oslo or head office"
    assert glossary_prompt({}) == "none"
