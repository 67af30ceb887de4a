"""The graph that `langgraph dev` opens in LangGraph's Studio; langgraph.json names it."""

from __future__ import annotations

import asyncio
from functools import cache
from typing import TYPE_CHECKING, Any

from oncall.copilot import Copilot

if TYPE_CHECKING:
    from langgraph.graph.state import CompiledStateGraph


async def graph() -> CompiledStateGraph[Any, Any, Any, Any]:
    """The server calls it for each run, on its event loop, where file access is blocked."""
    return await asyncio.to_thread(_studio)


@cache
def _studio() -> CompiledStateGraph[Any, Any, Any, Any]:
    from api.studio import build_studio
    from config.settings import read_settings

    copilot = Copilot(read_settings())
    return build_studio(
        domains=copilot.domains, snapshot=copilot.access.snapshot, model=copilot.model
    )
