"""A damaged index heals itself from the database, or says what is wrong: no wrong answers."""

from __future__ import annotations

import logging
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from config.errors import ConfigError, IndexUnavailable, StorageFailed
from config.settings import Settings
from enrichment.chunk import Chunk, DocumentCard
from index.generations import arrays
from index.generations import folder as generation_folder
from index.generations import recovery as salvage
from index.keywords import bm25
from index.open_generations import LOOK_EVERY_SECONDS
from index.publish import Index, open_index
from index.search import Hit, SearchQuery

Corpus = dict[str, tuple[DocumentCard, list[Chunk]]]
QUESTIONS = ("how often are signing keys rotated", "P0 minutes", "hbr-eu1")


def answers(index: Index) -> list[list[Hit]]:
    snapshot = index.snapshot("help")
    return [snapshot.search(SearchQuery(variants=(question,))) for question in QUESTIONS]


@pytest.fixture
def opened(embedded: Settings) -> Iterator[Callable[[Any], Index]]:
    """Opens the same index as a new process would."""
    indexes: list[Index] = []

    def run(embedder: Any) -> Index:
        indexes.append(open_index(embedded, embedder))
        return indexes[-1]

    yield run
    for one in indexes:
        one.close()


@pytest.fixture
def sound(opened: Callable[[Any], Index], embedder: Any, corpus: Corpus) -> list[list[Hit]]:
    """Publishes; returns what an undamaged index answers."""
    index = opened(embedder)
    with index.stage("help") as staging:
        for card, chunks in corpus.values():
            staging.put(card, chunks)
        staging.commit({})
    return answers(index)


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-1] ^= 0xFF
    path.write_bytes(bytes(data))


DAMAGES: dict[str, Callable[[Path], None]] = {
    "everything deleted": shutil.rmtree,
    "manifest deleted": lambda folder: (folder / "manifest.json").unlink(),
    "manifest not JSON": lambda folder: (folder / "manifest.json").write_text("{"),
    "BM25 file truncated": lambda folder: truncate(folder / "keywords/data.csc.index.npy"),
    "names cut off": lambda folder: truncate(folder / "names/terms.npy"),
    "vocabulary cut off": lambda folder: truncate(folder / "keywords/terms.npy"),
    "one bit of a vector flipped": lambda folder: flip(folder / "chunk_leading.npy"),
    "unit vectors deleted": lambda folder: (folder / "unit_trailing.npy").unlink(),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_folder_is_rebuilt_from_the_database(
    embedded: Settings,
    opened: Callable[[Any], Index],
    sound: list[list[Hit]],
    embedder: Any,
    damage: Callable[[Path], None],
) -> None:
    folder = embedded.data_dir / "index/help/000001"
    damage(folder)
    healed = opened(embedder)
    assert answers(healed) == sound
    assert answers(opened(embedder)) == sound
    with healed.stage("help") as staging:
        staging.remove("laptop-policy")
        assert staging.commit({}).documents == 2


def test_what_is_whole_of_a_damaged_folder_is_not_embedded_again(
    embedded: Settings,
    opened: Callable[[Any], Index],
    sound: list[list[Hit]],
    embedder: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(generation_folder, "BLOCK", 64)
    monkeypatch.setattr(salvage, "BLOCK", 64)
    index = opened(embedder)
    with index.stage("help") as staging:
        staging.remove("laptop-policy")
        staging.commit({})
    expected = answers(index)
    shutil.rmtree(embedded.data_dir / "index/help/000001")
    flip(embedded.data_dir / "index/help/000002/chunk_leading.npy")
    asked = embedder.texts
    healed = opened(embedder)
    healed.snapshot("help")
    assert embedder.texts - asked == 2, "a block of 64 bytes holds two vectors"
    assert answers(healed) == expected


def test_a_folder_of_an_older_release_is_built_again_and_says_so_once(
    embedded: Settings,
    opened: Callable[[Any], Index],
    embedder: Any,
    corpus: Corpus,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING)

    def published(domain: str) -> Index:
        index = opened(embedder)
        with index.stage(domain) as staging:
            for card, chunks in corpus.values():
                staging.put(card, chunks)
            staging.commit({})
        return index

    with pytest.MonkeyPatch.context() as older:
        older.setattr(generation_folder, "FORMAT", generation_folder.FORMAT - 1)
        older.setattr(bm25, "search_terms", str.split)
        older.setattr(arrays, "save_names", lambda *_: None)
        older.setattr(generation_folder, "Names", lambda _: None)
        published("help")
    asked = embedder.texts
    snapshot = opened(embedder).snapshot("help")
    assert embedder.texts == asked, "vectors are salvaged"
    assert [record.getMessage() for record in caplog.records] == [
        "rebuilding generation 1 of help: "
        f"{embedded.data_dir / 'index/help/000001'} is of another format"
    ]
    today = published("today").snapshot("today")
    for question in QUESTIONS:
        query = SearchQuery(variants=(question,))
        assert snapshot.search(query) == today.search(query)
    assert opened(embedder).snapshot("help").search(query) == today.search(query)
    keys = ("keyrotation", "section0", "t1")
    assert snapshot.named(keys) == today.named(keys)
    assert snapshot.named(["keyrotation"]) == {"keyrotation": ("key-rotation",)}
    assert len(caplog.records) == 1


def test_a_leftover_folder_of_a_run_that_died_is_not_taken_for_the_next_generation(
    embedded: Settings,
    opened: Callable[[Any], Index],
    sound: list[list[Hit]],
    embedder: Any,
    corpus: Corpus,
) -> None:
    folder = embedded.data_dir / "index/help"
    shutil.copytree(folder / "000001", folder / "000002")
    shutil.copytree(folder / "000001", folder / ".building-dead")
    index = opened(embedder)
    with index.stage("help") as staging:
        staging.remove("key-rotation")
        assert staging.commit({}).number == 2
    assert "key-rotation" not in index.snapshot("help").documents
    assert not (folder / ".building-dead").exists()


def test_another_model_cannot_heal_what_it_did_not_make(
    embedded: Settings,
    opened: Callable[[Any], Index],
    sound: list[list[Hit]],
    make_embedder: Callable[..., Any],
) -> None:
    shutil.rmtree(embedded.data_dir / "index/help/000001")
    with pytest.raises(IndexUnavailable, match="ONCALL_EMBEDDING_MODEL=words"):
        opened(make_embedder("other")).snapshot("help")


def test_a_database_that_fails_later_leaves_the_open_generation_serving(
    embedded: Settings, opened: Callable[[Any], Index], sound: list[list[Hit]], embedder: Any
) -> None:
    index = opened(embedder)
    assert answers(index) == sound
    index.engine.dispose()
    for file in embedded.data_dir.glob("oncall.db*"):
        file.write_bytes(b"not a database any more" * 400)
    time.sleep(LOOK_EVERY_SECONDS + 0.1)
    assert answers(index) == sound
    with pytest.raises(StorageFailed, match=r"oncall\.db is damaged; .* restore a backup"):
        index.snapshot("another")


def test_an_unusable_database_is_told(embedded: Settings, embedder: Any) -> None:
    embedded.data_dir.mkdir()
    (embedded.data_dir / "oncall.db").write_bytes(b"not a database" * 100)
    with pytest.raises(StorageFailed, match=r"oncall\.db is damaged; .* restore a backup"):
        open_index(embedded, embedder)


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("nonsense", "not a database URL"),
        ("mysql://root:secret@db/x", "names 'mysql'"),
        ("postgresql://user:secret@127.0.0.1:9/x", "cannot open the database"),
    ],
)
def test_a_wrong_database_url_is_told_without_its_password(
    tmp_path: Path, embedder: Any, url: str, problem: str
) -> None:
    settings = Settings(_env_file=None, data_dir=tmp_path, database_url=url)
    with pytest.raises(ConfigError, match=problem) as caught:
        open_index(settings, embedder)
    assert "secret" not in str(caught.value)


def test_an_unreachable_chroma_server_is_told(tmp_path: Path, embedder: Any) -> None:
    settings = Settings(_env_file=None, data_dir=tmp_path, chroma_url="http://127.0.0.1:9")
    index = open_index(settings, embedder)
    with pytest.raises(IndexUnavailable, match="CHROMA_URL leads to it"), index.stage("help"):
        pass
    index.close()
