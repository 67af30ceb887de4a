"""One MCP server of others, asked by the official SDK: in bounded time, and for bounded words.

Each call is a connection of its own, in a thread of its own. Whatever the server does there, its
asker waits no longer than the limit. What it lists is looked at again right before a tool is
called: one that changed meanwhile is not called.

All tools that a domain allows: what they take is asked now and then, not for each question."""

from __future__ import annotations

import asyncio
import json
import os
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotInTime
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

import structlog

from agents.tools.calls import readable
from agents.tools.toolbox import ToolFailed, ToolFailure, ToolOffer
from config.tool_server import ToolServer

if TYPE_CHECKING:
    import httpx2
    from mcp import Client
    from mcp_types import Tool


log = structlog.get_logger()

LIST_SECONDS = 4.0
CALL_SECONDS = 10.0
START_SECONDS = 6.0
"""More for a command, which is started each time."""
MOST_BYTES = 1_000_000
"""Of all that a server sends in one connection; what is read of it is far less."""
MOST_PAGES = 3
"""Of a listing."""
MOST_AT_ONCE = 8
"""Connections of this process to such servers."""
_FREE = threading.BoundedSemaphore(MOST_AT_ONCE)
_LONGEST_DESCRIPTION = 400
_LONGEST_SCHEMA = 2_000

Result = TypeVar("Result")


def load_sdk() -> None:
    """It takes a second or more, several on a busy machine, for which no server is to blame."""
    for module in ("httpx2", "mcp", "mcp.client.stdio", "mcp.client.streamable_http"):
        import_module(module)


class _TooLargeError(Exception):
    """More than MOST_BYTES."""


class McpToolServer:
    """Raises ToolFailed from both of its methods. Thread-safe."""

    def __init__(self, server: ToolServer, token: str = "") -> None:
        self._server = server
        self._token = token

    def offers(self) -> list[ToolOffer]:
        """Those that the domain allows, by name, and that the server marks as reading."""

        async def work(client: Client) -> list[ToolOffer]:
            return [self._offer(tool) for tool in await self._reading(client)]

        return self._connected(work, LIST_SECONDS)

    def ask(self, offer: ToolOffer, arguments: Mapping[str, Any]) -> str:
        async def work(client: Client) -> str:
            from mcp_types import CallToolRequest, CallToolRequestParams, CallToolResult

            now = [self._offer(tool) for tool in await self._reading(client)]
            if offer not in now:
                raise ToolFailed(self._server.name, "changed")
            call = CallToolRequest(
                params=CallToolRequestParams(name=offer.tool, arguments=dict(arguments))
            )
            # Not `call_tool`: it checks replies by the server's own schema, whose patterns can keep
            # a regular expression, and with it the whole process, busy for ever.
            result = await client.session.send_request(call, CallToolResult)
            if result.is_error:
                raise ToolFailed(self._server.name, "refused")
            return _text_of(result)

        return self._connected(work, CALL_SECONDS)

    async def _reading(self, client: Client) -> list[Tool]:
        from mcp_types import ListToolsRequest, ListToolsResult, PaginatedRequestParams

        found: list[Tool] = []
        cursor: str | None = None
        for _ in range(MOST_PAGES):
            params = PaginatedRequestParams(cursor=cursor) if cursor else None
            page = await client.session.send_request(
                ListToolsRequest(params=params), ListToolsResult
            )
            found += page.tools
            cursor = page.next_cursor
            if not cursor:
                break
        named = [tool.name for tool in found]
        return [
            tool
            for tool in found
            if tool.name in self._server.allow
            and named.count(tool.name) == 1
            and tool.annotations is not None
            and tool.annotations.read_only_hint is True
            and tool.annotations.destructive_hint is not True
        ]

    def _offer(self, tool: Tool) -> ToolOffer:
        schema = tool.input_schema
        if len(json.dumps(schema)) > _LONGEST_SCHEMA:
            # What it takes is too much to read: it may be asked without arguments.
            schema = {"type": "object", "properties": {}, "required": schema.get("required") or []}
        return ToolOffer(
            server=self._server.name,
            tool=tool.name,
            what=self._server.what,
            description=readable(tool.description or "")[:_LONGEST_DESCRIPTION],
            schema=schema,
        )

    def _connected(self, work: Callable[[Client], Awaitable[Result]], seconds: float) -> Result:
        name = self._server.name
        seconds += START_SECONDS if self._server.command else 0.0
        load_sdk()
        if not _FREE.acquire(blocking=False):
            raise ToolFailed(name, "timeout")
        outcome: Future[Result] = Future()

        def run() -> None:
            try:
                result = asyncio.run(self._within(work, seconds))
            except BaseException as error:
                outcome.set_exception(error)
            else:
                outcome.set_result(result)
            finally:
                _FREE.release()

        threading.Thread(target=run, name="tool", daemon=True).start()
        try:
            # A process that has to be killed, or a name that isn't found, is not waited for.
            return outcome.result(seconds + 0.5)
        except NotInTime as error:
            raise self._failed("timeout", error) from error
        except BaseException as error:
            raise self._failed(_kind_of(error), error) from error

    def _failed(self, kind: ToolFailure, error: BaseException) -> ToolFailed:
        log.warning(
            "a tool could not be asked", server=self._server.name, why=kind,
            error=type(_first(error)).__name__,
        )  # fmt: skip
        return ToolFailed(self._server.name, kind)

    async def _within(self, work: Callable[[Client], Awaitable[Result]], seconds: float) -> Result:
        failed: BaseException | None = None
        async with asyncio.timeout(seconds):
            async with self._client() as client:
                try:
                    return await work(client)
                except Exception as error:
                    failed = error  # told apart from what closing the connection raises
            raise failed

    @asynccontextmanager
    async def _client(self) -> AsyncIterator[Client]:
        from mcp import Client

        if self._server.command:
            # What it logs is its own.
            with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
                async with Client(self._started(nowhere)) as client:
                    yield client
            return
        import httpx2
        from mcp.client.streamable_http import streamable_http_client

        bearer = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        async with (
            httpx2.AsyncClient(
                headers={**bearer, "Accept-Encoding": "identity"},
                timeout=CALL_SECONDS,
                follow_redirects=False,
                event_hooks={"response": [_Allowance().bound]},
            ) as http,
            Client(streamable_http_client(self._server.url, http_client=http)) as client,
        ):
            yield client

    def _started(self, errors: TextIO) -> Any:
        from mcp import StdioServerParameters
        from mcp.client.stdio import stdio_client

        command, *words = self._server.command
        handed = {self._server.token: self._token} if self._token else {}
        started = StdioServerParameters(command=command, args=words, env=handed)
        return stdio_client(started, errlog=errors)


class _Allowance:
    """Of one connection, whatever the number of its replies."""

    def __init__(self) -> None:
        self._left = MOST_BYTES

    async def bound(self, response: httpx2.Response) -> None:
        # Compressed, a few bytes would become gigabytes.
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            raise _TooLargeError
        response.stream = _bounded(response.stream, self)

    def take(self, count: int) -> None:
        self._left -= count
        if self._left < 0:
            raise _TooLargeError


def _bounded(stream: Any, allowance: _Allowance) -> Any:
    import httpx2

    class Bounded(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            async for piece in stream:
                allowance.take(len(piece))
                yield piece

        async def aclose(self) -> None:
            await stream.aclose()

    return Bounded()


def _text_of(result: Any) -> str:
    """Of its text alone: what is no text, such as a picture, is left out."""
    texts = [part.text for part in result.content if part.type == "text"]
    if not "".join(texts).strip() and result.structured_content is not None:
        texts = [json.dumps(result.structured_content, ensure_ascii=False)]
    if sum(map(len, texts)) > MOST_BYTES:
        raise _TooLargeError
    return readable("\n".join(texts))


def _first(error: BaseException) -> BaseException:
    return _first(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error


def _kind_of(error: BaseException) -> ToolFailure:
    import httpx2
    from mcp.shared.exceptions import MCPError
    from mcp_types import CONNECTION_CLOSED, PARSE_ERROR
    from pydantic import ValidationError

    first = _first(error)
    if isinstance(first, ToolFailed):
        return first.kind
    if isinstance(first, TimeoutError | httpx2.TimeoutException):
        return "timeout"
    if isinstance(first, _TooLargeError):
        return "too_large"
    if isinstance(first, ValidationError | ValueError | RecursionError):
        return "misshapen"
    if isinstance(first, MCPError):
        if first.code == PARSE_ERROR:
            return "misshapen"
        return "unreachable" if first.code == CONNECTION_CLOSED else "refused"
    return "unreachable"


FRESH_SECONDS = 300.0
REST_SECONDS = 60.0
"""After a failure the next questions don't wait for another one."""


class AllowedTools:
    """See `Toolbox`."""

    def __init__(
        self,
        servers: Sequence[ToolServer],
        token: Callable[[str], str],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`token`: by the name of its variable."""
        self._clock = clock
        self._servers = {
            one.name: (one, McpToolServer(one, token(one.token) if one.token else ""))
            for one in servers
        }
        self._known: dict[str, tuple[float, list[ToolOffer]]] = {}
        """Server → until when what it offers is not asked again, and that."""
        self._lock = Lock()

    def offers(self) -> list[ToolOffer]:
        with self._lock:  # whoever waited here finds it known
            return [offer for name in self._servers for offer in self._offers_of(name)]

    def ask(self, offer: ToolOffer, arguments: Mapping[str, Any]) -> str:
        try:
            return self._servers[offer.server][1].ask(offer, arguments)
        except ToolFailed as failed:
            if failed.kind == "changed":
                self._known.pop(offer.server, None)
            raise

    def _offers_of(self, name: str) -> list[ToolOffer]:
        server, connection = self._servers[name]
        until, offers = self._known.get(name, (float("-inf"), []))
        if self._clock() < until:
            return offers
        try:
            offers, seconds = connection.offers(), FRESH_SECONDS
        except ToolFailed:
            offers = [
                ToolOffer(server=name, tool=tool, what=server.what, reachable=False)
                for tool in server.allow
            ]
            seconds = REST_SECONDS
        self._known[name] = self._clock() + seconds, offers
        return offers
