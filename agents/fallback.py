"""Two ways to think, joined: ask the model; when it fails, the deterministic agent answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from agents.answer import Fallback
from config.errors import ModelError
from config.models import Usage

Request = TypeVar("Request")
Result = TypeVar("Result")


@dataclass(frozen=True, kw_only=True)
class AgentResult(Generic[Result]):
    """A result, what it cost, and whether the model let us down on the way."""

    value: Result
    usage: Usage = field(default_factory=Usage)
    fallbacks: tuple[Fallback, ...] = ()
    note: str = ""


def with_fallback(
    agent: str,
    by_model: Callable[[Request], tuple[Result, Usage]] | None,
    without_model: Callable[[Request], Result],
) -> Callable[[Request], AgentResult[Result]]:
    """One agent from its two implementations; `by_model` is None when no model is configured."""

    def run(request: Request) -> AgentResult[Result]:
        if by_model is None:
            return AgentResult(value=without_model(request))
        try:
            value, usage = by_model(request)
        except ModelError as error:
            note = f"{agent} went on without the model: {error.problem}"
            fallback = Fallback(node=agent, reason=error.kind)
            return AgentResult(value=without_model(request), fallbacks=(fallback,), note=note)
        return AgentResult(value=value, usage=usage)

    return run
