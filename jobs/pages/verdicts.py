"""Classifies the outcome of each question for sorting and filtering in a report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from jobs.evaluation.metrics.stats import wilson
from jobs.evaluation.report import EvaluationReport, Interval, ReportQuestion

REPLIES = {
    "replied_answer": "answered",
    "replied_passages": "passages",
    "replied_refusal": "refused",
    "replied_question": "asked back",
}
OTHER = "other"
_FEWEST = 10
"""Minimum replies per bin of the reliability diagram."""
_MOST_BINS = 10


@dataclass(frozen=True, kw_only=True)
class Bin:
    """Replies of similar confidence."""

    confidence: float
    """Mean confidence."""
    accepted: float
    """Share of accepted replies."""
    interval: Interval
    count: int


def sort_of(question: ReportQuestion) -> str:
    """A value of `REPLIES`, or `OTHER`."""
    return next((name for key, name in REPLIES.items() if question.metrics.get(key)), OTHER)


def accepted(question: ReportQuestion, *, judged: bool) -> bool | None:
    """Whether the reply is acceptable; None when this can't be decided.

    `judged`: decide by the judge's verdict, else by metrics. A run never mixes the two."""
    if judged:
        verdict = question.judge
        return verdict.acceptable and not verdict.incorrect if verdict else None
    metrics = question.metrics
    if metrics.get("refused_wrong") or metrics.get("clarified_wrong"):
        return False
    for name in ("clarified", "refused_right"):
        if name in metrics:
            return bool(metrics[name])
    if "answer_wrong" in metrics:
        return not metrics["answer_wrong"]
    if "passages_facts_all" in metrics:
        return bool(metrics["passages_facts_all"] and metrics.get("passages_cited"))
    return None


def worst(report: EvaluationReport, most: int = 20) -> list[ReportQuestion]:
    """Unaccepted replies: incorrect first, then lowest score, then highest confidence."""
    judged = bool(report.run.judge_model)
    failed = [
        one
        for one in report.questions
        if accepted(one, judged=judged) is False and one.kind != "proposed"
    ]
    return sorted(failed, key=_how_bad)[:most]


def _how_bad(question: ReportQuestion) -> tuple[bool, float, bool, float]:
    judge = question.judge
    misinforms = judge.incorrect if judge else bool(question.metrics.get("answer_wrong"))
    score = judge.score if judge else 0
    return (not misinforms, score, sort_of(question) != "answered", -question.confidence)


def by_confidence(questions: Sequence[ReportQuestion], *, judged: bool) -> list[Bin]:
    """Answers by confidence in bins of equal size; empty when there are too few for two bins."""
    verdicts = sorted(
        (one.confidence, verdict)
        for one in questions
        if sort_of(one) == "answered"
        and one.kind != "proposed"
        and (verdict := accepted(one, judged=judged)) is not None
    )
    bins = min(_MOST_BINS, len(verdicts) // _FEWEST)
    if bins < 2:
        return []
    cuts = [round(place * len(verdicts) / bins) for place in range(bins + 1)]
    return [_bin(verdicts[low:high]) for low, high in pairwise(cuts)]


def _bin(verdicts: Sequence[tuple[float, bool]]) -> Bin:
    right = sum(verdict for _, verdict in verdicts)
    return Bin(
        confidence=sum(confidence for confidence, _ in verdicts) / len(verdicts),
        accepted=right / len(verdicts),
        interval=wilson(right, len(verdicts)),
        count=len(verdicts),
    )
