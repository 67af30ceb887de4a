"""The vector engines: Chroma's searches against an exact pass, and what happens while it is away.

All behavior of searches is held for every engine by the `snapshot` fixture (`tests/index`)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from config.models import Vectors
from config.settings import Settings
from index.generations import engines
from index.generations.arrays import KEY
from index.generations.engines import ChromaSearch, complete_folder
from index.generations.folder import Keys
from index.publish import Index, open_index
from index.search import Hit, SearchQuery
from index.snapshot import Generation
from index.vectors.chroma import ChromaDatabase, ChromaFolder, ChromaServer, Collection
from index.vectors.quantized import Mask, quantize
from index.vectors.search import LocalSearch
from tests.index.conftest import WordEmbedder, make_card, make_chunk, searches_by, wait_for_chroma

SIZE, WIDTH, DEPTH = 3_000, 24, 20


class Ready:
    """A generation whose collections are ready."""

    domain = "help"

    def __init__(self, collection: Collection) -> None:
        self._collection = collection

    def collection(self, kind: str) -> Collection:
        return self._collection

    def lose(self, error: Exception, *, is_away: bool) -> None:
        raise error


@pytest.fixture(scope="module")
def matrix() -> Vectors:
    random = np.random.default_rng(3)
    subjects = random.standard_normal((40, WIDTH))
    made = subjects[random.integers(0, 40, SIZE)] + 0.4 * random.standard_normal((SIZE, WIDTH))
    made[7] = made[11]  # two rows of one text
    return np.asarray(made / np.linalg.norm(made, axis=1, keepdims=True), dtype=np.float32)


@pytest.fixture(scope="module", params=["server", "folder"])
def search(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, matrix: Vectors
) -> Iterator[ChromaSearch]:
    database: ChromaDatabase = (
        ChromaServer(request.getfixturevalue("chroma_server"))
        if request.param == "server"
        else ChromaFolder(tmp_path_factory.mktemp("embedded"))
    )
    collection = database.collection("engines", "made-up", "chunks")
    names = [f"{11 if row == 7 else row:032x}" for row in range(SIZE)]
    collection.add(sorted(set(names)), matrix[[int(name, 16) for name in sorted(set(names))]])
    collection.add([f"{SIZE + row:032x}" for row in range(50)], matrix[:50])  # of a later one
    keys = np.array([name.encode() for name in names], dtype=KEY)
    local = LocalSearch(quantize(matrix), None)
    by_row = Keys(keys, np.argsort(keys, kind="stable"))
    yield ChromaSearch(Ready(collection), "chunks", by_row, local)  # type: ignore[arg-type]
    database.close()


def exactly(matrix: Vectors, query: Vectors, allowed: Mask | None) -> list[int]:
    scores = matrix @ query
    if allowed is not None:
        scores[~allowed] = -np.inf
    return [int(row) for row in np.argsort(-scores, kind="stable")[:DEPTH] if scores[row] > -1]


@pytest.mark.parametrize("share", [None, 0.9, 0.3, 0.05, 0.002, 0.0])
def test_chroma_finds_what_an_exact_pass_finds(
    search: ChromaSearch, matrix: Vectors, share: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "NARROW", 0)
    allowed = None if share is None else np.random.default_rng(4).random(SIZE) < share
    queries = matrix[[5, 7, 500, 2_500]] + np.float32(0.01)
    before = searches_by("local"), searches_by("chroma")
    for one, query in zip(search(queries, DEPTH, allowed), queries, strict=True):
        expected = exactly(matrix, query, allowed)
        assert len(set(one.rows.tolist()) & set(expected)) >= 0.9 * len(expected)
        assert len(one) == len(expected)
        assert np.allclose(one.scores, matrix[one.rows] @ query, atol=1e-4)
        assert allowed is None or allowed[one.rows].all()
    searched = (searches_by("local"), searches_by("chroma"))
    assert searched == (before[0], before[1] + (share != 0.0))


def test_few_allowed_rows_are_compared_in_this_process(
    search: ChromaSearch, matrix: Vectors
) -> None:
    allowed = np.random.default_rng(5).random(SIZE) < 0.3
    before = searches_by("local"), searches_by("chroma")
    assert search(matrix[[5]], DEPTH, allowed)[0].rows.tolist() == exactly(
        matrix, matrix[5], allowed
    )
    assert (searches_by("local"), searches_by("chroma")) == before


def test_nearer_vectors_of_other_generations_hide_none(tmp_path: Path, matrix: Vectors) -> None:
    """Those of a whole corpus that was embedded again, or of a second database."""
    database = ChromaFolder(tmp_path)
    collection = database.collection("engines", "made-up", "chunks")
    collection.add([f"{row:032x}" for row in range(SIZE)], matrix)
    mine = np.sort(np.argsort(matrix @ matrix[5])[: SIZE // 20])  # the farthest of all
    keys = np.array([f"{row:032x}".encode() for row in mine], dtype=KEY)
    by_row, local = Keys(keys, np.argsort(keys)), LocalSearch(quantize(matrix[mine]), None)
    search = ChromaSearch(Ready(collection), "chunks", by_row, local)  # type: ignore[arg-type]
    (best,) = search(matrix[[5]], DEPTH)
    assert len(set(best.rows.tolist()) & set(exactly(matrix[mine], matrix[5], None))) >= 18
    database.close()


def test_rows_of_equal_texts_are_both_found(search: ChromaSearch, matrix: Vectors) -> None:
    assert search(matrix[[7]], DEPTH)[0].rows.tolist()[:2] == [7, 11]


def published(settings: Settings) -> Index:
    index = open_index(settings, WordEmbedder())
    with index.stage("help") as staging:
        for name in ("key", "laptop", "bridge"):
            chunk = make_chunk(name, 0, f"The {name} is blue. Nobody owns the {name}.")
            staging.put(make_card(name), [chunk])
        staging.commit({})
    return index


def ids(hits: list[Hit]) -> list[str]:
    return [hit.chunk.id for hit in hits]


QUERY = SearchQuery(variants=("who owns the laptop",), strategy="semantic")


@pytest.fixture
def by_folder(embedded: Settings) -> Settings:
    return embedded.model_copy(update={"vector_engine": "chroma"})


def test_a_chroma_folder_is_made_of_the_one_before(by_folder: Settings) -> None:
    index = published(by_folder)
    with index.stage("help") as staging:
        staging.remove("bridge")
        staging.put(make_card("cup"), [make_chunk("cup", 0, "The cup is green.")])
        staging.commit({})
    snapshot = index.snapshot("help")
    assert isinstance(snapshot, Generation)
    wait_for_chroma(snapshot)
    stored = ChromaFolder(complete_folder("help", snapshot.folder))
    keys = stored.collection("help", "words", "chunks").all_keys()
    assert keys == {key.decode() for key in snapshot.folder.chunk_keys.by_row.tolist()}
    stored.close()
    assert "cup" in {hit.chunk.document_id for hit in snapshot.search(QUERY)}
    index.close()


def test_without_its_chroma_folder_a_generation_is_searched_locally_and_makes_it_again(
    by_folder: Settings,
) -> None:
    """As on a machine that got the generation from elsewhere, or one with another engine before."""
    published(by_folder.model_copy(update={"vector_engine": "local"})).close()
    index = open_index(by_folder, WordEmbedder())
    before = searches_by("local")
    first = index.snapshot("help").search(QUERY)
    assert searches_by("local") > before
    wait_for_chroma(index.snapshot("help"))
    assert ids(index.snapshot("help").search(QUERY)) == ids(first)
    index.close()
    generation = by_folder.data_dir / "index" / "help" / "000001"
    assert sorted(one.name for one in generation.iterdir() if "chroma" in one.name) == [
        "chroma",
        "chroma.lock",
    ]


def test_a_server_that_lost_its_vectors_gets_them_back_from_the_worker(
    embedded: Settings, chroma_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "RETRY_SECONDS", 0.05)
    settings = embedded.model_copy(update={"chroma_url": chroma_server, "vector_engine": "chroma"})
    index = published(settings)
    snapshot = index.snapshot("help")
    wait_for_chroma(snapshot)
    expected = ids(snapshot.search(QUERY))
    server = ChromaServer(chroma_server)
    for kind in ("chunks", "units"):  # its mark stays: the server is believed until it lacks some
        collection = server.collection("help", "words", kind)
        collection.remove(sorted(collection.all_keys()))
    assert ids(snapshot.search(QUERY)) == expected
    wait_for_chroma(snapshot)
    assert ids(snapshot.search(QUERY)) == expected
    assert len(server.collection("help", "words", "chunks")) == 3
    server.close()
    index.close()
