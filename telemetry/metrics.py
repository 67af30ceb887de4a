"""Prometheus metrics of the core in one registry, and functions for features to add their own.

The registry is separate from the client library's default. Labels have few values: names of
domains, configured models, kinds. No label holds text of a question or an answer."""

from __future__ import annotations

import platform
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)

from telemetry.logs import product_version

# A `_created` series beside each counter and histogram: a tenth of what is scraped, for nobody.
disable_created_metrics()  # type: ignore[no-untyped-call]
registry = CollectorRegistry()
ProcessCollector(registry=registry)

SOON = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
"""Buckets in seconds for what people wait for."""
MODEL = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0, 120.0)
HUMAN = (60.0, 300.0, 900.0, 1_800.0, 3_600.0, 14_400.0, 86_400.0, 604_800.0)
STEP = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)


def counter(name: str, meaning: str, *labels: str) -> Counter:
    return Counter(name, meaning, labels, registry=registry)


def gauge(name: str, meaning: str, *labels: str) -> Gauge:
    return Gauge(name, meaning, labels, registry=registry)


def histogram(name: str, meaning: str, *labels: str, buckets: tuple[float, ...]) -> Histogram:
    return Histogram(name, meaning, labels, buckets=buckets, registry=registry)


# What people wait for.

EVENT_STORED_SECONDS = histogram(
    "oncall_event_stored_seconds",
    "From an event's arrival to its safe storage; the ack follows at once",
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.3, 1.0, 3.0),
)
FIRST_SIGN = histogram(
    "oncall_first_sign_seconds",
    "From a question's time in Slack to the first thing that its asker sees of the answer",
    buckets=SOON,
)
MENTION_TO_ANSWER = histogram(
    "oncall_mention_to_answer_seconds",
    "From a question's time in Slack to its whole answer in the thread",
    "domain",
    buckets=(*SOON, 300.0),
)
ANSWER_SECONDS = histogram(
    "oncall_answer_seconds", "What the agents took, behind every door", "domain", "path",
    buckets=SOON,
)  # fmt: skip
ANSWERS = counter(
    "oncall_answers_total",
    "Answers made, cached ones aside, by the kind of question (code, several, situation, plain; "
    "general, small_talk), the strategy of its last search and the path",
    "domain",
    "kind",
    "strategy",
    "path",
)
ATTEMPTS = histogram(
    "oncall_answer_attempts",
    "Searches, or drafts (`what`), that an answer took; cached ones aside",
    "domain",
    "what",
    buckets=(0.0, 1.0, 2.0, 3.0, 4.0, 6.0, 10.0),
)
NODE = histogram(
    "oncall_node_seconds",
    "What one of the agents took for one question, all its runs together",
    "node",
    buckets=STEP,
)
MODEL_CALL = histogram(
    "oncall_model_seconds",
    "One call of a chat model to its last word, retries included; `outcome`: ok, left (nobody "
    "reads the stream any more), or the kind of failure",
    "model",
    "outcome",
    buckets=MODEL,
)

# Results.

FAILED = counter(
    "oncall_questions_failed_total", "Questions that ended in an apology or an error", "domain"
)
DEGRADED = counter(
    "oncall_degraded_total", "Answers with an agent that went on without its model", "domain"
)
FALLBACKS = counter(
    "oncall_fallbacks_total",
    "Agents that took their second way, by the kind of failure",
    "domain",
    "node",
    "reason",
)
REFUSALS = counter(
    "oncall_refusals_total",
    "Questions without an answer, by reason: nothing_found, too_little, not_in_documents (a model "
    "read them and says so), limit, not_allowed",
    "domain",
    "reason",
)
TOKENS = counter("oncall_tokens_total", "Language model tokens", "domain", "kind")
COST = counter(
    "oncall_cost_dollars_total",
    "US dollars that answers cost, by `ONCALL_PRICES`; absent without it",
    "domain",
)
ANSWER_CACHE = counter(
    "oncall_answer_cache_total", "Look-ups in the answer cache: hit, miss, unavailable",
    "domain", "outcome",
)  # fmt: skip

# Slack, Google, and the process itself.

SLACK_WAITS = counter("oncall_slack_waits_total", "Waits for Slack, by reason", "reason")
SOCKET_CONNECTED = gauge(
    "oncall_socket_connected",
    "1 while a Socket Mode connection is open; NaN in a process that needs none",
)
SOCKET_CONNECTED.set(float("nan"))
SOCKET_OTHERS = gauge(
    "oncall_socket_others",
    "Socket Mode connections of other processes with the same app, as Slack counted when this one "
    "last connected; NaN before",
)
SOCKET_OTHERS.set(float("nan"))
SOCKET_RECONNECTS = counter(
    "oncall_socket_reconnects_total", "Socket Mode connections opened after the first"
)
PERMISSION_CHECKS = counter(
    "oncall_permission_checks_total",
    "Checks of who may read documents now: heard; kept (nobody answered, and what was heard lately "
    "still counts); unknown (it is too old, and the question gets no answer)",
    "outcome",
)
PERMISSION_CHECKS.labels("unknown")  # start at 0, so that the first one is an increase
READY = gauge("oncall_ready", "1 when a question asked now would be answered")
NOT_READY = gauge("oncall_not_ready", "1 for each thing that readiness waits for", "missing")
LEASE_HELD = gauge(
    "oncall_lease_held",
    "1 while this worker may begin work, which needs the database; NaN in a process without work",
)
LEASE_HELD.set(float("nan"))
WORK_RECOVERED = counter(
    "oncall_work_recovered_total", "Work of dead workers given back to its queue"
)
SILENT = gauge(
    "oncall_process_silent_seconds",
    "Since another process of this installation last gave a sign of life; 0 while it gives them, "
    "absent after it stopped in order",
    "process",
    "host",
)
CONNECTIONS_FREE = gauge(
    "oncall_database_connections_free",
    "Connections that PostgreSQL has left for all its clients; NaN with SQLite, and in an outage",
)
CONNECTIONS_FREE.set(float("nan"))
CLOCK_AHEAD = gauge(
    "oncall_clock_ahead_seconds",
    "How far this machine's clock is ahead of the database's; negative: behind; NaN in an outage",
)
CLOCK_AHEAD.set(float("nan"))
BACKLOG = gauge("oncall_inbox_backlog", "Stored items not yet worked off")
OLDEST = gauge(
    "oncall_inbox_oldest_seconds", "Age of the stored item that waits longest; 0 for none"
)
DISK_FREE = gauge("oncall_disk_free_bytes", "Free for this process on the disk of its data folder")
DISK_SIZE = gauge("oncall_disk_size_bytes", "Size of the disk of the data folder")
BUILD = gauge("oncall_build_info", "1, for what runs here", "version", "python")

# Documents and their index, in the process of `oncall jobs run`.

INDEX_AGE = gauge(
    "oncall_index_age_seconds", "Since the last ingest run that ended well began", "domain"
)
INDEX_OVERDUE = gauge(
    "oncall_index_overdue", "1 when a run is later than the domain's schedule allows", "domain"
)
DOCUMENTS_FAILING = gauge(
    "oncall_documents_failing", "Documents that three runs in a row could not read", "domain"
)
INGEST_RUNS = counter(
    "oncall_ingest_runs_total",
    "Ingest runs by how they ended: published, unchanged, held back (by the canary), skipped "
    "(another run was at it), failed",
    "domain",
    "outcome",
)
INGEST_DOCUMENTS = counter(
    "oncall_ingest_documents_total",
    "Documents that ingest runs prepared for publication, or failed on",
    "domain",
    "outcome",
)
INGEST_QUEUE = gauge(
    "oncall_ingest_queue_depth", "Documents that this process's run waits for, being prepared"
)
INGEST_MODEL_CALLS = counter(
    "oncall_ingest_model_calls_total",
    "Requests of enrichment to the model: ok, or the kind of failure",
    "outcome",
)
INGEST_SECONDS = histogram(
    "oncall_ingest_run_seconds",
    "What an ingest run took",
    "domain",
    buckets=(1.0, 10.0, 60.0, 300.0, 1_800.0, 7_200.0, 28_800.0, 86_400.0),
)
INDEX_GENERATION = gauge("oncall_index_generation", "Generation that answers", "domain")
INDEX_DOCUMENTS = gauge("oncall_index_documents", "Documents that are answered from", "domain")
INDEX_LOADED = gauge("oncall_index_loaded_domains", "Domains whose generation is open")
INDEX_STORE_ERRORS = counter(
    "oncall_index_store_errors_total",
    "Failed reads and writes of ONCALL_INDEX_STORE, and copies there that are damaged",
)
INDEX_BYTES = gauge(
    "oncall_index_bytes",
    "Of the files that searching reads, mapped once for all processes of a machine; 0: not open",
    "domain",
)
VECTOR_SEARCHES = counter(
    "oncall_vector_searches_total",
    "With ONCALL_VECTORS=chroma: searches by chroma, or local while Chroma is away or not filled",
    "domain",
    "engine",
)


@contextmanager
def timed_storage() -> Iterator[None]:
    began = time.monotonic()
    yield
    EVENT_STORED_SECONDS.observe(time.monotonic() - began)


def observe_readiness(missing: Iterable[str]) -> None:
    """`missing`: a label for each thing that readiness waits for."""
    names = list(missing)
    READY.set(not names)
    NOT_READY.clear()
    for name in names:
        NOT_READY.labels(name).set(1)


def observe_open(
    domain: str, *, generation: int, documents: int, searched_bytes: int, domains: int
) -> None:
    """`domains`: number of open domains, including this one."""
    INDEX_GENERATION.labels(domain).set(generation)
    INDEX_DOCUMENTS.labels(domain).set(documents)
    INDEX_BYTES.labels(domain).set(searched_bytes)
    INDEX_LOADED.set(domains)


def observe_closed(domain: str, *, domains: int) -> None:
    INDEX_BYTES.labels(domain).set(0)
    INDEX_LOADED.set(domains)


def observe_vector_search(domain: str, engine: Literal["chroma", "local"]) -> None:
    VECTOR_SEARCHES.labels(domain, engine).inc()


def watch_disk(folder: Path) -> None:
    """From now on each scrape reads free space and size of the disk that holds this folder."""

    def of(figure: Literal["free", "total"]) -> float:
        try:
            return float(getattr(shutil.disk_usage(folder), figure))
        except OSError:
            return float("nan")

    DISK_FREE.set_function(lambda: of("free"))
    DISK_SIZE.set_function(lambda: of("total"))


def exposition() -> bytes:
    """All metrics in Prometheus' text format."""
    BUILD.labels(product_version(), platform.python_version()).set(1)
    return generate_latest(registry)
