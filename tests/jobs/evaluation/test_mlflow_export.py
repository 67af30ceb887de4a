"""Evaluations, handed to MLflow."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from config.errors import ConfigError
from jobs.evaluation.history import export_run, metric_names
from tests.jobs.evaluation.made_up_report import made_up_report


def test_figures_have_names_that_mlflow_takes() -> None:
    named = metric_names(made_up_report(12))
    assert {"acceptable", "evidence_ndcg_at_10", "kind/table/cited", "tag/owners/cited"} <= {*named}
    assert not any(set("@#") & set(name) for name in named)


@pytest.mark.skipif(importlib.util.find_spec("mlflow") is not None, reason="MLflow is here")
def test_without_mlflow_the_remedy_is_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="which is not installed"):
        export_run(made_up_report(1), tmp_path)


def test_a_run_arrives_with_its_figures_and_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    report = made_up_report(12)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "report.json").write_text("{}")
    kept = mlflow.get_run(export_run(report, tmp_path / "out"))
    assert kept.data.metrics == metric_names(report)
    assert kept.data.params["model"] == "made-up-large"
    assert mlflow.artifacts.list_artifacts(run_id=kept.info.run_id, artifact_path="report")
