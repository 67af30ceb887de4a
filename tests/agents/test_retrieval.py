from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

from agents.answer import Question
from agents.graph import build_ask
from agents.nodes import identify_sources, search_documents
from agents.plan import Plan, SourceChoice
from agents.retrieval import merge_hits, retrieve
from agents.state import State
from agents.steps import NullProgress
from config.models import Usage
from index.ranking.rerank import Reranked, reordered
from index.search import Hit, SearchQuery, Snapshot
from tests.agents.corpus import LAPTOPS, ROTATION, domain, snapshot

CHUNKS = [
    chunk
    for document in ("key-rotation", "laptops")
    for chunk in snapshot(ROTATION, LAPTOPS).chunks(document)
]
FIRST, SECOND, THIRD = (Hit(chunk=chunk, score=1.0) for chunk in CHUNKS[:3])


def test_one_search_keeps_its_order_and_none_finds_nothing() -> None:
    assert merge_hits([[SECOND, FIRST, THIRD]]) == [SECOND, FIRST, THIRD]
    assert merge_hits([]) == merge_hits([[], []]) == []


def test_what_several_searches_found_comes_before_what_one_found_best() -> None:
    assert merge_hits([[FIRST, SECOND], [THIRD, SECOND]]) == [SECOND, FIRST, THIRD]


def test_a_chunk_is_shown_as_the_search_that_ranked_it_best_found_it() -> None:
    lower, higher = replace(SECOND, similarity=0.3), replace(SECOND, similarity=0.7)
    found = merge_hits([[FIRST, lower], [higher]])
    assert found[0] is higher
    assert [hit.chunk.id for hit in found] == [SECOND.chunk.id, FIRST.chunk.id]


def test_what_a_reranker_puts_first_is_read_first() -> None:
    def backwards(question: str, hits: Sequence[Hit]) -> Reranked:
        return reordered(hits, list(range(len(hits[:15]))), by="backwards", usage=Usage(calls=1))

    found = snapshot()
    question = Question(text="how old may an API signing key get?")
    asked = build_ask(snapshot=lambda: found, domain=domain(), model=None)(question, None)
    again = build_ask(snapshot=lambda: found, domain=domain(), model=None, reranker=backwards)(
        question, None
    )
    assert asked.trace is not None
    assert again.trace is not None
    before, after = ([hit.chunk.id for hit in one.trace.hits[:15]] for one in (asked, again))
    assert after == before[::-1]
    assert again.context[0].document_id == again.trace.hits[0].chunk.document_id
    assert again.usage.calls == 1
    assert "reranked by backwards" in again.trace.notes


def test_a_reranker_that_fails_leaves_the_order_and_says_so() -> None:
    def failing(question: str, hits: Sequence[Hit]) -> Reranked:
        return Reranked(hits=tuple(hits))

    ask = build_ask(snapshot=snapshot, domain=domain(), model=None, reranker=failing)
    answer = ask(Question(text="how old may an API signing key get?"), None)
    assert answer.trace is not None
    assert "not reranked" in answer.trace.notes


def test_what_the_source_identifier_searched_is_not_searched_again() -> None:
    found = snapshot()
    queries: list[SearchQuery] = []

    class Counting:
        def __getattr__(self, name: str) -> Any:
            return getattr(found, name)

        def search(self, query: SearchQuery) -> list[Hit]:
            queries.append(query)
            return found.search(query)

    plan = Plan(question="how old may an API signing key get?", kind="in_domain")
    counting = cast("Snapshot", Counting())
    state: State = {"plan": plan, "snapshot": counting, "progress": NullProgress()}
    state |= identify_sources(domain(), None)(state)
    search = search_documents(None)
    assert search(state)["hits"] == retrieve(plan, found)
    assert len(queries) == 1
    search({**state, "plan": plan.model_copy(update={"paraphrases": ["a key's age"]})})
    search({**state, "sources": SourceChoice(documents=("laptops",))})
    assert len(queries) == 3


def test_a_question_is_searched_once_with_its_wordings_and_its_parts_after_it() -> None:
    found = snapshot(ROTATION, LAPTOPS)
    queries: list[SearchQuery] = []

    class Listening:
        def __getattr__(self, name: str) -> Any:
            return getattr(found, name)

        def search(self, query: SearchQuery) -> list[Hit]:
            queries.append(query)
            return found.search(query)

    plan = Plan(
        question="key lost and laptop open, what now?",
        kind="in_domain",
        sub_questions=["when are keys rotated?", "when does the laptop lock?"],
        paraphrases=["lost signing key"],
    )
    hits = retrieve(plan, cast("Snapshot", Listening()))
    assert {"key-rotation", "laptops"} <= {hit.chunk.document_id for hit in hits}
    assert [query.variants for query in queries] == [
        (plan.question, "lost signing key", *plan.sub_questions)
    ]
