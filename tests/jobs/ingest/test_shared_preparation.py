"""Documents prepared by other processes come out as they would here, whoever dies meanwhile."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import psutil
import pytest
from sqlalchemy import Engine, create_engine, inspect, make_url, text

from config.errors import CopilotError, ModelUnavailable
from config.models import Usage
from enrichment.chunk import Chunk
from enrichment.llm.budget import Budget, BudgetSpent
from enrichment.llm.ledger import MAX_PAUSE, SharedLedger
from enrichment.pipeline import Enriched
from jobs.ingest.executors import Prepared
from jobs.ingest.handoff_store import PreparationStore
from jobs.ingest.progress import PublishSchedule
from jobs.ingest.shared_queue import (
    PreparationTask,
    PreparationWorker,
    QueueExecutor,
    written_assignment,
)
from loaders.document import Document
from playground.google_stand_in import DEMO_FOLDER
from playground.openai_stand_in import OpenAIStandIn
from tests.databases import postgresql_database
from tests.jobs.ingest.library import DOMAIN, MODEL, Library, plainly, with_a_model

ROOT = Path(__file__).parents[3]
PATIENCE = 120.0


class Hands:
    """What the processes of a test make of assignments, and which they made."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self.prepared: list[tuple[str, str]] = []
        self.does: Callable[[Document], object] = lambda document: None
        self.describe: Callable[[Document], Enriched] = with_a_model

    def prepare(self, assignment: PreparationTask, document: Document) -> Enriched:
        self.prepared.append((assignment.document, assignment.way))
        self.does(document)
        return (self.describe if assignment.way == "model" else plainly)(document)

    def embed(self, domain: str, chunks: Sequence[Chunk]) -> int:
        return self._library.index.embed_ahead(domain, chunks)

    def store_of(self, domain: str) -> PreparationStore:
        return self._library.handed


class Others:
    """Two processes, here two threads, that take what is assigned."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self.hands = Hands(library)
        self.bench = PreparationWorker(self.hands, made_with="", at_once=2)
        self.given: list[PreparationTask] = []
        self.working = True
        self._more = threading.Condition()

    def executor(self, *, model: str = "", run: str = "run") -> QueueExecutor:
        return QueueExecutor(
            run=run,
            domain=DOMAIN,
            options=self.library.options,
            model=model,
            store=self.library.handed,
            assign=self._assign,
        )

    def _assign(self, assignment: PreparationTask, work: str) -> None:
        with self._more:
            self.given.append(assignment)
            self._more.notify_all()

    @contextmanager
    def at_work(self) -> Iterator[Others]:
        threads = [threading.Thread(target=self._work) for _ in range(2)]
        for thread in threads:
            thread.start()
        try:
            yield self
        finally:
            with self._more:
                self.working = False
                self._more.notify_all()
            for thread in threads:
                thread.join(30)

    def _work(self) -> None:
        while True:
            with self._more:
                self._more.wait_for(lambda: self.given or not self.working)
                if not self.working:
                    return
                assignment = self.given.pop(0)
            self.bench.do(assignment)


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return Library(tmp_path)


@pytest.fixture
def others(library: Library) -> Iterator[Others]:
    with Others(library).at_work() as working:
        yield working


def content(library: Library) -> list[tuple[object, ...]]:
    snapshot = library.index.snapshot(DOMAIN)
    return [(card, *snapshot.chunks(name)) for name, card in sorted(snapshot.documents.items())]


@pytest.mark.parametrize("model", ["", MODEL])
def test_what_others_prepare_is_what_this_process_would(
    server: str, tmp_path: Path, model: str
) -> None:
    way = with_a_model if model else None
    library = Library(tmp_path, database_url=a_database(server))
    with Others(library).at_work() as others:
        report = library.ingest(model=way, executor=others.executor(model=model))
    alone = Library(tmp_path / "alone")
    expected = alone.ingest(model=way)
    assert content(library) == content(alone)
    assert report.added == expected.added
    assert report.embedded == expected.embedded
    assert library.handed.versions() == {}
    assert not rows(library.engine, "index_unpublished_vectors")
    assert library.ingest(model=way, executor=others.executor(model=model)).changed == ()
    library.index.close()


def test_what_was_prepared_for_a_run_that_broke_off_is_not_prepared_again(
    library: Library, others: Others
) -> None:
    for document in library.shelves.says:
        executor = others.executor()
        executor.submit(library.shelves._load(document), "extractive")
    until(lambda: len(others.hands.prepared) == 4 and not others.given)
    report = library.ingest(executor=others.executor(run="another"))
    assert len(report.added) == 4
    assert len(others.hands.prepared) == 4


def test_what_ends_a_run_ends_it_and_is_tried_again_by_the_next(
    library: Library, others: Others
) -> None:
    def away(document: Document) -> None:
        raise ModelUnavailable("the embeddings server is away", remedy="start it")

    others.hands.does = away
    with pytest.raises(CopilotError, match="the embeddings server is away; start it"):
        library.ingest(executor=others.executor())
    others.hands.does = lambda document: None
    assert len(library.ingest(executor=others.executor()).added) == 4


def test_a_model_that_was_away_for_two_runs_is_asked_by_the_third(
    library: Library, others: Others
) -> None:
    is_away = True

    def describe(document: Document) -> Enriched:
        made = with_a_model(document)
        return replace(plainly(document), failures=("away",)) if is_away else made

    others.hands.describe = describe
    for _ in range(2):
        report = library.ingest(model=describe, executor=others.executor(model=MODEL))
        assert report.unenriched == 4
    is_away = False
    report = library.ingest(model=describe, executor=others.executor(model=MODEL))
    assert report.unenriched == 0
    assert all(one.summary == "By the model." for one in library.cards().values())


def test_one_that_cannot_be_embedded_is_a_failure_of_its_own(
    library: Library, others: Others, monkeypatch: pytest.MonkeyPatch
) -> None:
    embed = others.hands.embed

    def broken(domain: str, chunks: Sequence[Chunk]) -> int:
        if chunks[0].document_id == "book-1":
            raise FileNotFoundError("a lookup's folder was just removed")
        return embed(domain, chunks)

    monkeypatch.setattr(others.hands, "embed", broken)
    report = library.ingest(executor=others.executor())
    assert [error.document for error in report.failed] == ["book-1"]
    assert len(report.added) == 3


def test_a_step_forgets_nothing_that_it_did_not_publish(library: Library, others: Others) -> None:
    """The model's answers come while the step before them is being published."""

    class Slow(PublishSchedule):
        def took(self, publish: Callable[[], None]) -> None:
            until(lambda: "model" in dict(others.hands.prepared).values() and not others.given)
            time.sleep(0.2)
            super().took(publish)

    report = library.ingest(
        model=with_a_model, executor=others.executor(model=MODEL), steps=Slow(0.0)
    )
    assert {card.enriched_by for card in library.cards().values()} == {MODEL}
    assert len(report.added) == 4


def test_documents_of_which_nothing_is_heard_are_handed_out_again(
    library: Library, others: Others, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jobs.ingest.shared_queue.SILENCE_SECONDS", 0.5)
    lost: list[PreparationTask] = []
    executor = others.executor()
    kept, executor._assign = executor._assign, lambda assignment, work: lost.append(assignment)
    executor.submit(library.shelves._load("book-0"), "extractive")
    executor._assign = kept
    found: list[Prepared] = []
    until(lambda: found.extend(executor.completed(0.1)) or found)
    assert [one.document for one in found] == ["book-0"]
    assert len(lost) == 1


def test_a_broken_document_fails_alone(library: Library, others: Others) -> None:
    def broken(document: Document) -> None:
        if document.id == "book-1":
            raise ValueError("nobody foresaw this")

    others.hands.does = broken
    report = library.ingest(executor=others.executor())
    assert [error.document for error in report.failed] == ["book-1"]
    assert "ValueError" in report.failed[0].reason
    assert len(report.added) == 3


def test_an_assignment_whose_document_changed_meanwhile_is_left_out(
    library: Library, others: Others
) -> None:
    handed, shelves = library.handed, library.shelves
    stale = others.executor()
    loaded = handed.keep(shelves._load("book-0"))
    shelves.says["book-0"] = "two"
    handed.keep(shelves._load("book-0"))
    others.bench.do(
        PreparationTask(
            run="r", start="s", domain=DOMAIN, document="book-0", loaded=loaded, way="extractive",
            options=library.options, model="",
        )
    )  # fmt: skip
    assert others.hands.prepared == []
    assert stale.pending == 0


@pytest.mark.kill
def test_one_that_kills_three_processes_is_set_aside_and_its_neighbours_are_not(
    library: Library, others: Others
) -> None:
    handed = library.handed
    loaded = handed.keep(library.shelves._load("book-2"))
    assignment = PreparationTask(
        run="r", start="s", domain=DOMAIN, document="book-2", loaded=loaded, way="extractive",
        options=library.options, model="",
    )  # fmt: skip
    url = library.engine.url.render_as_string()
    for _ in range(3):
        died = subprocess.run(
            [
                sys.executable,
                "-m",
                "tests.jobs.ingest.deadly_worker",
                url,
                written_assignment(assignment),
            ],
            cwd=ROOT,
        )
        assert died.returncode == -signal.SIGKILL
    report = library.ingest(executor=others.executor())
    assert [error.document for error in report.failed] == ["book-2"]
    assert "3 processes died" in report.failed[0].reason
    assert len(report.added) == 3
    report = library.ingest(executor=others.executor())
    assert [error.document for error in report.failed] == ["book-2"], "it kills nobody any more"
    assert ("book-2", "extractive") not in others.hands.prepared
    report = library.ingest(executor=others.executor(), full=True)
    assert report.failed == ()


def test_a_process_that_is_told_to_end_is_none_of_a_documents_deaths(
    library: Library, others: Others
) -> None:
    let_go = threading.Event()
    others.hands.does = lambda document: let_go.wait(30)
    others.executor().submit(library.shelves._load("book-0"), "extractive")
    until(lambda: deaths(library) == 1)
    others.bench.leave()
    assert deaths(library) == 0
    let_go.set()


def deaths(library: Library) -> int:
    loaded = library.handed.loaded("book-0")
    return loaded.deaths if loaded else 0


def test_suspects_are_worked_on_alone(library: Library, others: Others) -> None:
    together: list[int] = []
    at_work: list[str] = []

    def counts(document: Document) -> None:
        at_work.append(document.id)
        time.sleep(0.02)
        together.append(len(at_work))
        at_work.remove(document.id)

    others.hands.does = counts
    for name in library.shelves.says:
        library.handed.keep(library.shelves._load(name))
        library.handed.begin(name)
    library.ingest(executor=others.executor())
    assert together == [1, 1, 1, 1]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with postgresql_database() as url:
        yield url


@pytest.fixture
def engine(server: str) -> Iterator[Engine]:
    made = create_engine(make_url(server).set(drivername="postgresql+psycopg"))
    yield made
    made.dispose()


def test_processes_share_a_runs_budget_and_pace(engine: Engine) -> None:
    here, there = (SharedLedger(engine, model="m", run="r") for _ in range(2))
    here.spend(1, Usage(calls=1, input_tokens=30))
    there.spend(1, Usage(calls=1, output_tokens=4))
    assert here.spent() == there.spent()
    assert here.spent().usage == Usage(calls=2, input_tokens=30, output_tokens=4)
    now = here.now()
    here.change_pace(lambda pace: pace.refused(now, 30.0))
    there.change_pace(lambda pace: pace.refused(now + 1, 0.0))
    assert there.pace().paused_until == pytest.approx(now + 30.0)
    assert there.pace().refusals == 1, "what was in flight tells nothing new"
    with pytest.raises(BudgetSpent):
        Budget(calls=2, ledger=there)._check()
    here.change_pace(lambda pace: replace(pace, paused_until=now + 86_400, next_start=now + 9_000))
    pace = SharedLedger(engine, model="m", run="next").pace()
    assert max(pace.paused_until, pace.next_start) < now + 2 * MAX_PAUSE


def test_requests_of_all_processes_keep_their_distance(engine: Engine) -> None:
    ledgers = [SharedLedger(engine, model="slow", run="r") for _ in range(2)]
    turns: list[float] = []

    def ask(ledger: SharedLedger) -> None:
        for _ in range(5):
            ledger.change_pace(lambda pace: _turn(pace, turns))

    threads = [threading.Thread(target=ask, args=(ledger,)) for ledger in ledgers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    turns.sort()
    assert len(turns) == 10
    assert min(b - a for a, b in pairwise(turns)) == pytest.approx(0.5)


def _turn(pace: object, turns: list[float]) -> object:
    after, turn = pace.with_request(1_000.0, 0.5)  # type: ignore[attr-defined]
    turns.append(turn)
    return after


@pytest.mark.kill
def test_runners_share_a_run_and_outlive_one_that_is_killed(server: str, tmp_path: Path) -> None:
    domains, documents = tmp_path / "config" / "domains", tmp_path / "documents"
    domains.mkdir(parents=True)
    documents.mkdir()
    for number in range(24):
        body = (DEMO_FOLDER / "security" / "key-rotation-standard.md").read_text("utf-8")
        body = body.replace("id: key-rotation-standard", f"id: standard-{number}")
        (documents / f"standard-{number}.md").write_text(body.replace(".\n", f" at {number}.\n"))
    (domains / "tea.yaml").write_text(
        "domain: tea\ntitle: Tea\nsources: {files: [../../documents/*.md]}\nrefresh: '0 3 1 1 *'\n"
    )
    engine = create_engine(make_url(server).set(drivername="postgresql+psycopg"))
    with OpenAIStandIn(lambda _: "NO_ANSWER") as embeddings:
        environment = {
            **{name: value for name, value in os.environ.items() if name[:6] != "ONCALL"},
            "DATABASE_URL": server,
            "ONCALL_CONFIG_DIR": str(tmp_path / "config"),
            "ONCALL_DATA_DIR": str(tmp_path / "var"),
            "OPENAI_API_KEY": "k",
            "OPENAI_BASE_URL": embeddings.base_url,
            "ONCALL_EMBEDDING_MODEL": "hashed",
        }
        command = [sys.executable, "-m", "cli.main", "jobs", "run", "--workers", "2"]
        with (tmp_path / "log").open("w") as log:
            crew = subprocess.Popen(
                [*command, "--health-port", "0"], env=environment, cwd=ROOT, stderr=log, stdout=log
            )
        try:
            until(lambda: rows(engine, "index_unpublished_vectors"))
            psutil.Process(crew.pid).children()[0].kill()
            until(lambda: outcome(engine) not in (None, "running"))
        finally:
            crew.terminate()
            crew.wait(60)
    assert outcome(engine) == "published", (tmp_path / "log").read_text()
    with engine.connect() as connection:
        failures, added = connection.execute(
            text("SELECT failures, added FROM ingest_runs WHERE domain = 'tea'")
        ).one()
    assert (failures, added) == ("{}", 24)
    assert not rows(engine, "ingest_prepared")
    assert not rows(engine, "ingest_loaded")
    engine.dispose()


def a_database(server: str) -> str:
    """A new one on this server."""
    name = f"library_{uuid.uuid4().hex[:8]}"
    url = make_url(server).set(drivername="postgresql+psycopg")
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    engine.dispose()
    return url.set(database=name).render_as_string(hide_password=False)


def rows(engine: Engine, table: str) -> int:
    if not inspect(engine).has_table(table):
        return 0
    with engine.connect() as connection:
        return int(connection.scalar(text(f"SELECT count(*) FROM {table}")))  # noqa: S608


def outcome(engine: Engine) -> object:
    if not inspect(engine).has_table("ingest_runs"):
        return None
    with engine.connect() as connection:
        return connection.scalar(text("SELECT outcome FROM ingest_runs WHERE domain = 'tea'"))


def until(look: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not look() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert look()
