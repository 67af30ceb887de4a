"""Which domain answers where nobody named one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from agents.answer import Answer, AnswerPath, Citation, Conversation, Passage, Question, Turn
from agents.confidence import CONFIDENT, is_confident_enough
from agents.graph import build_ask
from agents.ledger.ledger import QuestionOrigin
from agents.routing.router import DomainRouter
from config.domain import Domain, Sources
from config.errors import CopilotError, IndexUnavailable, ModelUnavailable, PermissionsUnknown
from config.models import Usage
from index.search import Snapshot
from loaders.document import Permission
from tests.agents.corpus import LAPTOPS, ROTATION, snapshot
from tests.agents.scripted import ScriptedModel

BACKUPS = """---
id: backup-keys
title: Backup Key Guide
---
# Backup Key Guide

## Maximum age

| Credential | Restricted data | Confidential data |
|---|---|---|
| API signing key | 10 days | 20 days |
| Webhook secret | 5 days | 15 days |
"""
TITLES = {"security": "Security help", "office": "Office help", "backups": "Backup help"}
DOMAINS = [Domain(domain=name, title=title, sources=Sources()) for name, title in TITLES.items()]
DOCUMENTS = {"security": ROTATION, "office": LAPTOPS, "backups": BACKUPS}
SCREEN = "after how long does the laptop screen lock?"
KEYS = "how old may a signing key for restricted data get?"
THREAD = Conversation(place="D1:1.0", message="1", asker="U1")


@dataclass
class Desk:
    """Three domains, and who was asked what."""

    model: ScriptedModel | None = None
    says: Mapping[str, Answer | CopilotError] = field(default_factory=dict)
    """What a domain's agents say, instead of the real ones."""
    unpublished: Mapping[str, CopilotError] = field(default_factory=dict)
    permissions: Mapping[str, tuple[Permission, ...]] = field(default_factory=dict)
    last_answered: str = ""
    asked: list[tuple[str, str]] = field(default_factory=list)
    searched: list[str] = field(default_factory=list)

    def ask(
        self,
        text: str,
        *history: str,
        domains: Sequence[Domain] = DOMAINS,
        **more: Any,
    ) -> tuple[Answer, str]:
        roles = ("user", "assistant")
        turns = tuple(Turn(role=roles[n % 2], content=one) for n, one in enumerate(history))  # type: ignore[arg-type]
        question = Question(text=text, history=turns, **more)
        through = QuestionOrigin(id="1", door="direct_message", text=text)
        answer, domain = self.answering(through, domains, lambda _: question, self._asked)
        return answer, domain.domain

    def belongs(self, text: str, here: str) -> bool:
        (at_home,) = (one for one in DOMAINS if one.domain == here)
        others = [one for one in DOMAINS if one.domain != here]
        through = QuestionOrigin(id="1", door="channel", text=text)
        return self.answering.belongs_here(through, at_home, others, lambda _: Question(text=text))

    @property
    def answering(self) -> DomainRouter:
        return DomainRouter(
            snapshot=self._snapshot,
            model=lambda: self.model,
            last_answered=lambda talk: self.last_answered,
        )

    def _snapshot(self, name: str) -> Snapshot:
        self.searched.append(name)
        if error := self.unpublished.get(name):
            raise error
        return snapshot(DOCUMENTS[name], permissions=self.permissions)

    def _asked(self, domain: Domain, question: Question) -> Answer:
        self.asked.append((domain.domain, question.text))
        said = self.says.get(domain.domain)
        if isinstance(said, CopilotError):
            raise said
        found = snapshot(DOCUMENTS[domain.domain], permissions=self.permissions)
        ask = build_ask(snapshot=lambda: found, domain=domain, model=None)
        return said or ask(question, None)


def said(confidence: float = 0.9, path: AnswerPath = "company_specific_rag_success") -> Answer:
    return Answer(text="x", path=path, confidence=confidence, usage=Usage(calls=2, input_tokens=9))


REFUSAL = said(0.9, "no_answer_found")
PASSAGE = Passage(
    citation=Citation(number=1, document="d", title="D", heading="H", url="u", quote="q"),
    text="Ten days.",
)
PASSAGES = replace(said(0.5, "passages_found"), text="Look here:", passages=(PASSAGE,), lead="Look")


def test_the_domain_whose_documents_speak_of_it_answers_and_is_named() -> None:
    desk = Desk()
    answer, domain = desk.ask(SCREEN)
    assert (domain, answer.from_title) == ("office", "Office help")
    assert "5 minutes" in answer.text
    assert [name for name, _ in desk.asked] == ["office"]
    assert sorted(desk.searched) == ["backups", "office", "security"]


def test_one_domain_is_asked_without_a_search_for_it_and_not_named() -> None:
    desk = Desk(unpublished=dict.fromkeys(TITLES, IndexUnavailable("no")), says={"office": said()})
    answer, domain = desk.ask(KEYS, domains=DOMAINS[1:2])
    assert (domain, answer.from_title, desk.searched) == ("office", "", [])


def test_where_the_best_finds_nothing_the_next_one_is_asked_and_no_third() -> None:
    desk = Desk(says=dict.fromkeys(TITLES, REFUSAL))
    answer, domain = desk.ask(SCREEN)
    assert (answer.path, domain) == ("no_answer_found", "office")
    assert len(desk.asked) == 2
    assert answer.usage.calls == 4
    found = Desk(says={"office": REFUSAL, "security": said(), "backups": said()}).ask(SCREEN)
    assert found[0].path == "company_specific_rag_success"


def test_of_two_that_are_close_both_show_passages_without_a_model() -> None:
    desk = Desk(says={"security": PASSAGES, "backups": PASSAGES})
    answer, domain = desk.ask(KEYS)
    (beside,) = answer.beside
    assert {domain, beside.domain} == {"security", "backups"}
    assert [one.citation.number for one in beside.passages] == [1]
    assert f"From *{TITLES[beside.domain]}*:" in answer.text


def test_a_direct_answer_is_not_crowded_by_another_domain() -> None:
    answer, _ = Desk(says={"security": said(), "backups": said()}).ask(KEYS)
    assert answer.beside == ()


def test_what_another_domain_could_not_show_is_left_out() -> None:
    for other in (REFUSAL, IndexUnavailable("gone")):
        desk = Desk(says={"security": PASSAGES, "backups": other})
        answer, domain = desk.ask(KEYS, domains=[DOMAINS[0], DOMAINS[2]])
        assert (domain, answer.beside) == ("security", ())


def test_that_one_of_those_asked_is_away_hides_no_answer_and_makes_no_refusal() -> None:
    for away in (IndexUnavailable("gone"), PermissionsUnknown("away")):
        desk = Desk(says={"security": away, "backups": away, "office": said()})
        with pytest.raises(type(away)):
            desk.ask(KEYS)
        found = Desk(says={"security": away, "backups": said(), "office": said()})
        assert found.ask(KEYS)[0].path == "company_specific_rag_success"
    unknown = {"security": REFUSAL, "backups": PermissionsUnknown("away")}
    with pytest.raises(PermissionsUnknown):
        Desk(says=unknown).ask(KEYS)


def test_a_model_picks_among_those_that_are_close() -> None:
    model = ScriptedModel({"domain": {"reason": "backups", "areas": [2]}})
    first, second = Desk(says={"security": said(), "backups": said()}), Desk(model=model)
    _, without = first.ask(KEYS)
    second.says = first.says
    answer, domain = second.ask(KEYS)
    assert {domain, without} == {"security", "backups"}
    assert answer.usage.calls == 3
    (prompt,) = model.prompts
    assert "area 2" in prompt.user
    assert "Office help" not in prompt.user


def test_a_model_that_picks_is_told_what_a_domain_s_tools_know() -> None:
    tool = {"name": "Rota", "what": "who is on call", "url": "https://x.example", "allow": ["now"]}
    asks = [
        Domain.model_validate(one.model_dump() | {"tools": [tool]} if one is DOMAINS[2] else one)
        for one in DOMAINS
    ]
    model = ScriptedModel({"domain": {"areas": [1]}})
    Desk(model=model, says={"security": said(), "backups": said()}).ask(KEYS, domains=asks)
    (prompt,) = model.prompts
    assert prompt.user.count("can ask Rota: who is on call") == 1
    assert "`can ask …`" in prompt.system


def test_a_clear_question_costs_no_call() -> None:
    model = ScriptedModel({})
    desk = Desk(model=model, says={"office": said()})
    assert desk.ask(SCREEN)[1] == "office"
    assert model.prompts == []


@pytest.mark.parametrize(
    "reply", [{"areas": []}, {"areas": [7]}, {"reason": 3}, ModelUnavailable("x", kind="timeout")]
)
def test_a_model_that_picks_nothing_is_done_without_and_that_is_noted(reply: Any) -> None:
    desk = Desk(model=ScriptedModel({"domain": reply}), says={"security": said()})
    answer, _ = desk.ask(KEYS, domains=[DOMAINS[0], DOMAINS[2]])
    assert [one.node for one in answer.fallbacks] == ["which_domain"]


def test_a_model_has_the_asker_choose_and_nothing_of_the_documents_is_told() -> None:
    desk = Desk(model=ScriptedModel({"domain": {"areas": [2, 1]}}))
    answer, _ = desk.ask(KEYS)
    assert answer.path == "ambiguous_query"
    assert {one.domain for one in answer.beside} == {"security", "backups"}
    assert all(not one.passages for one in answer.beside)
    assert "Backup help" in answer.text
    assert not any(word in answer.text for word in ("days", "signing"))
    assert desk.asked == []


def test_who_is_asked_back_and_says_a_name_gets_the_first_question_answered_there() -> None:
    for name in ("backup help", "Backups", "the backup one please"):
        desk = Desk(says={"backups": said()})
        _, domain = desk.ask(name, KEYS, "Is this a question for *Security help* or *Backup help*?")
        assert (domain, desk.asked) == ("backups", [("backups", KEYS)])
    asked = Desk(says=dict.fromkeys(TITLES, said()))
    asked.ask("how old may a backup get?", KEYS, "Ten days.")
    assert asked.asked[0][1] == "how old may a backup get?"


def test_a_thread_goes_on_in_the_domain_that_answered_it() -> None:
    desk = Desk(last_answered="office", says={"office": said()})
    _, domain = desk.ask("and a key?", conversation=THREAD)
    assert (domain, desk.searched) == ("office", [])


@pytest.mark.parametrize("there", [REFUSAL, IndexUnavailable("gone"), PermissionsUnknown("away")])
def test_unless_it_finds_nothing_there(there: Answer | CopilotError) -> None:
    desk = Desk(last_answered="backups", says={"backups": there, "office": said()})
    _, domain = desk.ask(SCREEN, conversation=THREAD)
    assert domain == "office"


def test_what_found_nothing_there_is_not_asked_a_second_time() -> None:
    desk = Desk(last_answered="security", says=dict.fromkeys(TITLES, REFUSAL))
    answer, _ = desk.ask(KEYS, conversation=THREAD)
    names = [name for name, _ in desk.asked]
    assert answer.found_nothing
    assert names.count("security") == 1
    assert answer.usage.calls == REFUSAL.usage.calls * len(names)


def test_a_domain_that_the_asker_may_no_longer_ask_is_not_gone_on_in() -> None:
    desk = Desk(last_answered="office", says={"security": said(), "backups": said()})
    _, domain = desk.ask(KEYS, domains=[DOMAINS[0], DOMAINS[2]], conversation=THREAD)
    assert domain != "office"


def test_documents_that_the_asker_may_not_read_speak_for_no_domain() -> None:
    mine = {"backup-keys": (Permission(kind="user", value="ada@example.com"),)}
    model = ScriptedModel({"domain": {"areas": [1]}})
    desk = Desk(model=model, permissions=mine, says={"security": said()})
    desk.ask(KEYS, domains=[DOMAINS[0], DOMAINS[2]], readers=frozenset())
    assert model.prompts == []
    assert desk.asked == [("security", KEYS)]


def test_a_greeting_names_all() -> None:
    desk = Desk()
    answer, _ = desk.ask("hello!")
    assert answer.path == "small_talk"
    assert all(title in answer.text for title in TITLES.values())
    assert desk.asked == []


def test_without_any_published_domain_the_reason_is_told() -> None:
    with pytest.raises(IndexUnavailable, match="nothing was published"):
        Desk(unpublished=dict.fromkeys(TITLES, IndexUnavailable("nothing was published"))).ask(KEYS)
    with pytest.raises(IndexUnavailable, match="no domain is configured"):
        Desk().ask(KEYS, domains=[])


def test_that_nothing_was_found_is_said_only_when_all_could_be_searched() -> None:
    unknown = {"backups": PermissionsUnknown("Google does not answer")}
    with pytest.raises(PermissionsUnknown):
        Desk(unpublished=unknown, says={"security": REFUSAL, "office": REFUSAL}).ask(KEYS)
    answer, _ = Desk(unpublished=unknown, says={"security": said()}).ask(KEYS)
    assert answer.path == "company_specific_rag_success"


@pytest.mark.parametrize("away", ["security", "office", "backups"])
def test_one_domain_s_groups_that_are_out_of_reach_keep_no_other_from_answering(away: str) -> None:
    desk = Desk(says=dict.fromkeys(TITLES, said()))

    def question_in(domain: Domain) -> Question:
        if domain.domain == away:
            raise PermissionsUnknown("the directory of groups did not answer")
        return Question(text=KEYS)

    through = QuestionOrigin(id="1", door="direct_message", text=KEYS)
    answer, domain = desk.answering(through, DOMAINS, question_in, desk._asked)
    assert answer.path == "company_specific_rag_success"
    assert domain.domain != away


def test_a_question_that_nobody_put_to_the_bot_belongs_to_one_domain_or_to_none() -> None:
    assert Desk().belongs(SCREEN, here="office")
    assert not Desk().belongs(SCREEN, here="security")
    assert not Desk().belongs(KEYS, here="office")
    assert not Desk().belongs(KEYS, here="security")  # it may be for the backups
    alone = {"backups": IndexUnavailable("x")}
    assert Desk(unpublished=alone).belongs(KEYS, here="security")


def test_a_model_tells_whose_question_it_is_that_nobody_put_to_the_bot() -> None:
    for areas, belongs in (([1], True), ([2], False), ([1, 2], False)):
        for here in ("security", "backups"):  # which comes first of two that are alike
            desk = Desk(model=ScriptedModel({"domain": {"areas": areas}}))
            assert desk.belongs(KEYS, here=here) is belongs


FOUND: AnswerPath = "passages_found"


@pytest.mark.parametrize(
    ("answer", "worth"),
    [
        (said(CONFIDENT), True),
        (said(CONFIDENT, "cached"), True),
        (said(CONFIDENT - 0.001), False),
        (said(1.0, "no_answer_found"), False),
        (said(1.0, FOUND), False),
        (said(1.0, "company_specific_rag_failure"), False),
        (said(1.0, "ambiguous_query"), False),
        (said(1.0, "general_llm_knowledge"), False),
        (said(1.0, "small_talk"), False),
        (replace(said(1.0), confidence_parts={"evidence": CONFIDENT - 0.1}), False),
    ],
)
def test_only_a_confident_answer_from_documents_is_said_unasked(
    answer: Answer, worth: bool
) -> None:
    assert is_confident_enough(answer) is worth
