"""Scores several domains for a question by one search in each; a model decides between close ones.

Words count by their rarity over all domains together, each with the same weight: in a domain about
keys the word "key" is common, and yet it identifies that domain."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from agents.answer import Question
from agents.extractive.language import same_words
from agents.extractive.relevance import Aspect
from agents.prompts import render
from config.domain import Domain
from config.errors import IndexUnavailable, InvalidModelOutput, PermissionsUnknown
from config.models import ChatModel, Usage, lose
from config.prompts import Foreign, listed
from enrichment.chunk import Unit
from enrichment.language.words import naming_words, stems
from index.search import Hit, SearchQuery, Snapshot

Matrix = NDArray[np.float64]

READ = 5
"""Passages per domain."""
TELLING = 3
"""The best of them; a single match can be an accident."""

WEIGHTS = {
    "similarity": 20.0,  # cosine of a passage with the question
    "coverage": 15.5,  # share of the question's rarity in the passage, its title and headings
}
"""Weights of differences between domains, each the mean over its best passages; fitted and measured
by `benchmarks/which_domain.py`. The frequency of the question's words in a domain and its single
best passage added nothing on held-out documents."""
CLOSE = 0.1
"""Share of the best domain's chance above which another domain counts as close."""


@dataclass(frozen=True, kw_only=True)
class TellingPassage:
    title: str
    heading: str
    text: str
    """The nearest sentence or row."""


@dataclass(frozen=True, kw_only=True)
class DomainScore:
    domain: Domain
    chance: float
    """Probability among the compared domains, 0–1."""
    places: tuple[TellingPassage, ...] = ()
    """At most `TELLING`, best first."""


@dataclass(frozen=True, kw_only=True)
class DomainEvidence:
    domain: Domain
    matches: tuple[tuple[float, ...], ...] = ()
    """The features of `WEIGHTS` for at most `TELLING` passages, best first."""
    places: tuple[TellingPassage, ...] = ()
    """The same passages."""


ReadableDomain = tuple[Domain, Snapshot]
"""A domain with what its reader may see."""


def score_domains(
    question: str, readable: Sequence[ReadableDomain]
) -> tuple[list[DomainScore], PermissionsUnknown | IndexUnavailable | None]:
    """Best first, ties in input order; and the error of a domain that could not be searched."""
    evidence, unavailable = search_domain(question, readable)
    if not evidence:
        return [], unavailable
    strengths = features(evidence) @ _weights()
    odds = np.exp(strengths - strengths.max())
    scores = [
        DomainScore(domain=one.domain, chance=float(odd / odds.sum()), places=one.places)
        for one, odd in zip(evidence, odds, strict=True)
    ]
    return sorted(scores, key=lambda one: -one.chance), unavailable


def features(evidence: Sequence[DomainEvidence]) -> Matrix:
    """Shape (domains, `WEIGHTS`): means over the same number of passages, the smallest of all
    domains: a mean over fewer would be higher."""
    counts = [len(one.matches) for one in evidence if one.matches]
    compared = min(counts, default=0)
    return np.array(
        [
            np.mean(one.matches[:compared], axis=0) if one.matches else np.zeros(len(WEIGHTS))
            for one in evidence
        ]
    )


def close_ones(scores: Sequence[DomainScore], most: int) -> list[DomainScore]:
    """The best and those close to it. `scores`: best first."""
    return [
        one for one in scores[:most] if one.chance > CLOSE * scores[0].chance or one is scores[0]
    ]


def search_domain(
    question: str, readable: Sequence[ReadableDomain]
) -> tuple[list[DomainEvidence], PermissionsUnknown | IndexUnavailable | None]:
    """One search per domain; see `score_domains`."""
    words = naming_words(question) if readable else {}
    rarity = {
        word: _over_all([snapshot.rarity(surface) for _, snapshot in readable])
        for word, surface in words.items()
    }
    evidence: list[DomainEvidence] = []
    unavailable: PermissionsUnknown | IndexUnavailable | None = None
    for domain, snapshot in readable:
        try:
            evidence.append(_evidence(question, rarity, domain, snapshot))
        except (PermissionsUnknown, IndexUnavailable) as error:
            unavailable = error
    return evidence, unavailable


def _over_all(rarities: Sequence[float]) -> float:
    """A word's rarity over all domains, each with the same weight."""
    return -math.log(sum(math.exp(-one) for one in rarities) / len(rarities))


def _evidence(
    question: str, rarity: Mapping[str, float], domain: Domain, snapshot: Snapshot
) -> DomainEvidence:
    same = same_words(domain.glossary, question)
    aspect = Aspect(text=question, weights=rarity, same=same)
    hits = snapshot.search(SearchQuery(variants=(question,), limit=READ))
    if not hits:
        return DomainEvidence(domain=domain)
    matches = np.array([(hit.similarity, aspect.coverage(_matchable_stems(hit))) for hit in hits])
    best = np.argsort(-(matches @ _weights()), kind="stable")[:TELLING]
    return DomainEvidence(
        domain=domain,
        matches=tuple(tuple(row) for row in matches[best].tolist()),
        places=tuple(_place(hits[place]) for place in best),
    )


def _weights() -> Matrix:
    return np.array(list(WEIGHTS.values()))


def _matchable_stems(hit: Hit) -> frozenset[str]:
    """Stems of the passage's best sentence or row, with its headings."""
    chunk, unit = hit.chunk, _unit(hit)
    around = stems(" ".join((chunk.document_title, chunk.tab, *chunk.heading_path)))
    body = stems(unit.index_text) | stems(unit.text) if unit else stems(chunk.text)
    return around | body


def _unit(hit: Hit) -> Unit | None:
    return None if hit.unit is None else hit.chunk.units[hit.unit]


def _place(hit: Hit) -> TellingPassage:
    unit = _unit(hit)
    return TellingPassage(
        title=hit.chunk.document_title,
        heading=hit.chunk.heading,
        text=unit.text if unit else hit.chunk.text,
    )


_MAX_PLACE_CHARS = 400
_TURNS = 4
_MAX_TURN_CHARS = 300


class ChosenAreas(BaseModel):
    """The reply asked of the model."""

    reason: str = Field(
        default_factory=str, description="Whose rules the person needs, one sentence"
    )
    areas: list[int] = Field(
        description="Number of the area; two or three numbers to have the person asked"
    )


def choose_by_model(
    model: ChatModel, question: Question, close: Sequence[DomainScore]
) -> tuple[tuple[DomainScore, ...], Usage]:
    """The model's domains, likeliest first: one, or several for the user to choose from. Raises
    ModelError."""
    turns = question.history[-_TURNS:]
    earlier = (f"{one.role}: {' '.join(one.content.split())[:_MAX_TURN_CHARS]}" for one in turns)
    prompt = render(
        "domain",
        earlier=Foreign("said before", listed(earlier)),
        areas=[
            Foreign(f"area {number}: {one.domain.title}", _evidence_lines(one))
            for number, one in enumerate(close, start=1)
        ],
        question=Foreign("question", question.text),
    )
    reply, usage = model.structured(prompt, ChosenAreas)
    numbers = [number for number in dict.fromkeys(reply.areas) if 1 <= number <= len(close)]
    if not numbers:
        lose(usage)
        raise InvalidModelOutput("it named no area of the list")
    return tuple(close[number - 1] for number in numbers), usage


def _evidence_lines(one: DomainScore) -> str:
    passages = [
        f"{' › '.join(filter(None, (place.title, place.heading)))}: "
        f"{' '.join(place.text.split())[:_MAX_PLACE_CHARS]}"
        for place in one.places
    ]
    return listed([*passages, *(f"can ask {tool.name}: {tool.what}" for tool in one.domain.tools)])
