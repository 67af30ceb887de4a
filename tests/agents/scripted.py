"""A chat model that follows a script, for tests of the agents; the wire is tested in config."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from agents.steps import Step
from config.errors import InvalidModelOutput, ModelUnavailable
from config.models import Prompt, Reply, Usage

Says = str | dict[str, Any] | Exception | Callable[[Prompt], str]

PLAN: dict[str, Any] = {"question": "maximum age of an API signing key", "kind": "in_domain"}
OPEN = "what does the courier's insurance cost?"
"""A part of a question that a search in these documents leaves open, so that the source identifier
is asked."""
SOURCES: dict[str, Any] = {"documents": [{"id": "key-rotation", "reason": "ages"}]}


class ScriptedModel:
    """Prompt name → what it says. Counts and keeps every prompt."""

    name = "scripted"

    def __init__(self, script: Mapping[str, Says]) -> None:
        self._script = {"plan": PLAN, "sources": SOURCES, **script}
        self.prompts: list[Prompt] = []

    @property
    def called(self) -> list[str]:
        return [prompt.name for prompt in self.prompts]

    def structured(self, prompt: Prompt, reply: type[Reply]) -> tuple[Reply, Usage]:
        self.prompts.append(prompt)
        says = self._says(prompt)
        try:
            return reply.model_validate(says), Usage(calls=1, input_tokens=10, output_tokens=5)
        except ValidationError as error:
            raise InvalidModelOutput("not the form asked for") from error

    def stream(self, prompt: Prompt) -> Iterator[str | Usage]:
        self.prompts.append(prompt)
        says = str(self._says(prompt))
        for start in range(0, len(says), 5):
            yield says[start : start + 5]
        yield Usage(calls=1, input_tokens=100, output_tokens=20)

    def _says(self, prompt: Prompt) -> str | dict[str, Any]:
        says = self._script.get(prompt.name, ModelUnavailable("nothing scripted"))
        if isinstance(says, Exception):
            raise says
        return says if isinstance(says, (str, dict)) else says(prompt)


def in_turn(*says: Says) -> Callable[[Prompt], Any]:
    """One after the other; the last for ever."""
    left = list(says)

    def next_one(prompt: Prompt) -> Any:
        said = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(said, Exception):
            raise said
        return said(prompt) if callable(said) else said

    return next_one


class Watching:
    """Progress that remembers."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.scores: dict[str, float] = {}
        self.text = ""

    def step(self, step: Step, text: str, **scores: float) -> None:
        self.lines.append(text)
        self.scores |= scores

    def delta(self, text: str) -> None:
        self.text += text
