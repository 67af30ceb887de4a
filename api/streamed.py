"""An answer as server-sent events, while it is written."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import structlog

from api.doors.turned_away import Refused
from api.failures import failure

log = structlog.get_logger()

MOST_STREAMS = 16
"""Each is worked on in a thread of its own."""


class Abandoned(BaseException):
    """Nobody reads any more. No Exception: what repairs failed steps would go on instead."""


class Streams:
    """All of one server."""

    def __init__(self, most: int = MOST_STREAMS) -> None:
        self._free = threading.BoundedSemaphore(most)

    def start(
        self, work: Callable[[Stream], Mapping[str, Any]], *, local: bool
    ) -> AsyncIterator[str]:
        """`status`, `delta`, and last `answer`, what `work` returns, or `error`. Raises Refused
        when all are in use.

        To be called on the server's loop. Whoever closes what it returns stops the work at its
        next sign of progress."""
        if not self._free.acquire(blocking=False):
            raise Refused(503, "too many answers are being streamed", retry_after=1)
        stream = Stream(asyncio.get_running_loop())

        def run() -> None:
            try:
                stream.put("answer", work(stream))
            except Abandoned:
                log.info("a stream was closed before its answer")
            except Exception as error:
                stream.put("error", failure(error, local=local).body)
            finally:
                self._free.release()
                stream.end()

        threading.Thread(target=run, name="stream", daemon=True).start()
        return stream.events()


class Stream:
    """Progress from the thread that works to the loop that sends."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._queue: asyncio.Queue[tuple[str, Any] | None] = asyncio.Queue()
        self._closed = threading.Event()

    def status(self, text: str) -> None:
        self.go_on()
        self.put("status", {"text": text})

    def delta(self, text: str) -> None:
        self.go_on()
        self.put("delta", {"text": text})

    def go_on(self) -> None:
        """Raises Abandoned when nobody reads any more."""
        if self._closed.is_set():
            raise Abandoned

    def put(self, kind: str, body: Any) -> None:
        self._hand_over((kind, body))

    def end(self) -> None:
        self._hand_over(None)

    def _hand_over(self, item: tuple[str, Any] | None) -> None:
        try:
            self._loop.call_soon_threadsafe(self._queue.put_nowait, item)
        except RuntimeError:  # the server has stopped, and its loop is closed
            self._closed.set()

    async def events(self) -> AsyncIterator[str]:
        try:
            while (item := await self._queue.get()) is not None:
                yield f"event: {item[0]}\ndata: {json.dumps(item[1], ensure_ascii=False)}\n\n"
        finally:
            self._closed.set()


@dataclass(frozen=True)
class Unheard:
    """Progress of which nothing is shown; the work still ends with its stream."""

    stream: Stream

    def status(self, text: str) -> None:
        self.stream.go_on()

    def delta(self, text: str) -> None:
        self.stream.go_on()
