"""Few-shot memory: what people thought of a judge's scores, for the scores that come after.

The nearest corrections go into the judge's prompt as worked examples, never one of the question
that is being judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from pydantic import TypeAdapter, ValidationError
from sqlalchemy import Column, Engine, MetaData, String, Table, Text

from agents.judging.answer_judge import LONGEST_EXAMPLE, Examples
from agents.judging.judge_request import Correction, JudgeRequest
from config.models import Embedder, Vectors
from index.store.vectors import KeptRows

MOST_CORRECTIONS = 50
"""Kept for a domain: those where judge and person were furthest apart."""
NEAREST = 5
"""Shown to the judge with each answer."""

_CORRECTIONS = Table(
    "judge_corrections",
    MetaData(),
    Column("domain", String(64), primary_key=True),
    Column("corrections", Text, nullable=False, comment="JSON"),
)
_several = TypeAdapter(tuple[Correction, ...])


def corrections_from(scored: Sequence[Correction]) -> tuple[Correction, ...]:
    """Those that correct something, at most `MOST_CORRECTIONS`, furthest apart first."""
    differing = [one for one in scored if _apart(one)]
    return tuple(sorted(differing, key=lambda one: (-_apart(one), one.question_id)))[
        :MOST_CORRECTIONS
    ]


def nearest_corrections(corrections: Sequence[Correction], embedder: Embedder) -> Examples:
    """Those nearest in meaning to the question and answer that are judged, at most `NEAREST`."""
    return _Nearest(tuple(corrections[:MOST_CORRECTIONS]), embedder)


class KeptCorrections:
    """Of all domains. Creates its table when something is kept."""

    def __init__(self, engine: Engine) -> None:
        self._rows = KeptRows(engine, _CORRECTIONS)

    def keep(self, domain: str, corrections: Sequence[Correction]) -> None:
        """Instead of those that were kept; none forgets them."""
        text = _several.dump_json(corrections_from(corrections)).decode()
        self._rows.keep(domain=domain, corrections=text)

    def of(self, domain: str) -> tuple[Correction, ...]:
        row = self._rows.find(domain=domain)
        try:
            return () if row is None else _several.validate_json(row.corrections)
        except ValidationError:  # of another edition of the product
            return ()


@dataclass(frozen=True)
class _Nearest:
    corrections: tuple[Correction, ...]
    embedder: Embedder

    def __call__(self, request: JudgeRequest) -> Sequence[Correction]:
        if not self.corrections:
            return ()
        nearness = self._vectors @ self.embedder([_text(request.question, request.answer)])[0]
        asked = _same(request.question)
        others = [
            self.corrections[place]
            for place in np.argsort(-nearness, kind="stable")
            if self.corrections[place].question_id != request.id
            and _same(self.corrections[place].question) != asked
        ]
        return others[:NEAREST]

    @cached_property
    def _vectors(self) -> Vectors:
        return self.embedder([_text(one.question, one.answer) for one in self.corrections])


def _apart(one: Correction) -> int:
    """Points."""
    return abs(one.human_score - one.judge_score)


def _text(question: str, answer: str) -> str:
    return f"{question[:LONGEST_EXAMPLE]}\n{answer[:LONGEST_EXAMPLE]}"


def _same(question: str) -> str:
    return " ".join(question.casefold().split())
