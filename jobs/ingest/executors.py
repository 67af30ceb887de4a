"""The port for preparing documents, and the executor of a process that works alone."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import islice
from typing import Literal, Protocol, TypeVar

import structlog

from config.errors import CopilotError, LoadError
from enrichment.pipeline import Enriched
from loaders.document import Document
from loaders.time_limit import SECONDS, time_limit

log = structlog.get_logger()

Way = Literal["extractive", "model"]
"""`extractive` uses no model and takes milliseconds; `model` may take minutes."""
Prepare = Callable[[Document], Enriched]
Result = TypeVar("Result")


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """The result of a submitted document."""

    document: str
    """Its id."""
    way: Way
    enriched: Enriched | CopilotError
    embedded: int = 0
    """Texts of the document that are already embedded."""


class PreparationExecutor(Protocol):
    """Prepares loaded documents for publishing. Results arrive in any order."""

    def has_capacity(self, way: Way) -> bool:
        """Whether another document can be submitted without waiting."""
        ...

    def submit(self, document: Document, way: Way) -> None: ...

    def completed(self, wait_seconds: float = 0.0) -> list[Prepared]:
        """New results; waits up to `wait_seconds` for the first. Raises errors that concern the
        whole run, such as an unreachable embeddings server."""
        ...

    @property
    def pending(self) -> int:
        """Documents submitted and not yet returned."""
        ...

    def close(self) -> None:
        """Release resources. Pending documents may stay unfinished."""
        ...


class LocalExecutor:
    """Prepares without a model in the calling thread, and with a model in a thread pool."""

    def __init__(
        self,
        ways: Mapping[Way, Prepare],
        *,
        at_once: int = 1,
        seconds: float = SECONDS,
        release: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        """`at_once`: documents that use a model concurrently. `seconds`: computing time for one.
        `release`: a context in which no document waits for a model."""
        self._ways = ways
        self._at_once = at_once
        self._seconds = seconds
        self._release = release
        self._ready: deque[Prepared] = deque()
        self._pool = ThreadPoolExecutor(at_once, thread_name_prefix="enrichment")
        self._waiting: set[Future[Prepared]] = set()

    def has_capacity(self, way: Way) -> bool:
        return way == "extractive" or len(self._waiting) < 2 * self._at_once

    def submit(self, document: Document, way: Way) -> None:
        if way == "extractive":
            self._ready.append(self._prepared(document, way))
        else:
            self._waiting.add(self._pool.submit(self._prepared, document, way))

    def completed(self, wait_seconds: float = 0.0) -> list[Prepared]:
        timeout = 0.0 if self._ready else wait_seconds
        done, self._waiting = wait(self._waiting, timeout, FIRST_COMPLETED)
        results = [*self._ready, *(future.result() for future in done)]
        self._ready.clear()
        return results

    @property
    def pending(self) -> int:
        return len(self._waiting) + len(self._ready)

    def close(self) -> None:
        with self._release():
            self._pool.shutdown(wait=True, cancel_futures=True)

    def _prepared(self, document: Document, way: Way) -> Prepared:
        prepare = self._ways[way]
        enriched = attempt(document.id, lambda: prepare(document), self._seconds)
        return Prepared(document=document.id, way=way, enriched=enriched)


def attempt(name: str, act: Callable[[], Result], seconds: float) -> Result | LoadError:
    """Returns errors of this document alone. Raises errors that concern the whole run."""
    try:
        with time_limit(name, seconds):
            return act()
    except LoadError as error:
        return error
    except CopilotError:
        raise
    except Exception as error:
        log.exception("document loader crashed", document=name)
        kind = type(error).__name__
        return LoadError(name, f"reading it failed ({kind})", remedy="the log holds the details")


Item = TypeVar("Item")


def map_in_order(
    act: Callable[[Item], Result], items: Iterable[Item], at_once: int
) -> Iterator[Result]:
    """Results in the order of `items`, which are consumed as capacity allows.

    `act` runs in the calling thread if `at_once` is 1; its exception ends the iteration."""
    if at_once <= 1:
        yield from map(act, items)
        return
    waiting: deque[Future[Result]] = deque()
    source = iter(items)
    with ThreadPoolExecutor(at_once, thread_name_prefix="side-by-side") as pool:
        try:
            while True:
                for item in islice(source, 2 * at_once - len(waiting)):
                    waiting.append(pool.submit(act, item))
                if not waiting:
                    return
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
