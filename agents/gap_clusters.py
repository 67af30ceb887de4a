"""Which questions lack the same place in the documents.

A gap is what one addition to a document would close, so it is wider than one meaning (see
`agents/answer_cache/same_question.py`): `rotation of signing keys in SG` and `… in EU` may be one,
`where is order 48213` and `… 48231` are two. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from config.models import Vectors
from enrichment.language.words import tokens

NEAR_ENOUGH = 0.5
"""Mean cosine with a gap's questions from which on another joins it, by MiniLM. Fitted on three
sets of questions and reported on three others: see docs/decisions/131-gaps.md."""
MOST_COMPARED = 50
"""Questions of a gap: the newest."""


@dataclass(frozen=True, kw_only=True)
class KnownGap:
    """A gap, by the questions that are in it."""

    id: str
    questions: tuple[str, ...]
    vectors: Vectors
    """(questions, dimensions), L2-normalised."""

    def with_one(self, question: str, vector: Vectors) -> KnownGap:
        return KnownGap(
            id=self.id,
            questions=(*self.questions, question)[-MOST_COMPARED:],
            vectors=np.vstack([self.vectors, vector])[-MOST_COMPARED:],
        )


def nearest_gap(
    question: str, vector: Vectors, known: Iterable[KnownGap], *, least: float = NEAR_ENOUGH
) -> str:
    """Id of the gap that a question joins; '' where it begins one. Of two as near, the first."""
    best, found = least, ""
    for gap in known:
        near = float(np.mean(gap.vectors @ vector))
        if (near > best or (near == best and not found)) and not _of_another_thing(
            question, gap.questions
        ):
            best, found = near, gap.id
    return found


def central(vectors: Vectors) -> int:
    """Place of the one that is nearest to all the others; the first of several."""
    return int(np.argmax(np.round((vectors @ vectors.T).mean(axis=1), 6)))


def _of_another_thing(question: str, others: Sequence[str]) -> bool:
    """Whether it numbers one thing, and one of the others numbers another."""
    mine = _numbered(question)
    return bool(mine) and any(
        theirs - mine and mine - theirs for theirs in map(_numbered, others) if theirs
    )


def _numbered(text: str) -> frozenset[str]:
    """Tokens with a digit: tickets, versions, grades, amounts."""
    return frozenset(one.casefold() for one in tokens(text) if any(map(str.isdigit, one)))
