"""Runs over time."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import Engine, create_engine

from config.errors import UsageError
from jobs.evaluation.history import WHOLE_REPORTS, keep_run, run_report, runs
from jobs.evaluation.report import EvaluationReport
from jobs.pages.report import as_page
from tests.jobs.evaluation.made_up_report import made_up_report


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    return create_engine(f"sqlite:///{tmp_path / 'state.db'}")


def run_of(day: int, domain: str = "helpdesk") -> EvaluationReport:
    report = made_up_report(2, beside=False)
    started = f"2026-{1 + day // 28:02}-{1 + day % 28:02}T10:15:00+02:00"
    run = report.run.model_copy(
        update={"id": f"{domain}-{day:03}", "domain": domain, "started_at": started}
    )
    return report.model_copy(update={"run": run})


def test_runs_are_listed_newest_first_by_domain(engine: Engine) -> None:
    assert runs(engine) == []
    for day, domain in ((3, "tea"), (1, "tea"), (2, "coffee")):
        keep_run(engine, run_of(day, domain))
    assert [one.id for one in runs(engine)] == ["tea-003", "coffee-002", "tea-001"]
    assert [one.id for one in runs(engine, "tea", limit=1)] == ["tea-003"]
    kept = runs(engine, "coffee")[0]
    assert kept.metrics == run_of(2).metrics
    assert f"{kept.started_at:%d %H:%M}" == "03 08:15"


def test_a_report_comes_back_as_it_was_kept(engine: Engine) -> None:
    for day in (1, 2):
        keep_run(engine, run_of(day))
    keep_run(engine, run_of(1))
    assert run_report(engine, "helpdesk-001") == run_of(1)
    assert run_report(engine, "last") == run_of(2)
    assert run_report(engine, "last", "helpdesk") == run_of(2)
    assert len(runs(engine)) == 2


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("helpdesk-0", "several runs begin so: helpdesk-002, helpdesk-001"),
        ("tea", "no such run is kept"),
        ("%", "no such run is kept"),
    ],
)
def test_a_name_that_is_none_says_why(engine: Engine, name: str, why: str) -> None:
    with pytest.raises(UsageError, match="no such run is kept"):
        run_report(engine, "last")
    for day in (1, 2):
        keep_run(engine, run_of(day))
    with pytest.raises(UsageError, match=why):
        run_report(engine, name)


def test_of_old_runs_only_the_figures_stay(engine: Engine) -> None:
    keep_run(engine, run_of(0, "tea"))
    for day in range(WHOLE_REPORTS + 2):
        keep_run(engine, run_of(day))
    assert len(runs(engine, "helpdesk", limit=100)) == WHOLE_REPORTS + 2
    with pytest.raises(UsageError, match="only its figures are kept"):
        run_report(engine, "helpdesk-001")
    assert run_report(engine, "helpdesk-002") == run_of(2)
    assert run_report(engine, "tea-000") == run_of(0, "tea")


def test_a_page_lists_the_runs_of_its_domain(engine: Engine) -> None:
    for day in (1, 2):
        keep_run(engine, run_of(day))
    page = as_page(run_of(2), runs(engine, "helpdesk"))
    assert "Runs of this domain" in page
    assert "2026-01-02 08:15" in page
    assert "Runs of this domain" not in as_page(run_of(2))
