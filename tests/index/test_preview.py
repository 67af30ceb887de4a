"""A generation with an edited document: as if it were published, and without a trace."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from config.errors import GenerationReplaced, NothingPublished
from enrichment.chunk import Chunk, DocumentCard
from index.preview import preview_edit
from index.publish import Index
from index.search import SearchQuery, Snapshot

Corpus = dict[str, tuple[DocumentCard, list[Chunk]]]
QUESTIONS = ("who rotates signing keys", "when is a lost laptop reported", "P0 minutes", "SEC-1234")


@pytest.fixture
def edited(corpus: Corpus, chunk: Callable[..., Chunk]) -> tuple[DocumentCard, list[Chunk]]:
    card, (_, second) = corpus["key-rotation"]
    return card, [chunk("key-rotation", 0, "Signing keys are rotated by robots."), second]


def publish(index: Index, *documents: tuple[DocumentCard, list[Chunk]]) -> int:
    with index.stage("help") as staging:
        for card, chunks in documents:
            staging.put(card, chunks)
        return staging.commit({}).number


def hits(snapshot: Snapshot) -> list[Any]:
    return [
        [(hit.chunk, hit.score, hit.similarity) for hit in snapshot.search(query)]
        for query in (SearchQuery(variants=(text,)) for text in QUESTIONS)
    ]


def test_it_finds_what_the_published_edit_finds(
    index: Index, corpus: Corpus, edited: tuple[DocumentCard, list[Chunk]]
) -> None:
    publish(index, *corpus.values())
    with index.preview("help", *edited) as (current, preview):
        before = hits(current)
        found = hits(preview)
        assert preview.chunks("key-rotation") == edited[1]
        assert preview.chunks("laptop-policy") == corpus["laptop-policy"][1]
        named = preview.named({"sec1234"})
        assert preview.documents.keys() == corpus.keys()
        assert preview.rarity("robots") < current.rarity("robots")
    assert publish(index, edited) == 2
    with index.preview("help", *corpus["key-rotation"]) as (current, preview):
        assert [[one[0] for one in each] for each in hits(current)] == [
            [one[0] for one in each] for each in found
        ]
        assert hits(preview) == before
        assert current.named({"sec1234"}) == named


def test_only_texts_that_are_new_are_embedded(
    index: Index, corpus: Corpus, edited: tuple[DocumentCard, list[Chunk]], embedder: Any
) -> None:
    publish(index, *corpus.values())
    before = embedder.texts
    with index.preview("help", *edited):
        assert embedder.texts - before == 2  # a passage and its sentence


def test_it_leaves_no_trace(
    index: Index,
    corpus: Corpus,
    edited: tuple[DocumentCard, list[Chunk]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    publish(index, *corpus.values())
    generations = index.generations("help")
    (tmp_path / "own").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "own"))
    with index.preview("help", *edited):
        assert list((tmp_path / "own").iterdir())
        assert not index.is_locked("help")
    assert list((tmp_path / "own").iterdir()) == []
    assert index.generations("help") == generations
    assert index.snapshot("help").chunks("key-rotation") == corpus["key-rotation"][1]


def test_a_document_may_become_empty(index: Index, corpus: Corpus) -> None:
    publish(index, *corpus.values())
    with index.preview("help", corpus["key-rotation"][0], ()) as (_, preview):
        assert not preview.chunks("key-rotation")
        assert all(hit[0].document_id != "key-rotation" for each in hits(preview) for hit in each)


def test_a_generation_that_is_deleted_meanwhile_ends_it(
    index: Index, corpus: Corpus, edited: tuple[DocumentCard, list[Chunk]]
) -> None:
    publish(index, *corpus.values())
    generation, store = index._open("help", 1), index._store
    publish(index, edited)
    store.forget("help", [1])
    preview = preview_edit(generation, store, index._links("help"), index._questions, *edited)
    with pytest.raises(GenerationReplaced, match="help"):
        preview.__enter__()


def test_there_is_no_preview_of_nothing(
    index: Index, edited: tuple[DocumentCard, list[Chunk]]
) -> None:
    with pytest.raises(NothingPublished, match="help"):
        index.preview("help", *edited).__enter__()
