"""Third-party MCP servers through the official SDK, with limits on time and size.

Each call has its own connection and thread, so its caller waits no longer than the limit. Tools
are listed again right before a call, and a tool that changed is not called. `AllowedTools` caches
the listings of a domain's servers."""

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
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

import structlog

from agents.requests import ToolFailed, ToolFailure, ToolOffer
from agents.tools.calls import to_plain_text
from config.sections import ToolServer

if TYPE_CHECKING:
    import httpx2
    from mcp import Client
    from mcp_types import Tool


log = structlog.get_logger()

LIST_SECONDS = 4.0
CALL_SECONDS = 10.0
START_SECONDS = 6.0
"""Added for a command, which starts each time."""
MAX_BYTES = 1_000_000
"""Limit of one connection; far less of it is used."""
MAX_PAGES = 3
"""Per listing."""
MAX_CONNECTIONS = 8
"""Limit of this process."""
_FREE = threading.BoundedSemaphore(MAX_CONNECTIONS)
_MAX_DESCRIPTION_CHARS = 400
_MAX_SCHEMA_CHARS = 2_000

Result = TypeVar("Result")


def load_sdk() -> None:
    """Imports the SDK, which takes seconds that must not count against a server's limit."""
    for module in ("httpx2", "mcp", "mcp.client.stdio", "mcp.client.streamable_http"):
        import_module(module)


class _TooLargeError(Exception):
    """More than `MAX_BYTES`."""


class McpToolServer:
    """Both methods raise ToolFailed. Thread-safe."""

    def __init__(self, server: ToolServer, token: str = "") -> None:
        self._server = server
        self._token = token

    def offers(self) -> list[ToolOffer]:
        """Tools that the domain allows by name and the server marks read-only."""

        async def work(client: Client) -> list[ToolOffer]:
            return [self._offer(tool) for tool in await self._read_only_tools(client)]

        return self._connected(work, LIST_SECONDS)

    def ask(self, offer: ToolOffer, arguments: Mapping[str, Any]) -> str:
        async def work(client: Client) -> str:
            from mcp_types import CallToolRequest, CallToolRequestParams, CallToolResult

            now = [self._offer(tool) for tool in await self._read_only_tools(client)]
            if offer not in now:
                raise ToolFailed(self._server.name, "changed")
            call = CallToolRequest(
                params=CallToolRequestParams(name=offer.tool, arguments=dict(arguments))
            )
            # Not `call_tool`: it validates replies by the server's schema, whose patterns can
            # keep a regular expression, and the whole process, busy forever.
            result = await client.session.send_request(call, CallToolResult)
            if result.is_error:
                raise ToolFailed(self._server.name, "refused")
            return _text_of(result)

        return self._connected(work, CALL_SECONDS)

    async def _read_only_tools(self, client: Client) -> list[Tool]:
        from mcp_types import ListToolsRequest, ListToolsResult, PaginatedRequestParams

        tools: list[Tool] = []
        cursor: str | None = None
        for _ in range(MAX_PAGES):
            params = PaginatedRequestParams(cursor=cursor) if cursor else None
            page = await client.session.send_request(
                ListToolsRequest(params=params), ListToolsResult
            )
            tools += page.tools
            cursor = page.next_cursor
            if not cursor:
                break
        names = [tool.name for tool in tools]
        return [
            tool
            for tool in tools
            if tool.name in self._server.allow
            and names.count(tool.name) == 1
            and tool.annotations is not None
            and tool.annotations.read_only_hint is True
            and tool.annotations.destructive_hint is not True
        ]

    def _offer(self, tool: Tool) -> ToolOffer:
        schema = tool.input_schema
        if len(json.dumps(schema)) > _MAX_SCHEMA_CHARS:
            # Too large for a prompt: the tool may be called without arguments.
            schema = {"type": "object", "properties": {}, "required": schema.get("required") or []}
        return ToolOffer(
            server=self._server.name,
            tool=tool.name,
            what=self._server.what,
            description=to_plain_text(tool.description or "")[:_MAX_DESCRIPTION_CHARS],
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
            # Killing a process and resolving a name may take longer; nobody waits for them.
            return outcome.result(seconds + 0.5)
        except NotInTime as error:
            raise self._failed("timeout", error) from error
        except BaseException as error:
            raise self._failed(_kind_of(error), error) from error

    def _failed(self, kind: ToolFailure, error: BaseException) -> ToolFailed:
        log.warning(
            "tool call failed", server=self._server.name, why=kind,
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
                    failed = error  # not the error of closing the connection
            raise failed

    @asynccontextmanager
    async def _client(self) -> AsyncIterator[Client]:
        from mcp import Client

        if self._server.command:
            # Its log output is dropped.
            with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
                async with Client(self._process(nowhere)) as client:
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

    def _process(self, errors: TextIO) -> Any:
        from mcp import StdioServerParameters
        from mcp.client.stdio import stdio_client

        command, *words = self._server.command
        env = {self._server.token: self._token} if self._token else {}
        return stdio_client(
            StdioServerParameters(command=command, args=words, env=env), errlog=errors
        )


@dataclass
class _Allowance:
    """The bytes of one connection over all its replies."""

    left: int = MAX_BYTES

    async def bound(self, response: httpx2.Response) -> None:
        # A few compressed bytes could become gigabytes.
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            raise _TooLargeError
        response.stream = _limit_stream(response.stream, self)

    def take(self, count: int) -> None:
        self.left -= count
        if self.left < 0:
            raise _TooLargeError


def _limit_stream(stream: Any, allowance: _Allowance) -> Any:
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
    """The text parts; pictures and other parts are dropped."""
    texts = [part.text for part in result.content if part.type == "text"]
    if not "".join(texts).strip() and result.structured_content is not None:
        texts = [json.dumps(result.structured_content, ensure_ascii=False)]
    if sum(map(len, texts)) > MAX_BYTES:
        raise _TooLargeError
    return to_plain_text("\n".join(texts))


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
"""After a failure, the next questions don't wait for that server."""


class AllowedTools:
    """See `Toolbox`."""

    def __init__(
        self,
        servers: Sequence[ToolServer],
        token: Callable[[str], str],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`token`: name of its variable → token."""
        self._clock = clock
        self._servers = {
            one.name: (one, McpToolServer(one, token(one.token) if one.token else ""))
            for one in servers
        }
        self._known: dict[str, tuple[float, list[ToolOffer]]] = {}
        """Server → (monotonic time of expiry, offers)."""
        self._lock = Lock()

    def offers(self) -> list[ToolOffer]:
        with self._lock:  # those who waited find it cached
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
