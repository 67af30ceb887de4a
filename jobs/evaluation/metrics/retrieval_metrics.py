"""Metrics of retrieval, by ir-measures: how far up the right documents and passages come."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

from jobs.evaluation.metrics.given_reply import GivenReply

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
    found: list[dict[str, float]] = [{} for _ in replies]
    for name, ranked, wanted in (
        ("document", _documents, _right_documents),
        ("evidence", _passages, _quotes),
    ):
        for place, values in _measured(replies, ranked, wanted).items():
            found[place] |= {f"{name}_{measure}": value for measure, value in values.items()}
    return found


def _measured(
    replies: Sequence[GivenReply],
    ranked: Callable[[GivenReply], list[str]],
    wanted: Callable[[GivenReply], list[str]],
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
    judged = {place: wanted(reply) for place, reply in enumerate(replies) if reply.retrieved}
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
    seen: set[int] = set()
    items: list[str] = []
    for place, one in enumerate(reply.retrieved):
        new = [quote for quote in one.evidence if quote not in seen]
        seen.update(new)
        if new:
            items += [f"quote {quote}" for quote in new]
        elif not one.evidence:
            items.append(f"chunk {place}")
    return items


def _quotes(reply: GivenReply) -> list[str]:
    return [f"quote {place}" for place in range(len(reply.question.evidence))]
