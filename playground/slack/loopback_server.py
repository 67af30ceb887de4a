"""An ASGI application served from a thread on the loopback interface."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

TRIED_PORTS = 50


def listen(port: int) -> socket.socket:
    """A listening socket on 127.0.0.1: the wished port or the next free one; 0 is any."""
    for candidate in range(port, port + TRIED_PORTS) if port else [0]:
        bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind(("127.0.0.1", candidate))
            bound.listen()  # until somebody listens, another process may bind the same port
        except OSError as error:
            bound.close()
            if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                raise
        else:
            return bound
    raise OSError(errno.EADDRINUSE, f"no free port from {port} to {port + TRIED_PORTS - 1}")


class LoopThread:
    """Runs uvicorn and hands work from other threads to its event loop."""

    def __init__(self, app: ASGIApp, bound: socket.socket) -> None:
        self.loop: asyncio.AbstractEventLoop = asyncio.new_event_loop()
        self._socket = bound
        self._server = uvicorn.Server(
            uvicorn.Config(
                _keeping_send(app),
                ws="websockets-sansio",
                lifespan="off",
                proxy_headers=False,
                server_header=False,
                log_level="error",
                access_log=False,
                timeout_graceful_shutdown=2,
            )
        )
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="slack-stand-in", daemon=True)

    def start(self) -> None:
        self._thread.start()
        self._ready.wait(10)

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join(10)

    def soon(self, work: Callable[..., object], *arguments: Any) -> None:
        """Run `work` on the loop; after the end of the server nobody is left to care."""
        with contextlib.suppress(RuntimeError):
            self.loop.call_soon_threadsafe(work, *arguments)

    def wait(self, work: Coroutine[Any, Any, Any], timeout: float = 120.0) -> Any:
        """The result of a coroutine, for callers in other threads."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(timeout)

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_until_complete(self._serve())
        finally:
            self.loop.close()

    async def _serve(self) -> None:
        async with self._announcing():
            await self._server.serve(sockets=[self._socket])
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    @contextlib.asynccontextmanager
    async def _announcing(self) -> AsyncIterator[None]:
        async def announce() -> None:
            while not self._server.started:
                await asyncio.sleep(0.005)
            self._ready.set()

        task = asyncio.create_task(announce())
        yield
        task.cancel()


def _keeping_send(app: ASGIApp) -> ASGIApp:
    async def kept(scope: Scope, receive: Receive, send: Send) -> None:
        scope["playground.send"] = send
        await app(scope, receive, send)

    return kept
