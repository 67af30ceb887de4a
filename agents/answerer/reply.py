"""Conflicts that an answerer's reply names: two sources that can't both be true. People settle
them as contradictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agents.answer import Contradiction
from agents.answerer.opening import Conflict
from agents.checks.groundedness import supporting_words
from agents.context.sources import Source
from agents.extractive.relevance import citation
from enrichment.chunk import DocumentCard, is_out_of_force
from enrichment.safety.grounding import GroundingText

MAX_CONFLICTS = 3


@dataclass(frozen=True, kw_only=True)
class SourceConflict:
    """Two sources that can't both be true, according to the model."""

    one: Source
    other: Source
    about: str
    """Only words that both sources support, else '': the question and other sources may be
    private."""


def conflicts_between(
    conflicts: Sequence[Conflict], sources: Sequence[Source], source_texts: Sequence[str]
) -> tuple[SourceConflict, ...]:
    """Each pair of existing sources once. `source_texts`: the sources as in the prompt."""
    numbers = range(1, min(len(sources), len(source_texts)) + 1)
    pairs = {
        tuple(sorted((one.one, one.other))): one
        for one in reversed(conflicts)
        if one.one != one.other and one.one in numbers and one.other in numbers
    }
    return tuple(
        SourceConflict(
            one=sources[one.one - 1],
            other=sources[one.other - 1],
            about=one.about if _is_about(one, source_texts) else "",
        )
        for one in [*reversed(pairs.values())][:MAX_CONFLICTS]
    )


def _is_about(one: Conflict, source_texts: Sequence[str]) -> bool:
    return GroundingText([source_texts[one.one - 1], source_texts[one.other - 1]]).supports(
        one.about
    )


def contradictions_from(
    conflicts: Sequence[SourceConflict],
    sources: Sequence[Source],
    question: str,
    documents: Mapping[str, DocumentCard],
) -> tuple[Contradiction, ...]:
    """Contradictions between two places of documents in force: a superseded document loses, and the
    text of a tool or of a picture's description has no owner. `sources`: the targets of the
    answer's `[n]`."""
    contradictions = []
    for conflict in conflicts:
        sides = (conflict.one, conflict.other)
        chunks = [side.first for side in sides]
        places = {chunk.section for chunk in chunks}
        cards = [documents.get(chunk.document_id) for chunk in chunks]
        if len(places) < 2 or any(side.from_picture for side in sides):
            continue
        if any(card is None or is_out_of_force(card) for card in cards):
            continue
        claim = f"{conflict.about or question} [1]"
        one, other = (
            citation(
                side.first,
                sources.index(side) + 1 if side in sources else 0,
                supporting_words(claim, 1, side),
                documents,
            )
            for side in sides
        )
        contradictions.append(Contradiction(about=conflict.about, one=one, other=other))
    return tuple(contradictions)
