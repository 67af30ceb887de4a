"""A generation is looked at before anybody answers from it, and may be refused."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from config.settings import Settings
from enrichment.chunk import Chunk, DocumentCard
from index.publish import Index, open_index
from index.search import SearchQuery, Snapshot

Corpus = dict[str, tuple[DocumentCard, list[Chunk]]]
ROOT = Path(__file__).parents[3]

KILLED = """
import os, runpy, signal, sys
from pathlib import Path
made = runpy.run_path("tests/index/conftest.py")
from config.settings import Settings
from index.publish import open_index
index = open_index(Settings(_env_file=None, data_dir=Path(sys.argv[1])), made["WordEmbedder"]())
def dies(snapshot):
    print(snapshot.generation, len(snapshot.documents), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
with index.stage("help", accepts=dies) as staging:
    staging.put(made["make_card"]("new"), [made["make_chunk"]("new", 0, "All is new.")])
    staging.commit({})
"""


def publish(index: Index, corpus: Corpus, accepts: Callable[[Snapshot], bool]) -> Any:
    with index.stage("help", accepts=accepts) as staging:
        for card, chunks in corpus.values():
            staging.put(card, chunks)
        return staging.commit({"drive": str(len(corpus))})


def folders(settings: Settings) -> list[str]:
    return sorted(one.name for one in (settings.data_dir / "index/help").iterdir() if one.is_dir())


def test_it_is_seen_whole_before_it_is_answered_from(index: Index, corpus: Corpus) -> None:
    publish(index, {"key-rotation": corpus["key-rotation"]}, lambda following: True)
    seen: list[object] = []

    def looks(following: Snapshot) -> bool:
        hits = following.search(SearchQuery(variants=("who pages the commander",), limit=3))
        seen.extend([following.generation, dict(following.documents), hits[0].chunk.document_id])
        seen.append(index.snapshot("help").generation)
        return True

    assert publish(index, corpus, looks).number == 2
    cards = {name: card for name, (card, _) in sorted(corpus.items())}
    assert seen == [2, cards, "incident-guide", 1]
    assert index.snapshot("help").generation == 2


def test_a_refused_one_leaves_the_old_one_and_nothing_else(
    settings: Settings, index: Index, corpus: Corpus
) -> None:
    publish(index, {"key-rotation": corpus["key-rotation"]}, lambda following: True)
    refused = publish(index, corpus, lambda following: False)
    assert (refused.number, refused.documents) == (1, 1)
    assert list(index.snapshot("help").documents) == ["key-rotation"]
    assert [one.number for one in index.generations("help")] == [1]
    assert folders(settings) == ["000001"]
    with index.stage("help") as staging:
        assert staging.cursors == {"drive": "1"}, "the next run sees the same changes again"


def test_what_was_refused_is_published_later_without_embedding_it_again(
    index: Index, corpus: Corpus, embedder: Any
) -> None:
    publish(index, {"key-rotation": corpus["key-rotation"]}, lambda following: True)
    publish(index, corpus, lambda following: False)
    before = embedder.texts
    assert publish(index, corpus, lambda following: True).number == 2
    assert embedder.texts == before
    query = SearchQuery(variants=("who pages the commander",), limit=3)
    assert index.snapshot("help").search(query)[0].chunk.document_id == "incident-guide"


def test_an_unchanged_run_is_not_looked_at(index: Index, corpus: Corpus) -> None:
    publish(index, corpus, lambda following: True)
    asked: list[int] = []

    def looks(following: Snapshot) -> bool:
        asked.append(following.generation)
        return False

    assert publish(index, corpus, looks).number == 1
    assert asked == []


def test_the_first_generation_can_only_be_better_than_none(index: Index, corpus: Corpus) -> None:
    assert publish(index, corpus, lambda following: False).number == 1
    assert index.snapshot("help").generation == 1


@pytest.mark.kill
def test_killed_between_building_and_publishing_the_old_one_serves_and_the_rest_is_cleaned(
    embedded: Settings, make_embedder: Callable[..., Any], corpus: Corpus
) -> None:
    index = open_index(embedded, make_embedder())
    publish(index, corpus, lambda following: True)
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, str(embedded.data_dir)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert (killed.stdout, killed.returncode) == ("2 4\n", -signal.SIGKILL)
    assert folders(embedded) == ["000001", "000002"]
    again = open_index(embedded, make_embedder())
    assert (again.snapshot("help").generation, len(again.snapshot("help").documents)) == (1, 3)
    publish(again, corpus, lambda following: True)
    assert folders(embedded) == ["000001"]
    again.close()
    index.close()
