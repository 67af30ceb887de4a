"""What a model may choose: among the entries that are left open, and nothing else."""

from __future__ import annotations

import pytest

from agents.answer import Answer, Question
from agents.runbooks.answer import with_runbook_lookup
from agents.runbooks.choice import NODE
from agents.steps import Progress
from config.errors import ModelUnavailable
from tests.agents.corpus import domain, snapshot
from tests.agents.scripted import Says, ScriptedModel

BY_AGENTS = Answer(text="the agents", path="no_answer_found", confidence=0.5)
CATALOGUE = """---
id: catalogue
title: Disk Alerts
---
# Disk Alerts

| Alert | Region | First step |
|---|---|---|
| DiskFull | EU | Delete the oldest dumps in Frankfurt. |
| DiskFull | US | Extend the volume in Ohio. |
| VolumeNearlyExhausted | | Ask the storage team for a terabyte. |
"""
OPEN = "[FIRING:1] DiskFull\nsummary: the machine at the lake is full"
UNKNOWN = "[FIRING:1] VolumeExhaustedSoon\nsummary: the volume is nearly exhausted"


def answer(text: str, chosen: Says, *, by_bot: bool = True) -> tuple[Answer, ScriptedModel]:
    model = ScriptedModel({"runbook": chosen})

    def agents(question: Question, progress: Progress | None = None) -> Answer:
        return BY_AGENTS

    ask = with_runbook_lookup(domain(), lambda: snapshot(CATALOGUE), model)(agents)
    return ask(Question(text=text, by_bot=by_bot), None), model


def test_a_model_chooses_between_the_rows_that_labels_leave_open() -> None:
    reply, model = answer(OPEN, {"entries": [2]})
    assert "Extend the volume in Ohio." in reply.text
    assert "Frankfurt" not in reply.text
    assert len(reply.citations) == 1
    assert reply.usage.calls == 1
    assert "the machine at the lake is full" in model.prompts[0].user


def test_an_entry_of_another_name_says_that_it_has_another() -> None:
    reply, _ = answer(UNKNOWN, {"entries": [1]})
    assert reply.from_documents
    assert "No entry is named `VolumeExhaustedSoon`" in reply.text
    assert "Ask the storage team for a terabyte." in reply.text


@pytest.mark.parametrize("numbers", [[], [0], [99], [-1]])
def test_without_a_choice_there_is_no_runbook(numbers: list[int]) -> None:
    reply, _ = answer(UNKNOWN, {"entries": numbers})
    assert reply.found_nothing
    assert "Perhaps" not in reply.text
    assert not reply.citations


def test_rows_of_the_name_stay_when_the_model_wants_none_of_them() -> None:
    reply, _ = answer(OPEN, {"entries": []})
    assert "has 2 entries" in reply.text


def test_a_failing_model_costs_only_the_choice() -> None:
    reply, _ = answer(OPEN, ModelUnavailable("down"))
    assert "has 2 entries" in reply.text
    assert reply.degraded == (NODE,)


def test_labels_that_decide_ask_no_model() -> None:
    reply, model = answer("[FIRING:1] DiskFull\nregion=us", {"entries": [1]})
    assert "Extend the volume in Ohio." in reply.text
    assert not model.prompts


def test_a_persons_words_lead_to_an_entry_or_to_the_agents() -> None:
    words = "the alert about the nearly exhausted volume is firing, what do I do?"
    chosen, _ = answer(words, {"entries": [1]}, by_bot=False)
    assert "Ask the storage team for a terabyte." in chosen.text
    left, _ = answer(words, {"entries": []}, by_bot=False)
    assert left.text == BY_AGENTS.text
