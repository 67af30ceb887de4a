from __future__ import annotations

import pytest

from agents.prompts import render
from agents.thorough.routing import explain_issues
from config.prompts import Foreign

FOREIGN = [
    *("documents", "history", "question", "examples", "sub_questions", "sources", "asked"),
    *("outline", "looked", "objections", "tried", "found", "missing", "answer"),
]
OURS = [
    "title",
    "instructions",
    "glossary",
    "today",
    "listing",
    "rounds",
    "advice",
    "strategy",
    "asking",
    "more",
]
VALUES = {name: f"<{name}>" for name in OURS} | {"issues": explain_issues()}
FENCED = {name: Foreign(name, f"<{name}>") for name in FOREIGN}


@pytest.mark.parametrize(
    ("name", "promises"),
    [
        ("plan", ["stands alone", "readings", "sub_questions", "keywords", "language"]),
        ("sources", ["exactly as listed", "supersedes", "empty list"]),
        (
            "answer",
            [
                "[2]",
                "**NOTHING**",
                "**LOOK**",
                "**WHICH**",
                "Language of the question",
                "superseded",
                "`CONFLICT 2 5:",
            ],
        ),
        ("general", ["NOTHING", "nothing about this company"]),
        ("judge", ["`score`", "missing_key_info", "contradictory", "find: words | document"]),
        ("rewrite", ["<advice>", "<strategy>", "none of them tried before"]),
        ("critique", ["word for word", "`in_sources`", 'lost "not"', "earned none"]),
    ],
)
def test_a_prompt_holds_its_rules_and_the_question(name: str, promises: list[str]) -> None:
    prompt = render(name, **VALUES, **FENCED)
    for promise in promises:
        assert promise in prompt.system
    assert "<question>" in prompt.user


def test_the_channel_s_house_rules_reach_planner_and_answerer() -> None:
    for name in ("plan", "answer", "general"):
        assert "<instructions>" in render(name, **VALUES, **FENCED).system


def test_the_channel_s_glossary_reaches_planner_and_answerer() -> None:
    for name in ("plan", "answer"):
        assert "<glossary>" in render(name, **VALUES, **FENCED).system
