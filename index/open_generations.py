"""The generations that this process has open: swapped whole, in the background, within bounds."""

from __future__ import annotations

import logging
import time
import weakref
from collections import defaultdict
from collections.abc import Callable
from threading import Event, Lock, Thread

from config.errors import CopilotError, NothingPublished
from index.snapshot import Generation
from index.store.documents import Store
from telemetry.metrics import observe_closed, observe_open

LOOK_EVERY_SECONDS = 1.0

logger = logging.getLogger(__name__)


class OpenGenerations:
    """One generation a domain. Thread-safe.

    A newer one is opened by a thread of its own while the open one answers: whoever asks waits for
    nothing but a domain that isn't open."""

    def __init__(
        self,
        store: Store,
        opened: Callable[[str, int], Generation],
        *,
        most_bytes: float,
        most_domains: int,
        on_swap: Callable[[str], object] = lambda domain: None,
    ) -> None:
        """`most_bytes`, `most_domains`: beyond either, what was asked longest ago is closed.
        `on_swap`: called when a domain's generation has taken the place of another."""
        self._store = store
        self._opened = opened
        self._most_bytes, self._most_domains = most_bytes, most_domains
        self._on_swap = on_swap
        self._held: dict[str, Generation] = {}
        self._asked: dict[str, float] = {}
        self._opening: dict[str, Lock] = defaultdict(Lock)
        self._lock = Lock()
        self._closed = Event()
        self._watching = False

    def current(self, domain: str) -> Generation:
        """Raises IndexUnavailable when there is none, or it can't be opened."""
        held = self._held.get(domain) or self._first(domain)
        self._asked[domain] = time.monotonic()
        return held

    def swap(self, domain: str) -> None:
        """Open what is current now, in the calling thread; nothing where the domain isn't open."""
        if domain in self._held:
            self._renew(domain, self._store.current(domain))

    def look(self) -> None:
        """Swap every open domain whose generation isn't current any more."""
        numbers = self._store.currents()
        for domain, held in list(self._held.items()):
            if numbers.get(domain) != held.generation:
                self._renew(domain, numbers.get(domain))

    def close(self) -> None:
        self._closed.set()
        for domain in list(self._held):
            self._drop(domain)

    def _first(self, domain: str) -> Generation:
        with self._opening_of(domain):
            held = self._held.get(domain)
            if held is not None:
                return held
            number = self._store.current(domain)
            if number is None:
                raise NothingPublished(domain)
            return self._hold(self._opened(domain, number))

    def _renew(self, domain: str, number: int | None) -> None:
        with self._opening_of(domain):
            held = self._held.get(domain)
            if held is None or held.generation == number:
                return
            if number is None:
                self._drop(domain)
                return
            self._hold(self._opened(domain, number))
        self._on_swap(domain)

    def _hold(self, opened: Generation) -> Generation:
        with self._lock:
            self._held[opened.domain] = opened
            self._asked.setdefault(opened.domain, time.monotonic())
            if not self._watching:
                self._watching = True
                parts = (weakref.ref(self), self._closed)
                Thread(target=_watch, args=parts, name="generations", daemon=True).start()
        observe_open(
            opened.domain,
            generation=opened.generation,
            documents=len(opened.documents),
            searched_bytes=opened.searched_bytes,
            domains=len(self._held),
        )
        self._keep_within_bounds(opened.domain)
        return opened

    def _keep_within_bounds(self, newest: str) -> None:
        while len(self._held) > 1 and self._beyond_bounds():
            others = [one for one in list(self._held) if one != newest]
            oldest = min(others, key=lambda one: self._asked.get(one, 0.0))
            logger.info("closing %s, which nobody has asked for longest", oldest)
            self._drop(oldest)

    def _beyond_bounds(self) -> bool:
        size = sum(one.searched_bytes for one in list(self._held.values()))
        return len(self._held) > self._most_domains or size > self._most_bytes

    def _drop(self, domain: str) -> None:
        """Questions still being answered hold it; the last one closes it."""
        with self._lock:
            self._held.pop(domain, None)
            self._asked.pop(domain, None)
        observe_closed(domain, domains=len(self._held))

    def _opening_of(self, domain: str) -> Lock:
        with self._lock:
            return self._opening[domain]


def _watch(generations: weakref.ref[OpenGenerations], closed: Event) -> None:
    """Looks until closed, or until nobody has the generations any more."""
    last_message = ""
    while not closed.wait(LOOK_EVERY_SECONDS):
        found = generations()
        if found is None:
            return
        try:
            found.look()
            last_message = ""
        except CopilotError as error:
            if str(error) != last_message:  # not every second of an outage
                logger.warning("staying with the open generations: %s", error)
            last_message = str(error)
        except Exception as error:  # whatever it is, the next look may succeed
            if repr(error) != last_message:
                logger.exception("staying with the open generations")
            last_message = repr(error)
        del found
