"""How well each sentence and row answers: a linear model of seven things that can be measured.

`benchmarks/left_out.py` fits the weights, and says how they do on documents they never saw."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from agents.extractive.glossary import Glossary, same_words
from agents.extractive.past import asks_about_the_past
from agents.plan import Plan
from enrichment.chunk import Chunk, Unit, is_out_of_force
from enrichment.language.words import naming_words, stems, tokens
from index.search import Hit, Snapshot

_UNRANKED = 100
_EARLIER_TURN = 0.5
"""Weight of a word that only the earlier turn of a follow-up named."""


@dataclass(frozen=True, kw_only=True)
class Aspect:
    """The question, or one of the questions in it."""

    text: str
    weights: Mapping[str, float]
    """Stem → rarity."""
    same: Mapping[str, tuple[frozenset[str], ...]] = field(default_factory=dict)
    """Stem → the stems that say it in another way."""

    def named_in(self, words: Set[str]) -> set[str]:
        """Which of the aspect's words stand among these, in one way or another."""
        found = set(self.weights.keys() & words)
        found |= {word for word, ways in self.same.items() if any(way <= words for way in ways)}
        return found

    def coverage(self, words: Set[str]) -> float:
        """Share of the aspect's rarity that these words hold, 0–1."""
        total = sum(self.weights.values())
        return sum(self.weights[word] for word in self.named_in(words)) / total if total else 0.0


@dataclass(frozen=True, kw_only=True)
class Scored:
    """One sentence or row, and how well it answers."""

    chunk: Chunk
    index: int
    """Of the unit, in `chunk.units`."""
    strength: float
    """Log-odds of holding a part of the answer to the whole question."""
    similarity: float
    """Cosine with the whole question."""
    coverage: float
    """Share of the question's rarity that it holds, headings included, 0–1."""
    aspects: tuple[float, ...]
    """Strength for each aspect: the whole question, then its parts."""
    agreement: float = 0.0
    """How far the searches agree on its chunk: 1 when all three put it first."""

    @property
    def score(self) -> float:
        """Strength as a probability, 0–1."""
        return 1 / (1 + math.exp(-max(-50.0, min(50.0, self.strength))))

    @property
    def unit(self) -> Unit:
        return self.chunk.units[self.index]


def aspects_of(plan: Plan, snapshot: Snapshot, glossary: Glossary) -> list[Aspect]:
    """The whole question first; words of the earlier turn count less than those just said."""
    earlier = naming_words(plan.previous).keys()
    now = naming_words(plan.question.removeprefix(plan.previous[:-1])) if plan.previous else {}
    whole = {
        word: snapshot.rarity(surface)
        * (_EARLIER_TURN if word in earlier and word not in now else 1)
        for word, surface in naming_words(plan.question).items()
    }
    parts = [
        Aspect(
            text=part,
            weights={w: snapshot.rarity(s) for w, s in naming_words(part).items()},
            same=same_words(glossary, part),
        )
        for part in plan.parts
    ]
    same = same_words(glossary, plan.question)
    return [Aspect(text=plan.question, weights=whole, same=same), *parts]


WEIGHTS_BY_FEATURE = {
    "similarity": 7.5,  # cosine with the question
    "coverage": 8.5,  # share of the question's rarity in it, its title and its headings
    "search rank": 1.9,  # 1 / √rank of its chunk
    "agreement": 3.4,  # how far the searches by chunk, by unit and by keyword agree on its chunk
    "row": 1.0,  # of a table: it holds more facts than a sentence of the same likeness
    "length": 1.9,  # a heading-like fragment resembles any question and answers none
    "out of force": -3.4,  # replaced or withdrawn, and the past is not asked for
}
FEATURES = tuple(WEIGHTS_BY_FEATURE)
WEIGHTS: NDArray[np.float64] = np.array(list(WEIGHTS_BY_FEATURE.values()))
BIAS = -12.6
_SIMILARITY, _COVERAGE, _AGREEMENT = map(FEATURES.index, ("similarity", "coverage", "agreement"))


def score_units(
    plan: Plan, snapshot: Snapshot, hits: Sequence[Hit], glossary: Glossary
) -> list[Scored]:
    """Every unit of the hits, best first for the whole question.

    A part of a question finds its own best statement, but ranks nothing: by itself, "who may
    do it" matches anything."""
    tables = [
        features(aspect, plan, snapshot, hits) for aspect in aspects_of(plan, snapshot, glossary)
    ]
    strengths = [table @ WEIGHTS + BIAS for table in tables]
    scored: list[Scored] = []
    for hit in hits:
        for index in range(len(hit.chunk.units)):
            row = len(scored)
            scored.append(
                Scored(
                    chunk=hit.chunk,
                    index=index,
                    strength=float(strengths[0][row]),
                    similarity=float(tables[0][row, _SIMILARITY]),
                    coverage=float(tables[0][row, _COVERAGE]),
                    agreement=float(tables[0][row, _AGREEMENT]),
                    aspects=tuple(float(strength[row]) for strength in strengths),
                )
            )
    return sorted(scored, key=lambda unit: -unit.strength)


def features(
    aspect: Aspect, plan: Plan, snapshot: Snapshot, hits: Sequence[Hit]
) -> NDArray[np.float64]:
    """(units, FEATURES): one row for each unit of each hit, in order."""
    similarities = snapshot.unit_similarities(aspect.text, [hit.chunk.id for hit in hits])
    past = asks_about_the_past(plan.question)
    rows: list[list[float]] = []
    for rank, hit in enumerate(hits, start=1):
        chunk = hit.chunk
        around = stems(" ".join((chunk.document_title, chunk.tab, *chunk.heading_path)))
        of_chunk = [
            1 / math.sqrt(rank),
            _agreement(hit),
            float(not past and is_out_of_force(snapshot.documents.get(chunk.document_id))),
        ]
        cosines = similarities.get(chunk.id) or [0.0] * len(chunk.units)
        for unit, cosine in zip(chunk.units, cosines, strict=True):
            held = stems(unit.index_text) | stems(unit.text) | around
            of_unit = [float(unit.kind == "row"), math.log(1 + len(tokens(unit.text))) / 4]
            rows.append([cosine, aspect.coverage(held), *of_chunk[:2], *of_unit, of_chunk[2]])
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(FEATURES))


def _agreement(hit: Hit) -> float:
    """1 when all three searches put the chunk first, near 0 when one of them found it far down."""
    ranks = [hit.ranks.get(name, _UNRANKED) for name in ("chunks", "units", "keywords")]
    return sum(1 / math.sqrt(rank) for rank in ranks) / len(ranks)
