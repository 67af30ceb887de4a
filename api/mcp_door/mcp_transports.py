"""What carries the protocol: standard input and output, or the HTTP API's server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any

from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from api.doors.caller import THIS_MACHINE
from api.mcp_door.mcp_server import build_mcp
from api.mcp_door.mcp_tools import McpParts
from api.served import Served

if TYPE_CHECKING:
    from fastapi import FastAPI

PATH = "/mcp"
Lifespan = Callable[["FastAPI"], AbstractAsyncContextManager[None]]


class McpOverHttp:
    """`/mcp` of the API's server. Who asks is known when a request comes here: the entrance has
    looked at its token, its origin, its size and its rate.

    No session is kept: each request stands for itself, on whichever process it arrives."""

    def __init__(self, served: Served, parts: McpParts) -> None:
        self._served = served
        self._parts = parts
        self._manager: Any = None

    def route(self) -> Route:
        # Streams that servers open by themselves (GET) and sessions (DELETE) are not offered.
        return Route(PATH, endpoint=_Endpoint(self), methods=["POST"])

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._manager.handle_request(scope, receive, send)

    def with_it(self, other: Lifespan | None) -> Lifespan:
        """A lifespan in which both are there."""

        @asynccontextmanager
        async def lifespan(app: FastAPI) -> AsyncIterator[None]:
            from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

            server = build_mcp(
                self._parts, lambda request: self._served.to_person(request.state.caller)
            )
            # One manager runs once; a server may be started again.
            self._manager = StreamableHTTPSessionManager(server, stateless=True)
            async with self._manager.run():
                if other is None:
                    yield
                else:
                    async with other(app):
                        yield

        return lifespan


class _Endpoint:
    """An ASGI app, which a route takes only as an object."""

    def __init__(self, door: McpOverHttp) -> None:
        self._door = door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._door.handle(scope, receive, send)


def run_over_stdio(served: Served, parts: McpParts, email: str = "") -> None:
    """Until standard input ends. Whoever started it asks, as the API's caller without a token does.

    `email`: as whom documents are read in a domain where each asker has permissions of their own;
    without one, as nobody in particular."""
    from mcp.server.stdio import stdio_server

    server = build_mcp(parts, lambda _: served.to_person(THIS_MACHINE, email))

    async def run() -> None:
        async with stdio_server() as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())

    asyncio.run(run())
