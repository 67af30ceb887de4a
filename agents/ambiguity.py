"""A question back, only when the documents really hold different answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agents.answer import Citation
from agents.plan import Plan
from agents.relevance import Scored, score_units
from index.search import SearchQuery, Snapshot

_BACKED = 0.3
"""Score that a reading's best statement needs to count as an answer."""


@dataclass(frozen=True, kw_only=True)
class Readings:
    """What the question could mean."""

    text: str
    """The question back, with what each reading would be answered by."""
    options: tuple[str, ...]
    """Self-contained questions, 2–4."""
    citations: tuple[Citation, ...] = ()


def readings_of(plan: Plan, snapshot: Snapshot, scored: Sequence[Scored]) -> Readings | None:
    """None when there is one reading, or when the documents answer only one of them."""
    if plan.kind == "ambiguous":
        return _backed_by_documents(plan, snapshot)
    return None


def _backed_by_documents(plan: Plan, snapshot: Snapshot) -> Readings | None:
    """The model's options that different passages answer."""
    backed: dict[tuple[str, int], str] = {}
    for option in plan.options:
        alone = Plan(question=option, kind="in_domain")
        hits = snapshot.search(SearchQuery(variants=(option,), limit=10))
        best = next(iter(score_units(alone, snapshot, hits)), None)
        if best and best.score >= _BACKED:
            backed.setdefault((best.chunk.id, best.index), option)
    if len(backed) < 2:
        return None
    return Readings(text=plan.clarifying_question, options=tuple(backed.values()))
