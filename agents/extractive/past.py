"""Questions about the past, which documents out of force may answer."""

from __future__ import annotations

import re
from datetime import UTC, datetime

_PAST = re.compile(
    r"\b(?:(?<!how )old|older (?:rule|version|policy|page)|previous|previously|former|formerly"
    r"|superseded|outdated|archived|earlier|used to|back in|back then|history"
    r"|no longer)\b",
    re.IGNORECASE,
)
_YEAR = re.compile(r"\b20\d\d\b")


def asks_about_the_past(question: str) -> bool:
    """Whether it names an earlier version or a year that is over; `how old` does not."""
    this_year = datetime.now(UTC).year
    over = any(int(year) < this_year for year in _YEAR.findall(question))
    return over or bool(_PAST.search(question))
