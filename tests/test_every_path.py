"""Every path that an answer can take, through the bot's rendering and through the API."""

from __future__ import annotations

import json
from typing import get_args

import pytest

from agents.answer import Answer, AnswerPath, Citation, Passage
from agents.confidence import CONFIDENT, HIGH, MEDIUM, is_confident_enough, path_for
from bot.blocks.render import render
from bot.questions.store import QuestionRecord, went_wrong
from durable.database import now
from tests.api.front import api, here
from tests.bot.fakes import Agents

PLACE = Citation(
    number=1, document="keys", title="Key Rotation", heading="Age", url="https://x.test/keys",
    quote="90 days",
)  # fmt: skip
ANSWERS = {
    "company_specific_rag_success": Answer(
        text="90 days [1].", path="company_specific_rag_success", confidence=HIGH,
        citations=(PLACE,),
    ),
    "company_specific_rag_failure": Answer(
        text="Perhaps 90 days [1].", path="company_specific_rag_failure", confidence=MEDIUM - 0.1,
        citations=(PLACE,),
    ),
    "cached": Answer(text="90 days [1].", path="cached", confidence=HIGH, citations=(PLACE,)),
    "general_llm_knowledge": Answer(
        text="A key is a secret.", path="general_llm_knowledge", confidence=0.5
    ),
    "ambiguous_query": Answer(
        text="Which key?", path="ambiguous_query", confidence=0.5, citations=(PLACE,),
        options=("How old may a signing key get?", "How old may a webhook secret get?"),
    ),
    "no_answer_found": Answer(
        text="I found no answer.", path="no_answer_found", confidence=0.2, nearest=(PLACE,)
    ),
    "passages_found": Answer(
        text="No model, so:\n\n**Key Rotation › Age** [1]\n> 90 days", path="passages_found",
        confidence=0.5, citations=(PLACE,), lead="No model, so:",
        passages=(Passage(citation=PLACE, text="90 days"),),
    ),
    "small_talk": Answer(text="You're welcome!", path="small_talk", confidence=1.0),
}  # fmt: skip
WITH_SOURCES = {
    "company_specific_rag_success", "company_specific_rag_failure", "cached", "ambiguous_query",
    "no_answer_found", "passages_found",
}  # fmt: skip
SURE = {"company_specific_rag_success", "cached"}
UNSURE = {"company_specific_rag_failure", "no_answer_found", "passages_found"}
WITHOUT_SOURCES_BELOW = {"no_answer_found", "passages_found"}


def test_every_path_is_walked() -> None:
    assert set(ANSWERS) == set(get_args(AnswerPath))


@pytest.mark.parametrize("path", ANSWERS)
def test_slack_shows_what_the_path_means(path: AnswerPath) -> None:
    blocks = json.dumps(
        [one.blocks for one in render(ANSWERS[path], question_id="C1:1")], ensure_ascii=False
    )
    level = {"company_specific_rag_failure": "low"}.get(path, "high" if path in SURE else "")
    assert ("Confidence: " in blocks) == bool(level)
    assert f"Confidence: {level}" in blocks or not level
    assert ("*Sources*" in blocks) == (path in WITH_SOURCES - WITHOUT_SOURCES_BELOW)
    assert ("*Nearest documents*" in blocks) == (path == "no_answer_found")
    assert ("General knowledge" in blocks) == (path == "general_llm_knowledge")
    assert ("How old may a signing key get?" in blocks) == (path == "ambiguous_query")
    assert ("Ask a human" in blocks) == (path != "small_talk")
    assert ('"style": "primary"' in blocks) == (path in UNSURE), "a human is offered first"


@pytest.mark.parametrize("path", ANSWERS)
def test_the_api_names_the_path_and_its_sources(path: AnswerPath) -> None:
    agents = Agents(ANSWERS[path])
    asked = {"query": "how old?", "domain": "security"}
    body = here(api(agents)).post("/api/agentic_qna", json=asked).json()
    assert body["agent_path_taken"] == path
    assert body["cached"] == (path == "cached")
    assert bool(body["sources"]) == (path in WITH_SOURCES)


@pytest.mark.parametrize("path", ANSWERS)
def test_unasked_only_an_answer_from_documents_is_said(path: AnswerPath) -> None:
    assert is_confident_enough(ANSWERS[path]) == (path in SURE)


@pytest.mark.parametrize("path", ANSWERS)
def test_what_leaves_people_unsure_went_wrong(path: AnswerPath) -> None:
    record = QuestionRecord(
        id="C1:1", event_id="E", domain="security", channel="C1", thread_ts="1", asker="U1",
        text="how old?", state="posted", answer=None, path=path,
        confidence=ANSWERS[path].confidence, reference="", resolved_by="", asked_at=now(),
    )  # fmt: skip
    assert went_wrong(record) == (path in UNSURE - {"passages_found"}), "passages may have helped"


@pytest.mark.parametrize("path", ANSWERS)
def test_low_confidence_turns_a_success_into_a_failure_and_nothing_else(path: AnswerPath) -> None:
    sure, unsure = path_for(path, MEDIUM), path_for(path, MEDIUM - 0.01)
    assert sure == path
    assert (unsure == path) == (path != "company_specific_rag_success")
    assert unsure in {path, "company_specific_rag_failure"}
    assert MEDIUM < CONFIDENT
