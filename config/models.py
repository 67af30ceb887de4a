"""The ports of all models, how a structured reply is requested and read, and what tokens cost."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ValidationError

Reply = TypeVar("Reply", bound=BaseModel)
Vectors = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class ShownPicture:
    """A picture as a model is shown it: turned into PNG or JPEG, and no larger than is of use."""

    media_type: str
    data: bytes = field(repr=False)
    digest: str
    """SHA-256 of the bytes that its source had."""
    width: int = 0
    """Pixels, in the source."""
    height: int = 0


@dataclass(frozen=True, kw_only=True)
class Prompt:
    """One request to a chat model."""

    name: str
    """Prompt file without suffix, e.g. `plan`; names the call in traces and counts."""
    version: str
    """Changes with the wording; part of every cache key."""
    system: str
    user: str
    max_tokens: int
    """Of the reply, what a model thinks before it included. It ends there."""
    fence: str = ""
    """The mark around what others wrote; random, so never part of a cache key."""
    pictures: tuple[ShownPicture, ...] = ()
    """Shown after the words, to a model that sees."""


@dataclass(frozen=True, kw_only=True)
class Usage:
    """What model calls cost so far."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cut: bool = False
    """A reply ended at its `max_tokens`."""

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            calls=self.calls + other.calls,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cut=self.cut or other.cut,
        )


class ChatModel(Protocol):
    """A chat model. Every method raises ModelUnavailable or InvalidModelOutput, nothing else."""

    @property
    def name(self) -> str: ...

    def structured(self, prompt: Prompt, reply: type[Reply]) -> tuple[Reply, Usage]:
        """One validated reply; an invalid one is sent back once for repair, one that ended at
        `max_tokens` is InvalidModelOutput."""
        ...

    def stream(self, prompt: Prompt) -> Iterator[str | Usage]:
        """Text deltas in order; the last item is the Usage, `cut` when the text ended at
        `max_tokens`."""
        ...


class Embedder(Protocol):
    """Texts to vectors."""

    @property
    def name(self) -> str:
        """Model name; an index built with another one refuses to be read."""
        ...

    @property
    def dimensions(self) -> int: ...

    @property
    def max_tokens(self) -> int:
        """Tokens the model sees of one text; the rest is invisible to it."""
        ...

    @property
    def language(self) -> str:
        """English name of the one language it understands; '' for several, or when not known."""
        ...

    def count_tokens(self, text: str) -> int: ...

    def knows(self, word: str) -> bool:
        """Whether this is a word of common language; True as well for whoever can't tell."""
        ...

    def __call__(self, texts: Sequence[str]) -> Vectors:
        """(len(texts), dimensions), L2-normalized float32. Raises ModelUnavailable."""
        ...


Messages = list[tuple[str, Any]]
"""(role, text or LangChain's content blocks), in order."""


def messages_of(prompt: Prompt) -> Messages:
    """Pictures as the blocks that LangChain turns into each provider's own."""
    if not prompt.pictures:
        return [("system", prompt.system), ("user", prompt.user)]
    lines = [
        {
            "type": "image",
            "base64": base64.b64encode(picture.data).decode(),
            "mime_type": picture.media_type,
        }
        for picture in prompt.pictures
    ]
    return [("system", prompt.system), ("user", [{"type": "text", "text": prompt.user}, *lines])]


def parse_reply(text: str, reply: type[Reply]) -> Reply:
    """The JSON object in a reply, also when prose, a fence or a think block surrounds it."""
    body = _without_thoughts(text)
    start, end = body.find("{"), body.rfind("}")
    return reply.model_validate_json(body[start : end + 1] if 0 <= start < end else body)


def _without_thoughts(text: str) -> str:
    rows, start = [], 0
    while (opened := text.find("<think>", start)) >= 0:
        closed = text.find("</think>", opened)
        if closed < 0:
            break
        rows.append(text[start:opened])
        start = closed + len("</think>")
    return "".join([*rows, text[start:]])


def describe(error: ValidationError) -> str:
    """The first three problems, each with its place; never the input itself."""
    problems = [
        f"{'.'.join(map(str, item['loc'])) or 'reply'}: {item['msg']}" for item in error.errors()
    ]
    return "; ".join(problems[:3])


def response_format(name: str, reply: type[BaseModel]) -> dict[str, Any]:
    from openai import pydantic_function_tool

    tool: Any = pydantic_function_tool(reply)["function"]
    schema = {"name": name, "strict": True, "schema": tool["parameters"]}
    return {"type": "json_schema", "json_schema": schema}


def with_schema(messages: Messages, reply: type[BaseModel]) -> Messages:
    (role, system), *rest = messages
    schema = json.dumps(reply.model_json_schema())
    instruction = f"{system}\n\nReply with one JSON object that fits this JSON schema:\n{schema}"
    return [(role, instruction), *rest]


_MILLION = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Prices:
    """US dollars for a million tokens."""

    input: float
    output: float

    def of(self, usage: Usage) -> float:
        spent = usage.input_tokens * self.input + usage.output_tokens * self.output
        return round(spent / _MILLION, 6)


def read_prices(text: str) -> Prices:
    """`0.25/2.00`: of a million tokens in and out. Raises ValueError that says how to write it."""
    try:
        price_in, price_out = map(float, text.split("/"))
    except ValueError:
        price_in = price_out = -1.0
    if not (0 <= price_in < float("inf") and 0 <= price_out < float("inf")):
        raise ValueError("write dollars for a million tokens, as 0.25/2.00")
    return Prices(input=price_in, output=price_out)
