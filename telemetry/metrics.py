"""Prometheus metrics. A registry of its own, so that two bots in one process don't collide."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

registry = CollectorRegistry()

STORED = Histogram(
    "oncall_event_stored_seconds",
    "From an event's arrival to its safe storage; the ack follows at once",
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.3, 1.0, 3.0),
    registry=registry,
)
ASKED = Histogram(
    "oncall_answer_seconds",
    "What the agents took",
    ["domain", "path"],
    buckets=(0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0),
    registry=registry,
)
FAILED = Counter(
    "oncall_questions_failed_total", "Questions that ended in an apology", ["domain"],
    registry=registry,
)  # fmt: skip
DEGRADED = Counter(
    "oncall_degraded_total", "Answers with an agent that fell back", ["domain"], registry=registry
)
TOKENS = Counter(
    "oncall_tokens_total", "Language model tokens", ["domain", "kind"], registry=registry
)
VERDICTS = Counter("oncall_feedback_total", "Feedback given", ["verdict"], registry=registry)
SLACK_WAITS = Counter(
    "oncall_slack_waits_total", "Waits for Slack, by reason", ["reason"], registry=registry
)
READY = Gauge("oncall_ready", "1 when a question asked now would be answered", registry=registry)
NOT_READY = Gauge(
    "oncall_not_ready", "1 for each thing that readiness waits for", ["missing"], registry=registry
)
LEASE_HELD = Gauge(
    "oncall_lease_held", "1 while this worker may begin work, which needs the database",
    registry=registry,
)  # fmt: skip
WORK_RECOVERED = Counter(
    "oncall_work_recovered_total", "Work of dead workers given back to its queue", registry=registry
)
BACKLOG = Gauge("oncall_inbox_backlog", "Stored items not yet worked off", registry=registry)
OLDEST = Gauge(
    "oncall_inbox_oldest_seconds", "Age of the stored item that waits longest; 0 for none",
    registry=registry,
)  # fmt: skip
INDEX_AGE = Gauge(
    "oncall_index_age_seconds", "Since the last ingest run that ended well began", ["domain"],
    registry=registry,
)  # fmt: skip
INDEX_OVERDUE = Gauge(
    "oncall_index_overdue", "1 when a run is later than the domain's schedule allows", ["domain"],
    registry=registry,
)  # fmt: skip
DOCUMENTS_FAILING = Gauge(
    "oncall_documents_failing", "Documents that three runs in a row could not read", ["domain"],
    registry=registry,
)  # fmt: skip
INGEST_RUNS = Counter(
    "oncall_ingest_runs_total", "Ingest runs by how they ended", ["domain", "outcome"],
    registry=registry,
)  # fmt: skip
INGEST_SECONDS = Histogram(
    "oncall_ingest_run_seconds", "What an ingest run took", ["domain"],
    buckets=(1, 10, 60, 300, 1_800, 7_200, 28_800, 86_400), registry=registry,
)  # fmt: skip


@contextmanager
def timed_storage() -> Iterator[None]:
    began = time.monotonic()
    yield
    STORED.observe(time.monotonic() - began)


def observe_readiness(missing: Iterable[str]) -> None:
    """`missing`: a word for each thing that is waited for."""
    names = list(missing)
    READY.set(not names)
    NOT_READY.clear()
    for name in names:
        NOT_READY.labels(name).set(1)


def exposition() -> bytes:
    """Everything, in Prometheus' text format."""
    return generate_latest(registry)
