"""What each of several domains has on a question, measured alike: one search in each of them.

Words count by how rare they are over all the domains together, each domain as much as the others:
in a domain that speaks of nothing but keys, "key" is common, and yet it is what tells it apart.

Of domains that are close to each other, the one that a model holds a question to be for."""

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
from config.models import ChatModel, Usage
from config.prompts import Foreign, listed
from enrichment.chunk import Unit
from enrichment.language.words import naming_words, stems
from index.search import Hit, SearchQuery, Snapshot

Matrix = NDArray[np.float64]

READ = 5
"""Passages of each domain."""
TELLING = 3
"""Of these, the ones that best match; a single one can be an accident."""

WEIGHTS = {
    "similarity": 20.0,  # cosine of a passage with the question
    "coverage": 15.5,  # share of the question's rarity in the passage, its title and headings
}
"""Of differences between domains, each the mean of its telling passages; fitted and measured by
`benchmarks/which_domain.py`. How common the question's words are in a domain, and its single best
passage, added nothing on documents left out."""
CLOSE = 0.1
"""Of the best domain's chance. A domain with more of it may as well be the one that is meant."""


@dataclass(frozen=True, kw_only=True)
class TellingPassage:
    """A passage that speaks of the question."""

    title: str
    heading: str
    text: str
    """The sentence or row that comes nearest."""


@dataclass(frozen=True, kw_only=True)
class DomainScore:
    """One domain, and what speaks for it."""

    domain: Domain
    chance: float
    """That the question is for its documents, among the domains compared, 0–1."""
    places: tuple[TellingPassage, ...] = ()
    """At most `TELLING`, best first."""


@dataclass(frozen=True, kw_only=True)
class DomainEvidence:
    """What was found in one domain."""

    domain: Domain
    matches: tuple[tuple[float, ...], ...] = ()
    """Of at most `TELLING` passages, best first, what `WEIGHTS` names."""
    places: tuple[TellingPassage, ...] = ()
    """The same passages."""


Opened = tuple[Domain, Snapshot]
"""A domain, as its asker may read it."""


def score_domains(
    question: str, opened: Sequence[Opened]
) -> tuple[list[DomainScore], PermissionsUnknown | IndexUnavailable | None]:
    """Best first, ties in their order; and why one that is missing could not be searched."""
    looked, unavailable = search_domain(question, opened)
    if not looked:
        return [], unavailable
    strengths = features(looked) @ _weights()
    odds = np.exp(strengths - strengths.max())
    found = [
        DomainScore(domain=one.domain, chance=float(odd / odds.sum()), places=one.places)
        for one, odd in zip(looked, odds, strict=True)
    ]
    return sorted(found, key=lambda one: -one.chance), unavailable


def features(looked: Sequence[DomainEvidence]) -> Matrix:
    """(domains, `WEIGHTS`): the mean of as many passages of each as the poorest of them has; of
    fewer it would be the higher one."""
    counts = [len(one.matches) for one in looked if one.matches]
    compared = min(counts, default=0)
    return np.array(
        [
            np.mean(one.matches[:compared], axis=0) if one.matches else np.zeros(len(WEIGHTS))
            for one in looked
        ]
    )


def close_ones(found: Sequence[DomainScore], most: int) -> list[DomainScore]:
    """The best, and those that come near it; `found`: best first."""
    return [one for one in found[:most] if one.chance > CLOSE * found[0].chance or one is found[0]]


def search_domain(
    question: str, opened: Sequence[Opened]
) -> tuple[list[DomainEvidence], PermissionsUnknown | IndexUnavailable | None]:
    """One search in each; see `weighed`."""
    words = naming_words(question) if opened else {}
    rarity = {
        word: _over_all([snapshot.rarity(surface) for _, snapshot in opened])
        for word, surface in words.items()
    }
    looked: list[DomainEvidence] = []
    unavailable: PermissionsUnknown | IndexUnavailable | None = None
    for domain, snapshot in opened:
        try:
            looked.append(_looked(question, rarity, domain, snapshot))
        except (PermissionsUnknown, IndexUnavailable) as error:
            unavailable = error
    return looked, unavailable


def _over_all(rarities: Sequence[float]) -> float:
    """Of a word in the domains taken together; each domain's passages count as one whole."""
    return -math.log(sum(math.exp(-one) for one in rarities) / len(rarities))


def _looked(
    question: str, rarity: Mapping[str, float], domain: Domain, snapshot: Snapshot
) -> DomainEvidence:
    same = same_words(domain.glossary, question)
    aspect = Aspect(text=question, weights=rarity, same=same)
    hits = snapshot.search(SearchQuery(variants=(question,), limit=READ))
    if not hits:
        return DomainEvidence(domain=domain)
    matches = np.array([(hit.similarity, aspect.coverage(_held(hit))) for hit in hits])
    best = np.argsort(-(matches @ _weights()), kind="stable")[:TELLING]
    return DomainEvidence(
        domain=domain,
        matches=tuple(tuple(row) for row in matches[best].tolist()),
        places=tuple(_place(hits[place]) for place in best),
    )


def _weights() -> Matrix:
    return np.array(list(WEIGHTS.values()))


def _held(hit: Hit) -> frozenset[str]:
    """What the passage's best sentence or row can be matched by, its headings included."""
    chunk, unit = hit.chunk, _unit(hit)
    around = stems(" ".join((chunk.document_title, chunk.tab, *chunk.heading_path)))
    said = stems(unit.index_text) | stems(unit.text) if unit else stems(chunk.text)
    return around | said


def _unit(hit: Hit) -> Unit | None:
    return None if hit.unit is None else hit.chunk.units[hit.unit]


def _place(hit: Hit) -> TellingPassage:
    unit = _unit(hit)
    return TellingPassage(
        title=hit.chunk.document_title,
        heading=hit.chunk.heading,
        text=unit.text if unit else hit.chunk.text,
    )


_LONGEST_PLACE = 400
"""Characters of a passage."""
_TURNS = 4
_LONGEST_TURN = 300


class ChosenAreas(BaseModel):
    """The reply asked of the model."""

    reason: str = Field(
        default_factory=str, description="Whose rules the person needs, one sentence"
    )
    areas: list[int] = Field(
        description="Number of the area; two or three numbers to have the person asked"
    )


@dataclass(frozen=True, kw_only=True)
class Picked:
    """The domains that it named, likeliest first: one, or several that the asker chooses from."""

    domains: tuple[DomainScore, ...]
    usage: Usage


def picked_by_model(model: ChatModel, question: Question, close: Sequence[DomainScore]) -> Picked:
    """Raises ModelError."""
    prompt = render(
        "domain",
        earlier=Foreign("said before", listed(_earlier(question))),
        areas=[
            Foreign(f"area {number}: {one.domain.title}", _described(one))
            for number, one in enumerate(close, start=1)
        ],
        question=Foreign("question", question.text),
    )
    reply, usage = model.structured(prompt, ChosenAreas)
    known = [number for number in dict.fromkeys(reply.areas) if 1 <= number <= len(close)]
    if not known:
        raise InvalidModelOutput("it named no area of the list")
    return Picked(domains=tuple(close[number - 1] for number in known), usage=usage)


def _earlier(question: Question) -> list[str]:
    return [
        f"{turn.role}: {' '.join(turn.content.split())[:_LONGEST_TURN]}"
        for turn in question.history[-_TURNS:]
    ]


def _described(one: DomainScore) -> str:
    passages = [
        f"{' › '.join(filter(None, (place.title, place.heading)))}: "
        f"{' '.join(place.text.split())[:_LONGEST_PLACE]}"
        for place in one.places
    ]
    return listed([*passages, *(f"can ask {tool.name}: {tool.what}" for tool in one.domain.tools)])
