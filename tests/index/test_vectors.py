"""Approximate search over Chroma, against exact search over the same vectors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from config.errors import IndexUnavailable
from config.models import Vectors
from index.folders import nearest_rows as vectors
from index.folders.generation_folder import Keys
from index.folders.nearest_rows import VectorSearch
from index.vectors.chroma import ChromaServer, Collection, EmbeddedChroma, writing

SIZE, WIDTH, DEPTH = 3_000, 24, 20


@pytest.fixture(scope="module")
def matrix() -> Vectors:
    random = np.random.default_rng(3)
    subjects = random.standard_normal((40, WIDTH))
    made = subjects[random.integers(0, 40, SIZE)] + 0.4 * random.standard_normal((SIZE, WIDTH))
    made[7] = made[11]  # equal texts have one address and two rows
    return np.asarray(made / np.linalg.norm(made, axis=1, keepdims=True), dtype=np.float32)


@pytest.fixture(scope="module")
def keys() -> Keys:
    names = [f"{row if row != 11 else 7:032x}".encode() for row in range(SIZE)]
    array = np.array(names, dtype="S32")
    return Keys(array, np.argsort(array, kind="stable").astype(np.int64))


def fill(collection: Collection, matrix: Vectors) -> Collection:
    rows = [row for row in range(SIZE) if row != 11]
    collection.add([f"{row:032x}" for row in rows], matrix[rows])
    return collection


@pytest.fixture(scope="module", params=["embedded", "served"])
def collection(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, matrix: Vectors
) -> Iterator[Collection]:
    if request.param == "served":
        server = ChromaServer(request.getfixturevalue("chroma_server"))
        yield fill(server.collection("approximate", "made-up", "chunks"), matrix)
        server.close()
        return
    folder = tmp_path_factory.mktemp("chroma")
    with writing(folder) as chroma:
        fill(chroma.collection("chunks", create=True), matrix)
    reader = EmbeddedChroma(folder)
    yield reader.collection("chunks")
    reader.close()


@pytest.fixture
def both(
    monkeypatch: pytest.MonkeyPatch, matrix: Vectors, keys: Keys, collection: Collection
) -> tuple[VectorSearch, VectorSearch]:
    """(by graph, exact)."""

    def never() -> Collection:
        raise AssertionError("exact search asked the graph")

    exact = VectorSearch(matrix, lambda: keys, never)
    monkeypatch.setattr(vectors, "EXACT_ROWS", 100)
    return VectorSearch(matrix, lambda: keys, lambda: collection), exact


def test_the_graph_finds_what_exact_search_finds(
    both: tuple[VectorSearch, VectorSearch], matrix: Vectors
) -> None:
    queries = matrix[[5, 500, 2_500]]
    shared = [
        len(set(graph.rows.tolist()) & set(exact.rows.tolist())) / DEPTH
        for graph, exact in zip(both[0](queries, DEPTH), both[1](queries, DEPTH), strict=True)
    ]
    assert np.mean(shared) >= 0.95
    assert both[0](queries, 1)[1].rows.tolist() == [500]


def test_rows_of_equal_texts_are_both_found(
    both: tuple[VectorSearch, VectorSearch], matrix: Vectors
) -> None:
    assert {7, 11} <= set(both[0](matrix[[7]], DEPTH)[0].rows.tolist())


@pytest.mark.parametrize("share", [0.9, 0.3, 0.02, 0.0])
def test_only_allowed_rows_are_found(
    both: tuple[VectorSearch, VectorSearch], matrix: Vectors, share: float
) -> None:
    allowed = np.random.default_rng(4).random(SIZE) < share
    graph, exact = (search(matrix[[42]], DEPTH, allowed)[0].rows for search in both)
    assert allowed[graph].all()
    assert len(graph) == len(exact) == min(DEPTH, allowed.sum())
    assert len(set(graph.tolist()) & set(exact.tolist())) >= 0.9 * len(exact)


def test_vectors_come_back_as_they_were_given(collection: Collection, matrix: Vectors) -> None:
    found = collection.get([f"{3:032x}", "f" * 32])
    assert list(found) == [f"{3:032x}"]
    assert np.array_equal(found[f"{3:032x}"], matrix[3])
    assert len(collection) == SIZE - 1 == len(collection.all_keys())


def test_a_folder_without_chroma_says_so(tmp_path: Path) -> None:
    with pytest.raises(IndexUnavailable, match="holds no Chroma data"):
        EmbeddedChroma(tmp_path).collection("chunks")
