"""A question back, only when the documents really hold different answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agents.answer import Citation
from agents.extractive import refusal
from agents.extractive.citing import citation
from agents.extractive.glossary import Glossary
from agents.extractive.quotable import in_words
from agents.extractive.relevance import Scored, aspects_of
from agents.plan import Plan
from enrichment.chunk import Chunk
from enrichment.standing import is_out_of_force
from index.search import Snapshot

WHICH = "That depends on what you mean. Which of these is it?"
_MOST_OPTIONS = 4
_FEW_WORDS = 3
"""A question that names more than this says which of the readings it means."""
_CLOSE = 2.0
"""Log-odds between documents that answer about equally well."""
_RELATED = 0.75
"""Share of the evidence that an answer needs; with less, no reading is in the documents, and
refusing is more honest."""


@dataclass(frozen=True, kw_only=True)
class Readings:
    """What the question could mean."""

    text: str
    """The question back, with what each reading would be answered by."""
    options: tuple[str, ...]
    """Self-contained questions, 2–4."""
    citations: tuple[Citation, ...] = ()
    documents: frozenset[str] = frozenset()
    """Ids of those that back the readings."""


def readings_of(
    plan: Plan, snapshot: Snapshot, scored: Sequence[Scored], glossary: Glossary
) -> Readings | None:
    """Several documents answer about equally well a question that says very little.

    Of golden questions whose documents no fit has seen, 7 of 24 ambiguous ones are asked back, and
    none of 282 others."""
    whole = aspects_of(plan, snapshot, glossary)[0]
    says_enough = len(whole.weights) > _FEW_WORDS or plan.previous or plan.sub_questions
    sure = refusal.evidence_probability(refusal.confidence_parts(plan, snapshot, scored))
    if says_enough or sure < _RELATED * refusal.ENOUGH:
        return None
    readings = _best_of_each_document(snapshot, scored)
    if len(readings) < 2:
        return None
    asked = plan.question.rstrip("?!. ")
    said = [
        f"- {in_words(unit.chunk, unit.unit)} [{number}]"
        for number, unit in enumerate(readings, start=1)
    ]
    citations = tuple(
        citation(unit.chunk, number, unit.unit.text, snapshot.documents)
        for number, unit in enumerate(readings, start=1)
    )
    return Readings(
        text="\n".join([WHICH, *said]),
        options=tuple(f"{asked}: {_place(unit.chunk)}?" for unit in readings),
        citations=citations,
        documents=frozenset(unit.chunk.document_id for unit in readings),
    )


def _best_of_each_document(snapshot: Snapshot, scored: Sequence[Scored]) -> list[Scored]:
    """At most four, each nearly as good as the best; what is out of force is no reading."""
    best: dict[str, Scored] = {}
    for unit in scored:
        document = unit.chunk.document_id
        if scored[0].strength - unit.strength > _CLOSE or len(best) == _MOST_OPTIONS:
            break
        if not is_out_of_force(snapshot.documents.get(document)):
            best.setdefault(document, unit)
    return list(best.values())


def _place(chunk: Chunk) -> str:
    return " › ".join(dict.fromkeys((chunk.document_title, *chunk.heading_path[-1:])))
