"""An answer knows every document it was made from, cited or not."""

from __future__ import annotations

from dataclasses import replace

from agents.answer import Answer
from index.permissions.rules import identities
from loaders.document import Permission
from tests.agents.corpus import LAPTOPS, OLD_ROTATION, ROTATION, asking, snapshot
from tests.agents.scripted import PLAN, ScriptedModel

INES, BOB = identities("ines@tidewater.example"), identities("bob@tidewater.example")
SECRET = """---
id: payout
title: Payout of Project Heron
---
# Payout of Project Heron

## Key rotation

An API signing key for Project Heron on Restricted data is replaced at the age of 14 days.
"""
ONLY_INES = {"payout": (Permission(kind="user", value="ines@tidewater.example"),)}
FOUND = snapshot(ROTATION, SECRET, LAPTOPS, permissions=ONLY_INES)
QUESTION = "how old may an API signing key get on Restricted data?"


def cited(answer: Answer) -> set[str]:
    return {citation.document for citation in answer.citations}


def test_what_a_model_read_counts_though_it_cites_nothing_of_it() -> None:
    def says(prompt: object) -> str:
        lines = str(prompt).split("source ")
        number = next(part.split(" ")[0] for part in lines if "| Key Rotation Standard" in part)
        return f"An API signing key is replaced after 90 days, but for Heron's 14 [{number}]."

    model = ScriptedModel({"answer": says, "sources": {"documents": []}})
    answer = asking(FOUND, model)(QUESTION, readers=INES)
    assert "payout" in {chunk.document_id for chunk in answer.context}
    assert "payout" not in cited(answer)
    assert "payout" in answer.drawn_from


def test_whom_it_is_closed_to_draws_nothing_from_it() -> None:
    model = ScriptedModel({"answer": "NO_ANSWER", "sources": {"documents": []}})
    for answer in (
        asking(FOUND)(QUESTION, readers=BOB),
        asking(FOUND, model)(QUESTION, readers=BOB),
    ):
        assert "payout" not in answer.drawn_from
        assert "payout" not in {citation.document for citation in answer.nearest}
        assert "Heron" not in repr(answer)


def test_where_a_human_would_look_next_counts() -> None:
    answer = asking(FOUND)("what does the cafeteria serve?", readers=INES)
    assert answer.path == "no_answer_found"
    assert answer.drawn_from == {citation.document for citation in answer.nearest}


def test_a_question_back_counts_all_that_its_writer_read() -> None:
    says = (
        "WHICH\nWhich do you mean?\n"
        "- Lost laptop: the service desk wipes it after 4 hours [1]\n"
        "- Screen lock: the screen locks after 5 minutes [2]\n"
    )
    model = ScriptedModel({"answer": says, "sources": {"documents": []}})
    answer = asking(FOUND, model)("how long?", readers=INES)
    assert {citation.document for citation in answer.citations} <= answer.drawn_from
    assert answer.drawn_from == {chunk.document_id for chunk in answer.context}


def test_chatter_by_a_model_that_saw_titles_counts_them_and_our_own_courtesy_does_not() -> None:
    plan = {**PLAN, "kind": "small_talk", "small_talk_reply": "Busy with Project Heron, you?"}
    model = ScriptedModel({"plan": plan})
    assert "payout" in asking(FOUND, model)("what's keeping you busy?", readers=INES).drawn_from
    assert asking(FOUND, model)("hello", readers=INES).drawn_from == frozenset()


def test_a_successor_that_is_named_counts_though_nothing_of_it_was_read() -> None:
    found, both = snapshot(OLD_ROTATION), snapshot(OLD_ROTATION, ROTATION)
    old = replace(found.documents["key-rotation-2024"], superseded_by="key-rotation")
    found.documents = {old.id: old, "key-rotation": both.documents["key-rotation"]}
    answer = asking(found)("how old may an API signing key on Restricted data get in Singapore?")
    assert {chunk.document_id for chunk in answer.context} == {old.id}
    assert answer.drawn_from == {old.id, "key-rotation"}
