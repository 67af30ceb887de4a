"""The names of a generation, beside its keyword search."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from config.errors import GenerationReplaced
from config.settings import Settings
from enrichment.chunk import Chunk, DocumentCard
from index.generations import build
from index.publish import Index, open_index
from index.search import SearchQuery, Snapshot
from tests.agents.memory import MemorySnapshot

Corpus = dict[str, tuple[DocumentCard, list[Chunk]]]
QUESTIONS = "signing keys", "SEC-1234", "severity of an incident", "DiskFull on node-1"


@pytest.fixture
def named_corpus(
    corpus: Corpus, card: Callable[..., DocumentCard], chunk: Callable[..., Chunk]
) -> Corpus:
    for name, heading in (("disks", "DiskFull"), ("nodes", "Node down")):
        text = f"Look at the `DiskFull` of node-1. {name} are old."
        corpus[name] = (card(name), [chunk(name, 0, text, heading=heading)])
    return corpus


def publish(index: Index, corpus: Corpus, *removed: str) -> Snapshot:
    with index.stage("help") as staging:
        for card, chunks in corpus.values():
            staging.put(card, chunks)
        for document in removed:
            staging.remove(document)
        staging.commit({})
    return index.snapshot("help")


@pytest.fixture
def index(tmp_path: Path, embedder: Any) -> Any:
    with closing(open_index(Settings(_env_file=None, data_dir=tmp_path), embedder)) as opened:
        yield opened


def test_a_key_gives_the_documents_that_name_it_and_then_those_that_mention_it(
    index: Index, named_corpus: Corpus
) -> None:
    snapshot = publish(index, named_corpus)
    keys = ("diskfull", "nodedown", "section0", "nothing")
    assert snapshot.named(keys) == {
        "diskfull": ("disks",),
        "nodedown": ("nodes",),
        "section0": ("incident-guide", "key-rotation", "laptop-policy"),
    }
    assert snapshot.named(["diskfull"], mentions=True) == {"diskfull": ("disks", "nodes")}
    assert snapshot.named([]) == {}
    cards, chunks = zip(*named_corpus.values(), strict=True)
    memory = MemorySnapshot([one for some in chunks for one in some], cards)
    for mentions in (False, True):
        expected = memory.named(keys, mentions=mentions)
        found = snapshot.named(keys, mentions=mentions)
        assert {key: set(ids) for key, ids in found.items()} == {
            key: set(ids) for key, ids in expected.items()
        }


def test_names_follow_their_documents(index: Index, named_corpus: Corpus) -> None:
    before = publish(index, named_corpus)
    card, (chunk, *_) = named_corpus["nodes"]
    after = publish(index, {"nodes": (card, [chunk])}, "disks")
    assert after.named(["diskfull", "nodedown"]) == {"nodedown": ("nodes",)}
    assert after.named(["diskfull"], mentions=True) == {"diskfull": ("nodes",)}
    assert before.named(["diskfull"]) == {"diskfull": ("disks",)}, "a generation stays as it is"


def test_a_document_that_is_replaced_during_a_lookup_says_so(
    index: Index, named_corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot: Any = publish(index, named_corpus)
    (document,) = snapshot.named(["diskfull"])["diskfull"]
    monkeypatch.setattr(snapshot, "_store", SimpleNamespace(chunks=lambda _: {}))
    with pytest.raises(GenerationReplaced):
        snapshot.chunks(document)


@pytest.mark.parametrize("engine", ["bm25s", "rank_bm25"])
def test_names_change_no_ranking(
    engine: Any,
    tmp_path: Path,
    embedder: Any,
    named_corpus: Corpus,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def answers(folder: str) -> Any:
        settings = Settings(_env_file=None, data_dir=tmp_path / folder, keyword_engine=engine)
        with closing(open_index(settings, embedder)) as opened:
            snapshot: Any = publish(opened, named_corpus)
            words = [word for question in QUESTIONS for word in question.split()]
            return (
                [snapshot.search(SearchQuery(variants=(one,))) for one in QUESTIONS],
                [snapshot.rarity(word) for word in words],
                [snapshot.is_unheard_of(word) for word in (*words, "diskfull", "sectionzero")],
                snapshot.folder.keywords.frequency("diskfull"),
                bool(snapshot.named(["diskfull"])),
            )

    *with_names, has_names = answers("with")
    monkeypatch.setattr(build, "names_of", lambda *_: {})
    *without, lacks_names = answers("without")
    assert with_names == without
    assert has_names
    assert not lacks_names
