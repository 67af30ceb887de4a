"""Searching one generation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from config.errors import ModelUnavailable
from config.settings import Settings
from enrichment.chunk import Chunk, DocumentCard
from index.permissions.rules import visible_to
from index.publish import Index, open_index
from index.search import Hit, SearchQuery, Snapshot
from loaders.document import Permission

Corpus = dict[str, tuple[DocumentCard, list[Chunk]]]


def documents(hits: list[Hit]) -> list[str]:
    return [hit.chunk.document_id for hit in hits]


def test_hybrid_tells_how_each_hit_was_found(snapshot: Snapshot) -> None:
    hit = snapshot.search(SearchQuery(variants=("Signing keys are rotated every 90 days",)))[0]
    assert hit.chunk.document_id == "key-rotation"
    assert hit.ranks == {"chunks": 1, "units": 1, "keywords": 1}
    assert hit.unit == 0
    assert 0.8 < hit.similarity <= 1.0
    assert not hit.escaped


def test_each_strategy_uses_its_own_rankings(snapshot: Snapshot) -> None:
    def found(strategy: Any) -> set[str]:
        hits = snapshot.search(SearchQuery(variants=("signing keys",), strategy=strategy))
        return {name for hit in hits for name in hit.ranks}

    assert found("semantic") == {"chunks", "units"}
    assert found("keyword") == {"keywords"}
    assert found("hybrid") == {"chunks", "units", "keywords"}


def test_keyword_search_finds_only_chunks_that_hold_a_term(snapshot: Snapshot) -> None:
    hits = snapshot.search(SearchQuery(variants=("SEC-1234",), strategy="keyword"))
    assert [(hit.chunk.document_id, hit.chunk.position) for hit in hits] == [("key-rotation", 1)]


def test_extra_keywords_join_every_variant(snapshot: Snapshot) -> None:
    query = SearchQuery(variants=("where is it",), keywords=("hbr-eu1",), strategy="keyword")
    assert documents(snapshot.search(query)) == ["laptop-policy"]


def test_a_table_row_is_found_by_its_unit(snapshot: Snapshot) -> None:
    hit = snapshot.search(SearchQuery(variants=("Response times Severity: P1; Minutes: 15",)))[0]
    assert hit.chunk.table is not None
    assert hit.unit == 1


def test_every_variant_is_searched(snapshot: Snapshot) -> None:
    query = SearchQuery(variants=("signing keys", "lost laptops service desk"), limit=3)
    best = [hit.chunk for hit in snapshot.search(query) if hit.ranks.get("keywords") == 1]
    assert {chunk.document_id for chunk in best} == {"key-rotation", "laptop-policy"}


def test_hits_come_by_their_score(snapshot: Snapshot) -> None:
    hits = snapshot.search(SearchQuery(variants=("signing keys rotated",)))
    assert hits[0].chunk.document_id == "key-rotation"
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_the_limit_holds(snapshot: Snapshot) -> None:
    assert len(snapshot.search(SearchQuery(variants=("keys",), limit=2))) == 2
    assert snapshot.search(SearchQuery(variants=("keys",), limit=0)) == []


def test_a_restriction_lets_only_the_escape_through(snapshot: Snapshot) -> None:
    inside = frozenset({"laptop-policy"})
    query = SearchQuery(variants=("signing keys are rotated",), documents=inside, escape=1)
    hits = snapshot.search(query)
    outside = [hit for hit in hits if hit.chunk.document_id not in inside]
    assert [hit.escaped for hit in outside] == [True]
    assert outside[0] is hits[0]
    assert {hit.chunk.document_id for hit in hits if not hit.escaped} == inside


def test_without_an_escape_a_restriction_is_strict(snapshot: Snapshot) -> None:
    query = SearchQuery(
        variants=("signing keys",), documents=frozenset({"laptop-policy"}), escape=0
    )
    assert set(documents(snapshot.search(query))) == {"laptop-policy"}


def test_unknown_documents_leave_only_the_escape(snapshot: Snapshot) -> None:
    query = SearchQuery(variants=("signing keys",), documents=frozenset({"no-such"}), escape=2)
    hits = snapshot.search(query)
    assert [hit.escaped for hit in hits] == [True, True]


@pytest.fixture
def filtered(
    index: Index,
    publish: Callable[..., Any],
    card: Callable[..., DocumentCard],
    chunk: Callable[..., Chunk],
) -> Snapshot:
    now = datetime.now(UTC)
    cards = {
        "open": card("open", modified_at=now - timedelta(days=400)),
        "mine": card(
            "mine",
            modified_at=now,
            permissions=(Permission(kind="user", value="Ines@Example.com"),),
        ),
        "group": card("group", permissions=(Permission(kind="group", value="sec@example.com"),)),
        "anyone": card("anyone", permissions=(Permission(kind="anyone"),)),
        "expired": card(
            "expired",
            permissions=(
                Permission(kind="user", value="ines@example.com", expires_at=now - timedelta(1)),
            ),
        ),
    }
    publish(
        {
            name: (
                one,
                [chunk(name, 0, f"Keys of {name}.")],
            )
            for name, one in cards.items()
        }
    )
    return index.snapshot("help")


def test_an_asker_finds_only_what_they_may_read(filtered: Snapshot) -> None:
    def found(*readers: str) -> set[str]:
        seen = visible_to(filtered, frozenset(readers))
        return set(documents(seen.search(SearchQuery(variants=("keys",)))))

    assert found("ines@example.com") == {"mine", "anyone"}
    assert found("bob@example.com", "sec@example.com") == {"group", "anyone"}
    assert found() == {"anyone"}
    assert len(filtered.search(SearchQuery(variants=("keys",)))) == 5


def test_no_restriction_lets_through_what_an_asker_may_not_read(filtered: Snapshot) -> None:
    readable = frozenset({"open", "anyone"})
    query = SearchQuery(variants=("keys",), documents=frozenset({"group"}), readable=readable)
    hits = filtered.search(query)
    assert {hit.chunk.document_id for hit in hits} == {"open", "anyone"}
    assert all(hit.escaped for hit in hits)


def test_unit_similarities_come_in_the_order_of_the_units(snapshot: Snapshot) -> None:
    table = snapshot.chunks("incident-guide")[3]
    question = "Response times Severity: P1; Minutes: 15"
    found = snapshot.unit_similarities(question, [table.id, "unknown"])
    assert set(found) == {table.id}
    assert len(found[table.id]) == 2
    assert found[table.id][1] == pytest.approx(1.0, abs=1e-4)


def test_rarer_terms_weigh_more(snapshot: Snapshot) -> None:
    assert snapshot.rarity("hbr-eu1") > snapshot.rarity("incident")
    assert snapshot.rarity("unheard-of") > snapshot.rarity("hbr-eu1")
    assert snapshot.rarity("the") == 0.0


def test_unheard_of_is_what_neither_documents_nor_language_know(snapshot: Snapshot) -> None:
    assert snapshot.is_unheard_of("q7okta")
    assert not snapshot.is_unheard_of("hbr-eu1"), "in the documents"
    assert not snapshot.is_unheard_of("elephant"), "a word"
    assert not snapshot.is_unheard_of("2pm"), "no name"
    assert not snapshot.is_unheard_of("the")


BAD = [
    "",
    "   ",
    "\x00\x07\x1b",
    "what is the",
    "🔥🔥",
    "a" * 100_000,
    "keys " * 20_000,
    "'; --",
    "\ud800",
]


@pytest.mark.parametrize("question", BAD, ids=range(len(BAD)))
@pytest.mark.parametrize("strategy", ["semantic", "keyword", "hybrid"])
def test_odd_questions_are_answered_quietly(
    snapshot: Snapshot, question: str, strategy: Any
) -> None:
    hits = snapshot.search(SearchQuery(variants=(question,), strategy=strategy, limit=5))
    assert len(hits) <= 5
    if not question.strip("\x00\x07\x1b "):
        assert hits == []


def test_a_question_without_variants_searches_its_keywords(snapshot: Snapshot) -> None:
    assert snapshot.search(SearchQuery(variants=())) == []
    hits = snapshot.search(SearchQuery(variants=("",), keywords=("SEC-1234",)))
    assert "key-rotation" in documents(hits)


@pytest.fixture
def outage(embedded: Settings, embedder: Any, corpus: Corpus) -> Iterator[Snapshot]:
    """A published index whose embedding model has gone away."""

    class Gone:
        name, dimensions, max_tokens = embedder.name, embedder.dimensions, 256
        count_tokens = embedder.count_tokens

        def __call__(self, texts: Any) -> Any:
            raise ModelUnavailable("no network")

    writer = open_index(embedded, embedder)
    with writer.stage("help") as staging:
        for card, chunks in corpus.values():
            staging.put(card, chunks)
        staging.commit({})
    writer.close()
    reader = open_index(embedded, Gone())
    yield reader.snapshot("help")
    reader.close()


def test_without_the_embedding_model_keywords_still_find(outage: Snapshot) -> None:
    hits = outage.search(SearchQuery(variants=("signing keys",), strategy="semantic"))
    assert hits[0].chunk.document_id == "key-rotation"
    assert hits[0].ranks == {"keywords": 1}
    assert outage.unit_similarities("signing keys", [hits[0].chunk.id]) == {}
