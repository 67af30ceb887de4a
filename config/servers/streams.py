"""Streams of replies: how they end, and when nothing comes any more."""

from __future__ import annotations

import queue
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from itertools import chain
from typing import Any, Generic, Literal, TypeVar

T = TypeVar("T")

Ending = Literal["normal", "cut", "filtered", "broken", "unknown"]

IDLE_SECONDS = 15.0
"""Most silence between two pieces of text. Before the first one, a model may think."""
_DONE = b"[DONE]"
_LINE_END = re.compile(rb"\r\n|\n|\r(?!\Z)")
_PIECES_AHEAD = 256
_ENDINGS: tuple[tuple[Ending, re.Pattern[str]], ...] = (
    ("filtered", re.compile(
        r"filter|safety|refus|recitation|prohibited|blocklist|block_list|guardrail|spii|moderat|policy"
    )),
    ("cut", re.compile(r"length|max_?(?:output_?)?tokens|token_limit|context_window|limit")),
    ("broken", re.compile(r"error|abort|cancel|insufficient|fail|time_?out|interrupt|overload")),
)  # fmt: skip
_WHOLE = re.compile(r"[.!?。！？…:;|)\]}】»”\"'`*_~]\s*\Z")


def ending_of(reasons: Sequence[str]) -> Ending:
    """What a server's reasons mean; any reason that is none of these is a normal end."""
    for ending, pattern in _ENDINGS:
        if any(map(pattern.search, reasons)):
            return ending
    return "normal" if reasons else "unknown"


def looks_whole(text: str) -> bool:
    """Whether a text ends as one does that was not broken off."""
    return bool(_WHOLE.search(text))


@dataclass
class StreamWatch:
    """What the client of the OpenAI protocol passes over in a body."""

    is_done: bool = False
    """The protocol's last line came."""


_watch: ContextVar[StreamWatch | None] = ContextVar("stream_watch", default=None)


def watch_body(response: Any) -> None:
    """A hook for responses of httpx: leaves out events without JSON, which keep a connection alive
    and which the client can't read, and notes the last line."""
    watch, read = _watch.get(), response.iter_bytes
    if watch is None or "event-stream" not in response.headers.get("content-type", ""):
        return

    def iter_bytes(*arguments: Any) -> Iterator[bytes]:
        for event in _events(read(*arguments)):
            data = b"".join(line[5:] for line in event if line.startswith(b"data:")).strip()
            watch.is_done = watch.is_done or data.startswith(_DONE)
            if data.startswith((b"{", b"[")):
                yield b"\n".join([*event, b"", b""])

    response.iter_bytes = iter_bytes


def _events(parts: Iterator[bytes]) -> Iterator[list[bytes]]:
    """Lines of each event, without the blank line that ends it."""
    rest, event = b"", []
    for part in chain(parts, [b"\n\n"]):
        *lines, rest = _LINE_END.split(rest + part)
        for line in lines:
            if line:
                event.append(line)
            elif event:
                yield event
                event = []


class PlainChunks:
    """The OpenAI client's completions, with the pieces of a stream as dicts: LangChain takes a
    `delta` for granted, and the client's own objects warn of lists in one."""

    def __init__(self, completions: Any) -> None:
        self._completions = completions

    def __getattr__(self, name: str) -> Any:
        return getattr(self._completions, name)

    def create(self, **payload: Any) -> Any:
        reply = self._completions.create(**payload)
        return _as_dicts(reply) if payload.get("stream") else reply


@contextmanager
def _as_dicts(stream: Any) -> Iterator[Iterator[dict[str, Any]]]:
    def pieces() -> Iterator[dict[str, Any]]:
        for chunk in stream:
            piece = chunk.model_dump(warnings=False)
            for choice in piece.get("choices") or ():
                choice["delta"] = choice.get("delta") or {}
            yield piece

    with stream:
        yield pieces()


class PacedStream(Generic[T]):
    """The items of an iterator, each within a limit of time. It runs in a thread of its own: the
    clients' timeouts count from byte to byte, and comments that keep a connection alive are bytes.
    """

    def __init__(self, begin: Callable[[], Iterator[T]], seconds: float) -> None:
        """`seconds`: until the next item; may be changed between two."""
        self.seconds = seconds
        self.watch = StreamWatch()
        self._begin = begin
        self._items: queue.Queue[tuple[str, Any]] = queue.Queue(_PIECES_AHEAD)
        self._is_over = threading.Event()
        context = copy_context()
        context.run(_watch.set, self.watch)
        threading.Thread(target=context.run, args=(self._pump,), daemon=True).start()

    def __iter__(self) -> Iterator[T]:
        return self

    def __next__(self) -> T:
        """Raises what the iterator raises, and TimeoutError."""
        try:
            limit = None if self.seconds == float("inf") else self.seconds
            kind, item = self._items.get(timeout=limit)
        except queue.Empty:
            self.close()
            raise TimeoutError("nothing came for too long") from None
        if kind == "item":
            return item  # type: ignore[no-any-return]
        self._items.put((kind, item))  # for whoever asks again
        if kind == "error":
            raise item
        raise StopIteration

    def close(self) -> None:
        self._is_over.set()

    def _pump(self) -> None:
        items: Any = None
        try:
            items = self._begin()
            for item in items:
                if not self._put("item", item):
                    return
            self._put("end", None)
        except BaseException as error:
            self._put("error", error)
        finally:
            if close := getattr(items, "close", None):
                close()

    def _put(self, kind: str, item: Any) -> bool:
        """Whether someone still reads."""
        while not self._is_over.is_set():
            try:
                self._items.put((kind, item), timeout=0.5)
            except queue.Full:
                continue
            return True
        return False
