"""Times of a checklist: in each reader's own zone where Slack shows them, else UTC. Pure."""

from __future__ import annotations

from datetime import UTC, datetime


def clock(at: datetime) -> str:
    """`14:03` as the reader's clock has it; `at`: UTC without a zone."""
    utc = at.replace(tzinfo=UTC)
    return f"<!date^{int(utc.timestamp())}^{{time}}|{utc:%H:%M} UTC>"


def day(at: datetime) -> str:
    """`27 March 2026`: of a document, the same for everybody."""
    return f"{at.day} {at:%B %Y}"


def lasted(start: datetime, end: datetime) -> str:
    """`under a minute`, `12 min`, `2 h 5 min`."""
    minutes = max(0, int((end - start).total_seconds() // 60))
    if minutes < 1:
        return "under a minute"
    if minutes < 60:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min"
