"""A run of the ingestion job with what is kept of it, whoever started it."""

from __future__ import annotations

import os
import socket
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

import structlog

from config.errors import AnotherRun, CopilotError
from config.models import Usage
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


def left_out(runs: KeptRuns, domain: str, started: Started, why: str, *, now: datetime) -> None:
    """Keep that a planned time passes without a run."""
    run = _begun(domain, started, now).ended("skipped", problem=why)
    if runs.leave_out(run):
        metrics.INGEST_RUNS.labels(domain, run.outcome).inc()
        log.warning("a planned run is skipped", id=run.id, domain=domain, problem=why)


def given_up(
    runs: KeptRuns,
    domain: str,
    started: Started,
    before: IngestRun | None,
    deaths: int,
    *,
    now: datetime,
) -> None:
    """Keep that a run failed as it took down whoever ran it. `before`: what is kept of it."""
    why = (
        f"it is set aside: {deaths} runners died in it, as their logs may tell (out of memory?); "
        "the next planned time tries anew"
    )
    _end(runs, (before or _begun(domain, started, now)).ended("failed", problem=why))


class Leaving(BaseException):
    """This process ends, and its runs are gone on with by another."""


def recorded(
    runs: KeptRuns,
    domain: str,
    started: Started,
    run: Callable[[], IngestReport],
    *,
    generation: Callable[[], int],
    cost: Callable[[Usage], float | None] = lambda usage: None,
) -> IngestReport:
    """The report of `run`, which is kept; so is how it failed. `generation`: what the domain
    answers from, 0 for nothing. `cost`: in US dollars. Raises what `run` raises."""
    begun = _begun(domain, started, datetime.now(UTC))
    before = generation()
    runs.begin(begun)
    try:
        report = run()
    except Leaving:
        raise  # nothing is kept: it is still running, elsewhere soon
    except AnotherRun as error:
        _end(runs, begun.ended("skipped", problem=error.problem))
        raise
    except CopilotError as error:
        _end(runs, begun.ended("failed", problem=error.problem))
        raise
    except Exception as error:
        _end(runs, begun.ended("failed", problem=f"{type(error).__name__}; see the log"))
        raise
    except BaseException:  # Ctrl-C, for one by hand
        _end(runs, begun.ended("broken", problem="it was stopped"))
        raise
    _end(runs, begun.reported(report, before=before, cost=cost(report.usage)))
    return report


def _begun(domain: str, started: Started, now: datetime) -> IngestRun:
    planned = started.planned
    return IngestRun(
        id=started.id,
        domain=domain,
        planned_at=planned.at if planned else None,
        wall=planned.wall if planned else "",
        started_at=now,
        runner=f"{socket.gethostname()}:{os.getpid()}",
    )


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
