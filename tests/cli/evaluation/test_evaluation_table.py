"""A report on a terminal."""

from __future__ import annotations

import pytest

from cli.evaluation.tables import print_matrix, print_report
from jobs.evaluation.metrics.retrieval import LIBRARY_MISSING
from tests.jobs.evaluation.made_up_report import made_up_report


def test_brackets_are_words_whoever_wrote_them(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    report = made_up_report()
    report = report.model_copy(
        update={
            "notes": [LIBRARY_MISSING],
            "metrics": {**report.metrics, "#[red]": report.metrics["all"]},
            "below": ["#[red]:cited at least 0.9: it is 0.5"],
            "run": report.run.model_copy(update={"model": "model[/]"}),
        }
    )
    print_report(report)
    said = capsys.readouterr().out
    assert "pip install 'oncall-copilot[evaluation]'" in said
    assert "#[red]:cited at least 0.9" in said
    assert said.count("#[red]") == 2
    assert "model[/]" in said


def test_a_matrix_names_its_settings_as_they_were_written(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    print_matrix({"answer.effort=[bold]": made_up_report()})
    assert "answer.effort=[bold]" in capsys.readouterr().out
