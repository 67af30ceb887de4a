"""The official client of the Model Context Protocol, over HTTP and standard input and output."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult

Result = TypeVar("Result")


@asynccontextmanager
async def over_http(
    url: str, headers: Mapping[str, str] | None = None, mode: str = "auto"
) -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(headers=dict(headers or {}), timeout=60) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http), mode=mode) as client,
    ):
        yield client


def asking_over_http(
    url: str,
    work: Callable[[Client], Awaitable[Result]],
    headers: Mapping[str, str] | None = None,
    mode: str = "auto",
) -> Result:
    async def run() -> Result:
        async with over_http(url, headers, mode) as client:
            return await work(client)

    try:
        return asyncio.run(run())
    except BaseExceptionGroup as group:
        raise _first(group) from None


def _first(error: BaseException) -> BaseException:
    """What went wrong, out of the groups that task groups put it in."""
    return _first(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error


def called_over_http(
    url: str, tool: str, headers: Mapping[str, str] | None = None, **arguments: Any
) -> CallToolResult:
    return asking_over_http(url, lambda client: client.call_tool(tool, arguments), headers)


def said_by(result: CallToolResult) -> str:
    """All of its text."""
    return "\n".join(getattr(part, "text", "") for part in result.content)
