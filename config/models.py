"""Ports of all models, structured requests and replies, and token prices."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import numpy as np
import structlog
from numpy.typing import NDArray
from pydantic import BaseModel

from config.errors import ModelUnavailable

Reply = TypeVar("Reply", bound=BaseModel)
Vectors = NDArray[np.float32]

log = structlog.get_logger()

_BYTES_A_TOKEN = 4
"""English has four letters a token; Chinese one character of three bytes, which is near enough."""
_PICTURE_BYTES = 4_000


@dataclass(frozen=True, kw_only=True)
class ShownPicture:
    """A picture for a model: converted to PNG or JPEG and scaled down."""

    media_type: str
    data: bytes = field(repr=False)
    digest: str
    """SHA-256 of the source's bytes."""
    width: int = 0
    """Pixels in the source; the same for `height`."""
    height: int = 0


@dataclass(frozen=True, kw_only=True)
class Prompt:
    """One request to a chat model."""

    name: str
    """Prompt file without suffix, e.g. `plan`; names the call in traces and metrics."""
    version: str
    """Changes with the wording; part of every cache key."""
    system: str
    user: str
    max_tokens: int
    """Limit of the reply, including reasoning tokens."""
    fence: str = ""
    """The mark around untrusted text; random, so never part of a cache key."""
    pictures: tuple[ShownPicture, ...] = ()
    """Sent after the text, to a vision model."""
    begins: tuple[str, ...] = ()
    """Words, one of which begins the reply; a stream that begins otherwise may be a thought."""


class _Stopwatch:
    """Runs while somebody waits for a model; parallel waits count once. Thread-safe."""

    def __init__(self, seconds: float) -> None:
        """`seconds` until it is over."""
        self._left = seconds
        self._waiting = 0
        self._since = 0.0
        self._lock = threading.Lock()

    def left(self) -> float:
        with self._lock:
            return self._left - (time.monotonic() - self._since if self._waiting else 0.0)

    def begin(self) -> None:
        with self._lock:
            if not self._waiting:
                self._since = time.monotonic()
            self._waiting += 1

    def end(self) -> None:
        with self._lock:
            self._waiting -= 1
            if not self._waiting:
                self._left -= time.monotonic() - self._since


_stopwatches: ContextVar[tuple[_Stopwatch, ...]] = ContextVar("model_stopwatches", default=())


@contextmanager
def model_time(seconds: float) -> Iterator[None]:
    """Within the block, all waits for chat models together end after `seconds`: a call that has
    begun to stream goes on, a later one raises ModelUnavailable. Waits for anything else, such as
    a database, don't count. Nested blocks: the earlier end."""
    token = _stopwatches.set((*_stopwatches.get(), _Stopwatch(seconds)))
    try:
        yield
    finally:
        _stopwatches.reset(token)


@contextmanager
def waiting_for_model() -> Iterator[None]:
    """The time within the block counts for `model_time`."""
    running = _stopwatches.get()
    for one in running:
        one.begin()
    try:
        yield
    finally:
        for one in running:
            one.end()


def model_time_left() -> float:
    """Seconds; infinite outside of `model_time`. Raises ModelUnavailable when none are left."""
    left = min((one.left() for one in _stopwatches.get()), default=float("inf"))
    if left <= 0:
        raise ModelUnavailable("the question waited for the model long enough", kind="timeout")
    return left


@dataclass(frozen=True, kw_only=True)
class Usage:
    """Calls and tokens used so far."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cut: bool = False
    """A reply ended at its `max_tokens`, or where a filter of the server ended it."""

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            calls=self.calls + other.calls,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cut=self.cut or other.cut,
        )

    def at_least(self, other: Usage) -> Usage:
        """The larger counts: many servers count all tokens so far in each piece of a stream."""
        return Usage(
            calls=max(self.calls, other.calls),
            input_tokens=max(self.input_tokens, other.input_tokens),
            output_tokens=max(self.output_tokens, other.output_tokens),
            cut=self.cut or other.cut,
        )


@dataclass
class LostUsage:
    """What failed calls took, within a block of `lost_usage`."""

    parts: list[Usage] = field(default_factory=list)

    @property
    def usage(self) -> Usage:
        return sum(self.parts, Usage())


_lost: ContextVar[LostUsage | None] = ContextVar("lost_usage", default=None)


@contextmanager
def lost_usage() -> Iterator[LostUsage]:
    """Collects what `lose` reports within the block. A block that fails hands it to the outer
    one."""
    outer, lost = _lost.get(), LostUsage()
    token = _lost.set(lost)
    try:
        yield lost
    except BaseException:
        if outer is not None:
            outer.parts += lost.parts
        raise
    finally:
        _lost.reset(token)


def lose(usage: Usage) -> None:
    """Report what a call took whose result is thrown away by an error."""
    if (lost := _lost.get()) is not None:
        lost.parts.append(usage)


class ChatModel(Protocol):
    """A chat model. Every method raises ModelUnavailable or InvalidModelOutput, nothing else."""

    @property
    def name(self) -> str: ...

    def structured(self, prompt: Prompt, reply: type[Reply]) -> tuple[Reply, Usage]:
        """One validated reply. An invalid one is sent back once for repair; one cut off at
        `max_tokens` raises InvalidModelOutput."""
        ...

    def stream(self, prompt: Prompt) -> Iterator[str | Usage]:
        """Text deltas in order; the last item is the Usage, `cut` when the text ended at
        `max_tokens`."""
        ...


class Embedder(Protocol):
    """Texts to vectors."""

    @property
    def name(self) -> str:
        """Model name; an index built with another model can't be read."""
        ...

    @property
    def dimensions(self) -> int: ...

    @property
    def max_tokens(self) -> int:
        """Tokens of one text that the model reads; it ignores the rest."""
        ...

    @property
    def language(self) -> str:
        """English name of its one language; '' for several or an unknown one."""
        ...

    def count_tokens(self, text: str) -> int: ...

    def knows(self, word: str) -> bool:
        """Whether this is a common word; True when that is unknown."""
        ...

    def __call__(self, texts: Sequence[str]) -> Vectors:
        """(len(texts), dimensions), L2-normalized float32. Raises ModelUnavailable."""
        ...


Messages = list[tuple[str, Any]]
"""(role, text or LangChain's content blocks), in order."""


class TokenCount:
    """Estimates tokens for a server that counts none: no budget would hold."""

    def __init__(self, model: str) -> None:
        """`model`: its name, for the log."""
        self._model = model
        self._warned = False

    def __call__(self, usage: Usage, messages: Messages, reply_bytes: int) -> Usage:
        if usage.input_tokens or usage.output_tokens:
            return usage
        if not self._warned:
            self._warned = True
            log.warning("a model's server counts no tokens, they are estimated", model=self._model)
        return usage + estimate(messages, reply_bytes)


def estimate(messages: Messages, reply_bytes: int) -> Usage:
    """Tokens without a call: for a server that counts none, and a stream that broke off."""
    contents = ([{"text": one}] if isinstance(one, str) else one for _, one in messages)
    texts = (block.get("text") for blocks in contents for block in blocks)
    size = sum(_PICTURE_BYTES if text is None else len(text.encode()) for text in texts)
    tokens = (size // _BYTES_A_TOKEN + 1, reply_bytes // _BYTES_A_TOKEN + 1)
    return Usage(input_tokens=tokens[0], output_tokens=tokens[1])


@dataclass(frozen=True, kw_only=True)
class Prices:
    """US dollars for a million tokens."""

    input: float
    output: float

    def of(self, usage: Usage) -> float:
        spent = usage.input_tokens * self.input + usage.output_tokens * self.output
        return round(spent / 1_000_000, 6)


def read_price_list(text: str) -> dict[str, Prices]:
    """Parses `0.25/2.00`, for all models, or `NAME=0.25/2.00, …`, for each. Returns name → prices,
    '' for any other model. Raises ValueError."""
    prices: dict[str, Prices] = {}
    for entry in filter(None, map(str.strip, text.split(","))):
        name, _, price = entry.rpartition("=")
        if name.strip() in prices:
            raise ValueError(f"{name.strip() or 'all models'}: prices are given twice")
        prices[name.strip()] = read_prices(price)
    return prices


def dearest(prices: Sequence[Prices]) -> Prices:
    """The dearer price of each kind of token, where it is unknown which model took it."""
    return Prices(input=max(one.input for one in prices), output=max(one.output for one in prices))


def read_prices(text: str) -> Prices:
    """Parses `0.25/2.00`: dollars for a million input and output tokens. Raises ValueError."""
    try:
        price_in, price_out = map(float, text.split("/"))
    except ValueError:
        price_in = price_out = -1.0
    if not (0 <= price_in < float("inf") and 0 <= price_out < float("inf")):
        raise ValueError("write dollars for a million tokens, as 0.25/2.00")
    return Prices(input=price_in, output=price_out)
