"""HTTP around the bot: health, metrics, and Slack's events where there is no socket."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING

from fastapi import FastAPI, HTTPException, Request, Response

from bot import metrics

if TYPE_CHECKING:
    from bot.app import Bot

MAX_SLACK_BODY = 2_000_000
SLACK_THREADS = 32


def lifespan_of(bot: Bot | None) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    """Starts and drains the bot with the server."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        if bot:
            await asyncio.to_thread(bot.start)
        yield
        if bot:
            await asyncio.to_thread(bot.stop)

    return lifespan


def add_health(app: FastAPI, bot: Bot | None) -> None:
    """`/healthz`: the process lives. `/readyz`: a question asked now would be answered."""

    @app.get("/healthz")
    def healthz() -> dict[str, str]:
        return {"status": "alive"}

    @app.get("/readyz")
    def readyz() -> dict[str, str]:
        if bot and not bot.ready():
            raise HTTPException(503, "the bot is not connected to Slack, or its inbox is down")
        return {"status": "ready"}

    @app.get("/metrics")
    def prometheus() -> Response:
        if bot:
            metrics.READY.set(bot.ready())
            metrics.BACKLOG.set(bot.inbox.backlog() if bot.inbox.ready() else 0)
        return Response(metrics.exposition(), media_type="text/plain; version=0.0.4")


def add_slack(app: FastAPI, bot: Bot) -> None:
    """Slack's signed requests, in threads of their own: slow answers can't delay an ack."""
    from slack_bolt.adapter.starlette.handler import to_bolt_request, to_starlette_response

    threads = ThreadPoolExecutor(SLACK_THREADS, thread_name_prefix="slack-events")

    @app.post("/slack/events")
    async def slack_events(request: Request) -> Response:
        body = await bounded_body(request, MAX_SLACK_BODY)
        asked = to_bolt_request(request, body)
        loop = asyncio.get_running_loop()
        return to_starlette_response(await loop.run_in_executor(threads, bot.app.dispatch, asked))


async def bounded_body(request: Request, limit: int) -> bytes:
    """The body; 413 as soon as it is longer than `limit` bytes."""
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > limit:
            raise HTTPException(413, f"the request is longer than {limit} bytes")
    return body


def health_app(bot: Bot) -> FastAPI:
    """Only health and metrics: for a Socket Mode worker behind a prober."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    add_health(app, bot)
    return app


def serve_health(bot: Bot, port: int) -> None:
    """Health and metrics for probers, in a thread that ends with the process."""
    import uvicorn

    config = uvicorn.Config(health_app(bot), host="0.0.0.0", port=port, log_level="warning")  # noqa: S104 - probers are on other hosts
    server = uvicorn.Server(config)
    threading.Thread(target=server.run, name="health", daemon=True).start()
