"""Streams of replies: how they end, and when nothing comes any more."""

from __future__ import annotations

import json
import queue
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import copy_context
from typing import Any, Generic, Literal, TypeVar

T = TypeVar("T")

Ending = Literal["normal", "cut", "filtered", "broken", "unknown"]

IDLE_SECONDS = 15.0
"""Most silence between two pieces of text. Before the first one, a model may think."""
DONE = "done"
"""No server's reason: says that the text is whole, not why."""
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
    return "normal" if {*reasons} - {DONE} else "unknown"


def looks_whole(text: str) -> bool:
    """Whether a text ends as one does that was not broken off."""
    return bool(_WHOLE.search(text))


class PlainChunks:
    """The OpenAI client's completions, with the pieces of a stream as dicts, and without events
    that keep a connection alive: LangChain takes a `delta` for granted, and the client JSON."""

    def __init__(self, completions: Any) -> None:
        self._completions = completions

    def __getattr__(self, name: str) -> Any:
        return getattr(self._completions, name)

    def create(self, **payload: Any) -> Any:
        reply = self._completions.create(**payload)
        return _as_dicts(reply) if payload.get("stream") else reply


@contextmanager
def _as_dicts(stream: Any) -> Iterator[Iterator[dict[str, Any]]]:
    with stream:
        yield _pieces(stream)


def _pieces(stream: Any) -> Iterator[dict[str, Any]]:
    """The last piece has a reason of ours, DONE, when the protocol's last line came without one."""
    import openai

    is_ended = False
    for event in stream._iter_events():  # before the client reads them as JSON
        if event.data.startswith("[DONE]"):
            if not is_ended:
                yield {"choices": [{"delta": {}, "finish_reason": DONE}]}
            return
        if not event.data.startswith("{"):
            continue
        piece = json.loads(event.data)
        if error := piece.get("error"):
            raise openai.APIError(str(error), stream.response.request, body=error)
        for choice in piece.get("choices") or ():
            choice["delta"] = choice.get("delta") or {}
            is_ended = is_ended or bool(choice.get("finish_reason"))
        yield piece


class PacedStream(Generic[T]):
    """The items of an iterator, each within a limit of time. It runs in a thread of its own: the
    clients' timeouts count from byte to byte, and comments that keep a connection alive are bytes.
    """

    def __init__(self, begin: Callable[[], Iterator[T]], seconds: float) -> None:
        """`seconds`: until the next item; may be changed between two."""
        self.seconds = seconds
        self._begin = begin
        self._items: queue.Queue[tuple[str, Any]] = queue.Queue(_PIECES_AHEAD)
        self._is_over = threading.Event()
        threading.Thread(target=copy_context().run, args=(self._pump,), daemon=True).start()

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
        with suppress(queue.Empty):  # whoever waits for room goes on, and sees that it is over
            while True:
                self._items.get_nowait()

    def _pump(self) -> None:
        items: Any = None
        try:
            items = self._begin()
            for item in items:
                if self._is_over.is_set():
                    return
                self._items.put(("item", item))
            self._items.put(("end", None))
        except BaseException as error:
            self._items.put(("error", error))
        finally:
            if close := getattr(items, "close", None):
                close()
