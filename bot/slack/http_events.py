"""Slack's events over HTTP, where there is no socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

from fastapi import FastAPI, HTTPException, Request, Response
from slack_bolt import App

MAX_SLACK_BODY = 2_000_000
SLACK_THREADS = 32


class Startable(Protocol):
    """What lives as long as the server: the bot."""

    def start(self) -> None: ...

    def stop(self) -> None: ...


def alongside(bot: Startable) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    """A server's lifespan that starts and drains the bot with it."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        await asyncio.to_thread(bot.start)
        yield
        await asyncio.to_thread(bot.stop)

    return lifespan


def add_slack(app: FastAPI, bolt: App) -> None:
    """Slack's signed requests, in threads of their own: slow answers can't delay an ack."""
    from slack_bolt.adapter.starlette.handler import to_bolt_request, to_starlette_response

    threads = ThreadPoolExecutor(SLACK_THREADS, thread_name_prefix="slack-events")

    @app.post("/slack/events")
    async def slack_events(request: Request) -> Response:
        body = await bounded_body(request, MAX_SLACK_BODY)
        asked = to_bolt_request(request, body)
        loop = asyncio.get_running_loop()
        return to_starlette_response(await loop.run_in_executor(threads, bolt.dispatch, asked))


async def bounded_body(request: Request, limit: int) -> bytes:
    """The body; 413 as soon as it is longer than `limit` bytes."""
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > limit:
            raise HTTPException(413, f"the request is longer than {limit} bytes")
    return body
