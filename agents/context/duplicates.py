"""Near duplicates and editions of a text, and which of them a question is about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from agents.extractive.language import asks_about_the_past
from agents.extractive.table import in_a_line
from agents.plan import Plan
from enrichment.chunk import Chunk, DocumentCard, is_out_of_force
from enrichment.language.quantities import figures
from enrichment.language.words import stems, tokens

NEAR_DUPLICATE = 0.92
"""Share of the larger chunk's words in both: a chunk that says more is no duplicate."""
EDITION = 0.6
"""The same for a section of two editions, which differ in figures and names."""
_MIN_WORDS = 8
_NEGATING_WORDS = frozenset(
    ("no", "not", "never", "none", "neither", "nor", "without", "cannot", "unless", "except",
     "only")
)  # fmt: skip
"""One more or less of them reverses a sentence."""

Names = frozenset[str]


@dataclass(frozen=True, kw_only=True)
class Editions:
    """Chooses between editions of a text (regions, teams, products, years) for one question."""

    question_stems: Names
    past: bool
    documents: Mapping[str, DocumentCard]
    titled: Mapping[str, int]
    """Stem → number of titles with it: `team` is less distinctive than `Treasury`."""

    def prefers(self, chunk: Chunk, other: Chunk) -> bool:
        """Whether the first of two editions is nearer to the question: its title has a name from
        the question, or no name that the question lacks, or it is in force. A question about the
        past may mean either."""
        if self.past and self._is_in_force(chunk) != self._is_in_force(other):
            return False
        mine, theirs = stems(chunk.document_title), stems(other.document_title)
        return self._standing(chunk, mine, theirs) > self._standing(other, theirs, mine)

    def for_others(self, chunks: Iterable[Chunk]) -> set[str]:
        """Editions for others, like `Key Rotation: Brazil` next to `Key Rotation`
        when the question does not mention Brazil.

        A pair of similar passages identifies the original; titles identify its other editions."""
        by_heading: dict[str, list[Chunk]] = {}
        for chunk in chunks:
            by_heading.setdefault(_heading(chunk), []).append(chunk)
        # By words: by stems, `Work Schedules` would match every title with a schedule.
        originals = {
            in_a_line(original.document_title): stems(original.document_title)
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
                title in in_a_line(card.title)
                and names < (all_names := stems(card.title))
                and not self._is_asked_about(all_names - names)
                for title, names in originals.items()
            )
        }

    def _is_asked_about(self, apart: Names) -> bool:
        """Whether it names most of an edition's distinguishing words, weighted by rarity."""
        weights = {name: 1 / self.titled.get(name, 1) for name in apart}
        named_weight = sum(weights[name] for name in apart & self.question_stems)
        return named_weight > sum(weights.values()) / 2

    def _standing(self, chunk: Chunk, mine: Names, theirs: Names) -> tuple[bool, bool, bool]:
        is_named = self._is_asked_about(mine - theirs)
        return is_named, is_named or not mine > theirs, self._is_in_force(chunk)

    def _is_in_force(self, chunk: Chunk) -> bool:
        return not is_out_of_force(self.documents.get(chunk.document_id))


def editions_for(plan: Plan, documents: Mapping[str, DocumentCard]) -> Editions:
    text = " ".join((plan.question, *plan.parts))
    return Editions(
        question_stems=stems(text),
        past=asks_about_the_past(plan.question),
        documents=documents,
        titled=Counter(name for card in documents.values() for name in stems(card.title)),
    )


def is_near_duplicate(chunk: Chunk, other: Chunk) -> bool:
    """The same words except a few. Tables with different cells, texts with different figures or
    negations, and parts of one section, which hold for different cases, are never duplicates."""
    if chunk.section == other.section:
        return False
    if chunk.text == other.text:
        return True
    if chunk.kind == "table" or other.kind == "table":
        return False
    if _shared(stems(chunk.text), stems(other.text)) < NEAR_DUPLICATE:
        return False
    same_figures = figures(chunk.text) == figures(other.text)
    return same_figures and _negations(chunk.text) == _negations(other.text)


def are_editions(chunk: Chunk, other: Chunk) -> bool:
    """The same section of two documents, with mostly the same words."""
    return (
        chunk.document_id != other.document_id
        and _heading(chunk) == _heading(other)
        and _shared(_stems_without_figures(chunk), _stems_without_figures(other)) >= EDITION
    )


def _negations(text: str) -> list[str]:
    words = (word.lower() for word in tokens(text))
    return sorted(
        word for word in words if word in _NEGATING_WORDS or word.endswith(("n't", "n’t"))
    )


def _heading(chunk: Chunk) -> str:
    """'' for the title's own section: titles of editions differ."""
    path = chunk.heading_path
    return path[-1] if path and path[-1] != chunk.document_title else ""


def _stems_without_figures(chunk: Chunk) -> Names:
    """Editions differ in figures."""
    return frozenset(word for word in stems(chunk.text) if word.isalpha())


def _shared(mine: Names, theirs: Names) -> float:
    if min(len(mine), len(theirs)) < _MIN_WORDS:
        return 0.0
    return len(mine & theirs) / max(len(mine), len(theirs))
