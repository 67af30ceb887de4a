"""What people are told of a confidence, the probability that an expert would accept the answer."""

from __future__ import annotations

from agents.answer import AnswerPath

MEDIUM = 0.4
"""Below this, people are told that it is low, and an answer is shown with reserve."""
CONFIDENT = 0.6
"""An unasked-for answer below this is noise."""
HIGH = 0.9
"""One in ten of the answers that are just as sure is wrong; without a model none is so sure."""


def in_words(confidence: float) -> str:
    """high | medium | low"""
    if confidence >= HIGH:
        return "high"
    return "medium" if confidence >= MEDIUM else "low"


def told_apart(path: AnswerPath, confidence: float, needed: float = MEDIUM) -> AnswerPath:
    """An answer from documents that is hardly to be relied on says so by its path.

    `needed`: confidence from which on it is shown without reserve, 0–1."""
    failing = path == "company_specific_rag_success" and confidence < needed
    return "company_specific_rag_failure" if failing else path
