"""The ports through which everyone reaches a model. Vendors' clients live beside this file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

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
        """(len(texts), dimensions), L2-normalised float32. Raises ModelUnavailable."""
        ...
