from __future__ import annotations

import pytest

from config.domain import Domain
from config.errors import UsageError
from jobs.evaluation.comparison import compared
from jobs.evaluation.evaluate import System, broken, evaluate, parse_limits
from jobs.evaluation.matrix import is_axis, parse_axes, variations
from jobs.evaluation.metrics.stats import by_chance, of_mean, wilson
from jobs.evaluation.report import EvaluationReport, Metrics, ReportQuestion
from jobs.golden.questions import GoldenQuestion
from tests.jobs.evaluation.test_evaluate import answer


def asked(name: str, kind: str = "lookup", **metrics: float) -> ReportQuestion:
    return ReportQuestion.model_validate(
        {"id": name, "kind": kind, "question": name, "answer": "a", "path": "p", "confidence": 1,
         "metrics": metrics}
    )  # fmt: skip


def test_only_questions_that_both_runs_asked_are_compared() -> None:
    before = [asked("a", cited=0), asked("b", cited=1), asked("gone", cited=1)]
    after = [asked("a", cited=1), asked("b", cited=1), asked("new", cited=0)]
    change = compared(before, after).metrics["cited"]
    assert (change.before, change.after, change.questions) == (0.5, 1.0, 2)


def test_differences_are_paired_by_question_and_tested() -> None:
    before = [asked(str(n), cited=0) for n in range(12)]
    after = [asked(str(n), cited=float(n < 9)) for n in range(12)]
    change = compared(before, after).metrics["cited"]
    assert change.interval is not None
    assert change.p is not None
    low, high = change.interval
    assert 0.4 < low < 0.75 < high <= 1.0
    assert change.p == pytest.approx(2 / 2**9)  # nine moved, all one way: exact


def test_kinds_are_compared_apart() -> None:
    before = [asked("a", "table", cited=0), asked("b", cited=1)]
    after = [asked("a", "table", cited=1), asked("b", cited=1)]
    found = compared(before, after).by_kind
    assert found["table"]["cited"].after == 1.0
    assert found["lookup"]["cited"].before == 1.0


def test_the_judge_s_score_decides_what_got_better_and_misinforming_is_worst() -> None:
    before = [asked("a", judge_score=3, incorrect=0, cited=0), asked("b", judge_score=1)]
    after = [asked("a", judge_score=4, incorrect=1, cited=1), asked("b", judge_score=5)]
    change = compared(before, after)
    assert (change.better, change.worse) == (["b"], ["a"])


@pytest.mark.parametrize(("moved", "p"), [([], 1.0), ([0.0, 0.0], 1.0), ([1.0], 1.0)])
def test_what_hardly_moved_may_be_chance(moved: list[float], p: float) -> None:
    assert by_chance(moved) == p


def test_wilson_s_interval_stays_within_zero_and_one() -> None:
    assert wilson(0, 62)[0] == 0.0
    assert wilson(62, 62)[1] == 1.0
    low, high = wilson(8, 10)  # Wilson's own: 0.49 to 0.94
    assert (round(low, 2), round(high, 2)) == (0.49, 0.94)


def test_amounts_are_resampled_whatever_their_values() -> None:
    assert of_mean([1.0, 1.0], share=False) == (1.0, 1.0)
    assert of_mean([1.0, 1.0]) == wilson(2, 2)


def report(**metrics: Metrics) -> EvaluationReport:
    golden = [GoldenQuestion(id="a", kind="lookup", question="?")]
    found = evaluate(System(name="s", ask=lambda q, p: answer("x")), golden, domain="d")
    return found.model_copy(update={"metrics": metrics})


def test_limits_name_what_fell_short() -> None:
    found = report(all={"cited": 0.8, "incorrect": 0.1}, table={"cited": 0.5})
    limits = [
        *parse_limits(["cited=0.8", "table:cited=0.7"]),
        *parse_limits(["incorrect=0.05"], at_most=True),
    ]
    assert list(broken(found, limits)) == [
        "table:cited at least 0.7: it is 0.5",
        "incorrect at most 0.05: it is 0.1",
    ]


@pytest.mark.parametrize("written", ["cited", "cited=", "cited=high", "=1", "cited=nan"])
def test_a_limit_that_is_none_is_refused(written: str) -> None:
    with pytest.raises(UsageError, match="write a metric and a number"):
        parse_limits([written])


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("sited=1", "did you mean 'cited'"),
        ("acceptable=0.9", "add --judge"),
        ("tables:cited=1", "there are all"),
    ],
)
def test_a_limit_that_could_never_fail_is_refused(written: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        list(broken(report(all={"cited": 1.0}), parse_limits([written])))


DOMAIN = Domain.model_validate(
    {"domain": "d", "title": "D", "sources": {}, "glossary": {"SG": ["Singapore"]}}
)


def test_a_matrix_makes_every_combination() -> None:
    axes = parse_axes(["answer.effort=fast,thorough", "retrieval.hyde=true,false"])
    made = variations(DOMAIN, axes)
    assert [one.name for one in made] == [
        "answer.effort=fast retrieval.hyde=true",
        "answer.effort=fast retrieval.hyde=false",
        "answer.effort=thorough retrieval.hyde=true",
        "answer.effort=thorough retrieval.hyde=false",
    ]
    assert (made[0].domain.answer.effort, made[0].domain.retrieval.hyde) == ("fast", True)
    assert made[3].domain.glossary == DOMAIN.glossary


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("answer.effort", "write it as"),
        ("answer.effort=", "write it as"),
        ("answer.effort=quick", "'fast', 'standard' or 'thorough'"),
        ("answer.efort=fast", "unknown key 'efort'; did you mean 'effort'"),
        ("chunks.size=100", "another index"),
        ("title.x=1", "no such key"),
        ("answer.context_characters=" + ",".join(map(str, range(1000, 1025))), "24 at most"),
    ],
)
def test_a_matrix_that_cannot_be_is_refused(written: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        variations(DOMAIN, parse_axes([written]))


def test_axes_are_told_from_files() -> None:
    assert is_axis("answer.effort=fast,standard")
    assert not is_axis("golden/security.yaml")
    assert not is_axis("golden/a=b.yaml")
