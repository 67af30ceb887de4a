"""The best answer of all tries: what leaves, and how it is marked when it fell short."""

from __future__ import annotations

from dataclasses import replace

from agents.second_look.answerer import marked
from agents.state import Draft
from agents.thorough.values import Rated

_WANTING = (
    "_A second check was not convinced by this answer: look into its sources before you act._"
)


def better(best: Rated | None, rated: Rated) -> Rated:
    """The later one of two that are as good."""
    return best if best and best.score > rated.score else rated


def as_shown(rated: Rated) -> Draft:
    """One that did not pass says so, and is as little trusted as it was rated."""
    draft = rated.draft
    if not draft.by_model or draft.path != "company_specific_rag_success":
        return draft
    parts = {**draft.confidence_parts, "critique": rated.score}
    if rated.passed:
        return replace(draft, confidence_parts=parts)
    mark = marked(rated.unsupported) if rated.unsupported else _WANTING
    text = draft.text if mark in draft.text else f"{draft.text}\n\n{mark}"
    sure = min(draft.confidence, rated.score)
    return replace(draft, text=text, confidence=sure, confidence_parts=parts)
