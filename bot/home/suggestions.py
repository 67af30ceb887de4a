"""Questions to suggest, chosen once for each generation of a domain, and again now and then.

See docs/decisions/115-suggested-questions.md."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

import structlog
from sqlalchemy import Engine

from bot.feature_tools import Embed
from bot.home.good_questions import Suggested, candidates, diverse, examples_of
from bot.memory.good_answers import still_kept, well_answered
from bot.slack.web import SlackBusy, SlackRefused, SlackUnsure
from config.domain import Domain
from config.errors import CopilotError
from index.search import Snapshot

log = structlog.get_logger()

FRESH_SECONDS = 900.0
"""A question that was answered well today is suggested today."""
KEPT = 12
"""Of a domain; more than are shown, as some may be erased meanwhile."""

Suggest = Callable[[Domain, int], list[str]]
"""At most so many questions that anybody who may ask the domain may see."""


def only_examples(domain: Domain, most: int) -> list[str]:
    return [one.question for one in examples_of(domain)][:most]


class Suggestions:
    """See `Suggest`. Thread-safe; called by workers, never before an event is acknowledged."""

    def __init__(
        self,
        engine: Engine,
        *,
        snapshot: Callable[[str], Snapshot],
        embed: Embed,
        is_public: Callable[[str], bool],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`snapshot`: what everybody may read of a domain; raises CopilotError where nothing is
        published. `is_public`: whether any colleague may join a channel."""
        self._engine = engine
        self._snapshot = snapshot
        self._embed = embed
        self._is_public = is_public
        self._clock = clock
        self._lock = threading.Lock()
        self._chosen: dict[str, tuple[Domain, int, float, list[Suggested]]] = {}

    def __call__(self, domain: Domain, most: int) -> list[str]:
        try:
            chosen = self._of(domain)
        except (CopilotError, SlackBusy, SlackRefused, SlackUnsure) as error:
            log.info("suggesting the domain file's examples", reason=str(error))
            return only_examples(domain, most)
        asked = {one.record: one.question for one in chosen if one.record}
        kept = still_kept(self._engine, asked)
        return [one.question for one in chosen if not one.record or one.record in kept][:most]

    def _of(self, domain: Domain) -> list[Suggested]:
        """Chosen anew after a publication, an edit of the domain's file, or some time."""
        snapshot, now = self._snapshot(domain.domain), self._clock()
        with self._lock:
            known = self._chosen.get(domain.domain)
        same = known and known[0] is domain and known[1] == snapshot.generation
        if known and same and now - known[2] < FRESH_SECONDS:
            return known[3]
        chosen = self._choose(domain, snapshot)
        with self._lock:
            self._chosen[domain.domain] = (domain, snapshot.generation, now, chosen)
        return chosen

    def _choose(self, domain: Domain, snapshot: Snapshot) -> list[Suggested]:
        channels = [one for one in domain.channels if self._is_public(one)]
        asked = well_answered(self._engine, domain.domain, channels)
        return diverse(candidates(asked, domain, snapshot), self._embed, KEPT)


def of_several(suggest: Suggest, domains: Sequence[Domain], most: int) -> list[str]:
    """One of each domain, then a second one of each."""
    rows = [suggest(domain, most) for domain in domains[:most]]
    return [row[place] for place in range(most) for row in rows if place < len(row)][:most]
