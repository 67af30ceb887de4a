"""Which golden questions find their evidence in one generation, and where it stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from agents.graph import build_ask
from config.domain import Domain
from index.search import Snapshot
from jobs.evaluation.metrics.scoring import evidence_found
from jobs.golden.golden_questions import GoldenQuestion
from jobs.golden.same_words import plain, words_of, words_of_all


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
    return {f"{one.id} {one.digest[:12]}": one for one in golden if one.answerable and one.evidence}


def evidence_seen(
    snapshot: Snapshot, domain: Domain, golden: Mapping[str, GoldenQuestion]
) -> Sight:
    """`golden`: by their marks.

    Each question is asked without a model, whatever is configured: that takes no money and no
    luck, and shows what the index can do."""
    ask = build_ask(snapshot=lambda: snapshot, domain=domain, model=None)

    @cache
    def held(document: str) -> list[tuple[str, str]]:
        """(place, plain words) of each chunk, then of the whole document."""
        chunks = snapshot.chunks(document)
        parts = [(chunk.place, words_of(chunk)) for chunk in chunks]
        return [*parts, (chunks[0].place, words_of_all(chunks))] if chunks else []

    def place(document: str, quote: str) -> str:
        wanted = plain(quote)
        return next((name for name, words in held(document) if wanted in words), "")

    seen: Sight = {}
    for mark, question in golden.items():
        answer = ask(question.asked, None)
        seen[mark] = tuple(
            SeenEvidence(shown=shown, place=place(one.document, one.quote))
            for one, shown in zip(question.evidence, evidence_found(question, answer), strict=True)
        )
    return seen
