"""The life of generations: SQLite, and PostgreSQL with a Chroma server."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from threading import Thread
from typing import Any

import numpy as np
import pytest
from sqlalchemy import func, select, update

from config.errors import IndexUnavailable, LoadError, ModelUnavailable, PublishError
from config.models import Vectors
from config.settings import Settings
from durable.database import now
from enrichment.chunk import Chunk, DocumentCard
from index.generations.folders import WORTH_OPENING
from index.generations.staging import TOGETHER
from index.publish import Index, open_index
from index.search import SearchQuery
from index.store.database import ChunkRow, RevisionRow
from index.store.documents import Store
from tests.index.conftest import eventually

Corpus = dict[str, tuple[DocumentCard, list[Chunk]]]
Publish = Callable[..., Any]


def fresh(settings: Settings, embedder: Any) -> Index:
    """Another process's view of the same index."""
    return open_index(settings, embedder)


def folders(settings: Settings) -> list[str]:
    return sorted(f.name for f in (settings.data_dir / "index/help").iterdir() if f.is_dir())


def find(index: Index, question: str, *, domain: str = "help") -> list[str]:
    hits = index.snapshot(domain).search(SearchQuery(variants=(question,), limit=3))
    return [hit.chunk.document_id for hit in hits]


def test_before_the_first_publication_the_remedy_is_told(index: Index) -> None:
    with pytest.raises(IndexUnavailable, match="run `oncall ingest help`"):
        index.snapshot("help")


def test_what_was_put_is_published_whole(index: Index, publish: Publish, corpus: Corpus) -> None:
    info = publish(corpus, drive="token-1")
    assert (info.number, info.documents, info.chunks, info.embedded) == (1, 3, 8, 21)
    snapshot = index.snapshot("help")
    assert snapshot.generation == 1
    assert dict(snapshot.documents) == {name: card for name, (card, _) in sorted(corpus.items())}
    for name, (_, chunks) in corpus.items():
        assert list(snapshot.chunks(name)) == chunks
    assert snapshot.chunks("unknown") == ()
    assert find(index, "how often are signing keys rotated")[0] == "key-rotation"


def test_nothing_is_seen_before_the_commit(index: Index, corpus: Corpus) -> None:
    with index.stage("help") as staging:
        staging.put(*corpus["key-rotation"])
        with pytest.raises(IndexUnavailable):
            index.snapshot("help")


def test_an_unchanged_run_publishes_nothing_and_embeds_nothing(
    index: Index, publish: Publish, corpus: Corpus, embedder: Any
) -> None:
    publish(corpus, drive="1")
    before = embedder.texts
    info = publish(corpus, drive="2")
    assert (info.number, info.embedded, embedder.texts) == (1, 0, before)
    with index.stage("help") as staging:
        assert staging.cursors == {"drive": "2"}
        assert list(staging.documents) == sorted(corpus)


def test_an_edit_embeds_only_what_it_changed(
    index: Index, publish: Publish, corpus: Corpus, chunk: Callable[..., Chunk]
) -> None:
    publish(corpus)
    card, chunks = corpus["key-rotation"]
    edited = chunk("key-rotation", 1, "An expired key is revoked within two hours.")
    info = publish({"key-rotation": (card, [chunks[0], edited])})
    assert (info.number, info.documents, info.embedded) == (2, 3, 2)
    assert index.snapshot("help").chunks("key-rotation")[1].text == edited.text
    assert list(index.snapshot("help").chunks("laptop-policy")) == corpus["laptop-policy"][1]


def test_removed_documents_are_gone(index: Index, publish: Publish, corpus: Corpus) -> None:
    publish(corpus)
    with index.stage("help") as staging:
        staging.remove("key-rotation")
        staging.remove("never-there")
        staging.commit({})
    assert "key-rotation" not in index.snapshot("help").documents
    assert "key-rotation" not in find(index, "how often are signing keys rotated")


def test_an_emptied_index_finds_nothing(index: Index, publish: Publish, corpus: Corpus) -> None:
    publish({"key-rotation": corpus["key-rotation"]})
    with index.stage("help") as staging:
        staging.remove("key-rotation")
        assert staging.commit({}).chunks == 0
    assert find(index, "keys") == []
    assert index.snapshot("help").rarity("keys") == 0.0


def test_another_process_sees_the_publication_without_a_restart(
    settings: Settings, index: Index, publish: Publish, corpus: Corpus, embedder: Any
) -> None:
    reader = fresh(settings, embedder)
    publish({"key-rotation": corpus["key-rotation"]})
    assert reader.snapshot("help").generation == 1
    held = reader.snapshot("help")
    publish({"laptop-policy": corpus["laptop-policy"]})
    eventually(lambda: reader.snapshot("help").generation == 2)
    assert list(held.documents) == ["key-rotation"]
    assert len(held.search(SearchQuery(variants=("laptops",), limit=9))) == 2
    reader.close()


def test_rollback_brings_back_the_earlier_generation_and_its_cursors(
    index: Index, publish: Publish, corpus: Corpus
) -> None:
    publish({"key-rotation": corpus["key-rotation"]}, drive="1")
    publish({"laptop-policy": corpus["laptop-policy"]}, drive="2")
    assert index.rollback("help").number == 1
    assert list(index.snapshot("help").documents) == ["key-rotation"]
    with pytest.raises(IndexUnavailable, match="no earlier generation"):
        index.rollback("help")
    with index.stage("help") as staging:
        assert staging.cursors == {"drive": "1"}
        staging.put(*corpus["incident-guide"])
        assert staging.commit({}).number == 3
    assert list(index.snapshot("help").documents) == ["incident-guide", "key-rotation"]


def test_old_generations_are_cleaned_away(
    settings: Settings, index: Index, publish: Publish, corpus: Corpus
) -> None:
    card, chunks = corpus["key-rotation"]
    for n in range(5):
        publish({"key-rotation": (replace(card, version=str(n)), chunks)})
    assert [one.number for one in index.generations("help")] == [5, 4, 3]
    assert folders(settings) == ["000004", "000005"], "what is rolled back to, and what answers"
    with index.engine.connect() as connection:
        assert connection.scalar(select(func.count()).select_from(ChunkRow)) == 3 * len(chunks)


def test_deleted_text_leaves_earlier_generations_on_every_machine_once_no_rollback_needs_it(
    settings: Settings, index: Index, publish: Publish, corpus: Corpus, embedder: Any
) -> None:
    publish(corpus)
    elsewhere = settings  # on the same machine, or another one
    if settings.database_url:
        elsewhere = settings.model_copy(update={"data_dir": settings.data_dir / "reader"})
    reader = fresh(elsewhere, embedder)
    assert reader.snapshot("help").generation == 1
    card, chunks = corpus["laptop-policy"]
    with index.stage("help") as staging:
        staging.remove("key-rotation")
        staging.put(replace(card, version="2"), chunks)
        staging.commit({})
    eventually(lambda: reader.snapshot("help").generation == 2)
    published = datetime.now(UTC)
    for one in (index, reader):
        one.retire(at=published + timedelta(hours=23))
    assert [one.number for one in index.generations("help")] == [2, 1]
    late = published + timedelta(hours=25)
    with index.stage("help"):
        reader.retire(at=late)
    assert [one.number for one in index.generations("help")] == [2, 1], "a run cleans up itself"
    index.retire(at=late)
    reader.retire(at=late)
    assert [one.number for one in index.generations("help")] == [2]
    assert folders(settings) == folders(elsewhere) == ["000002"]
    with index.engine.connect() as connection:
        cards = connection.scalars(select(RevisionRow.card)).all()
        assert sorted(json.loads(one)["id"] for one in cards) == ["incident-guide", "laptop-policy"]
    with pytest.raises(IndexUnavailable, match="no earlier generation"):
        index.rollback("help")
    reader.close()


def test_withdrawn_documents_are_on_record_until_they_are_back(
    index: Index, publish: Publish, corpus: Corpus
) -> None:
    store = Store(index.engine)

    def withdrawn() -> dict[str, frozenset[str]]:
        return store.withdrawn(now() + timedelta(hours=1))

    def remove(*documents: str) -> None:
        with index.stage("help") as staging:
            for document in documents:
                staging.remove(document)
            staging.commit({})

    publish(corpus)
    assert withdrawn() == {}
    remove("key-rotation")
    assert store.withdrawn(now() - timedelta(hours=1)) == {}
    assert withdrawn() == {"help": {"key-rotation"}}
    index.rollback("help")
    assert withdrawn() == {}
    remove("key-rotation", "laptop-policy")
    publish({"key-rotation": corpus["key-rotation"]})
    assert withdrawn() == {"help": {"laptop-policy"}}
    store.withdraw("help", ["laptop-policy", "key-rotation", "long-gone"])
    assert withdrawn() == {"help": {"laptop-policy", "long-gone"}}
    store.forget_withdrawn(now() + timedelta(hours=1))
    assert withdrawn() == {}


def test_a_second_run_on_the_domain_says_so_or_waits(
    index: Index, settings: Settings, corpus: Corpus, embedder: Any
) -> None:
    other = fresh(settings, embedder)
    said: list[str] = []
    numbers: list[int] = []

    def second() -> None:
        with other.stage("help", on_wait=said.append) as staging:
            numbers.append(len(staging.documents))

    assert not other.is_locked("help")
    with index.stage("help") as staging:
        assert other.is_locked("help")
        with (
            pytest.raises(PublishError, match="another run is publishing 'help'"),
            other.stage("help", wait_seconds=0),
        ):
            pass
        with other.stage("another"):
            pass
        waiting = Thread(target=second)
        waiting.start()
        eventually(lambda: bool(said))
        staging.put(*corpus["key-rotation"])
        staging.commit({})
    waiting.join()
    assert numbers == [1]
    assert len(said) == 1
    other.close()


def test_another_embedding_model_is_refused_and_then_embedded_anew(
    settings: Settings, publish: Publish, corpus: Corpus, make_embedder: Callable[..., Any]
) -> None:
    publish(corpus)
    renamed = make_embedder("other-model", dimensions=16)
    reader = fresh(settings, renamed)
    with pytest.raises(IndexUnavailable, match=r"'words'.*'other-model'.*ONCALL_EMBEDDING_MODEL"):
        reader.snapshot("help")
    with reader.stage("help") as staging:
        assert staging.commit({}).embedded == 21
    assert find(reader, "how often are signing keys rotated")[0] == "key-rotation"
    reader.close()


def test_rows_of_an_older_release_are_read_without_what_they_no_longer_hold(
    settings: Settings, index: Index, publish: Publish, corpus: Corpus, embedder: Any
) -> None:
    publish(corpus)
    older = {"domain_tags": ["access"], "chapters": ["Scope"]}
    with index.engine.begin() as connection:
        for table, column in (
            (RevisionRow, RevisionRow.card),
            (ChunkRow, ChunkRow.payload),
        ):
            for row in connection.execute(select(table.id, column)).all():
                stored = json.dumps({**json.loads(row[1]), **older})
                changed = update(table).where(table.id == row.id)
                connection.execute(changed.values({column: stored}))
    reader = fresh(settings, embedder)
    snapshot = reader.snapshot("help")
    assert dict(snapshot.documents) == {name: card for name, (card, _) in sorted(corpus.items())}
    assert all(list(snapshot.chunks(name)) == held for name, (_, held) in corpus.items())
    reader.close()


def test_a_failing_embedder_leaves_the_generation_as_it_was(
    settings: Settings, publish: Publish, corpus: Corpus, embedder: Any
) -> None:
    class Failing:
        name, dimensions, max_tokens = embedder.name, embedder.dimensions, 256
        count_tokens = embedder.count_tokens

        def __call__(self, texts: list[str]) -> Vectors:
            if any("Laptop" in text for text in texts):
                raise ModelUnavailable("no network")
            vectors: Vectors = embedder(texts)
            return vectors

    publish({"key-rotation": corpus["key-rotation"]})
    other = fresh(settings, Failing())
    with other.stage("help") as staging:
        staging.put(*corpus["laptop-policy"])
        with pytest.raises(ModelUnavailable):
            staging.commit({})
    assert list(other.snapshot("help").documents) == ["key-rotation"]
    other.close()


def test_vectors_embedded_before_an_interruption_are_not_embedded_again(
    index: Index, card: Callable[..., DocumentCard], chunk: Callable[..., Chunk], embedder: Any
) -> None:
    long = [chunk("long", place, f"Fact {place}.") for place in range(TOGETHER)]
    with index.stage("help") as staging:
        staging.put(card("long"), long)
    before = embedder.texts
    with index.stage("help") as staging:
        staging.put(card("long"), long)
        assert staging.commit({}).embedded == 0
    assert before == embedder.texts == 2 * TOGETHER


def test_texts_of_many_documents_are_embedded_in_one_call_each_text_once(
    settings: Settings,
    card: Callable[..., DocumentCard],
    chunk: Callable[..., Chunk],
    embedder: Any,
) -> None:
    calls: list[list[str]] = []

    class Watching:
        name, dimensions, max_tokens = embedder.name, embedder.dimensions, 256
        count_tokens, knows = embedder.count_tokens, embedder.knows

        def __call__(self, texts: list[str]) -> Vectors:
            calls.append(texts)
            vectors: Vectors = embedder(texts)
            return vectors

    other = fresh(settings, Watching())
    with other.stage("help") as staging:
        for name in ("one", "two", "three"):
            staging.put(card(name), [chunk(name, 0, "The same fact.")])
        staging.commit({})
    other.close()
    assert [len(texts) for texts in calls] == [4]  # three titles, and one unit for all
    assert len(set(calls[0])) == 4


def test_what_another_domain_or_an_older_generation_embedded_is_not_embedded_again(
    index: Index,
    publish: Publish,
    card: Callable[..., DocumentCard],
    chunk: Callable[..., Chunk],
    embedder: Any,
) -> None:
    shared = (card("shared"), [chunk("shared", n, f"Fact {n}.") for n in range(WORTH_OPENING)])
    publish({"shared": shared})
    before = embedder.texts
    with index.stage("elsewhere") as staging:
        staging.put(*shared)
        assert staging.commit({}).embedded == 0
    for change in ("remove", "put"):
        with index.stage("help") as staging:
            staging.remove("shared") if change == "remove" else staging.put(*shared)
            assert staging.commit({}).embedded == 0
    assert embedder.texts == before
    assert find(index, "Fact 7", domain="elsewhere")[0] == "shared"


def test_a_chunk_of_another_document_is_refused(index: Index, corpus: Corpus) -> None:
    with index.stage("help") as staging, pytest.raises(LoadError, match="another document"):
        staging.put(corpus["key-rotation"][0], corpus["laptop-policy"][1])


def test_text_that_is_not_unicode_is_refused_by_name(
    index: Index, card: Callable[..., DocumentCard], chunk: Callable[..., Chunk]
) -> None:
    with index.stage("help") as staging, pytest.raises(LoadError, match=r"guide.*Unicode"):
        staging.put(card("guide"), [chunk("guide", 0, "lone \ud800 surrogate")])


def test_odd_but_valid_text_survives(
    index: Index, publish: Publish, card: Callable[..., DocumentCard], chunk: Callable[..., Chunk]
) -> None:
    odd = [chunk("odd/ö 1", 0, "nul \x00 bell \x07 🔥 漢字 \u202e right"), chunk("odd/ö 1", 1, "")]
    publish({"odd": (card("odd/ö 1"), odd)})
    assert list(index.snapshot("help").chunks("odd/ö 1")) == odd


def test_equal_texts_are_embedded_once(
    index: Index, publish: Publish, card: Callable[..., DocumentCard], chunk: Callable[..., Chunk]
) -> None:
    one = chunk("twice", 0, "The same words.")
    info = publish({"twice": (card("twice"), [one, replace(one, id="copy", position=1)])})
    assert (info.chunks, info.embedded) == (2, 2)
    hits = index.snapshot("help").search(SearchQuery(variants=("same words",)))
    assert {hit.chunk.id for hit in hits} == {one.id, "copy"}


def test_a_published_index_equals_one_built_in_another_order(
    settings: Settings, index: Index, publish: Publish, corpus: Corpus, embedder: Any
) -> None:
    for name in sorted(corpus, reverse=True):
        publish({name: corpus[name]})
    with index.stage("whole") as staging:
        for card, chunks in corpus.values():
            staging.put(card, chunks)
        staging.commit({})
    stepwise, whole = index.snapshot("help"), index.snapshot("whole")
    for question in ("P0 minutes", "signing keys", "lost laptops"):
        query = SearchQuery(variants=(question,))
        assert stepwise.search(query) == whole.search(query)
    assert np.isclose(stepwise.rarity("keys"), whole.rarity("keys"))


def test_another_machine_builds_its_own_folder(
    settings: Settings, index: Index, publish: Publish, corpus: Corpus, make_embedder: Any
) -> None:
    """With a database and a Chroma server shared, no file has to be, and no text embedded."""
    publish(corpus)
    expected = index.snapshot("help").search(SearchQuery(variants=("signing keys",)))
    shutil.rmtree(settings.data_dir / "index")
    embedder = make_embedder()
    elsewhere = fresh(settings, embedder)
    assert elsewhere.snapshot("help").search(SearchQuery(variants=("signing keys",))) == expected
    if settings.chroma_url:
        assert embedder.texts == 1  # the question
    elsewhere.close()
