"""Does it pay to choose the search strategy: by corpus, by the kind of question, after a failure?

    python -m benchmarks.strategies [--near-duplicates 700] [--data FOLDER] [--no-ingest]

Evidence: all of a question's passages inside the context of an answer without a model (12,000
characters), and inside its first 4,000. `best for each …`: the strategy that was best in hindsight
for each group, which no rule that chooses by that group can beat; `left out`: the strategy that was
best on the other corpora. `Recovered`: of the questions whose evidence the search of another
strategy missed, those that this one brings in. `--near-duplicates`: all six corpora in one domain,
among so many made-up documents."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby, product
from pathlib import Path
from typing import get_args

from rich.console import Console
from rich.table import Table

from agents.answer import Answer
from agents.context.post_processor import WITHOUT_A_MODEL, FoundPassages, build_context
from agents.extractive import relevance
from agents.plan import Plan
from agents.query_optimizer import query_optimizer
from agents.retrieval import retrieve
from benchmarks.material.asked_sets import DEMO, PUBLIC, ROOT, in_one_domain, named_set, written
from benchmarks.material.golden_domains import Measured, measured_domains
from benchmarks.material.near_duplicates import crowd
from benchmarks.with_a_model import copilot_of, ingest
from config.minilm import MiniLM
from config.parsing.fields import QueryKind, Strategy
from enrichment.chunk import Chunk
from jobs.evaluation.metrics.answers import evidence_found
from jobs.golden.questions import GoldenQuestion

STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)
ROOMS = (WITHOUT_A_MODEL, 4_000)


@dataclass(frozen=True)
class Asked:
    corpus: str
    kind: QueryKind
    density: float
    """Of the corpus: mean technical density of its documents."""
    evidence: dict[tuple[Strategy, int], float]
    """(strategy, characters) → whether all evidence is in the context."""
    astray: dict[tuple[Strategy, int], bool]
    """Whether no document with evidence is in the context."""


Group = Callable[[Asked], str]


def asked(corpus: str, measured: Measured, question: GoldenQuestion, density: float) -> Asked:
    snapshot, domain = measured.snapshot, measured.domain
    plan = query_optimizer(domain, None)(question.as_question, snapshot).value

    def context(strategy: Strategy, room: int) -> tuple[Chunk, ...]:
        planned: Plan = plan.model_copy(update={"strategy": strategy})
        hits = retrieve(planned, snapshot)
        scored = relevance.score_units(planned, snapshot, hits, domain.glossary)
        passages = FoundPassages(plan=planned, snapshot=snapshot, hits=hits, scored=scored)
        return build_context(passages, characters=room).chunks

    def complete(chunks: tuple[Chunk, ...]) -> float:
        answer = Answer(text="", path="passages_found", confidence=0.0, context=chunks)
        return float(all(evidence_found(question, answer)))

    found = {(one, room): context(one, room) for one in STRATEGIES for room in ROOMS}
    return Asked(
        corpus=corpus,
        kind=plan.query_kind,
        density=density,
        evidence={way: complete(chunks) for way, chunks in found.items()},
        astray={
            way: question.documents.isdisjoint(chunk.document_id for chunk in chunks)
            for way, chunks in found.items()
        },
    )


def share(questions: Sequence[Asked], strategy: Strategy, room: int) -> float:
    return sum(one.evidence[strategy, room] for one in questions) / len(questions)


def best(questions: Sequence[Asked], room: int) -> Strategy:
    """The first of equals in the order hybrid, semantic, keyword."""
    order: tuple[Strategy, ...] = ("hybrid", "semantic", "keyword")
    return max(order, key=lambda one: share(questions, one, room))


def in_hindsight(questions: Sequence[Asked], group: Group, room: int) -> float:
    chosen = {name: best(of, room) for name, of in _groups(questions, group)}
    return sum(one.evidence[chosen[group(one)], room] for one in questions) / len(questions)


def by_the_rule(questions: Sequence[Asked], room: int) -> float:
    """Codes by keywords, situations by meaning: what a planner is usually told."""
    chosen: dict[QueryKind, Strategy] = {"code": "keyword", "situation": "semantic"}
    rule = (one.evidence[chosen.get(one.kind, "hybrid"), room] for one in questions)
    return sum(rule) / len(questions)


def left_out(questions: Sequence[Asked], group: Group, room: int) -> float:
    """Each corpus by what was best for the group on all others."""
    hits = 0.0
    for corpus in {one.corpus for one in questions}:
        others = [one for one in questions if one.corpus != corpus]
        own = [one for one in questions if one.corpus == corpus]
        chosen = {name: best(of, room) for name, of in _groups(others, group)}
        hits += sum(one.evidence[chosen.get(group(one), "hybrid"), room] for one in own)
    return hits / len(questions)


def _groups(questions: Sequence[Asked], group: Group) -> list[tuple[str, list[Asked]]]:
    return [(name, list(of)) for name, of in groupby(sorted(questions, key=group), key=group)]


def print_shares(questions: Sequence[Asked], group: Group, title: str) -> None:
    table = Table(title=title, title_justify="left")
    for name in ("", "questions", *(f"{one}, {room:,}" for room in ROOMS for one in STRATEGIES)):
        table.add_column(name, justify="right" if name else "left")
    for name, of in [*_groups(questions, group), ("all", list(questions))]:
        cells = [share(of, one, room) for room in ROOMS for one in STRATEGIES]
        table.add_row(name, str(len(of)), *(f"{value:.3f}" for value in cells))
    Console(width=130).print(table)


def print_choices(questions: Sequence[Asked]) -> None:
    table = Table(title="a strategy chosen", title_justify="left")
    for name in ("", *(f"{room:,} characters" for room in ROOMS)):
        table.add_column(name, justify="right" if name else "left")
    densities = sorted({one.density for one in questions})
    dense = densities[len(densities) // 2]
    groups: dict[str, Group] = {
        "each corpus": lambda one: one.corpus,
        "each kind of question": lambda one: one.kind,
        "each kind in each corpus": lambda one: f"{one.corpus} {one.kind}",
    }
    fitted: dict[str, Group] = {
        "kind of question": lambda one: one.kind,
        "technical density": lambda one: str(one.density >= dense),
        "kind and density": lambda one: f"{one.kind} {one.density >= dense}",
    }
    rows = {
        "always hybrid": [share(questions, "hybrid", room) for room in ROOMS],
        "codes by keywords, situations by meaning": [by_the_rule(questions, one) for one in ROOMS],
        **{f"best for {name}, in hindsight": [in_hindsight(questions, by, room) for room in ROOMS]
           for name, by in groups.items()},
        **{f"by {name}, left out": [left_out(questions, by, room) for room in ROOMS]
           for name, by in fitted.items()},
    }  # fmt: skip
    for name, values in rows.items():
        table.add_row(name, *(f"{value:.3f}" for value in values))
    Console(width=130).print(table)


def print_recovered(questions: Sequence[Asked]) -> None:
    table = Table(title="recovered after a search that missed", title_justify="left")
    for name in ("first search", "room", "", "missed", *STRATEGIES):
        table.add_column(name, justify="right")
    for first, room, astray in product(STRATEGIES, ROOMS, (True, False)):
        missed = [
            one
            for one in questions
            if not one.evidence[first, room] and one.astray[first, room] == astray
        ]
        cells = [sum(one.evidence[then, room] for one in missed) for then in STRATEGIES]
        how = "no document" if astray else "in part"
        table.add_row(first, f"{room:,}", how, str(len(missed)), *(f"{n:.0f}" for n in cells))
    Console(width=130).print(table)


def in_a_crowd(count: int, data: Path, *, is_ingested: bool) -> list[Measured]:
    """All corpora in one domain, among near-duplicates."""
    together = in_one_domain([named_set(name) for name in (*DEMO, *PUBLIC)])
    sets = crowd(together, count, data / "near-duplicates")
    config = written(sets, data, {})
    if not is_ingested:
        ingest(sorted({one.domain for one in sets}), data, config)
    copilot = copilot_of(data, config, MiniLM())
    snapshot = copilot.index.snapshot(sets[0].domain)
    return [
        Measured(one.name, copilot.domain(one.domain), snapshot, one.questions()) for one in sets
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--near-duplicates", type=int, default=0)
    parser.add_argument("--data", type=Path, default=ROOT / "var/benchmarks/strategies")
    parser.add_argument("--no-ingest", action="store_true", help="the index is there already")
    given = parser.parse_args()
    if given.near_duplicates:
        crowded = in_a_crowd(
            given.near_duplicates, given.data.resolve(), is_ingested=given.no_ingest
        )
        print_all([(one.set, one) for one in crowded])
        return
    with measured_domains(["demo", "public"]) as domains:
        print_all([(one.domain.domain, one) for one in domains])


def print_all(corpora: Sequence[tuple[str, Measured]]) -> None:
    questions: list[Asked] = []
    for name, measured in corpora:
        cards = measured.snapshot.documents.values()
        density = sum(card.technical_density for card in cards) / len(cards)
        with_evidence = [one for one in measured.questions if one.evidence]
        questions += [asked(name, measured, one, density) for one in with_evidence]
        print(f"{name}: {len(cards)} documents, technical density {density:.3f}", flush=True)
    print_shares(questions, lambda one: one.corpus, "by corpus")
    print_shares(questions, lambda one: one.kind, "by kind of question")
    print_choices(questions)
    print_recovered(questions)


if __name__ == "__main__":
    main()
