"""The web server of the API. It limits incomplete requests, which the app cannot see."""

from __future__ import annotations

import asyncio
import sys
from typing import Any, Literal

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from api.auth.middleware import RequestLimits
from config.errors import CopilotError

MOST_CONNECTIONS = 256
HEAD_SECONDS = 10.0


class PromptHeads(H11Protocol):
    """Drops a connection whose request line and headers don't arrive; uvicorn waits forever."""

    seconds = HEAD_SECONDS
    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget()
        super().connection_lost(exc)

    def _watch(self) -> None:
        if self.conn.their_state is not h11.IDLE:
            self._forget()
        elif self._waiting is None:
            self._waiting = self.loop.call_later(self.seconds, self._drop)

    def _drop(self) -> None:
        self._waiting = None
        if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
            self.transport.close()

    def _forget(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None


class PlainStart:
    """Stores a CopilotError that ends the app's startup, and logs no traceback."""

    def __init__(self, app: Any) -> None:
        self._app = app
        self.failure: CopilotError | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async def send_briefly(message: dict[str, Any]) -> None:
            expected = isinstance(sys.exception(), CopilotError)
            await send({**message, "message": ""} if expected and "message" in message else message)

        if scope["type"] != "lifespan":
            await self._app(scope, receive, send)
            return
        try:
            await self._app(scope, receive, send_briefly)
        except CopilotError as error:
            self.failure = error
            raise


def server_of(
    app: Any, *, bounds: RequestLimits = RequestLimits(), lifespan: Literal["auto", "off"] = "auto"
) -> uvicorn.Server:
    """Returns a server that is not started. It ignores forwarded addresses of proxies.

    `lifespan`: off where another part of the process warms up and purges."""
    return uvicorn.Server(
        uvicorn.Config(
            app,
            http=PromptHeads,
            ws="none",
            lifespan=lifespan,
            log_config=None,
            log_level="warning",
            proxy_headers=False,
            server_header=False,
            limit_concurrency=MOST_CONNECTIONS,
            h11_max_incomplete_event_size=bounds.header_bytes + bounds.url_bytes,
        )
    )
