"""The response of `/api/retrieve`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from cli.inspection import print_retrieved
from config.errors import UsageError
from enrichment.language.words import search_terms
from index.captions import highlight, shorten
from index.pipelines import Searches, retrieve
from index.ranking.rerank import Reranked
from index.search import Hit, Snapshot
from index.surroundings import adjacent, row_group

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
SEARCHES = Searches(
    queries=("keys?", "who owns the keys", "key rotation interval"),
    keywords=("SEC-1234",),
    hypothetical_answer="Keys are rotated regularly.",
)


def backwards(question: str, hits: Sequence[Hit]) -> Reranked:
    """The last first, the best with a score of 1."""
    return Reranked(
        hits=tuple(reversed(hits)),
        scores=tuple(1 / rank for rank, _ in enumerate(hits, start=1)),
        by=("backwards",),
    )


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


def test_rerank_judges_more_than_it_shows(snapshot: Snapshot) -> None:
    plain = retrieve(snapshot, "keys", top_k=6)
    found = retrieve(snapshot, "keys", pipeline="rerank", top_k=2, reranker=backwards)
    assert found["reranked"]
    assert [document["rerank_score"] for document in found["documents"]] == [1.0, 0.5]
    assert [one["id"] for one in found["documents"]] == [
        one["id"] for one in reversed(plain["documents"][-2:])
    ]


def test_advanced_searches_all_that_was_planned_and_judges_it_again(snapshot: Snapshot) -> None:
    asked: list[str] = []

    def plan(question: str) -> Searches:
        asked.append(question)
        return SEARCHES

    found = retrieve(snapshot, "keys?", pipeline="advanced", top_k=2, plan=plan, reranker=backwards)
    assert asked == ["keys?"]
    assert found["queries_used"] == [*SEARCHES.queries, SEARCHES.hypothetical_answer]
    assert found["hyde_used"]
    assert found["reranked"]
    assert all("around" in document for document in found["documents"])


def test_only_advanced_plans(snapshot: Snapshot) -> None:
    for pipeline in ("standard", "rerank", "facets"):
        found = retrieve(snapshot, "keys?", pipeline=pipeline, plan=lambda question: SEARCHES)
        assert found["queries_used"] == ["keys?"]
        assert not found["hyde_used"]


def test_what_was_planned_finds_what_the_question_does_not_say(snapshot: Snapshot) -> None:
    def plan(question: str) -> Searches:
        return Searches(queries=(question, "signing keys are rotated"))

    alone = retrieve(snapshot, "zzz", pipeline="advanced", search_type="keyword")
    found = retrieve(snapshot, "zzz", pipeline="advanced", search_type="keyword", plan=plan)
    assert alone["documents"] == []
    assert found["documents"][0]["source"] == "key-rotation"


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


def test_surroundings_stay_in_their_section_and_tables_come_whole(snapshot: Snapshot) -> None:
    text, table = snapshot.chunks("incident-guide")[0], snapshot.chunks("incident-guide")[3]
    assert adjacent(snapshot, text) == []
    assert row_group(snapshot, table) == [table]
    assert row_group(snapshot, text) == [text]


def test_highlighting_keeps_the_text() -> None:
    marked = highlight("Rotate **SEC-1234** (now)", frozenset(search_terms("sec-1234 rotation")))
    assert marked == "**Rotate** **SEC-1234** (now)"
    assert shorten("word " * 100).endswith("word…")
