"""A long run publishes what it has; what was read once is not read again."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from config.errors import LoadError, ModelUnavailable
from enrichment.pipeline import Enriched
from jobs.ingest.handoff_store import CrashSuspects
from jobs.ingest.progress import PublishSchedule
from loaders.document import Document, Image
from tests.enrichment.writing import Writer
from tests.jobs.ingest.library import DOMAIN, MODEL, Library, plainly, with_a_model


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return Library(tmp_path)


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_steps_take_a_tenth_of_the_time_at_most() -> None:
    clock = Clock()
    steps = PublishSchedule(60.0, clock=clock)
    assert not steps.due(True)
    clock.now = 60.0
    assert steps.due(True)
    assert not steps.due(False), "nothing to publish"

    def publish() -> None:
        clock.now += 30.0

    steps.took(publish)
    clock.now = 389.0
    assert not steps.due(True)
    clock.now = 391.0
    assert steps.due(True)
    steps.stop()
    assert not steps.due(True)


def test_documents_answer_before_the_model_has_described_them(library: Library) -> None:
    published = threading.Event()
    seen: list[str] = []

    def slow(document: Document) -> Enriched:
        assert published.wait(30)
        return with_a_model(document)

    class Watched(PublishSchedule):
        def took(self, publish: object) -> None:
            super().took(publish)  # type: ignore[arg-type]
            seen.extend(card.enriched_by for card in library.cards().values())
            published.set()

    report = library.ingest(model=slow, steps=Watched(0.0))
    assert seen[0] == "extractive"
    assert {card.enriched_by for card in library.cards().values()} == {MODEL}
    assert len(report.added) == 4
    assert report.changed == ()
    assert report.unenriched == 0


def test_the_steps_of_a_run_are_one_generation_to_roll_back(library: Library) -> None:
    before = library.ingest().generation
    for name in library.shelves.says:
        library.shelves.says[name] = "two"
    report = library.ingest(steps=PublishSchedule(0.0))
    assert report.generation > before + 1, "it was published in steps"
    assert len(report.changed) == 4
    assert [one.number for one in library.index.generations(DOMAIN)] == [report.generation, before]
    library.index.rollback(DOMAIN)
    assert {card.version for card in library.cards().values()} == {"one"}


def test_what_is_gone_leaves_at_the_end_and_the_rest_stays(library: Library) -> None:
    library.ingest()
    del library.shelves.says["book-0"]
    library.shelves.says["book-1"] = "two"
    report = library.ingest(steps=PublishSchedule(0.0))
    assert report.removed == ("book-0",)
    assert sorted(library.cards()) == ["book-1", "book-2", "book-3"]


def test_a_run_that_broke_off_goes_on_where_it_was(library: Library) -> None:
    def breaks(name: str) -> None:
        if name == "book-2":
            raise ModelUnavailable("the embeddings server is away")

    library.shelves.on_load = breaks
    with pytest.raises(ModelUnavailable):
        library.ingest(steps=PublishSchedule(0.0))
    done = set(library.cards())
    assert done
    library.shelves.on_load = lambda name: None
    library.shelves.read.clear()
    report = library.ingest()
    assert set(library.shelves.read) == {"book-0", "book-1", "book-2", "book-3"} - done
    assert report.unchanged == len(done)
    assert len(library.cards()) == 4


def test_nobody_rolls_back_to_half_of_a_run_that_broke_off(library: Library) -> None:
    library.ingest()
    began = library.index.snapshot(DOMAIN).generation
    library.shelves.says = dict.fromkeys(library.shelves.says, "two")

    def breaks(name: str) -> None:
        if name == "book-3":
            raise ModelUnavailable("the embeddings server is away")

    library.shelves.on_load = breaks
    for _ in range(4):
        with pytest.raises(ModelUnavailable):
            library.ingest(full=True, steps=PublishSchedule(0.0))
    half = [one.number for one in library.index.generations(DOMAIN)]
    assert half == [library.index.snapshot(DOMAIN).generation, began]
    library.shelves.on_load = lambda name: None
    report = library.ingest(steps=PublishSchedule(0.0))
    assert [one.number for one in library.index.generations(DOMAIN)] == [report.generation, began]
    library.shelves.says["book-0"] = "three"
    following = library.ingest().generation
    held = [one.number for one in library.index.generations(DOMAIN)]
    assert held == [following, report.generation, began], "that one was whole"


def test_a_last_step_that_was_everything_ends_its_run(library: Library) -> None:
    library.ingest(steps=PublishSchedule(0.0))
    last = library.index.snapshot(DOMAIN).generation
    library.ingest()
    library.shelves.says["book-0"] = "two"
    following = library.ingest().generation
    assert [one.number for one in library.index.generations(DOMAIN)] == [following, last]


def test_whom_the_model_failed_is_asked_about_without_being_read_again(library: Library) -> None:
    def fails(document: Document) -> Enriched:
        made = plainly(document)
        return Enriched(card=made.card, chunks=made.chunks, failures=("it is away",))

    report = library.ingest(model=fails)
    assert report.unenriched == 4
    library.shelves.read.clear()
    report = library.ingest(model=with_a_model)
    assert library.shelves.read == []
    assert {card.enriched_by for card in library.cards().values()} == {MODEL}
    assert report.unenriched == 0
    assert library.handed.versions() == {}, "nobody needs them any more"
    assert library.ingest(model=with_a_model).changed == ()


def test_one_that_changed_meanwhile_is_read(library: Library) -> None:
    def fails(document: Document) -> Enriched:
        made = plainly(document)
        return Enriched(card=made.card, chunks=made.chunks, failures=("it is away",))

    library.ingest(model=fails)
    library.shelves.says["book-3"] = "two"
    library.shelves.read.clear()
    library.ingest(model=with_a_model)
    assert library.shelves.read == ["book-3"]
    assert library.cards()["book-3"].version == "two"


def test_another_pipeline_makes_everything_again_even_after_a_break(library: Library) -> None:
    library.ingest(pipeline="1")

    def breaks(name: str) -> None:
        if name == "book-3":
            raise ModelUnavailable("the embeddings server is away")

    library.shelves.on_load = breaks
    library.shelves.read.clear()
    with pytest.raises(ModelUnavailable):
        library.ingest(pipeline="2", steps=PublishSchedule(0.0))
    library.shelves.on_load = lambda name: None
    made = {name for name, card in library.cards().items() if card.made_by != old_mark(library)}
    library.shelves.read.clear()
    library.ingest(pipeline="2")
    assert not made & set(library.shelves.read), "those were made and published"
    assert len({card.made_by for card in library.cards().values()}) == 1


def old_mark(library: Library) -> str:
    return library.cards()["book-3"].made_by


def test_text_that_cannot_be_stored_fails_alone(library: Library) -> None:
    library.shelves.says["book-1"] = "half a character: \ud83d"
    report = library.ingest(model=with_a_model)
    assert [error.document for error in report.failed] == ["book-1"]
    assert sorted(library.cards()) == ["book-0", "book-2", "book-3"]


def test_a_document_that_takes_its_readers_down_is_set_aside(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        """The process is gone: nothing is cleaned up."""

    def dies(name: str) -> None:
        if name == "book-2":
            raise Killed

    library.shelves.on_load = dies
    with monkeypatch.context() as gone:
        gone.setattr(CrashSuspects, "close", lambda suspects: None)
        for _ in range(3):
            with pytest.raises(Killed):
                library.ingest()
    report = library.ingest()
    assert [error.document for error in report.failed] == ["book-2"]
    assert "3 processes died" in report.failed[0].reason
    assert sorted(library.cards()) == ["book-0", "book-1", "book-3"]
    assert [error.document for error in library.ingest().failed] == ["book-2"], "nor is it later"
    library.shelves.on_load = lambda name: None
    assert library.ingest(full=True).failed == ()


def test_an_error_is_none_of_a_suspects_deaths(library: Library) -> None:
    def fails(name: str) -> None:
        if name == "book-2":
            raise LoadError(name, "it is a picture")

    library.shelves.on_load = fails
    for _ in range(5):
        assert library.ingest().failed[0].reason == "it is a picture"


def test_where_a_picture_can_be_fetched_is_not_stored(library: Library) -> None:
    def document(uri: str) -> Document:
        writer = Writer("Floor plan", "plan").paragraphs('It says {"uri":"kept"}.')
        return writer.add("image", image=Image(alt="a plan", uri=uri)).document()

    digests = {library.handed.keep(document(f'https://secret/{n}?a="b')) for n in range(2)}
    assert len(digests) == 1
    loaded = library.handed.loaded("plan")
    assert loaded is not None
    assert loaded.document == document("")


def test_what_was_read_well_is_no_suspect_of_a_later_death(library: Library) -> None:
    suspects = CrashSuspects(library.engine, DOMAIN)
    for name in ("book-0", "book-1"):
        suspects.begin(name)
    for name in ("book-0", "book-1"):
        suspects.end(name)
    assert CrashSuspects(library.engine, DOMAIN).alone(["book-0", "book-1"]) == []


def test_a_step_that_changes_nothing_is_no_reason_to_publish_no_more(library: Library) -> None:
    class Eager(PublishSchedule):
        taken = 0

        def due(self, something: bool) -> bool:
            return something and not self.stopped

        def took(self, publish: Callable[[], None]) -> None:
            self.taken += 1
            publish()

        stopped = False

        def stop(self) -> None:
            self.stopped = True

    library.ingest()
    library.shelves.says["book-3"] = "two"
    steps, number = Eager(), library.index.snapshot(DOMAIN).generation
    library.ingest(full=True, steps=steps)
    assert library.index.snapshot(DOMAIN).generation == number + 1
    assert steps.taken > 1
