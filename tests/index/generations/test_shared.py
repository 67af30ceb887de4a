"""Machines that share generations: one publishes, the others fetch, verify, and never embed."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

from config.errors import ConfigError, IndexStoreAway, IndexUnavailable, PublishError
from config.settings import Settings
from durable.failures import storage_failure
from enrichment.chunk import Chunk, DocumentCard
from index.generations import parts, shared
from index.generations.folder import Manifest, seal
from index.generations.parts import PartList, Place, parts_of
from index.publish import Index, open_index
from index.search import Hit, SearchQuery
from telemetry.metrics import INDEX_STORE_ERRORS
from tests.index.conftest import WordEmbedder, make_card, make_chunk

Corpus = dict[str, tuple[DocumentCard, list[Chunk]]]
QUERY = SearchQuery(variants=("how often are signing keys rotated",))


class Machines:
    """Several machines: each has a folder of its own, all have one database and one store."""

    def __init__(self, tmp_path: Path, address: str) -> None:
        self._tmp_path, self._address = tmp_path, address
        self._opened: list[Index] = []

    def __call__(self, name: str, *, address: str | None = None) -> tuple[Index, WordEmbedder]:
        """A process that starts on this machine, and what it embeds with."""
        folder = self._tmp_path / name
        folder.mkdir(exist_ok=True)
        database = folder / "oncall.db"
        if not database.exists():
            (self._tmp_path / "oncall.db").touch(mode=0o600)
            database.symlink_to(self._tmp_path / "oncall.db")
        embedder = WordEmbedder()
        settings = Settings(_env_file=None, data_dir=folder, index_store=address or self._address)
        self._opened.append(open_index(settings, embedder))
        return self._opened[-1], embedder

    def close(self) -> None:
        for one in self._opened:
            one.close()


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def machine(tmp_path: Path, store: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machines]:
    """Nobody looks for new generations but by `refresh`."""
    monkeypatch.setattr("index.open_generations.LOOK_EVERY_SECONDS", 3_600.0)
    machines = Machines(tmp_path, f"file://{store}")
    yield machines
    machines.close()


def publish(index: Index, documents: Corpus) -> None:
    with index.stage("help") as staging:
        for gone in set(staging.documents) - set(documents):
            staging.remove(gone)
        for one, content in documents.values():
            staging.put(one, content)
        staging.commit({})


def answer(index: Index) -> list[Hit]:
    return index.snapshot("help").search(QUERY)


def objects(store: Path, kind: str) -> dict[str, Path]:
    return {one.name: one for one in store.glob(f"help-*/{kind}/*")}


def test_a_fresh_machine_answers_without_embedding_a_document(
    machine: Machines, corpus: Corpus
) -> None:
    publisher, _ = machine("a")
    publish(publisher, corpus)
    reader, embedder = machine("b")
    assert answer(reader) == answer(publisher)
    assert embedder.texts == 1  # the question
    assert not list((machine._tmp_path / "b/index/help").glob(".*"))


def test_unchanged_parts_are_neither_uploaded_nor_downloaded_again(
    machine: Machines, corpus: Corpus, store: Path
) -> None:
    publisher, _ = machine("a")
    publish(publisher, corpus)
    before = objects(store, "parts")
    inodes = {name: path.stat().st_mtime_ns for name, path in before.items()}
    reader, _ = machine("b")
    answer(reader)
    publish(publisher, {one: corpus[one] for one in list(corpus)[:2]})
    after = objects(store, "parts")
    shared = before.keys() & after.keys()
    assert shared
    assert {name: after[name].stat().st_mtime_ns for name in shared} == {
        name: inodes[name] for name in shared
    }
    for name in shared:  # whoever still reads them from the store fails
        after[name].unlink()
    reader._open_ones.refresh()
    assert reader.snapshot("help").generation == 2
    assert answer(reader) == answer(publisher)


@pytest.mark.parametrize("is_mounted", [True, False])
def test_a_fresh_machine_waits_where_the_store_holds_nothing_of_it(
    machine: Machines, corpus: Corpus, store: Path, is_mounted: bool
) -> None:
    """Another address than the publisher's, or a share that is not mounted."""
    publish(machine("a")[0], corpus)
    other = store.with_name("other")
    if is_mounted:
        other.mkdir()
    reader, embedder = machine("b", address=f"file://{other}")
    with pytest.raises(IndexStoreAway, match="holds nothing of it") as failed:
        answer(reader)
    assert "\n" not in str(failed.value)
    assert embedder.texts == 0


def test_a_generation_that_goes_while_it_is_fetched_is_followed_to_the_next(
    machine: Machines, corpus: Corpus, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publisher, _ = machine("a")
    publish(publisher, corpus)
    publisher._rollback_time = timedelta(0)
    fewer = {one: corpus[one] for one in list(corpus)[:1]}
    laid_out = shared._lay_out

    def lay_out(target: Path, listed: PartList) -> dict[str, list[Place]]:
        with monkeypatch.context() as once:
            once.setattr(shared, "_lay_out", laid_out)
            if publisher.snapshot("help").generation == 1:
                publish(publisher, fewer)
        return laid_out(target, listed)

    monkeypatch.setattr(shared, "_lay_out", lay_out)
    reader, embedder = machine("b")
    assert answer(reader) == answer(publisher)
    assert reader.snapshot("help").generation == 2
    assert embedder.texts == 1
    publish(publisher, fewer)
    assert not objects(store, "damaged")  # what was gone had been marked


def test_a_damaged_list_is_uploaded_again(
    machine: Machines, corpus: Corpus, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("index.generations.shared.PAUSE_SECONDS", 0.0)
    publisher, _ = machine("a")
    publish(publisher, corpus)
    ((digest, listed),) = objects(store, "manifests").items()
    listed.write_bytes(b"rotten")
    assert answer(machine("b")[0]) == answer(publisher)  # from what it built itself
    assert list(objects(store, "damaged")) == [digest]
    publish(publisher, corpus)  # a run that finds nothing new
    assert not objects(store, "damaged")
    reader, embedder = machine("c")
    assert answer(reader) == answer(publisher)
    assert embedder.texts == 1


def test_a_damaged_folder_is_mended_part_by_part(
    machine: Machines, corpus: Corpus, store: Path
) -> None:
    publish(machine("a")[0], corpus)
    answer(machine("b")[0])
    folder = machine._tmp_path / "b/index/help/000001"
    broken = folder / "chunk_leading.npy"
    data = bytearray(broken.read_bytes())
    data[-1] ^= 0xFF
    broken.write_bytes(bytes(data))
    (wanted,) = parts_of(folder).files["chunk_leading.npy"]
    for name, path in objects(store, "parts").items():
        if name != wanted.digest:
            path.unlink()
    mended, embedder = machine("b")
    assert answer(mended)
    assert embedder.texts == 1


FAULTS: dict[str, Callable[[Path], object]] = {
    "flipped": lambda part: part.write_bytes(part.read_bytes()[:-1] + b"\xaa"),
    "cut off": lambda part: part.write_bytes(part.read_bytes()[:-7]),
    "gone": lambda part: part.unlink(),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_damaged_part_is_refused_marked_and_uploaded_again(
    fault: Callable[[Path], object], machine: Machines, corpus: Corpus, store: Path,
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    monkeypatch.setattr("index.generations.shared.PAUSE_SECONDS", 0.0)
    publisher, _ = machine("a")
    publish(publisher, corpus)
    expected = answer(publisher)
    errors = INDEX_STORE_ERRORS._value.get()
    (part,) = parts_of(machine._tmp_path / "a/index/help/000001").files["chunk_leading.npy"]
    fault(objects(store, "parts")[part.digest])
    reader, embedder = machine("b")
    with caplog.at_level(logging.WARNING):
        assert answer(reader) == expected
    # Only texts of the lost part are embedded: whole matrices have one part here.
    assert 1 < embedder.texts <= 1 + sum(len(chunks) for _, chunks in corpus.values())
    (line,) = (one.getMessage() for one in caplog.records if "not fetched" in one.getMessage())
    assert "\n" not in line
    assert INDEX_STORE_ERRORS._value.get() > errors
    assert list(objects(store, "damaged")) == [part.digest]
    publish(publisher, corpus)  # a run that finds nothing new
    assert not objects(store, "damaged")
    third, embedder = machine("c")
    assert answer(third) == expected
    assert embedder.texts == 1


def test_what_a_killed_run_uploaded_is_not_answered_from_and_goes(
    machine: Machines, corpus: Corpus, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publisher, _ = machine("a")
    publish(publisher, {one: corpus[one] for one in list(corpus)[:1]})
    reader, _ = machine("b")
    expected = answer(reader)

    def killed(*_arguments: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("index.store.documents.Store.publish", killed)
        with pytest.raises(KeyboardInterrupt):
            publish(publisher, corpus)
    assert len(objects(store, "manifests")) == 2
    reader._open_ones.refresh()
    assert answer(reader) == expected
    fresh, _ = machine("c")
    assert answer(fresh) == expected
    publish(publisher, {one: corpus[one] for one in list(corpus)[:1]})
    assert len(objects(store, "manifests")) == 1
    (folder,) = (machine._tmp_path / "a/index/help").glob("000001")
    assert objects(store, "parts").keys() == parts_of(folder).sizes().keys()


def test_a_publication_that_cannot_be_shared_fails_and_the_old_one_answers(
    machine: Machines, corpus: Corpus, store: Path
) -> None:
    publisher, embedder = machine("a")
    publish(publisher, {one: corpus[one] for one in list(corpus)[:1]})
    expected = answer(publisher)
    aside = store.rename(store.with_name("aside"))
    store.write_text("not a folder")
    with pytest.raises(PublishError, match=r"index store .* can't be written") as failed:
        publish(publisher, corpus)
    assert "\n" not in str(failed.value)
    assert answer(publisher) == expected
    publish(publisher, {one: corpus[one] for one in list(corpus)[:1]})  # nothing new: no failure
    store.unlink()
    aside.rename(store)
    before = embedder.texts
    publish(publisher, corpus)
    assert publisher.snapshot("help").generation == 2
    assert embedder.texts == before  # the vectors of the failed run are not lost


def test_a_fresh_machine_waits_for_the_store_instead_of_embedding(
    machine: Machines, corpus: Corpus, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("index.generations.shared.PAUSE_SECONDS", 0.0)
    publish(machine("a")[0], corpus)
    aside = store.rename(store.with_name("aside"))
    store.write_text("not a folder")
    reader, embedder = machine("b")
    for _ in range(2):  # the second fails at once
        with pytest.raises(IndexUnavailable, match=r"index store .* can't be read") as failed:
            answer(reader)
        assert "\n" not in str(failed.value)
        assert "nothing has been published" not in str(failed.value)
        assert storage_failure(failed.value) is failed.value  # questions wait for it
    assert embedder.texts == 0
    store.unlink()
    aside.rename(store)
    monkeypatch.setattr("index.generations.shared.REST_SECONDS", 0.0)
    reader._folders._shared._rests_until = 0.0  # type: ignore[union-attr]
    assert answer(reader)
    assert embedder.texts == 1


def test_deleted_documents_leave_the_store_with_the_last_generation_that_had_them(
    machine: Machines, corpus: Corpus, store: Path
) -> None:
    publisher, _ = machine("a")
    word = b"xyzzyquux"
    secret = make_card("secret"), [make_chunk("secret", 0, f"The word is {word.decode()}.")]
    publish(publisher, {**corpus, "secret": secret})
    assert any(word in part.read_bytes() for part in objects(store, "parts").values())
    for generation in range(3):  # three are kept for rollback
        extra = f"more-{generation}"
        more = make_card(extra), [make_chunk(extra, 0, f"Number {generation} is on duty.")]
        publish(publisher, {**corpus, extra: more})
    assert not any(word in part.read_bytes() for part in objects(store, "parts").values())


def test_an_index_from_before_the_store_was_set_is_shared_by_the_next_run(
    machine: Machines, corpus: Corpus, store: Path
) -> None:
    lone, _ = machine("a")
    lone._folders._shared = None
    publish(lone, corpus)
    reader, embedder = machine("b")
    assert answer(reader) == answer(lone)  # built, as without a store
    assert embedder.texts > 1
    assert not store.exists()
    publish(machine("a")[0], corpus)
    third, embedder = machine("c")
    assert answer(third) == answer(lone)
    assert embedder.texts == 1


def test_a_folder_of_another_release_gives_its_vectors(
    machine: Machines, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(machine("a")[0], corpus)
    monkeypatch.setattr("index.generations.shared.FORMAT", 99)
    reader, embedder = machine("b")
    assert answer(reader)
    assert embedder.texts == 1


@pytest.mark.parametrize(
    ("address", "word"),
    [
        ("bucket/path", "write s3://"),
        ("ftp://host/x", "write s3://"),
        ("s3://", "write s3://"),
        ("s3:///path", "write s3://"),
        ("file://folder", "write s3://"),
    ],
)
def test_an_address_that_cannot_be_used_is_refused_at_the_start(
    address: str, word: str, machine: Machines
) -> None:
    with pytest.raises(ConfigError, match=word):
        machine("a", address=address)


def test_an_inserted_row_changes_one_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows in the middle, as of an edited document."""
    for name, size in (("LEAST", 8_192), ("MEAN", 32_768), ("MOST", 131_072)):
        monkeypatch.setattr(parts, f"{name}_BYTES", size)
    rows = np.random.default_rng(7).integers(-127, 127, (20_000, 384)).astype(np.int8)
    lists: list[PartList] = []
    for name, array in (("a", rows), ("b", np.insert(rows, 9_000, rows[:3], axis=0))):
        (tmp_path / name).mkdir()
        np.save(tmp_path / name / "rows.npy", array)
        seal(tmp_path / name, Manifest(name, "words", 384))
        lists.append(parts_of(tmp_path / name))
        whole = (tmp_path / name / "rows.npy").read_bytes()
        places = [one for one in lists[-1].places(tmp_path / name) if one.path.suffix == ".npy"]
        assert b"".join(one.read() or b"" for one in places) == whole
    before, after = (one.sizes() for one in lists)
    assert len(before) > 100
    assert (
        len(after.keys() - before.keys()) <= 4
    )  # with the header, which has the row count, and the manifest
    assert PartList.parse(lists[0].content) == lists[0]


def test_without_a_store_nothing_of_it_is_loaded(embedded: Settings, corpus: Corpus) -> None:
    index = open_index(embedded, WordEmbedder())
    publish(index, corpus)
    assert not list(embedded.data_dir.rglob(parts.LIST_NAME))
    index.close()
    shutil.rmtree(embedded.data_dir)
