"""Two places that contradict each other as people see them, and what the owner of the one that
wasn't kept is told."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from agents.freshness.cited_places import KnownPlace
from bot.message.blockkit import short
from bot.owners.suggestion import Suggestion

Choice = Literal["one", "other", "none"]
CHOICES: frozenset[str] = frozenset(("one", "other", "none"))
_LONGEST_WORDS = 500


@dataclass(frozen=True, kw_only=True)
class Sides:
    """A pair that waits, as the documents of today have it."""

    id: str
    domain: str
    about: str
    one: KnownPlace
    other: KnownPlace
    one_says: str
    other_says: str
    one_url: str
    other_url: str
    met: int
    """Questions whose answer met it."""
    found_at: datetime

    @property
    def seen(self) -> str:
        """Changes with what either side says, and with which of them is the first."""
        both = f"{self.one.key}{self.one.exact}{self.other.key}{self.other.exact}"
        return hashlib.sha256(both.encode()).hexdigest()[:12]


def suggestion_of(sides: Sides, choice: Choice, user: str) -> Suggestion:
    """To the owner of the side that wasn't kept."""
    kept, lost = (sides.one, sides.other) if choice == "one" else (sides.other, sides.one)
    says = sides.one_says if choice == "one" else sides.other_says
    return Suggestion(
        id=f"contradiction-{sides.id}-{sides.found_at:%Y%m%d%H%M%S}",
        kind="contradiction",
        domain=sides.domain,
        document=lost.document,
        heading=" › ".join(filter(None, (lost.path, " ".join(lost.row)))),
        question=sides.about,
        words=f"{kept.name} says otherwise: {short(says, _LONGEST_WORDS)}",
        by=user,
    )
