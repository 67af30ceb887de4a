"""Generations are swapped behind those who ask, and closed when too many are open."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest
from sqlalchemy import select

from config.errors import IndexUnavailable, NothingPublished
from config.settings import Settings
from enrichment.chunk import Chunk, DocumentCard
from index.generations import arrays
from index.generations.folder import BLOCK, KEYWORDS, MANIFEST, VECTOR_PARTS, checksums
from index.keywords.bm25 import COUNTS, LENGTHS
from index.open_generations import OpenGenerations
from index.publish import Index, open_index
from index.search import SearchQuery
from index.store.database import RevisionRow
from index.vectors import search as nearest_rows
from index.vectors import sketch
from index.vectors.quantized import Quantized
from telemetry.metrics import exposition
from tests.index.conftest import eventually

Corpus = dict[str, tuple[DocumentCard, list[Chunk]]]


class Numbers:
    """Says which generation is current."""

    def __init__(self, **numbers: int) -> None:
        self.numbers = numbers

    def current(self, domain: str) -> int | None:
        return self.numbers.get(domain)

    def currents(self) -> dict[str, int]:
        return self.numbers


class Opened:
    """Stands for a generation of 10 bytes."""

    searched_bytes = 10

    def __init__(self, domain: str, number: int) -> None:
        self.domain, self.generation = domain, number
        self.documents: dict[str, DocumentCard] = {}


@pytest.fixture
def make() -> Iterator[Callable[..., OpenGenerations]]:
    made: list[OpenGenerations] = []

    def run(numbers: Numbers, opened: Any = Opened, **bounds: Any) -> OpenGenerations:
        store: Any = numbers
        limits = {"most_bytes": 1e9, "most_domains": 9, **bounds}
        made.append(OpenGenerations(store, opened, **limits))
        return made[-1]

    yield run
    for one in made:
        one.close()


def value(metric: str) -> float:
    lines = exposition().decode().splitlines()
    return float(next(line.split()[1] for line in lines if line.startswith(metric)))


def test_while_the_next_generation_opens_the_old_one_answers(
    make: Callable[..., OpenGenerations],
) -> None:
    numbers, may_open, opening = Numbers(help=1), Event(), Event()

    def opened(domain: str, number: int) -> Opened:
        if number == 2:
            opening.set()
            assert may_open.wait(60)
        return Opened(domain, number)

    generations = make(numbers, opened)
    assert generations.current("help").generation == 1
    numbers.numbers["help"] = 2
    assert opening.wait(60)
    assert generations.current("help").generation == 1
    may_open.set()
    eventually(lambda: generations.current("help").generation == 2)


def test_a_generation_that_cannot_be_opened_leaves_the_old_one_and_is_tried_again(
    make: Callable[..., OpenGenerations], caplog: pytest.LogCaptureFixture
) -> None:
    numbers, tries = Numbers(help=1), []

    def opened(domain: str, number: int) -> Opened:
        if number == 2:
            tries.append(number)
            if len(tries) < 3:
                raise IndexUnavailable("no space")
        return Opened(domain, number)

    generations = make(numbers, opened)
    assert generations.current("help").generation == 1
    numbers.numbers["help"] = 2
    eventually(lambda: generations.current("help").generation == 2)
    assert sum("no space" in record.getMessage() for record in caplog.records) == 1, "said once"


def test_what_is_not_published_any_more_is_not_answered_from(
    make: Callable[..., OpenGenerations],
) -> None:
    numbers = Numbers(help=1)
    generations = make(numbers)
    generations.current("help")
    numbers.numbers.clear()
    generations.refresh()
    with pytest.raises(NothingPublished):
        generations.current("help")


@pytest.mark.parametrize("bounds", [{"most_domains": 2}, {"most_bytes": 25}])
def test_beyond_a_bound_what_was_asked_longest_ago_is_closed_and_opened_again_when_asked(
    make: Callable[..., OpenGenerations], bounds: dict[str, float]
) -> None:
    opened: list[str] = []

    def noted(domain: str, number: int) -> Opened:
        opened.append(domain)
        return Opened(domain, number)

    generations = make(Numbers(a=1, b=1, c=1), noted, **bounds)
    for domain in ("a", "b", "a", "c", "a", "b"):
        assert generations.current(domain).domain == domain
    assert opened == ["a", "b", "c", "b"]
    assert value("oncall_index_loaded_domains") == 2
    assert value('oncall_index_bytes{domain="c"}') == 0
    assert value('oncall_index_bytes{domain="a"}') == 10


def test_one_domain_larger_than_the_bound_is_answered_from(
    make: Callable[..., OpenGenerations],
) -> None:
    generations = make(Numbers(a=1, b=1), most_bytes=5)
    assert [generations.current(one).domain for one in ("a", "b", "a")] == ["a", "b", "a"]


def test_whatever_fails_while_the_next_one_opens_is_tried_again(
    make: Callable[..., OpenGenerations],
) -> None:
    faults: list[Exception] = [OSError(28, "No space left on device"), ValueError("cut off")]

    def opened(domain: str, number: int) -> Opened:
        if number == 2 and faults:
            raise faults.pop()
        return Opened(domain, number)

    numbers = Numbers(a=1)
    generations = make(numbers, opened)
    assert generations.current("a").generation == 1
    numbers.numbers = {"a": 2}
    eventually(lambda: generations.current("a").generation == 2)
    assert not faults


def put(index: Index, corpus: Corpus, *names: str) -> None:
    for name in names:
        with index.stage("help") as staging:
            staging.put(*corpus[name])
            staging.commit({})


def test_a_machine_that_only_reads_deletes_the_folders_that_nobody_needs(
    postgresql: str,
    chroma_server: str,
    tmp_path: Path,
    make_embedder: Callable[..., Any],
    corpus: Corpus,
) -> None:
    from tests.index.conftest import serve

    settings = serve(tmp_path / "writer", postgresql, chroma_server)
    writer = open_index(settings, make_embedder())
    elsewhere = settings.model_copy(update={"data_dir": tmp_path / "reader"})
    put(writer, corpus, "key-rotation")
    reader = open_index(elsewhere, make_embedder())
    held = reader.snapshot("help")
    for number, name in ((2, "laptop-policy"), (3, "incident-guide")):
        put(writer, corpus, name)
        eventually(lambda number=number: reader.snapshot("help").generation == number)  # type: ignore[misc]

    def folders() -> list[str]:
        return sorted(one.name for one in (elsewhere.data_dir / "index/help").glob("0*"))

    eventually(lambda: folders() == ["000002", "000003"])
    # Whoever still answers from the deleted one goes on.
    assert len(held.search(SearchQuery(variants=("signing keys",)))) == 2
    assert held.unit_similarities("keys", [held.chunks("key-rotation")[0].id])
    writer.close()
    reader.close()


def test_a_step_that_is_replaced_can_be_read_until_the_next_run(
    embedded: Settings, embedder: Any, corpus: Corpus
) -> None:
    index = open_index(embedded, embedder)
    (card, content), *others = corpus.values()
    with index.stage("help") as staging:
        staging.put(card, content)
        staging.commit({})
        first = index.snapshot("help")
        for number in range(2):
            staging.put(replace(card, summary=str(number)), content)
            staging.commit({})
        assert [one.number for one in index.generations("help")] == [3]
    assert first.chunks(card.id)[0].text == content[0].text
    held = count_revisions(index)
    with index.stage("help") as staging:
        staging.put(*others[0])
        staging.commit({})
    assert count_revisions(index) == held - 2 + 1
    index.close()


def count_revisions(index: Index) -> int:
    with index.engine.connect() as connection:
        return len(connection.execute(select(RevisionRow.id)).all())


def as_format_3(folder: Path) -> None:
    """Turn a folder into one without what keyword scores are computed from."""
    for name in (COUNTS, LENGTHS):
        (folder / KEYWORDS / f"{name}.npy").unlink()
    seal(folder, 3, BLOCK)


def as_format_2(folder: Path) -> None:
    """Turn a folder into an even older one: float32 matrices, one checksum a file."""
    for kind in ("chunk", "unit"):
        parts = [folder / f"{kind}_{part}.npy" for part in VECTOR_PARTS]
        vectors = Quantized(*(np.load(part) for part in parts)).exactly()
        np.save(folder / f"{kind}_vectors.npy", vectors)
        for part in parts:
            part.unlink()
    seal(folder, 2, 10 * BLOCK)


def seal(folder: Path, number: int, block: int) -> None:
    manifest = json.loads((folder / MANIFEST).read_text())
    files = [one for one in folder.rglob("*") if one.is_file() and one.name != MANIFEST]
    manifest["format"] = number
    manifest["files"] = {
        str(one.relative_to(folder)): [one.stat().st_size, *checksums(one, block)] for one in files
    }
    (folder / MANIFEST).write_text(json.dumps(manifest))


@pytest.mark.parametrize("as_it_was", [as_format_2, as_format_3])
def test_vectors_of_a_format_before_are_carried_over(
    embedded: Settings,
    make_embedder: Callable[..., Any],
    corpus: Corpus,
    as_it_was: Callable[[Path], None],
) -> None:
    index = open_index(embedded, make_embedder())
    put(index, corpus, *corpus)
    query = SearchQuery(variants=("how often are signing keys rotated",))
    expected = index.snapshot("help").search(query)
    index.close()
    shutil.rmtree(embedded.data_dir / "index/help/000002")
    as_it_was(embedded.data_dir / "index/help/000003")
    embedder = make_embedder()
    upgraded = open_index(embedded, embedder)
    assert upgraded.snapshot("help").search(query) == expected
    assert embedder.texts == 1, "the question"
    with upgraded.stage("help") as staging:
        staging.remove(next(iter(corpus)))
        staging.commit({})
    assert len(upgraded.snapshot("help").documents) == len(corpus) - 1
    upgraded.close()


def test_large_domains_answer_through_sketches_that_publications_carry_over(
    embedded: Settings,
    embedder: Any,
    chunk: Callable[..., Chunk],
    card: Callable[..., DocumentCard],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module in (arrays, nearest_rows):
        monkeypatch.setattr(module, "EXACT_ROWS", 20)
    monkeypatch.setattr(sketch, "PROBED_ROWS", 60)
    monkeypatch.setattr(sketch, "CELL_ROWS", 10)
    index = open_index(embedded, embedder)

    def published(numbers: range, version: str) -> None:
        with index.stage("help") as staging:
            for n in numbers:
                text = f"Machine m{n}x is looked after by team t{n}y {version}."
                staging.put(card(f"d{n:03d}"), [chunk(f"d{n:03d}", 0, text)])
            staging.commit({})

    published(range(200), "one")
    first = index.snapshot("help")
    published(range(50, 60), "two")
    second = index.snapshot("help")
    for n in (3, 55, 199):
        for snapshot, version in ((first, "one"), (second, "two" if 50 <= n < 60 else "one")):
            told = f"Machine m{n}x is looked after by team t{n}y {version}."
            query = SearchQuery(variants=(f"Section 0 {told}",), strategy="semantic")
            assert told in {hit.chunk.text for hit in snapshot.search(query)}
    with index.stage("help") as staging:
        for n in range(190):
            staging.remove(f"d{n:03d}")
        staging.commit({})
    assert len(index.snapshot("help").search(SearchQuery(variants=("m195x",), limit=20))) == 10
    index.close()
