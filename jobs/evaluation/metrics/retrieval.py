"""What came of asking one golden question once.

Metrics of retrieval, by ir-measures: how far up the right documents and passages come."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from agents.answer import Answer
from jobs.evaluation.report import ReportPassage
from jobs.golden.check import plain, words_of
from jobs.golden.questions import GoldenQuestion

RANKED = 50
"""Of what was retrieved, so many chunks are kept for the metrics of retrieval."""


@dataclass(frozen=True, kw_only=True)
class Retrieved:
    """A chunk that retrieval returned, before the context was cut."""

    chunk: str
    """Its id."""
    document: str
    heading: str
    """The nearest one above it; empty where there is none."""
    evidence: tuple[int, ...] = ()
    """Which of the question's evidence quotes it holds, by their places from 0."""


@dataclass(frozen=True, kw_only=True)
class GivenReply:
    """An answer as it was given, with what the metrics need beside it."""

    question: GoldenQuestion
    repeat: int
    """From 1."""
    answer: Answer
    """Without its trace."""
    retrieved: tuple[Retrieved, ...] = ()
    """Best first, at most `RANKED`."""
    first_token_ms: float | None = None
    """None where the answer came whole."""
    total_ms: float = 0.0
    reused: bool = False
    """Given in an earlier run of the same version, and not asked again."""

    @property
    def passages(self) -> list[ReportPassage]:
        """What the answerer saw, in order."""
        return [
            ReportPassage(
                document=chunk.document_id,
                title=chunk.document_title,
                heading=chunk.heading or chunk.document_title,
                text=chunk.text,
            )
            for chunk in self.answer.context
        ]


def given_reply(
    question: GoldenQuestion,
    answer: Answer,
    *,
    repeat: int = 1,
    first_token_ms: float | None = None,
    total_ms: float = 0.0,
) -> GivenReply:
    """From an answer that still has its trace."""
    return GivenReply(
        question=question,
        repeat=repeat,
        answer=replace(answer, trace=None),
        retrieved=_retrieved(question, answer),
        first_token_ms=first_token_ms,
        total_ms=total_ms,
    )


def _retrieved(question: GoldenQuestion, answer: Answer) -> tuple[Retrieved, ...]:
    hits = answer.trace.hits if answer.trace else ()
    # What tells no ranking read it in its order.
    chunks = [hit.chunk for hit in hits] or list(answer.context)
    quotes = [(one.document, plain(one.quote)) for one in question.evidence]
    ranking: list[Retrieved] = []
    for chunk in chunks[:RANKED]:
        held = words_of(chunk)
        ranking.append(
            Retrieved(
                chunk=chunk.id,
                document=chunk.document_id,
                heading=chunk.heading,
                evidence=tuple(
                    place
                    for place, (document, quote) in enumerate(quotes)
                    if document == chunk.document_id and quote in held
                ),
            )
        )
    return tuple(ranking)


LIBRARY_MISSING = (
    "Metrics of retrieval and tests of significance are left out: "
    "pip install 'oncall-copilot[evaluation]'."
)


def retrieval_metrics(replies: Sequence[GivenReply]) -> list[dict[str, float]]:
    """Metric → value for each reply, in order; none where the question names no evidence, or where
    nothing was searched.

    `document_…`: of the documents in the order of their best chunk. `evidence_…`: an item of the
    ranking is a chunk, relevant when it holds a quote that none before it held; of two quotes in
    one chunk the second counts one rank later. Measures by trec_eval."""
    metrics: list[dict[str, float]] = [{} for _ in replies]
    for name, ranked, relevant in (
        ("document", _documents, _right_documents),
        ("evidence", _passages, _quotes),
    ):
        for place, values in _measured(replies, ranked, relevant).items():
            metrics[place] |= {f"{name}_{measure}": value for measure, value in values.items()}
    return metrics


def _measured(
    replies: Sequence[GivenReply],
    ranked: Callable[[GivenReply], list[str]],
    relevant: Callable[[GivenReply], list[str]],
) -> dict[int, dict[str, float]]:
    try:
        from ir_measures import RR, P, Qrel, R, ScoredDoc, Success, iter_calc, nDCG
    except ImportError:  # the extra `evaluation` isn't installed; see `LIBRARY_MISSING`
        return {}

    names = {
        R @ 5: "recall@5",
        R @ 10: "recall@10",
        P @ 5: "precision@5",
        nDCG @ 10: "ndcg@10",
        RR: "mrr",
        Success @ 5: "hit@5",
    }
    judged = {place: relevant(reply) for place, reply in enumerate(replies) if reply.retrieved}
    judged = {place: items for place, items in judged.items() if items}
    qrels = [Qrel(str(place), item, 1) for place, items in judged.items() for item in items]
    runs = [
        ScoredDoc(str(place), item, -float(rank))
        for place in judged
        for rank, item in enumerate(ranked(replies[place]), start=1)
    ]
    values: dict[int, dict[str, float]] = defaultdict(dict)
    if not (qrels and runs):
        return values
    for one in iter_calc(list(names), qrels, runs):
        values[int(one.query_id)][names[one.measure]] = one.value
    for of_one in values.values():
        both = of_one["precision@5"] + of_one["recall@5"]
        of_one["f1@5"] = 2 * of_one["precision@5"] * of_one["recall@5"] / both if both else 0.0
    return values


def _documents(reply: GivenReply) -> list[str]:
    return list(dict.fromkeys(one.document for one in reply.retrieved))


def _right_documents(reply: GivenReply) -> list[str]:
    return sorted(reply.question.documents)


def _passages(reply: GivenReply) -> list[str]:
    quotes: set[int] = set()
    items: list[str] = []
    for place, one in enumerate(reply.retrieved):
        new = [quote for quote in one.evidence if quote not in quotes]
        quotes.update(new)
        if new:
            items += [f"quote {quote}" for quote in new]
        elif not one.evidence:
            items.append(f"chunk {place}")
    return items


def _quotes(reply: GivenReply) -> list[str]:
    return [f"quote {place}" for place in range(len(reply.question.evidence))]
