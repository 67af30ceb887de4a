"""Converts replies to report entries: one per question, with its repeats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from config.models import Prices, Usage
from jobs.evaluation.judging import Key, judge_metrics
from jobs.evaluation.metrics.answers import answer_metrics, evidence_found, score
from jobs.evaluation.metrics.retrieval import GivenReply, retrieval_metrics
from jobs.evaluation.report import (
    JudgedReply,
    Metrics,
    Repeat,
    ReportCitation,
    ReportEvidence,
    ReportQuestion,
)

Judged = Mapping[Key, JudgedReply]
"""Unjudged replies have no entry."""


def report_questions(
    replies: Sequence[GivenReply], *, judged: Judged, prices: Prices | None = None
) -> list[ReportQuestion]:
    """`replies`: ordered by question, then by repeat."""
    ranked = retrieval_metrics(replies)
    metrics = {
        (reply.question.id, reply.repeat): {
            **score(reply.question, reply.answer),
            **of_retrieval,
            **answer_metrics(reply),
            **_cost(reply.answer.usage, prices),
            **judge_metrics(judged.get((reply.question.id, reply.repeat))),
        }
        for reply, of_retrieval in zip(replies, ranked, strict=True)
    }
    return [
        _entry(list(group), metrics, judged)
        for _, group in groupby(replies, key=lambda reply: reply.question.id)
    ]


def _cost(usage: Usage, prices: Prices | None) -> Metrics:
    return {"cost": prices.of(usage)} if prices else {}


def _entry(
    replies: Sequence[GivenReply],
    metrics: Mapping[Key, Metrics],
    judged: Judged,
) -> ReportQuestion:
    first, *more = replies
    question, answer = first.question, first.answer
    measured = metrics[question.id, first.repeat]
    return ReportQuestion(
        **question.model_dump(exclude={"evidence", "proposed"}),
        evidence=[
            ReportEvidence(document=one.document, heading=one.heading, quote=one.quote, found=hit)
            for one, hit in zip(question.evidence, evidence_found(question, answer), strict=True)
        ],
        answer=answer.text,
        path=answer.path,
        confidence=answer.confidence,
        confidence_parts=dict(answer.confidence_parts),
        options=list(answer.options),
        citations=[
            ReportCitation.model_validate(one, from_attributes=True) for one in answer.citations
        ],
        context=first.passages,
        metrics=measured,
        judge=judged.get((question.id, first.repeat)),
        repeats=[
            Repeat(
                repeat=one.repeat,
                answer=one.answer.text,
                path=one.answer.path,
                metrics=metrics[question.id, one.repeat],
                judge=judged.get((question.id, one.repeat)),
            )
            for one in more
        ],
        timings_ms={name: round(spent, 1) for name, spent in answer.timings_ms.items()},
        first_token_ms=first.first_token_ms,
        total_ms=round(first.total_ms, 1),
        calls=answer.usage.calls,
        tokens=answer.usage.input_tokens + answer.usage.output_tokens,
        cost=measured.get("cost"),
        degraded=list(answer.degraded),
        query_kind=answer.query_kind,
        strategy=answer.strategy,
        searches=answer.searches,
        drafts=answer.drafts,
    )
