"""The reply to a golden question, and retrieval metrics computed with ir-measures."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from agents.answer import Answer
from jobs.evaluation.report import ReportPassage
from jobs.golden.check import plain, words_of
from jobs.golden.questions import GoldenQuestion

RANKED = 50
"""Maximum retrieved chunks stored for retrieval metrics."""


@dataclass(frozen=True, kw_only=True)
class Retrieved:
    """A chunk that retrieval returned, before the context was cut to its budget."""

    chunk: str
    """Chunk id."""
    document: str
    heading: str
    """Nearest heading above the chunk, or empty."""
    evidence: tuple[int, ...] = ()
    """Indexes, from 0, of the evidence quotes that the chunk contains."""


@dataclass(frozen=True, kw_only=True)
class GivenReply:
    """An answer with the values that metrics need."""

    question: GoldenQuestion
    repeat: int
    """From 1."""
    answer: Answer
    """The answer without its trace."""
    retrieved: tuple[Retrieved, ...] = ()
    """Best first, at most `RANKED`."""
    first_token_ms: float | None = None
    """None when the answer was not streamed."""
    total_ms: float = 0.0
    reused: bool = False
    """Whether the reply comes from an earlier run of the same version."""

    @property
    def passages(self) -> list[ReportPassage]:
        """The answerer's context, in order."""
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
    """Build the reply from an answer with its trace."""
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
    # Without a ranking, the order of the context counts as one.
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
    """Metric → value for each reply, in order; empty without evidence or without retrieved chunks.

    `document_…`: documents ranked by their best chunk. `evidence_…`: chunks, relevant when they
    contain a quote that no earlier chunk contains. The second of two quotes in one chunk counts
    one rank later. Measures by trec_eval."""
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
