"""Which answers are good enough to give to people who did not ask for them."""

from __future__ import annotations

from agents.answer import Answer
from agents.confidence.confidence_levels import CONFIDENT


def worth_saying(answer: Answer) -> bool:
    """Good enough to say without being asked."""
    return (
        answer.from_documents
        and not answer.unsure
        and min(answer.confidence, answer.confidence_parts.get("evidence", 1.0)) >= CONFIDENT
    )
