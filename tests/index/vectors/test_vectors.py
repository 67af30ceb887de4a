"""Quantised vectors and the search over them, against plain floats."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.models import Vectors
from index.vectors import search as nearest_rows
from index.vectors import sketch as sketches
from index.vectors.chroma import ChromaServer
from index.vectors.quantized import Mask, Quantized, quantize
from index.vectors.search import LocalSearch
from index.vectors.sketch import Sketch, open_sketch, sketch_of

SIZE, WIDTH, DEPTH = 3_000, 24, 20


def clustered(seed: int, size: int = SIZE) -> Vectors:
    random = np.random.default_rng(seed)
    subjects = np.random.default_rng(0).standard_normal((40, WIDTH))
    made = subjects[random.integers(0, 40, size)] + 0.4 * random.standard_normal((size, WIDTH))
    return np.asarray(made / np.linalg.norm(made, axis=1, keepdims=True), dtype=np.float32)


@pytest.fixture(scope="module")
def matrix() -> Vectors:
    made = clustered(3)
    made[7] = made[11]  # two rows of one text
    return made


@pytest.fixture(scope="module")
def vectors(matrix: Vectors) -> Quantized:
    return quantize(matrix)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """What counts as large is small here: cells of 30 rows, of which 1,500 are read."""
    monkeypatch.setattr(nearest_rows, "EXACT_ROWS", 100)
    monkeypatch.setattr(nearest_rows, "LIKELY", 300)
    monkeypatch.setattr(sketches, "PROBED_ROWS", 1_500)
    monkeypatch.setattr(sketches, "CELL_ROWS", 30)


@pytest.fixture
def sketch(small: None, vectors: Quantized) -> Sketch:
    return sketch_of(vectors, None, np.full(SIZE, -1))


def exactly(matrix: Vectors, query: Vectors, allowed: Mask | None = None) -> list[int]:
    scores = matrix @ query
    if allowed is not None:
        scores[~allowed] = -np.inf
    order = np.argsort(-scores, kind="stable")[:DEPTH]
    return [int(row) for row in order if scores[row] > -np.inf]


@given(st.integers(0, 1_000), st.floats(1e-6, 1e3))
def test_two_bytes_a_component_are_exact_to_five_digits(seed: int, length: float) -> None:
    plain = clustered(seed, 5) * np.float32(length)
    assert np.allclose(quantize(plain).exactly(), plain, atol=length * 2e-5)


@given(st.integers(0, 1_000), st.floats(1e-6, 1e3))
def test_what_was_decoded_is_encoded_to_the_same_bytes(seed: int, length: float) -> None:
    first = quantize(clustered(seed, 20) * np.float32(length))
    again = quantize(first.exactly())
    assert np.array_equal(first.leading, again.leading)
    assert np.array_equal(first.trailing, again.trailing)
    assert np.array_equal(first.scales, again.scales)


def test_a_vector_of_nothing_stays_one() -> None:
    assert not quantize(np.zeros((2, WIDTH), dtype=np.float32)).exactly().any()


@pytest.mark.parametrize("share", [None, 0.9, 0.3, 0.02, 0.0])
def test_a_small_matrix_is_searched_as_floats_would_be(
    matrix: Vectors, vectors: Quantized, share: float | None
) -> None:
    allowed = None if share is None else np.random.default_rng(4).random(SIZE) < share
    queries = matrix[[5, 500, 2_500]]
    found = LocalSearch(vectors, None)(queries, DEPTH, allowed)
    for one, query in zip(found, queries, strict=True):
        assert one.rows.tolist() == exactly(matrix, query, allowed)
        assert np.allclose(one.scores, matrix[one.rows] @ query, atol=1e-4)


def test_a_large_matrix_is_searched_nearly_as_floats_would_be(
    matrix: Vectors, vectors: Quantized, sketch: Sketch
) -> None:
    queries = clustered(9, 30)
    found = LocalSearch(vectors, sketch)(queries, DEPTH)
    shared = [
        len(set(one.rows.tolist()) & set(exactly(matrix, query))) / DEPTH
        for one, query in zip(found, queries, strict=True)
    ]
    assert np.mean(shared) >= 0.97
    assert LocalSearch(vectors, sketch)(matrix[[500]], 1)[0].rows.tolist() == [500]


def test_rows_of_equal_texts_are_both_found(
    matrix: Vectors, vectors: Quantized, sketch: Sketch
) -> None:
    found = LocalSearch(vectors, sketch)(matrix[[7]], DEPTH)[0].rows.tolist()
    assert found[:2] == [7, 11]


@pytest.mark.parametrize("share", [0.9, 0.3, 0.05, 0.02, 0.0])
def test_only_allowed_rows_are_found_however_few(
    matrix: Vectors, vectors: Quantized, sketch: Sketch, share: float
) -> None:
    allowed = np.random.default_rng(4).random(SIZE) < share
    found = LocalSearch(vectors, sketch)(matrix[[42]], DEPTH, allowed)[0].rows
    expected = exactly(matrix, matrix[42], allowed)
    assert allowed[found].all()
    assert len(found) == len(expected) == min(DEPTH, allowed.sum())
    assert len(set(found.tolist()) & set(expected)) >= 0.9 * len(expected)


def test_every_row_stands_in_one_cell(sketch: Sketch) -> None:
    assert sorted(sketch.rows.tolist()) == list(range(SIZE))
    assert len(sketch.starts) == len(sketch.centres) + 1 > 50
    assert sketch.starts[-1] == SIZE


def test_a_sketch_is_carried_over_without_looking_at_what_stays(
    sketch: Sketch, matrix: Vectors, vectors: Quantized
) -> None:
    """Rows 10 to 19 left, five came in their place and one at the end."""
    fresh = clustered(12, 6)
    rows = np.concatenate([np.arange(10), np.full(5, -1), np.arange(20, SIZE), [-1]])
    following = np.concatenate([matrix[:10], fresh[:5], matrix[20:], fresh[5:]])
    unread = np.where(rows[:, None] < 0, following, 0).astype(np.float32)
    carried = sketch_of(quantize(unread), sketch, rows)
    search = LocalSearch(quantize(following), carried)
    assert sorted(carried.rows.tolist()) == list(range(len(following)))
    for row in (0, 12, 15, 2_000, len(following) - 1):
        assert search(following[[row]], 1)[0].rows.tolist() == [row]


def test_a_matrix_that_has_outgrown_its_cells_gets_new_ones(sketch: Sketch) -> None:
    larger = quantize(clustered(5, 3 * SIZE))
    rows = np.concatenate([np.arange(SIZE), np.full(2 * SIZE, -1)])
    assert len(sketch_of(larger, sketch, rows).centres) == 3 * len(sketch.centres)


def test_a_saved_sketch_is_the_same_when_it_is_mapped(
    tmp_path: Path, vectors: Quantized, matrix: Vectors, sketch: Sketch
) -> None:
    sketch.save(tmp_path / "sketch")
    opened = LocalSearch(vectors, open_sketch(tmp_path / "sketch"))(matrix[:3], DEPTH)
    kept = LocalSearch(vectors, sketch)(matrix[:3], DEPTH)
    assert [one.rows.tolist() for one in opened] == [one.rows.tolist() for one in kept]


def test_vectors_come_back_from_a_server_as_they_were_given(
    chroma_server: str, matrix: Vectors
) -> None:
    server = ChromaServer(chroma_server)
    collection = server.collection("kept", "made-up", "chunks")
    collection.add([f"{row:032x}" for row in range(100)], matrix[:100])
    found = collection.get([f"{3:032x}", "f" * 32])
    assert list(found) == [f"{3:032x}"]
    assert np.array_equal(found[f"{3:032x}"], matrix[3])
    assert len(collection) == 100 == len(collection.all_keys())
    server.close()
