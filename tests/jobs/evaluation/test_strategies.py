"""Strategies proposed for kinds of questions, from runs of a matrix."""

from __future__ import annotations

import pytest

from config.domain import RetrievalPolicy
from jobs.evaluation.comparison import summed_up
from jobs.evaluation.metrics.stats import sign_test
from jobs.evaluation.report import EvaluationReport, Metrics, ReportQuestion
from jobs.evaluation.strategies import StrategyComparison, as_domain_keys, compare_strategies

KINDS = {"code": 12, "plain": 12, "several": 1}


def run(strategy: str, **right: int) -> EvaluationReport:
    """A run in which so many questions of each kind had their evidence in the context."""
    return _report(
        strategy,
        {
            (kind, number): {"evidence_all": float(number < right.get(kind, 0))}
            for kind, count in KINDS.items()
            for number in range(count)
        },
    )


def _report(strategy: str, questions: dict[tuple[str, int], Metrics]) -> EvaluationReport:
    asked = [
        ReportQuestion(
            id=f"{kind}-{number}",
            kind="lookup",
            question="q",
            answer="a",
            path="p",
            confidence=1,
            metrics=metrics,
            query_kind=kind,
            strategy=strategy,
        )
        for (kind, number), metrics in questions.items()
    ]
    info = {"domain": "tea", "questions": len(asked), "started_at": ""}
    return EvaluationReport.model_validate(
        {"run": info, "metrics": summed_up(asked), "questions": asked}
    )


def proposals(rows: list[StrategyComparison]) -> dict[str, str]:
    return {row.kind: row.strategy for row in rows if row.proposed}


def test_a_strategy_is_proposed_for_the_kind_that_it_serves_better_beyond_chance() -> None:
    reports = {
        "hybrid": run("hybrid", code=2, plain=8, several=0),
        "keyword": run("keyword", code=12, plain=9, several=1),
        "semantic": run("semantic", code=1, plain=2, several=1),
    }
    rows = compare_strategies(reports, RetrievalPolicy())
    assert proposals(rows) == {"code": "keyword"}
    (code,) = (row for row in rows if row.proposed)
    assert (code.questions, code.current, code.metric) == (12, "hybrid", "evidence_all")
    assert code.interval[0] > 0
    assert as_domain_keys(rows) == "retrieval:\n  strategies: {code: keyword}"


def test_what_the_domain_file_names_for_a_kind_is_what_others_are_compared_with() -> None:
    reports = {"hybrid": run("hybrid", code=12), "keyword": run("keyword", code=1)}
    rows = compare_strategies(reports, RetrievalPolicy(strategies={"code": "keyword"}))
    assert proposals(rows) == {"code": "hybrid"}
    assert compare_strategies(reports, RetrievalPolicy(strategy="planned")) == []


def test_what_misinforms_more_is_not_proposed_however_many_it_pleases() -> None:
    def judged(good: int, bad: int) -> dict[tuple[str, int], Metrics]:
        return {
            ("code", n): {
                "acceptable": float(n < good),
                "incorrect": float(n >= 20 - bad),
            }
            for n in range(20)
        }

    reports = {
        "hybrid": _report("hybrid", judged(2, 0)),
        "keyword": _report("keyword", judged(18, 1)),
    }
    (row,) = compare_strategies(reports, RetrievalPolicy())
    assert (row.metric, row.more_incorrect, row.proposed) == ("acceptable", True, False)
    assert as_domain_keys([row]) == ""


@pytest.mark.parametrize(
    ("better", "worse", "p"), [(0, 0, 1.0), (1, 1, 1.0), (5, 0, 0.0625), (9, 1, 0.0215)]
)
def test_the_sign_test_is_exact(better: int, worse: int, p: float) -> None:
    assert sign_test(better, worse) == pytest.approx(p, abs=1e-4)
    assert sign_test(worse, better) == sign_test(better, worse)
