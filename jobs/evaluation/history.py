"""Stores evaluation runs in the state database and exports them to MLflow.

Figures are stored for all runs, full reports for the latest ones."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, String, Text, delete, insert, select, update
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from config.errors import ConfigError, UsageError
from durable.database import naive_utc
from durable.migration import migrate
from jobs.evaluation.report import EvaluationReport, Metrics

WHOLE_REPORTS = 50
"""Full reports stored per domain; older runs have only their figures."""
LAST = "last"
_MLFLOW_NAME = re.compile(r"[^\w\-. /]")
_MAX_MLFLOW_NAME_CHARS = 250


class _Base(DeclarativeBase):
    pass


class EvaluationRow(_Base):
    __tablename__ = "evaluation_runs"

    id: Mapped[str] = mapped_column(String(128), primary_key=True)
    domain: Mapped[str] = mapped_column(String(64), index=True)
    started_at: Mapped[datetime] = mapped_column(comment="UTC")
    system: Mapped[str] = mapped_column(String(200))
    model: Mapped[str] = mapped_column(String(200), comment="empty without one")
    judge: Mapped[str] = mapped_column(String(200), comment="empty where nothing was judged")
    version: Mapped[str] = mapped_column(String(64), comment="of all that makes an answer")
    generation: Mapped[int]
    questions: Mapped[int]
    metrics: Mapped[str] = mapped_column(Text, comment="JSON: group → metric → value")
    report: Mapped[bytes | None] = mapped_column(
        comment="report.json, deflated; null once it is dropped"
    )


_LISTED = [one for one in EvaluationRow.__table__.columns if one.name != "report"]


@dataclass(frozen=True, kw_only=True)
class KeptRun:
    """A stored run without its report."""

    id: str
    domain: str
    started_at: datetime
    """UTC."""
    system: str
    model: str
    judge: str
    version: str
    generation: int
    questions: int
    metrics: dict[str, Metrics]
    """Group → metric → value, like `EvaluationReport.metrics`."""


def keep_run(engine: Engine, report: EvaluationReport) -> None:
    """Store a run, replacing one with the same id. Creates the table if it is missing."""
    migrate(engine, _Base.metadata, "evaluation runs")
    run = report.run
    values = {
        "id": run.id,
        "domain": run.domain,
        "started_at": naive_utc(datetime.fromisoformat(run.started_at)),
        "system": run.system[:200],
        "model": run.model[:200],
        "judge": run.judge_model[:200],
        "version": run.version[:64],
        "generation": run.generation,
        "questions": run.questions,
        "metrics": json.dumps(report.metrics),
        "report": zlib.compress(report.model_dump_json().encode()),
    }
    of_domain = EvaluationRow.domain == run.domain
    with engine.begin() as connection:
        connection.execute(delete(EvaluationRow).where(EvaluationRow.id == run.id))
        connection.execute(insert(EvaluationRow).values(values))
        newest = (
            select(EvaluationRow.id)
            .where(of_domain, EvaluationRow.report.is_not(None))
            .order_by(*_NEWEST)
        )
        dropped = list(connection.scalars(newest.offset(WHOLE_REPORTS)))
        if dropped:
            connection.execute(
                update(EvaluationRow).where(EvaluationRow.id.in_(dropped)).values(report=None)
            )


def runs(engine: Engine, domain: str | None = None, *, limit: int = 20) -> list[KeptRun]:
    """Stored runs, newest first; empty when nothing is stored or the database fails."""
    query = select(*_LISTED).order_by(*_NEWEST).limit(limit)
    if domain is not None:
        query = query.where(EvaluationRow.domain == domain)
    return [_run(row._mapping) for row in _rows(engine, query)]


def run_report(engine: Engine, name: str, domain: str | None = None) -> EvaluationReport:
    """Load a report. `name`: a run id, a unique prefix of one, or `last`.

    Raises UsageError when no run or several match, or when the report was dropped."""
    query = select(EvaluationRow.id, EvaluationRow.report).order_by(*_NEWEST)
    if domain is not None:
        query = query.where(EvaluationRow.domain == domain)
    if name == LAST:
        rows = _rows(engine, query.limit(1))
    else:
        beginning = EvaluationRow.id.startswith(name, autoescape=True)
        rows = _rows(engine, query.where(beginning).limit(10))
        rows = [row for row in rows if row.id == name] or rows
    if not rows:
        raise UsageError(f"{name}: no such run is kept; `oncall evaluate history` lists them")
    if len(rows) > 1:
        listed = ", ".join(row.id for row in rows[:5])
        raise UsageError(f"{name}: several runs begin so: {listed}")
    if rows[0].report is None:
        raise UsageError(
            f"{rows[0].id}: only its figures are kept; whole reports are those of the last "
            f"{WHOLE_REPORTS} runs of a domain"
        )
    return EvaluationReport.model_validate_json(zlib.decompress(rows[0].report))


_NEWEST = (EvaluationRow.started_at.desc(), EvaluationRow.id.desc())


def _rows(engine: Engine, query: Any) -> Sequence[Any]:
    try:
        with engine.connect() as connection:
            return connection.execute(query).all()
    except DBAPIError:
        return []  # no table yet, or the database fails


def _run(row: Any) -> KeptRun:
    return KeptRun(**{**row, "metrics": json.loads(row["metrics"])})


def require_mlflow() -> None:
    """Check that MLflow is installed. Raises ConfigError; call it before asking questions."""
    if find_spec("mlflow") is None:
        raise ConfigError(
            "--mlflow needs MLflow, which is not installed",
            remedy="pip install 'oncall-copilot[mlflow]'",
        )


def export_run(report: EvaluationReport, folder: Path) -> str:
    """Log parameters, metrics of every group and the files of `folder` to MLFLOW_TRACKING_URI.

    The experiment is `oncall-DOMAIN`. Returns MLflow's run id. Raises ConfigError when MLflow is
    not installed or can't be reached."""
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
            # Seen with mlflow-skinny 3.17: databases need alembic, folders need that variable.
            remedy="set MLFLOW_TRACKING_URI to your server; a folder also needs "
            "MLFLOW_ALLOW_FILE_STORE=true, a database the whole of mlflow",
        ) from error


def metric_names(report: EvaluationReport) -> dict[str, float]:
    """MLflow name → value: `cited` for all questions, `kind/table/cited`, `tag/owners/cited`.

    MLflow accepts neither `@` nor `#` in a name."""
    named: dict[str, float] = {}
    for group, metrics in report.metrics.items():
        before = f"tag/{group[1:]}/" if group.startswith("#") else f"kind/{group}/"
        for name, value in metrics.items():
            whole = name if group == "all" else before + name
            named[_MLFLOW_NAME.sub("_", whole.replace("@", "_at_"))[:_MAX_MLFLOW_NAME_CHARS]] = (
                value
            )
    return named
