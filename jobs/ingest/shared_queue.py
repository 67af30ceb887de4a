"""Shares the preparation of documents among all `oncall jobs run` processes, on any machine.

Tasks are stored, so other processes take over the tasks of a process that dies; see
docs/decisions/102-ingestion-at-scale.md."""

from __future__ import annotations

import hashlib
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from typing import Protocol

import structlog
from pydantic import TypeAdapter
from sqlalchemy.exc import SQLAlchemyError

from config.domain import ChunkOptions
from config.errors import CopilotError, LoadError
from durable.queues import WorkQueue
from durable.worker import DurableWorker
from enrichment.chunk import Chunk
from enrichment.pipeline import Enriched
from jobs.ingest.executors import Prepared, Way, attempt
from jobs.ingest.handoff_store import MAX_DEATHS, PreparationStore, quarantined
from loaders.document import Document
from loaders.time_limit import SECONDS

log = structlog.get_logger()

WORK = "prepare"
MAX_PENDING: dict[Way, int] = {"extractive": 64, "model": 128}
"""Documents of one run in the queues at a time. Limits how long other domains wait."""
LOOK_SECONDS = 0.25
SILENCE_SECONDS = 1_200.0
"""Enqueue again after this time without a result. It exceeds the wait for a model that refuses
everything, and a document may be enqueued twice without harm."""
PAUSES = (1.0, 5.0, 20.0)
"""Seconds before each retry during a database outage."""


@dataclass(frozen=True, kw_only=True)
class PreparationTask:
    """One queued document to prepare."""

    run: str
    """Id of the run whose budget is charged."""
    start: str
    """Id of the run's start; a failure counts for this start only."""
    domain: str
    document: str
    loaded: str
    """Digest of the loaded document. If the stored one differs, the task is obsolete."""
    way: Way
    options: ChunkOptions
    model: str
    """Model name; empty for none. Results of another model do not count."""
    made_with: str = ""
    """Pipeline and models. Results of other versions do not count."""

    @property
    def digest(self) -> str:
        """Digest of everything that determines the result."""
        text = f"{self.loaded} {self.way} {self.options!r} {self.model} {self.made_with}"
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def failure(self) -> str:
        """Replaces the digest of a failed or incomplete result."""
        return hashlib.sha256(f"{self.start} {self.digest}".encode()).hexdigest()


@cache
def _assignments() -> TypeAdapter[PreparationTask]:
    return TypeAdapter(PreparationTask)


def written_assignment(assignment: PreparationTask) -> str:
    """JSON for the queue."""
    return _assignments().dump_json(assignment).decode()


def read_assignment(payload: str) -> PreparationTask:
    return _assignments().validate_json(payload)


class Enqueue(Protocol):
    """Returns when the work is stored."""

    def __call__(self, workflow: str, payload: str, /, *, queue: str, workflow_id: str) -> None: ...


class Preparing(Protocol):
    """Prepares, embeds and stores documents for the worker."""

    def prepare(self, assignment: PreparationTask, document: Document) -> Enriched: ...

    def embed(self, domain: str, chunks: Sequence[Chunk]) -> int:
        """Store vectors of new chunks for the publishing process; returns their number."""
        ...

    def store_of(self, domain: str) -> PreparationStore: ...


Assign = Callable[[PreparationTask, str], None]
"""(task, workflow id) → None; returns when the task is stored."""


class QueueExecutor:
    """Executor that lets any free process prepare the run's documents."""

    def __init__(
        self,
        *,
        run: str,
        domain: str,
        options: ChunkOptions,
        model: str,
        store: PreparationStore,
        assign: Assign,
        made_with: str = "",
    ) -> None:
        self._run = run
        self._model = model
        self._store = store
        self._assign = assign
        self._task = partial(
            PreparationTask, run=run, domain=domain, options=options, made_with=made_with,
            # A continued run enqueues again, and an existing workflow id would have no effect.
            start=uuid.uuid4().hex[:8],
        )  # fmt: skip
        self._pending: dict[tuple[str, Way], PreparationTask] = {}
        self._last_result_at = time.monotonic()

    def has_capacity(self, way: Way) -> bool:
        return sum(one == way for _, one in self._pending) < MAX_PENDING[way]

    def submit(self, document: Document, way: Way) -> None:
        loaded, model = self._store.keep(document), self._model if way == "model" else ""
        assignment = self._task(document=document.id, loaded=loaded, way=way, model=model)
        self._pending[document.id, way] = assignment
        if not self._store.is_finished(document.id, way, assignment.digest):
            self._hand_out(assignment)

    def completed(self, wait_seconds: float = 0.0) -> list[Prepared]:
        until = time.monotonic() + wait_seconds
        results = self._look()
        while not results and self._pending and time.monotonic() < until:
            time.sleep(LOOK_SECONDS)
            results = self._look()
        for one in results:
            del self._pending[one.document, one.way]
        if results or not self._pending:
            self._last_result_at = time.monotonic()
        elif time.monotonic() - self._last_result_at > SILENCE_SECONDS:
            log.warning("no results from workers, assigning documents again", run=self._run)
            self._last_result_at = time.monotonic()
            for assignment in self._pending.values():
                self._hand_out(assignment)
        return results

    @property
    def pending(self) -> int:
        return len(self._pending)

    def close(self) -> None:
        """Queued documents are still prepared; the next run finds them."""

    def _look(self) -> list[Prepared]:
        marks = {key: (one.digest, one.failure) for key, one in self._pending.items()}
        return self._store.completed(marks)

    def _hand_out(self, one: PreparationTask) -> None:
        times = uuid.uuid4().hex[:4]
        self._assign(one, f"{one.run}/{one.start}/{one.way}/{one.digest[:16]}/{times}")


class PreparationWorker:
    """Prepares documents from the shared queues in this process."""

    def __init__(
        self,
        preparing: Preparing,
        *,
        made_with: str,
        at_once: int,
        embedding_at_once: int = 1,
        seconds: float = SECONDS,
    ) -> None:
        """`made_with`: pipeline and models; processes with other versions use other queues.
        `at_once`: concurrent documents with a model; `embedding_at_once`: without one, above 1
        if a server embeds. `seconds`: computing time for each document."""
        self._preparing = preparing
        self._seconds = seconds
        self._alone = _Alone()
        self._at_work: set[tuple[str, str]] = set()
        mark = hashlib.sha256(made_with.encode()).hexdigest()[:8]
        self._queues: dict[Way, WorkQueue] = {
            "extractive": WorkQueue(name=f"oncall-prepare-{mark}", concurrency=embedding_at_once),
            "model": WorkQueue(name=f"oncall-enrich-{mark}", concurrency=at_once),
        }

    @property
    def queues(self) -> Sequence[WorkQueue]:
        return tuple(self._queues.values())

    def assigning(self, enqueue: Enqueue) -> Assign:
        """Returns a function that enqueues a task for any process on these queues."""

        def assign(assignment: PreparationTask, work: str) -> None:
            payload = written_assignment(assignment)
            enqueue(WORK, payload, queue=self._queues[assignment.way].name, workflow_id=work)

        return assign

    def register(self, worker: DurableWorker) -> None:
        """Register the workflow with DBOS."""
        from dbos import DBOS

        @DBOS.workflow(name=WORK)
        def prepare(payload: str) -> None:
            with worker.working(DBOS.workflow_id or ""):
                self._through_outages(read_assignment(payload), worker)

    def leave(self) -> None:
        """Reset the deaths of documents at work: this process stops, but did not crash."""
        for domain, name in list(self._at_work):
            self._preparing.store_of(domain).clear(name)

    def _through_outages(self, assignment: PreparationTask, worker: DurableWorker) -> None:
        pauses = iter(PAUSES)
        while True:
            try:
                return self.do(assignment)
            except SQLAlchemyError:
                pause = next(pauses, None)
                if pause is None and worker.is_able():
                    raise
                log.warning("a document waits for the database", document=assignment.document)
                time.sleep(pause or 0.0)
                worker.wait_until_able()

    def do(self, assignment: PreparationTask) -> None:
        """Prepare the document and store the result.

        Does nothing if a result exists or the document changed meanwhile."""
        store = self._preparing.store_of(assignment.domain)
        name, way, digest = assignment.document, assignment.way, assignment.digest
        loaded = store.loaded(name)
        if loaded is None or loaded.digest != assignment.loaded:
            return
        if store.is_finished(name, way, digest):
            return
        with self._alone(loaded.deaths > 0):
            if loaded.deaths >= MAX_DEATHS:
                died = quarantined(name, loaded.deaths, assignment.domain)
                store.finish(Prepared(document=name, way=way, enriched=died), assignment.failure)
                return
            at_work = assignment.domain, name
            self._at_work.add(at_work)
            try:
                store.begin(name)
                prepared = self._prepared(assignment, loaded.document)
            finally:
                self._at_work.discard(at_work)
                store.clear(name)
            if isinstance(prepared.enriched, Enriched) and prepared.enriched.complete:
                store.finish(prepared, digest)
            elif not store.is_finished(name, way, digest):
                store.finish(prepared, assignment.failure)

    def _prepared(self, assignment: PreparationTask, document: Document) -> Prepared:
        preparing, embedded = self._preparing, 0
        enriched: Enriched | CopilotError
        try:
            enriched = attempt(
                document.id, lambda: preparing.prepare(assignment, document), self._seconds
            )
            if isinstance(enriched, Enriched):
                embedded = preparing.embed(assignment.domain, enriched.chunks)
        except CopilotError as error:
            enriched = error
        except SQLAlchemyError:
            raise
        except Exception as error:  # without a result the run would wait
            log.exception("a document could not be embedded", document=document.id)
            reason = f"embedding it failed ({type(error).__name__})"
            enriched = LoadError(document.id, reason, remedy="the log holds the details")
        return Prepared(
            document=document.id, way=assignment.way, enriched=enriched, embedded=embedded
        )


class _Alone:
    """Lets this process prepare a document that crashed a process exclusively, so that no other
    document becomes a suspect."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._working = 0
        self._exclusive = False

    @contextmanager
    def __call__(self, alone: bool) -> Iterator[None]:
        with self._changed:
            self._changed.wait_for(lambda: not self._exclusive and not (alone and self._working))
            self._working += 1
            self._exclusive = alone
        try:
            yield
        finally:
            with self._changed:
                self._working -= 1
                self._exclusive = False
                self._changed.notify_all()
