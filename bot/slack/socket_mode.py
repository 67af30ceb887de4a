"""Socket Mode over the `websockets` library, for any number of events at once.

The SDK's own client reads recursively: a few hundred events that wait in the socket, as after a
reconnect, raise RecursionError, and none is handled before all are read."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from typing import Any

import structlog
from slack_bolt import App
from slack_bolt.adapter.socket_mode.internals import run_bolt_app
from slack_sdk.socket_mode.request import SocketModeRequest
from websockets.exceptions import WebSocketException
from websockets.sync.client import ClientConnection, connect

from bot.slack.client import SlackBusy, SlackClient, SlackRefused, SlackUnsure, backoff
from telemetry import metrics

log = structlog.get_logger()

MAX_MESSAGE = 4_000_000
"""Bytes of one envelope; Slack's are a few kilobytes."""
PING_EVERY = 5.0
PONG_WITHIN = 10.0
"""Seconds. A silently dead socket is detected after both."""
START_PATIENCE = 30.0
FOREVER = 10**9


class SocketMode:
    """Keeps one connection open, two while Slack replaces one. Thread-safe."""

    def __init__(self, app: App, web: SlackClient, app_token: str, *, threads: int) -> None:
        self._app = app
        self._web = web
        self._token = app_token
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="socket-events")
        self._live: set[ClientConnection] = set()
        self._leaving: set[ClientConnection] = set()
        self._lock = threading.Lock()
        self._opening = threading.Lock()
        self._closed = threading.Event()

    def connect(self) -> None:
        """Open the first connection; temporary errors are retried for `START_PATIENCE` seconds.

        Raises SlackRefused, SlackUnsure, SlackBusy, OSError or WebSocketException."""
        pauses = backoff(START_PATIENCE)
        while True:
            try:
                return self._open()
            except (SlackUnsure, SlackBusy, OSError, WebSocketException) as error:
                self._web.wait(pauses, cause=error)

    def is_connected(self) -> bool:
        with self._lock:
            return bool(self._live)

    def close(self) -> None:
        """Stop receiving; events already received are still acknowledged."""
        self._closed.set()
        self._threads.shutdown(wait=True)
        with self._lock:
            live = list(self._live)
        for connection in live:
            connection.close()

    def _open(self) -> None:
        url = str(self._web.once("apps.connections.open", app_token=self._token)["url"])
        scope = ExitStack()  # ends in the reading thread
        connection = scope.enter_context(
            connect(
                url,
                max_size=MAX_MESSAGE,
                ping_interval=PING_EVERY,
                ping_timeout=PONG_WITHIN,
                close_timeout=1.0,
            )
        )
        with self._lock:
            self._live.add(connection)
            metrics.SOCKET_CONNECTED.set(1)
        threading.Thread(
            target=self._read, args=(connection, scope), name="socket-reader", daemon=True
        ).start()

    def _read(self, connection: ClientConnection, scope: ExitStack) -> None:
        """Read until the connection ends, then open another."""
        try:
            with scope:
                for text in connection:
                    if isinstance(message := _envelope(text), dict):
                        self._receive(connection, message)
        except (WebSocketException, OSError) as error:
            log.info("the socket ended", reason=str(error))
        except Exception:
            log.exception("socket failed, opening another")
            self._closed.wait(1.0)
        with self._lock:
            self._live.discard(connection)
            self._leaving.discard(connection)
            metrics.SOCKET_CONNECTED.set(bool(self._live))
        if not self._closed.is_set():
            self._reopen(connection)

    def _receive(self, connection: ClientConnection, message: dict[str, Any]) -> None:
        if message.get("type") == "hello":
            with self._lock:
                others = max(0, int(message.get("num_connections", 1)) - len(self._live))
            metrics.SOCKET_OTHERS.set(others)
            log.info("socket mode is connected", others=others)
        elif message.get("type") == "disconnect":
            # The new connection opens first, and the old one is read to its end: nothing is lost.
            with self._lock:
                self._leaving.add(connection)
            threading.Thread(target=self._reopen, args=(connection,), daemon=True).start()
        elif not self._closed.is_set() and (request := SocketModeRequest.from_dict(message)):
            with suppress(RuntimeError):  # closing: Slack sends it again to the next connection
                self._threads.submit(self._handle, connection, request)

    def _reopen(self, leaving: ClientConnection) -> None:
        """Retry until this thread or another one has connected."""
        pauses = backoff(FOREVER, first=0.2, max_pause=10.0)
        with self._opening:
            while not self._closed.is_set() and not self._others(leaving):
                try:
                    self._open()
                    metrics.SOCKET_RECONNECTS.inc()
                    return
                except (SlackRefused, SlackUnsure, OSError, WebSocketException) as error:
                    pause = next(pauses)
                    log.warning("no socket; trying again", reason=str(error), pause=pause)
                except SlackBusy as busy:
                    pause = busy.after
                self._closed.wait(pause)

    def _others(self, leaving: ClientConnection) -> bool:
        with self._lock:
            return bool(self._live - self._leaving - {leaving})

    def _handle(self, connection: ClientConnection, request: SocketModeRequest) -> None:
        try:
            response = run_bolt_app(self._app, request)
            if response.status != 200:
                log.warning("an event was not stored; slack will repeat it", status=response.status)
                return
            reply: dict[str, Any] = {"envelope_id": request.envelope_id}
            if response.body:
                kind = response.headers.get("content-type", [""])[0]
                is_json = kind.startswith("application/json")
                reply["payload"] = json.loads(response.body) if is_json else {"text": response.body}
            connection.send(json.dumps(reply))
        except (WebSocketException, OSError) as error:
            log.info("an ack did not get through; slack will repeat", reason=str(error))
        except Exception:
            log.exception("event handler failed")


def count_others(url: str) -> int | None:
    """How many connections an app has besides this one, which is closed at once; None where Slack
    does not say. `url`: of `apps.connections.open`. Slack repeats an event that it sends here.

    Raises OSError or WebSocketException."""
    with connect(url, open_timeout=PONG_WITHIN, close_timeout=1.0) as connection:
        hello = _envelope(connection.recv(timeout=PONG_WITHIN))
    count = hello.get("num_connections") if isinstance(hello, dict) else None
    return count - 1 if isinstance(count, int) else None


def _envelope(text: str | bytes) -> Any:
    """The envelope; None for anything but JSON, which Slack does not send."""
    try:
        return json.loads(text)
    except ValueError:
        return None
