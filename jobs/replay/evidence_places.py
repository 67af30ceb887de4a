"""Which golden questions find their evidence in one generation, and where it stands."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from agents.answer import Question, Turn
from agents.graph import build_ask
from config.domain import Domain
from index.search import Snapshot
from jobs.evaluation.metrics.scoring import evidence_found
from jobs.golden.golden_questions import GoldenQuestion
from jobs.golden.same_words import plain


@dataclass(frozen=True, kw_only=True)
class SeenEvidence:
    """One evidence quote of a golden question, in one generation."""

    shown: bool
    """Among the passages that the answer is made from."""
    place: str
    """`Title › Heading` of the passage that holds it; empty where no passage does."""


Sight = dict[str, tuple[SeenEvidence, ...]]
"""Mark of a golden question → its evidence, in its order."""


def marked(golden: Sequence[GoldenQuestion]) -> dict[str, GoldenQuestion]:
    """Those that have evidence, by a mark that another wording or other evidence changes: only
    the same question can be compared with itself."""
    return {_mark(one): one for one in golden if one.answerable and one.evidence}


def _mark(question: GoldenQuestion) -> str:
    said = question.model_dump_json(include={"id", "question", "history", "evidence"})
    return f"{question.id} {hashlib.sha256(said.encode()).hexdigest()[:12]}"


def evidence_seen(
    snapshot: Snapshot, domain: Domain, golden: Mapping[str, GoldenQuestion]
) -> Sight:
    """`golden`: by their marks.

    Each question is asked without a model, whatever is configured: that takes no money and no
    luck, and shows what the index can do."""
    ask = build_ask(snapshot=lambda: snapshot, domain=domain, model=None)

    @cache
    def held(document: str) -> list[tuple[str, str]]:
        """(place, plain text) of each chunk."""
        return [
            (
                " › ".join((chunk.document_title, *chunk.heading_path[-1:])),
                plain(f"{' '.join(chunk.heading_path)} {chunk.text}"),
            )
            for chunk in snapshot.chunks(document)
        ]

    def place(document: str, quote: str) -> str:
        wanted = plain(quote)
        whole = " ".join(text for _, text in held(document))
        # A quote may go on over the border of two chunks.
        otherwise = held(document)[0][0] if wanted in whole else ""
        return next((name for name, text in held(document) if wanted in text), otherwise)

    seen: Sight = {}
    for mark, question in golden.items():
        history = tuple(Turn(role=turn.role, content=turn.content) for turn in question.history)
        answer = ask(Question(text=question.question, history=history), None)
        seen[mark] = tuple(
            SeenEvidence(shown=shown, place=place(one.document, one.quote))
            for one, shown in zip(question.evidence, evidence_found(question, answer), strict=True)
        )
    return seen
