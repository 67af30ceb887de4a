"""Evaluations that ran, in the state database: their figures for good, the last reports whole."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    Column,
    DateTime,
    Engine,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    delete,
    insert,
    select,
    update,
)
from sqlalchemy.exc import DBAPIError

from config.errors import UsageError
from durable.migration import migrate
from jobs.evaluation.report import EvaluationReport, Metrics

WHOLE_REPORTS = 50
"""Of each domain; of older runs only the figures stay."""
LAST = "last"
_METADATA = MetaData()
_RUNS = Table(
    "evaluation_runs",
    _METADATA,
    Column("id", String(128), primary_key=True),
    Column("domain", String(64), nullable=False, index=True),
    Column("started_at", DateTime, nullable=False, comment="UTC"),
    Column("system", String(200), nullable=False),
    Column("model", String(200), nullable=False, comment="empty without one"),
    Column("judge", String(200), nullable=False, comment="empty where nothing was judged"),
    Column("version", String(64), nullable=False, comment="of all that makes an answer"),
    Column("generation", Integer, nullable=False),
    Column("questions", Integer, nullable=False),
    Column("metrics", Text, nullable=False, comment="JSON: group → metric → value"),
    Column("report", LargeBinary, comment="report.json, deflated; null once it is dropped"),
)
_SHOWN = [column for column in _RUNS.columns if column.name != "report"]


@dataclass(frozen=True, kw_only=True)
class KeptRun:
    """One run as it is listed."""

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
    """Group → metric → value, as `EvaluationReport.metrics`."""


def keep_run(engine: Engine, report: EvaluationReport) -> None:
    """Creates the table with the first run. A run that is kept already is written anew."""
    migrate(engine, _METADATA, "evaluation runs")
    run = report.run
    values = {
        "id": run.id,
        "domain": run.domain,
        "started_at": _utc(run.started_at),
        "system": run.system[:200],
        "model": run.model[:200],
        "judge": run.judge_model[:200],
        "version": run.version[:64],
        "generation": run.generation,
        "questions": run.questions,
        "metrics": json.dumps(report.metrics),
        "report": zlib.compress(report.model_dump_json().encode()),
    }
    of_domain = _RUNS.c.domain == run.domain
    with engine.begin() as connection:
        connection.execute(delete(_RUNS).where(_RUNS.c.id == run.id))
        connection.execute(insert(_RUNS).values(values))
        newest = select(_RUNS.c.id).where(of_domain, _RUNS.c.report.is_not(None)).order_by(*_NEWEST)
        dropped = list(connection.scalars(newest.offset(WHOLE_REPORTS)))
        if dropped:
            connection.execute(update(_RUNS).where(_RUNS.c.id.in_(dropped)).values(report=None))


def runs(engine: Engine, domain: str | None = None, *, limit: int = 20) -> list[KeptRun]:
    """Newest first; none where nothing was ever kept."""
    wanted = select(*_SHOWN).order_by(*_NEWEST).limit(limit)
    if domain is not None:
        wanted = wanted.where(_RUNS.c.domain == domain)
    return [_kept(row._mapping) for row in _rows(engine, wanted)]


def run_report(engine: Engine, name: str, domain: str | None = None) -> EvaluationReport:
    """`name`: a run's id, a beginning that only one run has, or `last`, of this domain if any.

    Raises UsageError: no such run, several, or one whose report was dropped."""
    wanted = select(_RUNS.c.id, _RUNS.c.report).order_by(*_NEWEST)
    if domain is not None:
        wanted = wanted.where(_RUNS.c.domain == domain)
    if name == LAST:
        found = _rows(engine, wanted.limit(1))
    else:
        beginning = _RUNS.c.id.startswith(name, autoescape=True)
        found = _rows(engine, wanted.where(beginning).limit(10))
        found = [row for row in found if row.id == name] or found
    if not found:
        raise UsageError(f"{name}: no such run is kept; `oncall evaluate history` lists them")
    if len(found) > 1:
        listed = ", ".join(row.id for row in found[:5])
        raise UsageError(f"{name}: several runs begin so: {listed}")
    if found[0].report is None:
        raise UsageError(
            f"{found[0].id}: only its figures are kept; whole reports are those of the last "
            f"{WHOLE_REPORTS} runs of a domain"
        )
    return EvaluationReport.model_validate_json(zlib.decompress(found[0].report))


_NEWEST = (_RUNS.c.started_at.desc(), _RUNS.c.id.desc())


def _rows(engine: Engine, wanted: Any) -> Sequence[Any]:
    try:
        with engine.connect() as connection:
            return connection.execute(wanted).all()
    except DBAPIError:
        return []  # nothing was ever kept, or the database fails


def _kept(row: Any) -> KeptRun:
    return KeptRun(**{**row, "metrics": json.loads(row["metrics"])})


def _utc(written: str) -> datetime:
    """As databases keep it: without its zone."""
    return datetime.fromisoformat(written).astimezone(UTC).replace(tzinfo=None)
