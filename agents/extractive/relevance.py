"""How well each sentence and row answers: a small linear model over what can be measured.

Words shared, weighted by rarity; cosines; the ranks that search gave; what kind of fact is asked.
The weights are fitted by `benchmarks/fit_relevance.py` and say nothing about any one company."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from agents.extractive.superseded import asks_about_the_past, is_superseded
from agents.plan import Plan
from enrichment.chunk import Chunk, Unit
from enrichment.language.words import is_code, naming_words, stems, tokens
from index.search import Hit, Snapshot

_EARLIER_TURN = 0.5
"""Weight of a word that only the earlier turn of a follow-up named."""

_DURATION = re.compile(
    r"\d+\s*(?:sec|min|hour|day|week|month|year|mo\b|h\b|d\b)|\b(?:daily|weekly|monthly|yearly|"
    r"annual|quarter|at once|immediately|same day|every|never expires?|days?|hours?)\b",
    re.IGNORECASE,
)
_PERSON = re.compile(
    r"\b(?:owner|manager|lead|officer|team|engineer|counsel|director|desk|committee|board|"
    r"administrator|commander|reviewer|approver|sponsor|responsible|contact|[A-Z]{3,4})\b"
)
_NUMBER = re.compile(r"\d")
_RULE = re.compile(
    r"\b(?:must|shall|should|may|can|cannot|can't|need(?:s|ed)?|never|only|always|required?"
    r"|allowed|permitted|prohibited|forbidden|not|no|at (?:least|most)|unless|within)\b",
    re.IGNORECASE,
)
_ASIDE = re.compile(
    r"^\W*(?:rationale|note|example|for (?:example|instance)|see\b|this (?:section|page|document)"
    r"|last modified|references?\b|resources?\b|(?:the )?following\b|e\.g\.)",
    re.IGNORECASE,
)
_ASKS_PERMISSION = re.compile(
    r"^\W*(?:\w+\W+){0,12}?(?:can|may|could|should|must|do|does|is|are|am|will|would|need|have to)"
    r"\W+(?:i|we|you|they|he|she|it|people|ppl|someone|anyone|staff|this|that|the|a|an|our|my|\w+s)\b"
    r"|\b(?:allowed|permitted|okay?|fine|required|mandatory|problem|legit)\b",
    re.IGNORECASE,
)
_ASKS_STEPS = re.compile(
    r"\b(?:how (?:do|can|should|to)|steps?|what (?:do|should) (?:i|we)|command|set ?up)\b",
    re.IGNORECASE,
)
_LINKS = re.compile(
    r"\b(?:resources|references|see also|related|further reading|bibliography)\b", re.I
)
_ASKS_DURATION = re.compile(
    r"\bhow (?:long|often|soon|fast|quick\w*|old|many (?:days|hours|months|weeks|years|minutes))"
    r"|\b(?:deadline|when|by when|until|till|expire|frequency|max(?:imum)? age|sla|timer|clock)\b",
    re.IGNORECASE,
)
_ASKS_PERSON = re.compile(
    r"\bwho(?:se|m)?\b|\b(?:approv\w+|contact|sign off|owner|responsible)\b", re.I
)
_ASKS_NUMBER = re.compile(
    r"\bhow (?:many|much|big|large|high)\b|\b(?:limit|number|max|min|size|cost|price|rate|"
    r"percent\w*|threshold|quota)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, kw_only=True)
class Aspect:
    """The question, or one of the questions in it."""

    text: str
    weights: Mapping[str, float]
    """Stem → rarity."""

    def coverage(self, words: frozenset[str]) -> float:
        """Share of the aspect's rarity that these words hold, 0–1."""
        total = sum(self.weights.values())
        return (
            sum(self.weights[word] for word in self.weights.keys() & words) / total
            if total
            else 0.0
        )


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


def aspects_of(plan: Plan, snapshot: Snapshot) -> list[Aspect]:
    """The whole question first; words of the earlier turn count less than those just said."""
    earlier = naming_words(plan.previous).keys()
    now = naming_words(plan.question.removeprefix(plan.previous[:-1])) if plan.previous else {}
    whole = {
        word: snapshot.rarity(surface)
        * (_EARLIER_TURN if word in earlier and word not in now else 1)
        for word, surface in naming_words(plan.question).items()
    }
    parts = [
        Aspect(text=part, weights={w: snapshot.rarity(s) for w, s in naming_words(part).items()})
        for part in plan.sub_questions
    ]
    return [Aspect(text=plan.question, weights=whole), *parts]


WEIGHTS_BY_FEATURE = {
    "similarity": 4.81,
    "unit coverage": 1.72,
    "coverage with headings": 2.44,
    "code coverage": 0.83,
    "search rank": 1.53,
    "best of its chunk": 1.58,
    "chunk similarity": 1.74,
    "document": 0.78,
    "row": 0.56,
    "item": -0.11,
    "length": 0.33,
    "duration asked and given": 1.9,
    "person asked and given": 0.37,
    "number asked and given": 1.97,
    "superseded": -2.1,
    "label coverage": 2.65,
    "rule": 0.64,
    "permission asked and rule given": 0.38,
    "aside": -0.9,
    "first in its chunk": 0.07,
    "neighbours' similarity": -0.28,
    "rank by chunks": 0.94,
    "rank by units": 0.79,
    "rank by keywords": 1.48,
    "rarity shared": 1.33,
    "rarest shared": -0.03,
    "step asked and given": 0.18,
    "link list": -0.42,
}
FEATURES = tuple(WEIGHTS_BY_FEATURE)
WEIGHTS: NDArray[np.float64] = np.array(list(WEIGHTS_BY_FEATURE.values()))
BIAS = -9.0
_SIMILARITY, _COVERAGE = FEATURES.index("similarity"), FEATURES.index("coverage with headings")
_RANKS = [FEATURES.index(f"rank by {name}") for name in ("chunks", "units", "keywords")]


def score_units(plan: Plan, snapshot: Snapshot, hits: Sequence[Hit]) -> list[Scored]:
    """Every unit of the hits, best first for the whole question.

    A part of a question finds its own best statement, but ranks nothing: by itself, "can I log
    off" matches anything (all facts said: 0.60 with parts in the ranking, 0.65 without)."""
    tables = [features(aspect, plan, snapshot, hits) for aspect in aspects_of(plan, snapshot)]
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
                    agreement=float(tables[0][row, _RANKS].mean()),
                    aspects=tuple(float(strength[row]) for strength in strengths),
                )
            )
    return sorted(scored, key=lambda unit: -unit.strength)


def features(
    aspect: Aspect, plan: Plan, snapshot: Snapshot, hits: Sequence[Hit]
) -> NDArray[np.float64]:
    """(units, FEATURES): one row for each unit of each hit, in order."""
    similarities = snapshot.unit_similarities(aspect.text, [hit.chunk.id for hit in hits])
    documents = _document_scores(hits)
    past = asks_about_the_past(plan.question)
    rows: list[list[float]] = []
    for rank, hit in enumerate(hits, start=1):
        chunk = hit.chunk
        cosines = [float(c) for c in similarities.get(chunk.id, ())] or [0.0] * len(chunk.units)
        best = max(cosines, default=0.0)
        around = stems(" ".join((chunk.document_title, chunk.tab, *chunk.heading_path)))
        superseded = not past and is_superseded(snapshot.documents, chunk.document_id)
        ranks = [
            1 / math.sqrt(hit.ranks.get(name, 100)) for name in ("chunks", "units", "keywords")
        ]
        for place, (unit, cosine) in enumerate(zip(chunk.units, cosines, strict=True)):
            rows.append(
                [
                    float(cosine),
                    *_coverages(aspect, unit, around),
                    1 / math.sqrt(rank),
                    float(cosine) / best if best > 0 else 0.0,
                    hit.similarity,
                    documents[chunk.document_id],
                    float(unit.kind == "row"),
                    float(unit.kind == "item"),
                    math.log(1 + len(tokens(unit.text))) / 4,
                    *_kind_of_fact(aspect.text, unit.text),
                    float(superseded),
                    _label_coverage(aspect, chunk, unit),
                    *_standing(aspect.text, unit.text),
                    float(place == 0),
                    max(
                        cosines[max(0, place - 1) : place] + cosines[place + 1 : place + 2],
                        default=0.0,
                    ),
                    *ranks,
                    *_shared(aspect, unit, around),
                    float(
                        bool(_ASKS_STEPS.search(aspect.text))
                        and (unit.kind == "item" or chunk.kind == "code")
                    ),
                    float(bool(_LINKS.search(" ".join(chunk.heading_path[-1:])))),
                ]
            )
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(FEATURES))


def _coverages(aspect: Aspect, unit: Unit, around: frozenset[str]) -> tuple[float, float, float]:
    own = stems(unit.index_text) | stems(unit.text)
    codes = {word: weight for word, weight in aspect.weights.items() if is_code(word)}
    exact = Aspect(text="", weights=codes).coverage(own) if codes else 0.0
    return aspect.coverage(own), aspect.coverage(own | around), exact


def _shared(aspect: Aspect, unit: Unit, around: frozenset[str]) -> tuple[float, float]:
    """Rarity of what is shared, by itself: chatter around a name costs nothing."""
    own = stems(unit.index_text) | stems(unit.text)
    found = [aspect.weights[word] for word in aspect.weights.keys() & (own | around)]
    return sum(found) / 10, max(
        (aspect.weights[w] for w in aspect.weights.keys() & own), default=0.0
    ) / 7


def _document_scores(hits: Sequence[Hit]) -> dict[str, float]:
    """Document → share of the best document's reciprocal ranks, 0–1."""
    scores: dict[str, float] = defaultdict(float)
    for rank, hit in enumerate(hits):
        scores[hit.chunk.document_id] += 1 / (5 + rank)
    best = max(scores.values(), default=1.0)
    return {document: score / best for document, score in scores.items()}


def _kind_of_fact(question: str, text: str) -> tuple[float, float, float]:
    return (
        float(bool(_ASKS_DURATION.search(question) and _DURATION.search(text))),
        float(bool(_ASKS_PERSON.search(question) and _PERSON.search(text))),
        float(bool(_ASKS_NUMBER.search(question) and _NUMBER.search(text))),
    )


def _standing(question: str, text: str) -> tuple[float, float, float]:
    """Whether the text rules something, was asked to, or stands beside the matter."""
    rule = bool(_RULE.search(text))
    return (
        float(rule),
        float(rule and bool(_ASKS_PERMISSION.search(question))),
        float(bool(_ASIDE.match(text))),
    )


def _label_coverage(aspect: Aspect, chunk: Chunk, unit: Unit) -> float:
    """How much of the question stands in the cells that name this row."""
    if unit.row is None or chunk.table is None:
        return 0.0
    label = chunk.table.rows[unit.row][: chunk.table.label_columns]
    return aspect.coverage(stems(" ".join(label)))
