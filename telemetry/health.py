"""Health and metrics over HTTP, for probers and Prometheus."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Protocol

import structlog
from fastapi import FastAPI, HTTPException, Response

from telemetry import metrics

log = structlog.get_logger()

_TAG = "Health"


class HealthSource(Protocol):
    """Something whose health is reported. It answers at once, also in an outage, from its last
    checks."""

    def missing(self) -> Mapping[str, str]:
        """What a question would wait for: metric label → sentence for people. Empty when ready."""
        ...

    def observe(self) -> None:
        """Set gauges from the last checks, before they are scraped."""
        ...


LOOK_SECONDS = 10.0


class PeriodicLook:
    """Calls `look` in a thread when it is called and the last time is long ago: a scrape waits for
    no database."""

    def __init__(self, look: Callable[[], None], *, name: str) -> None:
        """`name`: what it looks at, for the thread and the log."""
        self._look = look
        self._name = name
        self._read_at = float("-inf")
        self._looking = threading.Lock()

    def __call__(self) -> None:
        is_old = time.monotonic() - self._read_at > LOOK_SECONDS
        if is_old and self._looking.acquire(blocking=False):
            threading.Thread(target=self._look_once, name=self._name, daemon=True).start()

    def _look_once(self) -> None:
        try:
            self._look()
        except Exception as error:
            log.warning(f"{self._name} could not be read", cause=type(error).__name__)
        finally:
            self._read_at = time.monotonic()
            self._looking.release()


class CombinedHealth:
    """Several health sources as one."""

    def __init__(self, *parts: HealthSource) -> None:
        self._parts = parts

    def missing(self) -> dict[str, str]:
        return {word: reason for part in self._parts for word, reason in part.missing().items()}

    def observe(self) -> None:
        for part in self._parts:
            part.observe()


def add_health(app: FastAPI, watched: HealthSource | None, *, figures: bool = True) -> None:
    """`/healthz`: the process is alive. `/readyz`: a question would be answered now; otherwise 503
    with everything that is missing, without names of domains.

    `figures`: also serve `/metrics`, which names domains."""

    @app.get("/healthz", tags=[_TAG], summary="Whether the process lives")
    def healthz() -> dict[str, str]:
        return {"status": "alive"}

    @app.get("/readyz", tags=[_TAG], summary="Whether a question would be answered at once")
    def readyz() -> dict[str, str]:
        if missing := watched.missing() if watched else {}:
            raise HTTPException(503, "; ".join(missing.values()))
        return {"status": "ready"}

    if not figures:
        return

    @app.get("/metrics", tags=[_TAG], summary="Figures for Prometheus")
    def prometheus() -> Response:
        if watched:
            metrics.observe_readiness(watched.missing())
            watched.observe()
        return Response(metrics.exposition(), media_type="text/plain; version=0.0.4")


def health_app(watched: HealthSource, *, figures: bool = True) -> FastAPI:
    """An app with only health and metrics, for a Socket Mode worker behind a prober."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    add_health(app, watched, figures=figures)
    return app


def serve_health(watched: HealthSource, port: int, *, figures: bool = True) -> None:
    """Serve health and metrics in a thread that ends with the process."""
    import uvicorn

    app = health_app(watched, figures=figures)
    config = uvicorn.Config(app, host="0.0.0.0", port=port, log_config=None, log_level="warning")  # noqa: S104 - probers are on other hosts
    server = uvicorn.Server(config)
    threading.Thread(target=server.run, name="health", daemon=True).start()
