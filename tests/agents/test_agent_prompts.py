from __future__ import annotations

import pytest

from agents.prompts import render
from config.prompts import Foreign

FOREIGN = [
    *("documents", "history", "question", "examples", "sub_questions", "sources", "asked"),
    *("outline", "looked", "objections"),
]
OURS = ["title", "instructions", "glossary", "today", "listing", "rounds"]
VALUES = {name: f"<{name}>" for name in OURS}
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
            ],
        ),
        ("general", ["NOTHING", "nothing about this company"]),
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
