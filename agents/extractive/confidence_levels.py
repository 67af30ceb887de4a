"""What a confidence means, 0–1: when it is enough, and what people are told of it."""

from __future__ import annotations

from agents.answer import AnswerPath

ENOUGH = 0.35
"""Below this, the documents are said not to know: of the questions that they answer, one in twenty
is below it. Fitted by `benchmarks/left_out.py`."""
MEDIUM = 0.5
"""Below this, people are told that it is low, and an answer from documents counts as failing."""
CONFIDENT = 0.6
"""An unasked-for answer below this is noise."""
HIGH = 0.75


def in_words(confidence: float) -> str:
    """high | medium | low"""
    if confidence >= HIGH:
        return "high"
    return "medium" if confidence >= MEDIUM else "low"


def told_apart(path: AnswerPath, confidence: float) -> AnswerPath:
    """An answer from documents that is hardly to be relied on says so by its path."""
    failing = path == "company_specific_rag_success" and confidence < MEDIUM
    return "company_specific_rag_failure" if failing else path
