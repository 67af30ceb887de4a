"""Measures which evidence of golden questions a generation finds and where, and stores each
domain's last result in the state database."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from functools import cache

from sqlalchemy import Engine, String, Text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from agents.graph import build_ask
from config.domain import Domain
from durable.database import now
from durable.migration import KeyValueTable
from index.search import Snapshot
from jobs.evaluation.metrics.answers import evidence_found
from jobs.golden.check import plain, words_of, words_of_all
from jobs.golden.questions import GoldenQuestion


@dataclass(frozen=True, kw_only=True)
class SeenEvidence:
    """State of one evidence quote of a golden question in one generation."""

    shown: bool
    """Whether the answer's context contains the quote."""
    place: str
    """`Title › Heading` of the passage that contains it; empty when no passage does."""


Sight = dict[str, tuple[SeenEvidence, ...]]
"""Mark of a golden question → its evidence, in the question's order."""


def marked(golden: Sequence[GoldenQuestion]) -> dict[str, GoldenQuestion]:
    """Mark → answerable question with evidence.

    The mark is id and digest: it changes with the wording or the evidence, so only identical
    questions are compared."""
    return {f"{one.id} {one.digest[:12]}": one for one in golden if one.answerable and one.evidence}


def evidence_seen(
    snapshot: Snapshot, domain: Domain, golden: Mapping[str, GoldenQuestion]
) -> Sight:
    """Ask each question without a model and record its evidence. `golden`: questions by mark.

    Without a model the result is free, repeatable, and depends on the index alone."""
    ask = build_ask(snapshot=lambda: snapshot, domain=domain, model=None)

    @cache
    def held(document: str) -> list[tuple[str, str]]:
        """(place, normalized text) of each chunk, then of the whole document."""
        chunks = snapshot.chunks(document)
        parts = [(chunk.place, words_of(chunk)) for chunk in chunks]
        return [*parts, (chunks[0].place, words_of_all(chunks))] if chunks else []

    def place(document: str, quote: str) -> str:
        text = plain(quote)
        return next((name for name, words in held(document) if text in words), "")

    evidence: Sight = {}
    for mark, question in golden.items():
        answer = ask(question.as_question, None)
        evidence[mark] = tuple(
            SeenEvidence(shown=visible, place=place(one.document, one.quote))
            for one, visible in zip(
                question.evidence, evidence_found(question, answer), strict=True
            )
        )
    return evidence


class _Base(DeclarativeBase):
    pass


class CanaryRow(_Base):
    __tablename__ = "canary_results"

    domain: Mapped[str] = mapped_column(String(64), primary_key=True)
    generation: Mapped[int]
    version: Mapped[str] = mapped_column(String(64), comment="of the product's code")
    configuration: Mapped[str] = mapped_column(String(64), comment="of the domain file")
    seen: Mapped[str] = mapped_column(Text, comment="JSON: question → its evidence")
    told: Mapped[str] = mapped_column(
        String(64), comment="digest of what the admins were told last"
    )
    measured_at: Mapped[datetime] = mapped_column(comment="UTC")


@dataclass(frozen=True, kw_only=True)
class CanaryBaseline:
    """The result that later ones are compared with."""

    generation: int
    version: str
    configuration: str
    evidence: Sight
    reported: str = ""
    """Digest of the last notice to the admins."""


class CanaryStore:
    """The baseline of one domain. Creates its table at the first write."""

    def __init__(self, engine: Engine, domain: str) -> None:
        self._rows = KeyValueTable(engine, CanaryRow)
        self._domain = domain

    def last(self) -> CanaryBaseline | None:
        """None when nothing is stored or the database fails."""
        row = self._rows.find(domain=self._domain)
        if row is None:
            return None
        sight = {
            question: tuple(SeenEvidence(**one) for one in evidence)
            for question, evidence in json.loads(row.seen).items()
        }
        return CanaryBaseline(
            generation=row.generation,
            version=row.version,
            configuration=row.configuration,
            evidence=sight,
            reported=row.told,
        )

    def keep(self, sight: CanaryBaseline) -> None:
        content = {
            name: [asdict(one) for one in evidence] for name, evidence in sight.evidence.items()
        }
        self._rows.keep(
            domain=self._domain,
            generation=sight.generation,
            version=sight.version,
            configuration=sight.configuration,
            seen=json.dumps(content, ensure_ascii=False),
            told=sight.reported,
            measured_at=now(),
        )

    def is_news(self, digest: str) -> bool:
        """Whether the digest differs from the last one reported; stores it.

        True without a baseline."""
        last = self.last()
        if last is None or last.reported == digest:
            return last is None
        self.keep(replace(last, reported=digest))
        return True
