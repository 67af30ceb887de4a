"""Questions that are not about documents' contents are told by whole forms and known names."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from agents.answer import Answer, Question
from agents.graph import build_ask
from agents.own_knowledge import is_named, own_question
from agents.routing.router import DomainRouter
from config.domain import Domain
from index.search import Snapshot
from loaders.document import Permission
from tests.agents.corpus import LAPTOPS, OLD_ROTATION, ROTATION, asking, domain, snapshot
from tests.agents.memory import MemorySnapshot
from tests.agents.scripted import ScriptedModel

SCHEDULE = """---
id: retention
title: Data Retention Schedule
owner: Marek Vos
modified: 2026-08-03
---
# Data Retention Schedule

## Why it changed

Call recordings are kept for 90 days.
"""
RECORDED = """---
id: logging
title: Logging Standard
owner: Marek Vos
modified: 2026-08-03
---
# Logging Standard

This standard is owned by the Privacy Desk.

## History

| Version | Changed | What |
|---|---|---|
| 2 | 4 May 2025 | Names are hashed |
"""


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("who is on call right now?", "on_call"),
        ("whos on-call rn", "on_call"),
        ("Hi, can you tell me who’s currently on call please?", "on_call"),
        ("who is on call next?", "on_call"),
        ("who's oncall this weekend", "on_call"),
        ("who do I call?", "on_call"),
        ("who is on call for security", "on_call"),
        ("who was on call last night?", "on_call"),
        ("who will be on call tomorrow at 14:00?", "on_call"),
        ("who had the pager on Tuesday night", "on_call"),
        ("is anybody on call right now", "on_call"),
        ("how do I reach the person on call?", "escalation"),
        ("when am I next on call?", "turns"),
        ("when's my next on-call shift", ""),
        ("when is my next on-call shift", "turns"),
        ("am I on call this weekend", "turns"),
        ("was I on call last night?", "turns"),
        ("when is Ines next on call?", "turns"),
        ("when is Ines Okafor's next shift?", "turns"),
        ("is Dana on call on 24 December", "turns"),
        ("how do I escalate?", "escalation"),
        ("how can we escalate this to a human", "escalation"),
        ("what's the escalation path", "escalation"),
        ("what's open in this channel?", "open"),
        ("anything still open here?", "open"),
        ("which follow-ups are open?", "open"),
        ("any open checklists", "open"),
        ("which documents do you know?", "documents"),
        ("what docs do you have access to", "documents"),
        ("list your documents", "documents"),
        ("when was the key rotation standard last updated?", "updated"),
        ("when did the laptop guide last change", "updated"),
        ("when was the last change to the laptop guide", "updated"),
        ("who owns the retention schedule?", "owner"),
        ("what can you do?", "abilities"),
        ("help", "abilities"),
        ("", ""),
        ("what is a break-glass account?", ""),
        ("when was the retention schedule last changed and why", ""),
        ("which document covers GDPR?", ""),
        ("which documents do you have about GDPR?", ""),
        ("list the documents that an auditor needs", ""),
        ("how do I get on call pay?", ""),
        ("who is not on call?", ""),
        ("on call", ""),
        ("when is the retention schedule updated?", ""),
        ("list the sources", ""),
    ],
)
def test_a_question_to_the_bot_is_told_by_its_whole_form(text: str, kind: str) -> None:
    question = own_question(text)
    assert (question.kind if question else "") == kind


@pytest.mark.parametrize(
    "text",
    [
        "who is on call for the database on weekends according to the policy",
        "who do I call when a laptop is stolen",
        "who is on call when the rota is empty",
        "who is on call for security incidents",
        "who is on call during a SEV1",
        "on call compensation",
        "how do I escalate an incident",
        "how do I escalate to the security lead",
        "what is open source",
        "what is open on weekends",
    ],
)
def test_what_is_left_of_a_question_must_be_a_name_that_is_known(text: str) -> None:
    question = own_question(text)
    assert question is None or not is_named(question.subject, "Security help", "security")


@pytest.mark.parametrize("text", ["who is on call", "who is on call here now", "how do I escalate"])
def test_nothing_left_is_this_place(text: str) -> None:
    question = own_question(text)
    assert question
    assert is_named(question.subject, "Security help")


def test_a_domain_is_named_by_some_of_its_title() -> None:
    question = own_question("who's on call for the security team right now?")
    assert question
    assert is_named(question.subject, "Security help")
    assert not is_named(question.subject, "Platform help")


MODEL = ScriptedModel({})


def titles(reply: Answer) -> list[str]:
    return [one.title for one in reply.citations]


@pytest.mark.parametrize("model", [None, MODEL])
def test_the_documents_are_listed_without_a_model(model: ScriptedModel | None) -> None:
    reply = asking(snapshot(ROTATION, LAPTOPS), model)("which documents do you know?")
    assert titles(reply) == ["Key Rotation Standard", "Laptop Guide"]
    assert "2 documents" in reply.text
    assert reply.path == "small_talk"
    assert reply.usage.calls == 0


def test_only_documents_that_the_asker_may_read_are_listed() -> None:
    closed = {"laptops": (Permission(kind="user", value="ines@tidewater.example"),)}
    known = snapshot(ROTATION, LAPTOPS, permissions=closed)
    text = "which documents do you know?"
    assert titles(asking(known)(text, readers=frozenset())) == ["Key Rotation Standard"]
    ines = frozenset({"ines@tidewater.example"})
    assert len(titles(asking(known)(text, readers=ines))) == 2
    hidden = asking(known)("when was the laptop guide last updated?", readers=frozenset())
    assert "laptops" not in hidden.drawn_from


@pytest.mark.parametrize(
    "text",
    [
        "when was the data retention schedule last updated?",
        "when was the retention schedule last changed",
        "when did the Data Retention Schedule document change?",
    ],
)
def test_a_document_s_last_edit_is_on_its_card(text: str) -> None:
    reply = asking(snapshot(SCHEDULE, ROTATION))(text)
    assert reply.text == "**Data Retention Schedule** was last edited on 3 August 2026 [1]."
    assert reply.drawn_from == {"retention"}
    assert reply.from_documents


def test_its_owner_is_on_its_card() -> None:
    reply = asking(snapshot(SCHEDULE, ROTATION))("who owns the retention schedule?")
    assert reply.text == "The owner of **Data Retention Schedule** is Marek Vos [1]."


@pytest.mark.parametrize(
    "text",
    [
        "when was the retention schedule last changed and why?",
        "when was the database last changed?",
        "when was the standard updated?",  # there are two
        "who owns the key rotation standard?",  # its card says nothing
        "when was the logging standard last updated?",  # it says itself
        "who owns the logging standard?",
        "which document covers retention?",
    ],
)
def test_what_no_card_says_for_certain_goes_to_the_documents(text: str) -> None:
    reply = asking(snapshot(SCHEDULE, ROTATION, RECORDED))(text)
    assert "last edited" not in reply.text
    assert "The owner of **" not in reply.text


def test_of_two_versions_the_one_in_force_is_meant() -> None:
    known = snapshot(OLD_ROTATION, ROTATION)
    at = datetime(2026, 2, 1, tzinfo=UTC)
    cards = [replace(card, modified_at=at) for card in known.documents.values()]
    chunks = [chunk for card in cards for chunk in known.chunks(card.id)]
    ask = asking(MemorySnapshot(chunks, cards))
    assert ask("when was the key rotation standard last changed?").drawn_from == {"key-rotation"}
    old = ask("when was the key rotation standard 2024 last changed?")
    assert "superseded" in old.text


def test_among_several_domains_the_one_with_the_document_answers() -> None:
    shelves = {"security": snapshot(ROTATION, LAPTOPS), "privacy": snapshot(SCHEDULE)}
    domains = [named("security"), named("privacy")]

    def router(text: str) -> tuple[Answer, Domain]:
        def ask(one: Domain, question: Question) -> Answer:
            agents = build_ask(snapshot=lambda: shelves[one.domain], domain=one, model=None)
            return agents(question, None)

        def documents(name: str) -> Snapshot:
            return shelves[name]

        from agents.ledger.ledger import QuestionOrigin

        through = QuestionOrigin(id="q", door="cli", text=text)
        routing = DomainRouter(snapshot=documents)
        return routing(through, domains, lambda _: Question(text=text), ask)

    answer, domain_of_answer = router("when was the retention schedule last updated?")
    assert domain_of_answer.domain == "privacy"
    assert "3 August 2026" in answer.text
    back, _ = router("which documents do you know?")
    assert back.path == "ambiguous_query"
    assert [one.title for one in back.beside] == ["Security help", "Privacy help"]


def named(name: str) -> Domain:
    return domain().model_copy(update={"domain": name, "title": f"{name.title()} help"})
