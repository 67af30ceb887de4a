"""The generations that this process has open, within limits of memory and number.

A generation is replaced as a whole, in the background."""

from __future__ import annotations

import logging
import time
import weakref
from collections import defaultdict
from collections.abc import Callable
from threading import Event, Lock, Thread

from config.errors import CopilotError, IndexUnavailable, NothingPublished
from index.snapshot import Generation
from index.store.documents import Store
from telemetry.metrics import observe_closed, observe_open

LOOK_EVERY_SECONDS = 3.0
UPKEEP_SECONDS = 900.0

logger = logging.getLogger(__name__)


class OpenGenerations:
    """One open generation for each domain. Thread-safe.

    A separate thread opens a newer generation while the open one answers. A caller waits only for
    a domain that isn't open yet."""

    def __init__(
        self,
        store: Store,
        open_generation: Callable[[str, int], Generation],
        *,
        most_bytes: float,
        most_domains: int,
        on_swap: Callable[[str], object] = lambda domain: None,
        upkeep: Callable[[], object] = lambda: None,
    ) -> None:
        """`most_bytes`, `most_domains`: beyond either, the least recently used domain is closed.
        `on_swap`: called with the domain after a generation has replaced another. `upkeep`: called
        every quarter of an hour while a generation is open."""
        self._store = store
        self._open_generation = open_generation
        self._most_bytes, self._most_domains = most_bytes, most_domains
        self._on_swap = on_swap
        self._upkeep, self._upkeep_due = upkeep, time.monotonic() + UPKEEP_SECONDS
        self._generations: dict[str, Generation] = {}
        self._last_used: dict[str, float] = {}
        self._opening: dict[str, Lock] = defaultdict(Lock)
        self._lock = Lock()
        self._closed = Event()
        self._watching = False

    def current(self, domain: str) -> Generation:
        """Raises IndexUnavailable when there is no generation or it can't be opened."""
        generation = self._generations.get(domain) or self._first(domain)
        self._last_used[domain] = time.monotonic()
        return generation

    def swap(self, domain: str) -> None:
        """Opens the current generation in the calling thread, if the domain is open."""
        if domain in self._generations:
            self._renew(domain, self._store.current(domain))

    def refresh(self) -> None:
        """Swaps every open domain whose generation is no longer current."""
        numbers = self._store.currents()
        for domain, generation in list(self._generations.items()):
            if numbers.get(domain) != generation.generation:
                self._renew(domain, numbers.get(domain))

    def keep_up(self) -> None:
        """Runs `upkeep` when it is due."""
        if time.monotonic() > self._upkeep_due:
            self._upkeep_due = time.monotonic() + UPKEEP_SECONDS
            self._upkeep()

    def close(self) -> None:
        self._closed.set()
        for domain in list(self._generations):
            self._drop(domain)

    def _first(self, domain: str) -> Generation:
        with self._opening_of(domain):
            generation = self._generations.get(domain)
            if generation is not None:
                return generation
            while True:
                number = self._store.current(domain)
                if number is None:
                    raise NothingPublished(domain)
                try:
                    return self._hold(self._open_generation(domain, number))
                except IndexUnavailable:
                    if self._store.current(domain) == number:
                        raise
                    # Replaced while it was being opened, as each minute by a long run.

    def _renew(self, domain: str, number: int | None) -> None:
        with self._opening_of(domain):
            generation = self._generations.get(domain)
            if generation is None or generation.generation == number:
                return
            if number is None:
                self._drop(domain)
                return
            self._hold(self._open_generation(domain, number))
        self._on_swap(domain)

    def _hold(self, generation: Generation) -> Generation:
        with self._lock:
            self._generations[generation.domain] = generation
            self._last_used.setdefault(generation.domain, time.monotonic())
            if not self._watching:
                self._watching = True
                parts = (weakref.ref(self), self._closed)
                Thread(target=_watch, args=parts, name="generations", daemon=True).start()
        observe_open(
            generation.domain,
            generation=generation.generation,
            documents=len(generation.documents),
            searched_bytes=generation.searched_bytes,
            domains=len(self._generations),
        )
        self._keep_within_bounds(generation.domain)
        return generation

    def _keep_within_bounds(self, newest: str) -> None:
        while len(self._generations) > 1 and self._beyond_bounds():
            others = [one for one in list(self._generations) if one != newest]
            oldest = min(others, key=lambda one: self._last_used.get(one, 0.0))
            logger.info("closing generation of %s: least recently used", oldest)
            self._drop(oldest)

    def _beyond_bounds(self) -> bool:
        size = sum(one.searched_bytes for one in list(self._generations.values()))
        return len(self._generations) > self._most_domains or size > self._most_bytes

    def _drop(self, domain: str) -> None:
        """Running questions hold references; the generation is freed after the last one."""
        with self._lock:
            self._generations.pop(domain, None)
            self._last_used.pop(domain, None)
        observe_closed(domain, domains=len(self._generations))

    def _opening_of(self, domain: str) -> Lock:
        with self._lock:
            return self._opening[domain]


def _watch(generations: weakref.ref[OpenGenerations], closed: Event) -> None:
    """Refreshes until `closed` is set or the generations are garbage-collected."""
    last_message = ""
    while not closed.wait(LOOK_EVERY_SECONDS):
        target = generations()
        if target is None:
            return
        try:
            target.refresh()
            target.keep_up()
            last_message = ""
        except CopilotError as error:
            if str(error) != last_message:  # an outage is logged once
                logger.warning("generations could not be refreshed: %s", error)
            last_message = str(error)
        except Exception as error:  # any error: the next refresh may succeed
            if repr(error) != last_message:
                logger.exception("generations could not be refreshed")
            last_message = repr(error)
        del target
