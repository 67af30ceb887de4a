"""Sources that a model says can't both be true, as contradictions for people to settle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agents.answer import Contradiction
from agents.checks.groundedness import supporting_words
from agents.context.source import Source
from agents.extractive.citing import citation
from agents.second_look.verdict import MOST_CONFLICTS, Conflict
from enrichment.chunk import DocumentCard, is_out_of_force
from enrichment.safety.grounding import Grounds


@dataclass(frozen=True, kw_only=True)
class SourceConflict:
    """Two sources that can't both be true, as the model that read them says."""

    one: Source
    other: Source
    about: str
    """In words that the two hold; else ''. The question, and what else was read, may be private."""


def conflicts_between(
    told: Sequence[Conflict], sources: Sequence[Source], read: Sequence[str]
) -> tuple[SourceConflict, ...]:
    """Those between two sources that there are, each pair once. `read`: what the model was shown of
    each source."""
    known = range(1, min(len(sources), len(read)) + 1)
    pairs = {
        tuple(sorted((one.one, one.other))): one
        for one in reversed(told)
        if one.one != one.other and one.one in known and one.other in known
    }
    return tuple(
        SourceConflict(
            one=sources[one.one - 1],
            other=sources[one.other - 1],
            about=one.about if _is_about(one, read) else "",
        )
        for one in [*reversed(pairs.values())][:MOST_CONFLICTS]
    )


def _is_about(one: Conflict, read: Sequence[str]) -> bool:
    return Grounds([read[one.one - 1], read[one.other - 1]]).hold(one.about)


def contradictions_told(
    conflicts: Sequence[SourceConflict],
    cited: Sequence[Source],
    question: str,
    documents: Mapping[str, DocumentCard],
) -> tuple[Contradiction, ...]:
    """Between two places of documents in force: a superseded one loses, and what a tool said or
    a model saw in a picture is nobody's text. `cited`: what the answer's `[n]` point to."""
    found = []
    for conflict in conflicts:
        sides = (conflict.one, conflict.other)
        chunks = [side.first for side in sides]
        places = {(chunk.document_id, chunk.tab, chunk.heading_path) for chunk in chunks}
        cards = [documents.get(chunk.document_id) for chunk in chunks]
        if len(places) < 2 or any(side.from_picture for side in sides):
            continue
        if any(card is None or is_out_of_force(card) for card in cards):
            continue
        said = f"{conflict.about or question} [1]"
        one, other = (
            citation(
                side.first,
                cited.index(side) + 1 if side in cited else 0,
                supporting_words(said, 1, side),
                documents,
            )
            for side in sides
        )
        found.append(Contradiction(about=conflict.about, one=one, other=other))
    return tuple(found)
