from __future__ import annotations

from dataclasses import replace

from agents.retrieval import merged
from index.search import Hit
from tests.agents.corpus import LAPTOPS, ROTATION, snapshot

CHUNKS = [
    chunk
    for document in ("key-rotation", "laptops")
    for chunk in snapshot(ROTATION, LAPTOPS).chunks(document)
]
FIRST, SECOND, THIRD = (Hit(chunk=chunk, score=1.0) for chunk in CHUNKS[:3])


def test_one_search_keeps_its_order_and_none_finds_nothing() -> None:
    assert merged([[SECOND, FIRST, THIRD]]) == [SECOND, FIRST, THIRD]
    assert merged([]) == merged([[], []]) == []


def test_what_several_searches_found_comes_before_what_one_found_best() -> None:
    assert merged([[FIRST, SECOND], [THIRD, SECOND]]) == [SECOND, FIRST, THIRD]


def test_a_chunk_is_shown_as_the_search_that_ranked_it_best_found_it() -> None:
    lower, higher = replace(SECOND, similarity=0.3), replace(SECOND, similarity=0.7)
    found = merged([[FIRST, lower], [higher]])
    assert found[0] is higher
    assert [hit.chunk.id for hit in found] == [SECOND.chunk.id, FIRST.chunk.id]
