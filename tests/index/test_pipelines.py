"""The response of `/api/retrieve`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cli.inspection import print_retrieved
from config.chat_model import build_chat_model
from config.errors import UsageError
from config.models import ChatModel
from config.settings import Settings
from enrichment.language.words import search_terms
from index.captions import highlight, shorten
from index.neighbours import neighbours, row_group
from index.pipelines import Narrowing, retrieve
from index.search import Snapshot
from playground.openai_stand_in import ModelFault, OpenAIStandIn

FIELDS = {
    "success",
    "documents",
    "count",
    "queries_used",
    "reranked",
    "hyde_used",
    "pipeline",
    "search_type",
    "semantic_answers",
    "facets",
    "generation",
}
VARIANTS = {
    "sub_questions": ["who owns the keys"],
    "paraphrases": ["key rotation interval"],
    "keywords": ["SEC-1234"],
    "hypothetical_answer": "Keys are rotated regularly.",
}


def model_at(server: OpenAIStandIn) -> ChatModel:
    values = {"openai_base_url": server.base_url, "chat_model": "m", "openai_api_key": "k"}
    model = build_chat_model(Settings.model_validate(values), pause_seconds=0.0)
    assert model is not None
    return model


def test_every_pipeline_gives_every_field_as_json(snapshot: Snapshot) -> None:
    for pipeline in ("standard", "rerank", "advanced", "facets"):
        found = retrieve(snapshot, "how often are signing keys rotated", pipeline=pipeline, top_k=2)
        assert json.loads(json.dumps(found)).keys() == FIELDS
        assert (found["pipeline"], found["count"], found["success"]) == (pipeline, 2, True)
        assert found["documents"][0]["source"] == "key-rotation"
        assert not found["reranked"]
        assert found["queries_used"] == ["how often are signing keys rotated"]


def test_captions_show_the_sentence_that_matched_with_its_words_in_bold(
    snapshot: Snapshot,
) -> None:
    found = retrieve(snapshot, "how often are signing keys rotated?")
    caption = found["documents"][0]["caption"]
    assert caption["text"] == "Signing keys are rotated every 90 days."
    assert caption["highlights"] == "**Signing** **keys** are **rotated** every 90 days."
    assert found["semantic_answers"][0]["text"] == caption["text"]
    scores = [answer["score"] for answer in found["semantic_answers"]]
    assert scores == sorted(scores, reverse=True)


def test_facets_count_the_passages_that_name_a_value(snapshot: Snapshot) -> None:
    found = retrieve(snapshot, "P0", pipeline="facets", top_k=1)
    assert found["facets"]["code"] == [{"value": "P0", "count": 1}, {"value": "P1", "count": 1}]
    assert {"value": "runbook", "count": 4} in found["facets"]["document_type"]
    assert sum(one["count"] for one in found["facets"]["document"]) == 8
    assert found["count"] == 1


def test_rerank_lets_the_model_choose(snapshot: Snapshot) -> None:
    script = {"rerank": {"scores": [{"number": n, "score": n} for n in range(1, 7)]}}
    with OpenAIStandIn(script) as server:
        found = retrieve(snapshot, "keys", pipeline="rerank", top_k=2, model=model_at(server))
    assert found["reranked"]
    assert [document["rerank_score"] for document in found["documents"]] == [0.6, 0.5]


def test_advanced_searches_variants_and_a_hypothetical_answer(snapshot: Snapshot) -> None:
    reply = {"scores": [{"number": n, "score": 5} for n in range(1, 7)]}
    with OpenAIStandIn({"variants": VARIANTS, "rerank": reply}) as server:
        found = retrieve(snapshot, "keys?", pipeline="advanced", top_k=2, model=model_at(server))
    assert found["queries_used"] == [
        "keys?",
        "who owns the keys",
        "key rotation interval",
        "Keys are rotated regularly.",
    ]
    assert found["hyde_used"]
    assert found["reranked"]


def test_advanced_goes_on_without_its_model(snapshot: Snapshot) -> None:
    faults = [ModelFault(kind="status", status=500)] * 40
    with OpenAIStandIn({}, faults=faults) as server:
        found = retrieve(snapshot, "keys", pipeline="advanced", model=model_at(server))
    assert found["queries_used"] == ["keys"]
    assert not found["hyde_used"]
    assert found["count"] > 0


def test_filters_reach_the_search(snapshot: Snapshot) -> None:
    narrowing = Narrowing(document_types=frozenset({"runbook"}))
    found = retrieve(snapshot, "keys", narrowing=narrowing)
    assert {document["source"] for document in found["documents"]} == {"incident-guide"}


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"pipeline": "best"}, "no pipeline 'best'"),
        ({"search_type": "fuzzy"}, "no search type 'fuzzy'"),
        ({"top_k": 0}, "top_k is 0"),
        ({"top_k": 5_000}, "top_k is 5000"),
    ],
)
def test_wrong_requests_name_what_is_wrong(
    snapshot: Snapshot, wrong: dict[str, Any], problem: str
) -> None:
    with pytest.raises(UsageError, match=problem):
        retrieve(snapshot, "keys", **wrong)


def test_nothing_found_is_a_success_without_documents(
    snapshot: Snapshot, capsys: pytest.CaptureFixture[str]
) -> None:
    found = retrieve(snapshot, "")
    assert (found["success"], found["documents"], found["count"]) == (True, [], 0)
    print_retrieved(found)
    assert "Nothing found" in capsys.readouterr().out


def test_a_person_sees_place_caption_and_facets(
    snapshot: Snapshot, capsys: pytest.CaptureFixture[str]
) -> None:
    print_retrieved(retrieve(snapshot, "signing keys", pipeline="facets", top_k=1))
    shown = capsys.readouterr().out
    assert "1. Key Rotation › Section 0" in shown
    assert "Signing keys are rotated every 90 days." in shown
    assert "code: P0 (1), P1 (1)" in shown


def test_neighbours_stay_in_their_section_and_tables_come_whole(snapshot: Snapshot) -> None:
    text, table = snapshot.chunks("incident-guide")[0], snapshot.chunks("incident-guide")[3]
    assert neighbours(snapshot, text) == []
    assert row_group(snapshot, table) == [table]
    assert row_group(snapshot, text) == [text]


def test_highlighting_keeps_the_text() -> None:
    marked = highlight("Rotate **SEC-1234** (now)", frozenset(search_terms("sec-1234 rotation")))
    assert marked == "**Rotate** **SEC-1234** (now)"
    assert shorten("word " * 100).endswith("word…")
