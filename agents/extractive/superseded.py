"""What is in force and what was: documents that a later one replaces, questions about the past."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime

from enrichment.chunk import DocumentCard

_PAST = re.compile(
    r"\b(?:(?<!how )old|older (?:rule|version|policy|page)|previous|previously|former|formerly"
    r"|superseded|outdated|archived|earlier|used to|back in|back then|history"
    r"|no longer)\b",
    re.IGNORECASE,
)
_YEAR = re.compile(r"\b20\d\d\b")


def is_superseded(cards: Mapping[str, DocumentCard], document: str) -> bool:
    card = cards.get(document)
    return card is not None and (card.status.lower() == "superseded" or bool(card.superseded_by))


def asks_about_the_past(question: str) -> bool:
    """Whether it names an earlier version or a year that is over; `how old` does not."""
    this_year = datetime.now(UTC).year
    over = any(int(year) < this_year for year in _YEAR.findall(question))
    return over or bool(_PAST.search(question))
