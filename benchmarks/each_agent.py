"""What each agent is worth without a language model: each one switched off in turn.

    python -m benchmarks.each_agent

Each corpus is answered with weights fitted on all others, as in `benchmarks/left_out.py`.
Evidence: all of a question's passages inside 12,000 characters. Wrong: share of the citations
that point to a document without evidence for the question."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from agents.answer import Answer
from agents.context.post_processor import WITHOUT_A_MODEL, FoundPassages, build_context
from agents.extractive import relevance
from agents.extractive.conversation import clean_message, questions_in
from agents.plan import Plan
from agents.query_optimizer import query_optimizer
from agents.retrieval import retrieve
from agents.source_identifier import likely_documents
from agents.state import State
from benchmarks import refusing
from benchmarks.left_out import Measurements, Weights, extractive, fitted, using
from benchmarks.material.asked_questions import all_asked
from benchmarks.material.golden_domains import Measured, measured_domains
from enrichment.chunk import Chunk
from index.search import Hit
from jobs.evaluation.metrics.answers import score
from jobs.golden.questions import GoldenQuestion

Replan = Callable[[Plan, GoldenQuestion], Plan]


def as_planned(plan: Plan, question: GoldenQuestion) -> Plan:
    return plan


def last_turn_alone(plan: Plan, question: GoldenQuestion) -> Plan:
    return Plan(question=clean_message(question.question), kind="in_domain")


def in_one_piece(plan: Plan, question: GoldenQuestion) -> Plan:
    return plan.model_copy(update={"sub_questions": []})


def all_turns(plan: Plan, question: GoldenQuestion) -> Plan:
    turns = [turn.content for turn in question.history]
    text = " ".join([*turns, clean_message(question.question)])
    return plan.model_copy(update={"question": text, "sub_questions": questions_in(text)})


def by_meaning(plan: Plan, question: GoldenQuestion) -> Plan:
    return plan.model_copy(update={"strategy": "semantic"})


def by_words(plan: Plan, question: GoldenQuestion) -> Plan:
    return plan.model_copy(update={"strategy": "keyword"})


@dataclass(frozen=True)
class Variant:
    """The agents, with one of them changed."""

    name: str
    replan: Replan = as_planned
    documents: int = 0
    """Narrow to that many likely documents; 0: search all."""
    ordered: bool = True
    """False: search's own order instead of the post-processor's."""
    refuses: bool = True


VARIANTS = (
    Variant("all agents"),
    Variant("no query optimizer: last turn alone", replan=last_turn_alone),
    Variant("all turns put together", replan=all_turns),
    Variant("several questions kept in one", replan=in_one_piece),
    Variant("narrowed to 8 likely documents", documents=8),
    Variant("narrowed to 3 likely documents", documents=3),
    Variant("vectors only", replan=by_meaning),
    Variant("words only", replan=by_words),
    Variant("no post-processor: search's order", ordered=False),
    Variant("never refuses", refuses=False),
)


def answered(variant: Variant, measured: Measured, question: GoldenQuestion) -> Answer:
    snapshot = measured.snapshot
    planned = query_optimizer(measured.domain, None)(question.as_question, snapshot).value
    plan = variant.replan(planned, question)
    count = variant.documents
    hits = retrieve(plan, snapshot)
    likely = likely_documents(plan, snapshot, (), hits)[:count] if count else []
    hits = retrieve(plan, snapshot, likely)
    glossary = measured.domain.glossary
    scored = relevance.score_units(plan, snapshot, hits, glossary)
    found = FoundPassages(plan=plan, snapshot=snapshot, hits=hits, scored=scored)
    processed = build_context(found, characters=WITHOUT_A_MODEL).chunks
    context = processed if variant.ordered else first_of(hits)
    state = State(plan=plan, snapshot=snapshot, hits=hits, scored=scored, context=context)
    enough = relevance.ENOUGH
    relevance.ENOUGH = enough if variant.refuses else 0.0
    try:
        return extractive(state, measured.domain)
    finally:
        relevance.ENOUGH = enough


def first_of(hits: Sequence[Hit]) -> tuple[Chunk, ...]:
    room, kept = WITHOUT_A_MODEL, []
    for hit in hits:
        if len(hit.chunk.text) <= room:
            kept.append(hit.chunk)
            room -= len(hit.chunk.text)
    return tuple(kept)


def unseen(domains: Sequence[Measured]) -> dict[str, Weights]:
    """Corpus → weights that all others gave."""
    asked, cases = all_asked(domains), refusing.cases(domains)
    measurements, measure_features = Measurements(), relevance.features
    relevance.features = measurements.features
    found = {
        one.domain.domain: fitted(
            [each for each in asked if each.corpus != one.domain.domain],
            [each for each in cases if each.corpus != one.domain.domain],
            measurements,
        )
        for one in domains
    }
    relevance.features = measure_features
    return found


def measure(
    variant: Variant, domains: Sequence[Measured], weights: Mapping[str, Weights]
) -> dict[str, float]:
    values: dict[str, list[float]] = defaultdict(list)
    for measured in domains:
        for question in measured.questions:
            with using(weights[measured.domain.domain]):
                answer = answered(variant, measured, question)
            for name, value in score(question, answer).items():
                values[name].append(value)
            if question.answerable:
                wrong = [one.document not in question.documents for one in answer.citations]
                values["wrong"] += [float(each) for each in wrong]
    return {name: sum(each) / len(each) for name, each in values.items()}


def main() -> None:
    columns = {
        "evidence_all": "evidence",
        "cited": "right document",
        "wrong": "wrong citations",
        "facts_all": "all facts",
        "refused_right": "refused rightly",
        "refused_wrong": "wrongly",
    }
    with measured_domains(["demo", "public"]) as domains:
        weights = unseen(domains)
        for name in dict.fromkeys(one.set for one in domains):
            table = Table(title=f"{name}, without a language model", title_justify="left")
            table.add_column("")
            for label in columns.values():
                table.add_column(label, justify="right")
            for variant in VARIANTS:
                found = measure(variant, [one for one in domains if one.set == name], weights)
                table.add_row(variant.name, *(f"{found.get(key, 0):.2f}" for key in columns))
            Console(width=110).print(table)


if __name__ == "__main__":
    main()
