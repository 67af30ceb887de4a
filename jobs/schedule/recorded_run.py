"""A run of the ingestion job with what is kept of it, whoever started it."""

from __future__ import annotations

import socket
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

import structlog

from config.errors import AnotherRun, CopilotError
from jobs.ingest_outcome import IngestReport
from jobs.schedule.due import Planned
from jobs.schedule.kept_runs import IngestRun, KeptRuns
from telemetry import metrics

log = structlog.get_logger()


@dataclass(frozen=True, kw_only=True)
class Started:
    """Why a run is there."""

    id: str
    planned: Planned | None = None
    """None: somebody started it by hand."""
    waits: bool = True
    """For another run of the same domain to end; else it is skipped."""


def by_hand(domain: str) -> Started:
    return Started(id=f"{domain}+{uuid.uuid4().hex[:12]}")


def as_planned(domain: str, planned: Planned) -> Started:
    """Known by its planned time, so that all runners mean the same run."""
    return Started(id=f"{domain}@{planned.wall}", planned=planned, waits=False)


def recorded(
    runs: KeptRuns,
    domain: str,
    started: Started,
    run: Callable[[], IngestReport],
    *,
    generation: Callable[[], int],
) -> IngestReport:
    """The report of `run`, which is kept; so is how it failed. `generation`: what the domain
    answers from, 0 for nothing. Raises what `run` raises."""
    planned = started.planned
    begun = IngestRun(
        id=started.id,
        domain=domain,
        planned_at=planned.at if planned else None,
        wall=planned.wall if planned else "",
        started_at=datetime.now(UTC),
        runner=socket.gethostname(),
    )
    before = generation()
    runs.begin(begun)
    try:
        report = run()
    except AnotherRun as error:
        _end(runs, begun.ended("skipped", problem=error.problem))
        raise
    except CopilotError as error:
        _end(runs, begun.ended("failed", problem=error.problem))
        raise
    except Exception as error:
        _end(runs, begun.ended("failed", problem=f"{type(error).__name__}; see the log"))
        raise
    _end(runs, begun.reported(report, before=before))
    return report


def _end(runs: KeptRuns, run: IngestRun) -> None:
    runs.end(run)
    metrics.INGEST_RUNS.labels(run.domain, run.outcome).inc()
    if run.outcome != "skipped":
        metrics.INGEST_SECONDS.labels(run.domain).observe(run.seconds)
    log.info(
        "ingest run",
        id=run.id,
        domain=run.domain,
        outcome=run.outcome,
        problem=run.problem or None,
        generation=run.generation,
        added=run.added,
        changed=run.changed,
        removed=run.removed,
        failed=len(run.failures),
        calls=run.calls,
        seconds=round(run.seconds, 1),
    )
