"""Either keyword engine searches a published generation, and finds the same in the same order."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest

from config.settings import Settings
from enrichment.chunking.chunker import split
from enrichment.pipeline import enrich
from index.publish import Index, open_index
from index.search import SearchQuery, Snapshot
from loaders.files.local import load_file
from tests.index.conftest import WordEmbedder

DEMO = Path(__file__).parents[3] / "playground" / "demo"
QUESTIONS = [
    "how old may a signing key get", "P0", "who approves an exception", "key", "the of and",
    "hbr-eu1", "rotate rotate rotate", "nothing holds zyzzyva", "laptop stolen on a train",
]  # fmt: skip


def with_engine(data_dir: Path, engine: Literal["bm25s", "rank_bm25"]) -> Index:
    settings = Settings(_env_file=None, data_dir=data_dir, keyword_engine=engine)
    return open_index(settings, WordEmbedder())


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with the demo's security documents, as the default engine publishes them."""
    data_dir = tmp_path_factory.mktemp("engines")
    index = with_engine(data_dir, "bm25s")
    with index.stage("security") as staging:
        for path in sorted((DEMO / "security").glob("*.md")):
            document = load_file(path)
            enriched = enrich(document, split(document, count_tokens=WordEmbedder().count_tokens))
            staging.put(enriched.card, enriched.chunks)
        staging.commit({})
    index.close()
    return data_dir


@pytest.fixture(scope="module")
def engines(published: Path) -> Iterator[tuple[Snapshot, Snapshot]]:
    opened = [with_engine(published, "bm25s"), with_engine(published, "rank_bm25")]
    yield opened[0].snapshot("security"), opened[1].snapshot("security")
    for index in opened:
        index.close()


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("strategy", ["keyword", "hybrid"])
def test_both_engines_find_the_same_in_the_same_order(
    engines: tuple[Snapshot, Snapshot], question: str, strategy: Literal["keyword", "hybrid"]
) -> None:
    query = SearchQuery(variants=(question,), strategy=strategy, limit=40)
    fast, plain = (snapshot.search(query) for snapshot in engines)
    assert [hit.chunk.id for hit in fast] == [hit.chunk.id for hit in plain]
    assert [hit.ranks for hit in fast] == [hit.ranks for hit in plain]
    assert [hit.score for hit in fast] == pytest.approx([hit.score for hit in plain], abs=1e-4)


def test_both_engines_know_how_rare_a_word_is(engines: tuple[Snapshot, Snapshot]) -> None:
    fast, plain = engines
    words = {word for question in QUESTIONS for word in question.split()}
    assert {w: fast.rarity(w) for w in words} == {w: plain.rarity(w) for w in words}
    assert {w for w in words if fast.is_unheard_of(w)} == {
        w for w in words if plain.is_unheard_of(w)
    }


def test_the_engine_is_the_one_that_the_settings_name(published: Path) -> None:
    columns = published / "index" / "security" / "000001" / "keywords" / "data.csc.index.npy"
    whole = columns.read_bytes()
    for engine, reads_columns in (("bm25s", True), ("rank_bm25", False)):
        index = with_engine(published, engine)  # type: ignore[arg-type]  # one of both
        snapshot = index.snapshot("security")
        with columns.open("r+b") as opened:  # mapped already: only its reader can miss it
            opened.write(whole[:128] + bytes(len(whole) - 128))
        found = snapshot.search(SearchQuery(variants=("signing key",), strategy="keyword"))
        with columns.open("r+b") as opened:
            opened.write(whole)
        index.close()
        assert bool(found) is not reads_columns
