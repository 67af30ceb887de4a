"""Nothing of a document reaches whom it isn't open to: no answer, no name, no question back."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agents.answer import Answer
from index.permissions.rules import identities
from loaders.document import Permission
from tests.agents.corpus import LAPTOPS, OLD_ROTATION, ROTATION, asking, snapshot
from tests.agents.scripted import OPEN, PLAN, ScriptedModel, Watching

INES, BOB = identities("ines@tidewater.example"), identities("bob@tidewater.example")
ONLY_INES = {"laptops": (Permission(kind="user", value="ines@tidewater.example"),)}
FOUND = snapshot(ROTATION, LAPTOPS, permissions=ONLY_INES)
LUNCH = """---
id: lunch
title: Lunch
---
# Lunch

## Soup

Soup is warm.
"""
ASKED = "after how many minutes does the laptop screen lock?"


def everything_about(answer: Answer) -> str:
    return repr((answer, answer.trace))


def test_who_may_read_it_is_answered_from_it() -> None:
    answer = asking(FOUND)(ASKED, readers=INES)
    assert "after 5 minutes" in answer.text.replace("*", "")
    assert answer.citations[0].document == "laptops"


def test_who_may_not_is_refused_as_if_it_were_not_there() -> None:
    watching = Watching()
    answer = asking(FOUND)(ASKED, readers=BOB, progress=watching)
    assert answer.path == "no_answer_found"
    assert answer.text.startswith("I searched the 1 document of Security help")
    assert "laptops" not in everything_about(answer).lower()
    assert not any("2 documents" in line for line in watching.lines)


def test_a_model_is_not_told_of_it() -> None:
    plan = {**PLAN, "sub_questions": [OPEN]}
    chosen = {"documents": [{"id": "laptops", "reason": "screen"}]}
    model = ScriptedModel({"plan": plan, "sources": chosen})
    several = snapshot(ROTATION, LUNCH, LAPTOPS, permissions=ONLY_INES)
    answer = asking(several, model)(ASKED, readers=BOB)
    said = "".join(prompt.system + prompt.user for prompt in model.prompts)
    assert model.called[:2] == ["plan", "sources"]
    assert "Laptop Guide" not in said
    assert "Key Rotation Standard" in said
    assert answer.trace is not None
    assert answer.trace.sources.documents == ()


@pytest.mark.parametrize("asked_for", ["find: wipes the laptop", "open: Laptop Guide", "around: 1"])
def test_nothing_that_the_answerer_asks_for_opens_it(asked_for: str) -> None:
    found = snapshot(LUNCH, LAPTOPS, permissions=ONLY_INES)

    def read(readers: frozenset[str]) -> str:
        plan = {**PLAN, "question": "what soup is served for lunch?"}
        model = ScriptedModel({"plan": plan, "answer": f"LOOK\n{asked_for}"})
        asking(found, model)("what is for lunch?", readers=readers)
        assert "answer" in model.called
        return "".join(prompt.system + prompt.user for prompt in model.prompts)

    assert "Laptop Guide" in read(INES)
    assert "service desk" not in read(BOB)


def test_a_successor_that_is_closed_is_not_named() -> None:
    found = snapshot(OLD_ROTATION, ROTATION, permissions={"key-rotation": ONLY_INES["laptops"]})
    old = replace(found.documents["key-rotation-2024"], superseded_by="key-rotation")
    found.documents = {**found.documents, old.id: old}
    question = "how old may a signing key get?"

    def labels(readers: frozenset[str]) -> list[str]:
        model = ScriptedModel({"answer": "NO_ANSWER", "sources": {"documents": []}})
        asking(found, model)(question, readers=readers)
        lines = model.prompts[-1].user.splitlines()
        return [line for line in lines if " source " in line and "2024" in line]

    assert all(line.endswith("superseded by Key Rotation Standard>") for line in labels(INES))
    assert labels(BOB)
    assert all(line.endswith("| superseded>") for line in labels(BOB))
