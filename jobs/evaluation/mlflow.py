"""An evaluation as a run of MLflow, where the team keeps those of its models."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

from config.errors import ConfigError
from jobs.evaluation.report import EvaluationReport

_NAME = re.compile(r"[^\w\-. /]")
_AT = re.compile("@")
_LONGEST = 250


def require_mlflow() -> None:
    """Before anything is asked. Raises ConfigError."""
    if find_spec("mlflow") is None:
        raise ConfigError(
            "--mlflow needs MLflow, which is not installed",
            remedy="pip install 'oncall-copilot[mlflow]'",
        )


def export_run(report: EvaluationReport, folder: Path) -> str:
    """Parameters, figures of every group, and the files of `folder`, at MLFLOW_TRACKING_URI, in
    the experiment `oncall-DOMAIN`. The id that MLflow gave the run.

    Raises ConfigError: MLflow is not installed, or can't be reached."""
    require_mlflow()
    import mlflow
    from mlflow.exceptions import MlflowException

    run = report.run
    try:
        mlflow.set_experiment(f"oncall-{run.domain}")
        with mlflow.start_run(run_name=run.id) as started:
            mlflow.log_params(
                {
                    "domain": run.domain,
                    "system": run.system,
                    "model": run.model or "none",
                    "judge": run.judge_model or "none",
                    "generation": run.generation,
                    "version": run.version,
                    "questions": run.questions,
                    "repeats": run.repeats,
                }
            )
            mlflow.log_metrics(metric_names(report))
            mlflow.log_artifacts(str(folder), "report")
            return str(started.info.run_id)
    except (MlflowException, ImportError, OSError) as error:
        raise ConfigError(
            f"MLflow took no run: {str(error).partition(chr(10))[0]}",
            # Of mlflow-skinny 3.17: databases need alembic, folders that variable.
            remedy="set MLFLOW_TRACKING_URI to your server; a folder also needs "
            "MLFLOW_ALLOW_FILE_STORE=true, a database the whole of mlflow",
        ) from error


def metric_names(report: EvaluationReport) -> dict[str, float]:
    """`cited` of all questions, `kind/table/cited`, `tag/owners/cited`: names that MLflow takes,
    which knows no `@` and no `#`."""
    found: dict[str, float] = {}
    for group, metrics in report.metrics.items():
        before = f"tag/{group[1:]}/" if group.startswith("#") else f"kind/{group}/"
        for name, value in metrics.items():
            whole = name if group == "all" else before + name
            found[_NAME.sub("_", _AT.sub("_at_", whole))[:_LONGEST]] = value
    return found
