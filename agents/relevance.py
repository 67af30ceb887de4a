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

from agents.plan import Plan
from agents.source_identifier import asks_about_the_past, is_superseded
from agents.words import is_code, stems, terms, tokens
from enrichment.chunk import Chunk, Unit
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
    """One sentence or row, and the probability that it answers."""

    chunk: Chunk
    index: int
    """Of the unit, in `chunk.units`."""
    score: float
    similarity: float
    coverage: float
    aspects: tuple[float, ...]
    """Score for each aspect: the whole question, then its parts."""

    @property
    def unit(self) -> Unit:
        return self.chunk.units[self.index]


def aspects_of(plan: Plan, snapshot: Snapshot) -> list[Aspect]:
    """The whole question first; words of the earlier turn count less than those just said."""
    earlier = terms(plan.previous).keys()
    now = terms(plan.question.removeprefix(plan.previous[:-1])) if plan.previous else {}
    whole = {
        word: snapshot.rarity(surface)
        * (_EARLIER_TURN if word in earlier and word not in now else 1)
        for word, surface in terms(plan.question).items()
    }
    parts = [
        Aspect(text=part, weights={w: snapshot.rarity(s) for w, s in terms(part).items()})
        for part in plan.sub_questions
    ]
    return [Aspect(text=plan.question, weights=whole), *parts]


FEATURES = (
    "similarity",
    "unit coverage",
    "coverage with headings",
    "code coverage",
    "search rank",
    "best of its chunk",
    "chunk similarity",
    "document",
    "row",
    "item",
    "length",
    "duration asked and given",
    "person asked and given",
    "number asked and given",
    "superseded",
    "label coverage",
    "rule",
    "permission asked and rule given",
    "aside",
    "first in its chunk",
    "neighbours' similarity",
    "rank by chunks",
    "rank by units",
    "rank by keywords",
)
WEIGHTS: NDArray[np.float64] = np.array(
    [4.0, 2.0, 2.0, 0.5, 1.0, 1.0, 1.0, 1.0, 0.3, 0.0, 0.1, 0.4, 0.3, 0.2, -1.5, 0.8, 0.3, 0.3, -0.5, 0.1, 0.0, 0.0, 0.0, 0.0]
)
BIAS = -6.0


def score_units(plan: Plan, snapshot: Snapshot, hits: Sequence[Hit]) -> list[Scored]:
    """Every unit of the hits, best first."""
    aspects = aspects_of(plan, snapshot)
    tables = [features(aspect, plan, snapshot, hits) for aspect in aspects]
    scores = [_probability(table) for table in tables]
    scored: list[Scored] = []
    row = 0
    for hit in hits:
        for index in range(len(hit.chunk.units)):
            each = tuple(float(column[row]) for column in scores)
            # A part of the question is as good as the whole of it, but says less by itself.
            score = max(each[0], 0.9 * max(each[1:], default=0.0))
            scored.append(
                Scored(
                    chunk=hit.chunk,
                    index=index,
                    score=score,
                    similarity=float(tables[0][row, 0]),
                    coverage=float(tables[0][row, 2]),
                    aspects=each,
                )
            )
            row += 1
    return sorted(scored, key=lambda unit: -unit.score)


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
        ranks = [1 / math.sqrt(hit.ranks.get(name, 100)) for name in ("chunks", "units", "keywords")]
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
                    max(cosines[max(0, place - 1) : place] + cosines[place + 1 : place + 2], default=0.0),
                    *ranks,
                ]
            )
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(FEATURES))


def _probability(table: NDArray[np.float64]) -> NDArray[np.float64]:
    scores: NDArray[np.float64] = 1 / (1 + np.exp(-(table @ WEIGHTS + BIAS)))
    return scores


def _coverages(aspect: Aspect, unit: Unit, around: frozenset[str]) -> tuple[float, float, float]:
    own = stems(unit.index_text) | stems(unit.text)
    codes = {word: weight for word, weight in aspect.weights.items() if is_code(word)}
    exact = Aspect(text="", weights=codes).coverage(own) if codes else 0.0
    return aspect.coverage(own), aspect.coverage(own | around), exact


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
