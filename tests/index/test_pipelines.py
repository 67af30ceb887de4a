"""The response of `/api/retrieve`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, cast

import pytest

from cli.output.inspection import print_retrieved
from config.errors import UsageError
from enrichment.chunk import Chunk, Entity
from enrichment.language.words import search_terms
from index.facets import MAX_COUNTED, VALUES, count_facets
from index.permissions.rules import ReaderView
from index.pipelines import Searches, highlight, retrieve, shorten
from index.ranking.rerank import Reranked
from index.search import Hit, SearchQuery, Snapshot
from index.snapshot import adjacent, row_group

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
    "captions",
    "facets",
    "facet_totals",
    "degraded",
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


def test_facets_count_the_passages_and_documents_that_name_a_value(snapshot: Snapshot) -> None:
    found = retrieve(snapshot, "P0", pipeline="facets", top_k=1)
    assert found["facets"]["code"] == [
        {"value": "P0", "count": 1, "documents": 1},
        {"value": "P1", "count": 1, "documents": 1},
    ]
    assert found["count"] == 1
    assert retrieve(snapshot, "P0", top_k=1)["facet_totals"] is None


@pytest.mark.parametrize("search_type", ["hybrid", "vector", "keyword"])
def test_facets_are_of_all_that_was_found_however_little_is_shown(
    snapshot: Snapshot, search_type: str
) -> None:
    asked = "how often are signing keys rotated"
    few, all_of_it = (
        retrieve(snapshot, asked, pipeline="facets", top_k=top_k, search_type=search_type)
        for top_k in (1, 200)
    )
    assert few["facets"] == all_of_it["facets"]
    totals, documents = few["facet_totals"], [one["source"] for one in all_of_it["documents"]]
    assert totals["passages"] == len({one["id"] for one in all_of_it["documents"]})
    assert totals["documents"] == len(set(documents))
    assert totals["complete"]
    assert totals["values"]["document"] == len(set(documents))
    assert few["facets"]["document"] == [
        {"value": name, "count": count, "documents": 1}
        for name, count in sorted(Counter(documents).items(), key=lambda one: (-one[1], one[0]))
    ]


def test_what_no_word_and_no_meaning_speaks_for_is_not_counted(snapshot: Snapshot) -> None:
    words = retrieve(snapshot, "signing", pipeline="facets", search_type="keyword")
    everything = sum(len(snapshot.chunks(one)) for one in snapshot.documents)
    assert 0 < words["facet_totals"]["passages"] < everything
    nothing = retrieve(snapshot, "zzz", pipeline="facets", search_type="keyword")
    assert nothing["facet_totals"] == {
        "passages": 0, "documents": 0, "complete": True, "values": {},
    }  # fmt: skip


def test_values_beyond_those_shown_are_counted_and_so_many_hits_that_not_all_are() -> None:
    def naming(number: int) -> Hit:
        code = Entity(kind="code", value=f"C-{number % 30}")
        chunk = Chunk(
            id=str(number), document_id=f"d{number % 3}", document_title="D", kind="text",
            text="t", index_text="t", tokens=1, heading_path=(), position=number,
            entities=(code, code),
        )  # fmt: skip
        return Hit(chunk=chunk, score=1.0)

    hits = [naming(number) for number in range(MAX_COUNTED + 1)]
    counted = count_facets(hits[:60], {})
    assert (len(counted.facets["code"]), counted.facets["code"][0]["count"]) == (VALUES, 2)
    assert counted.totals is not None
    assert counted.totals["values"] == {"code": 30, "document": 3}
    assert counted.totals["complete"]
    beyond = count_facets(hits, {}).totals
    assert beyond is not None
    assert (beyond["passages"], beyond["complete"]) == (MAX_COUNTED, False)


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


def test_only_advanced_plans_by_itself(snapshot: Snapshot) -> None:
    for pipeline in ("standard", "rerank", "facets"):
        found = retrieve(snapshot, "keys?", pipeline=pipeline, plan=lambda question: SEARCHES)
        assert found["queries_used"] == ["keys?"]
        assert not found["hyde_used"]


@pytest.mark.parametrize("pipeline", ["standard", "rerank", "advanced", "facets"])
@pytest.mark.parametrize(
    ("expands", "by_answer", "reranks"), list(product([False, True], repeat=3))
)
def test_a_switch_wins_over_the_pipeline(
    snapshot: Snapshot, pipeline: str, expands: bool, by_answer: bool, reranks: bool
) -> None:
    found = retrieve(
        snapshot, "keys?", pipeline=pipeline, top_k=2, plan=lambda question: SEARCHES,
        reranker=backwards, query_expansion=expands, hyde=by_answer, enable_rerank=reranks,
    )  # fmt: skip
    searched = list(SEARCHES.queries) if expands else ["keys?"]
    assert found["queries_used"] == searched + [SEARCHES.hypothetical_answer] * by_answer
    assert (found["hyde_used"], found["reranked"]) == (by_answer, reranks)
    assert all(("rerank_score" in one) == reranks for one in found["documents"])
    assert (found["degraded"], found["pipeline"]) == ([], pipeline)


def test_what_was_wanted_and_could_not_be_done_is_said(snapshot: Snapshot) -> None:
    def by_rule(question: str) -> Searches:
        return Searches(queries=(question,), model_failed=True)

    every = {"query_expansion": True, "hyde": True, "enable_rerank": True}
    found = retrieve(snapshot, "keys?", plan=by_rule, **every)
    assert found["degraded"] == ["query_expansion", "hyde", "rerank"]
    assert (found["hyde_used"], found["reranked"]) == (False, False)
    assert retrieve(snapshot, "keys?", pipeline="advanced")["degraded"] == ["hyde", "rerank"]

    def failing(question: str, hits: Sequence[Hit]) -> Reranked:
        return Reranked(hits=tuple(hits), failed="timeout")

    failed = retrieve(snapshot, "keys?", pipeline="rerank", reranker=failing)
    assert failed["degraded"] == ["rerank"]
    assert retrieve(snapshot, "zzz", search_type="keyword", enable_rerank=True)["degraded"] == []


def test_an_outage_of_the_embedding_model_is_said(snapshot: Snapshot) -> None:
    class WithoutVectors:
        documents, generation = snapshot.documents, snapshot.generation

        def search(self, query: SearchQuery) -> list[Hit]:
            hits = snapshot.search(replace(query, strategy="keyword"))
            return [replace(hit, similarity=0.0, unit=None) for hit in hits]

    away = cast("Snapshot", WithoutVectors())
    assert retrieve(away, "keys")["degraded"] == ["vectors"]
    assert retrieve(away, "keys", search_type="keyword")["degraded"] == []


def test_vector_is_another_name_of_semantic(snapshot: Snapshot) -> None:
    vector, semantic, keyword = (
        retrieve(snapshot, "signing keys", search_type=one)
        for one in ("vector", "semantic", "keyword")
    )
    assert (vector["search_type"], semantic["search_type"]) == ("vector", "semantic")
    assert vector["documents"] == semantic["documents"]
    assert all("keywords" not in one["ranks"] for one in vector["documents"])
    assert all(set(one["ranks"]) == {"keywords"} for one in keyword["documents"])


def test_every_passage_has_its_caption_in_the_same_order(snapshot: Snapshot) -> None:
    found = retrieve(snapshot, "signing keys", top_k=3)
    assert [(one["id"], one["source"], one["text"]) for one in found["captions"]] == [
        (one["id"], one["source"], one["caption"]["text"]) for one in found["documents"]
    ]


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
    assert "Signing keys are rotated every 90 days." in shown.replace("**", "")
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


class OpenAlone:
    """Permissions by which one document is open to everybody."""

    epoch = 0

    def open_to(self, readers: frozenset[str]) -> frozenset[str]:
        return frozenset({"incident-guide"})

    def check(self, documents: Collection[str]) -> None:
        """They are as they are."""


@pytest.mark.parametrize("search_type", ["hybrid", "vector", "keyword"])
def test_of_what_the_reader_may_not_read_nothing_is_counted_or_shown(
    snapshot: Snapshot, search_type: str
) -> None:
    asked, told = "how often are signing keys rotated", {"search_type": search_type, "top_k": 50}
    view = ReaderView(snapshot, OpenAlone(), frozenset({"ines"}))
    found = retrieve(view, asked, pipeline="facets", **told)
    assert "key-rotation" in str(retrieve(snapshot, asked, pipeline="facets", **told)["facets"])
    assert {one["value"] for one in found["facets"].get("document", ())} <= {"incident-guide"}
    assert found["facet_totals"]["documents"] <= 1
    assert "key-rotation" not in json.dumps(found)
