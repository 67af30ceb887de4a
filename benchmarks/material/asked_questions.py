"""The golden questions and short made-up ones, searched in their corpora."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from agents.answer import Question
from agents.plan import Plan
from agents.query_optimizer import query_optimizer
from agents.retrieval import retrieve
from benchmarks.material.golden_domains import Measured
from enrichment.language.words import naming_words
from index.search import Hit
from jobs.golden.check import plain
from jobs.golden.questions import GoldenQuestion

SHORT_QUESTIONS = 50
"""Headings, and cells, of each corpus: nothing is to be refused for being short."""


@dataclass
class Asked:
    """One question of one corpus, searched."""

    measured: Measured
    plan: Plan
    hits: list[Hit]
    answerable: bool
    golden: GoldenQuestion | None = None
    """None for a question made of a heading or a cell."""
    right: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool))
    """Whether each unit of the hits holds a quote of the evidence."""

    @property
    def corpus(self) -> str:
        return self.measured.domain.domain


def asked_of(measured: Measured, golden: GoldenQuestion) -> Asked:
    plan, hits = searched(measured, golden.as_question)
    quotes = [(one.document, plain(one.quote)) for one in golden.evidence]
    right = [
        any(
            document == hit.chunk.document_id and quote in plain(f"{unit.text} | {unit.index_text}")
            for document, quote in quotes
        )
        for hit in hits
        for unit in hit.chunk.units
    ]
    answerable = golden.kind != "unanswerable"
    return Asked(measured, plan, hits, answerable, golden, np.array(right, dtype=bool))


def searched(measured: Measured, question: Question) -> tuple[Plan, list[Hit]]:
    snapshot = measured.snapshot
    plan = query_optimizer(measured.domain, None)(question, snapshot).value
    hits = retrieve(plan, snapshot)
    return plan, hits


def short_questions(measured: Measured, chance: random.Random) -> list[str]:
    headings: list[str] = []
    cells: list[str] = []
    for document in measured.snapshot.documents:
        for chunk in measured.snapshot.chunks(document):
            headings += [one.lower() for one in chunk.heading_path[-1:]]
            table = chunk.table
            if table and len(table.header) > table.label_columns:
                column = chance.randrange(table.label_columns, len(table.header))
                header = table.header[column].split(" › ")[-1].lower()
                cells.append(f"{header} of {chance.choice(table.rows)[0]}?")
    found: list[str] = []
    for texts in (headings, cells):
        telling = [one for one in dict.fromkeys(texts) if 2 <= len(naming_words(one)) <= 6]
        found += chance.sample(telling, min(SHORT_QUESTIONS, len(telling)))
    return found


def all_asked(domains: Sequence[Measured]) -> list[Asked]:
    """The golden questions, and short ones: of each corpus itself, which it can answer, and of
    the other set's corpora, which it can't."""
    chance = random.Random(0)
    short = {one.domain.domain: short_questions(one, chance) for one in domains}
    found: list[Asked] = []
    for one in domains:
        found += [asked_of(one, golden) for golden in one.questions]
        strange = [
            text
            for other in domains
            if other.set != one.set
            for text in chance.sample(short[other.domain.domain], SHORT_QUESTIONS // 2)
        ]
        for text in [*short[one.domain.domain], *strange]:
            plan, hits = searched(one, Question(text=text))
            found.append(Asked(one, plan, hits, text not in strange))
    return found
