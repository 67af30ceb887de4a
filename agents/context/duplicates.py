"""Passages and documents that say nearly the same: which of them the question is about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from agents.extractive.language import asks_about_the_past
from agents.plan import Plan
from enrichment.chunk import Chunk, DocumentCard, is_out_of_force
from enrichment.language.quantities import figures
from enrichment.language.words import stems, tokens

NEAR_DUPLICATE = 0.92
"""Share of the larger chunk's words that both hold: of a chunk that says more, nothing is lost."""
EDITION = 0.6
"""The same for one section of two editions, in which figures and names differ."""
_FEWEST_WORDS = 8
_TURNING = frozenset(
    (
        "no",
        "not",
        "never",
        "none",
        "neither",
        "nor",
        "without",
        "cannot",
        "unless",
        "except",
        "only",
    )
)
"""Words of which one more or less turns a sentence round."""

Names = frozenset[str]
Preference = tuple[bool, bool, bool]


@dataclass(frozen=True, kw_only=True)
class Editions:
    """Tells editions of a text apart for one question: regions, teams, products, years."""

    asked: Names
    """Stems of the question."""
    past: bool
    documents: Mapping[str, DocumentCard]
    titled: Mapping[str, int]
    """Stem → number of titles with it: `team` tells less than `Treasury`."""

    def prefers(self, chunk: Chunk, other: Chunk) -> bool:
        """Whether the first of two editions is nearer to what was asked: by a name in its title
        that the question names, by having no name that it doesn't, or by being in force. Who asks
        about the past may mean either."""
        if self.past and self._is_in_force(chunk) != self._is_in_force(other):
            return False
        mine, theirs = stems(chunk.document_title), stems(other.document_title)
        return self._standing(chunk, mine, theirs) > self._standing(other, theirs, mine)

    def beside_the_question(self, chunks: Iterable[Chunk]) -> set[str]:
        """Documents that are an edition for somebody else, as `Key Rotation: Brazil` is beside
        `Key Rotation` when Brazil isn't asked about.

        That a passage of the one resembles a passage of the other is seen once; then the title
        tells of every further edition of the same document."""
        by_heading: dict[str, list[Chunk]] = {}
        for chunk in chunks:
            by_heading.setdefault(_heading(chunk), []).append(chunk)
        originals = {
            _written(original.document_title): stems(original.document_title)
            for alike in by_heading.values()
            for original in alike
            for other in alike
            if stems(original.document_title) < stems(other.document_title)
            and are_editions(original, other)
        }
        return {
            document
            for document, card in self.documents.items()
            if any(
                title in _written(card.title)
                and names < (all_names := stems(card.title))
                and not self._is_asked_about(all_names - names)
                for title, names in originals.items()
            )
        }

    def _is_asked_about(self, apart: Names) -> bool:
        """Whether the question names what an edition is for: most of it, rare words first."""
        weights = {name: 1 / self.titled.get(name, 1) for name in apart}
        named = sum(weights[name] for name in apart & self.asked)
        return named > sum(weights.values()) / 2

    def _standing(self, chunk: Chunk, mine: Names, theirs: Names) -> Preference:
        named = self._is_asked_about(mine - theirs)
        return named, named or not mine > theirs, self._is_in_force(chunk)

    def _is_in_force(self, chunk: Chunk) -> bool:
        return not is_out_of_force(self.documents.get(chunk.document_id))


def editions_for(plan: Plan, documents: Mapping[str, DocumentCard]) -> Editions:
    said = " ".join((plan.question, *plan.parts))
    return Editions(
        asked=stems(said),
        past=asks_about_the_past(plan.question),
        documents=documents,
        titled=Counter(name for card in documents.values() for name in stems(card.title)),
    )


def is_near_duplicate(chunk: Chunk, other: Chunk) -> bool:
    """Same words but for a few; tables with other cells are never duplicates of each other, nor
    are texts with other figures or another `not`."""
    if chunk.text == other.text:
        return True
    if chunk.kind == "table" or other.kind == "table":
        return False
    if _in_common(stems(chunk.text), stems(other.text)) < NEAR_DUPLICATE:
        return False
    same_figures = figures(chunk.text) == figures(other.text)
    return same_figures and _turning_words(chunk.text) == _turning_words(other.text)


def are_editions(chunk: Chunk, other: Chunk) -> bool:
    """The same section of two documents, with mostly the same words."""
    return (
        chunk.document_id != other.document_id
        and _heading(chunk) == _heading(other)
        and _in_common(_worded(chunk), _worded(other)) >= EDITION
    )


def _written(title: str) -> str:
    """Its words between single spaces. By stems alone `Work Schedules`, which is one, would be in
    every title with a schedule."""
    return f" {' '.join(tokens(title)).casefold()} "


def _turning_words(text: str) -> list[str]:
    said = (word.lower() for word in tokens(text))
    return sorted(word for word in said if word in _TURNING or word.endswith(("n't", "n’t")))


def _heading(chunk: Chunk) -> str:
    """The title's own section has none: every edition has another title."""
    path = chunk.heading_path
    return path[-1] if path and path[-1] != chunk.document_title else ""


def _worded(chunk: Chunk) -> Names:
    """Without the figures: they are what editions differ in."""
    return frozenset(word for word in stems(chunk.text) if word.isalpha())


def _in_common(mine: Names, theirs: Names) -> float:
    if min(len(mine), len(theirs)) < _FEWEST_WORDS:
        return 0.0
    return len(mine & theirs) / max(len(mine), len(theirs))
