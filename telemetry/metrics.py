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
INDEX_GENERATION = Gauge(
    "oncall_index_generation", "Generation that answers", ["domain"], registry=registry
)
INDEX_DOCUMENTS = Gauge(
    "oncall_index_documents", "Documents that are answered from", ["domain"], registry=registry
)
INDEX_LOADED = Gauge(
    "oncall_index_loaded_domains", "Domains whose generation is open", registry=registry
)
INDEX_BYTES = Gauge(
    "oncall_index_bytes",
    "Of the files that searching reads, mapped once for all processes of a machine; 0: not open",
    ["domain"],
    registry=registry,
)


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


def observe_open(
    domain: str, *, generation: int, documents: int, searched_bytes: int, domains: int
) -> None:
    """`domains`: open ones, this one among them."""
    INDEX_GENERATION.labels(domain).set(generation)
    INDEX_DOCUMENTS.labels(domain).set(documents)
    INDEX_BYTES.labels(domain).set(searched_bytes)
    INDEX_LOADED.set(domains)


def observe_closed(domain: str, *, domains: int) -> None:
    INDEX_BYTES.labels(domain).set(0)
    INDEX_LOADED.set(domains)


def exposition() -> bytes:
    """Everything, in Prometheus' text format."""
    return generate_latest(registry)
