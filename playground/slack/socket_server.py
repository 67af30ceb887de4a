"""Socket Mode: real WebSockets, envelopes, acknowledgements."""

from __future__ import annotations

import asyncio
import itertools
import json
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from starlette.websockets import WebSocket, WebSocketDisconnect

from playground.slack import tidewater
from playground.slack.event_delivery import DeliveryOutcome
from playground.slack.slack_faults import SlackFaults
from playground.slack.web_api.call import Call
from playground.slack.workspace import Json

MAX_CONNECTIONS = 10
TICKET_LIFETIME = 30.0
ENVELOPES = {"event_callback": "events_api", "slash_commands": "slash_commands"}


@dataclass(eq=False)
class Connection:
    socket: WebSocket
    leaving: bool = False
    """Told to reconnect elsewhere; gets nothing new."""
    waiting: dict[str, asyncio.Future[Any]] = field(default_factory=dict)
    """Futures of acknowledgements by envelope id."""


class SocketHub:
    """Open connections; lives on the server's event loop."""

    def __init__(self, faults: SlackFaults, told: Callable[[], None]) -> None:
        self.faults = faults
        self.ack_timeout = 3.0
        self.address = ""
        """`ws://host:port` of this server, known once it listens."""
        self.refresh_grace = 2.0
        """Seconds between the request to reconnect and the end of the connection."""
        self.connections: list[Connection] = []
        self._told = told
        self._tickets: dict[str, float] = {}
        self._turn = itertools.count()
        self._connected = asyncio.Event()

    @property
    def open(self) -> int:
        return len([c for c in self.connections if not c.leaving])

    def issue_url(self, call: Call) -> Json:
        """`apps.connections.open`: an address that is good once, for a short while."""
        ticket = secrets.token_hex(16)
        now = call.workspace.clock()
        self._tickets = {t: until for t, until in self._tickets.items() if until > now}
        self._tickets[ticket] = now + TICKET_LIFETIME
        app = tidewater.APP_ID
        return {"url": f"{self.address}/link/?ticket={ticket}&app_id={app}"}

    async def serve(self, socket: WebSocket) -> None:
        """One connection, from hello to goodbye."""
        known = self._tickets.pop(socket.query_params.get("ticket", ""), None)
        if known is None or self.open >= MAX_CONNECTIONS:
            await socket.close(code=1008)
            return
        await socket.accept()
        connection = Connection(socket)
        self.connections.append(connection)
        try:
            await socket.send_text(json.dumps(self._hello()))
            self._connected.set()
            self._told()
            while True:
                self._receive(connection, await socket.receive_text())
        except (WebSocketDisconnect, RuntimeError, OSError):
            pass  # the app went away; what it had not acknowledged is delivered again
        finally:
            self.connections.remove(connection)
            if not self.open:
                self._connected.clear()
            for future in connection.waiting.values():
                if not future.done():
                    future.set_exception(ConnectionError("connection closed"))
            self._told()

    async def send(self, payload: Json, attempt: int, reason: str) -> DeliveryOutcome:
        """Hand a payload to one connection and wait for its acknowledgement.

        Without any connection an event waits for one; an interaction fails at once."""
        kind = ENVELOPES.get(payload["type"], "interactive")
        if not self.open and kind != "events_api":
            return DeliveryOutcome(reason="no_connection")
        while not self.open:
            await self._connected.wait()
        ready = [c for c in self.connections if not c.leaving]
        connection = ready[next(self._turn) % len(ready)]
        envelope_id = secrets.token_hex(16)
        envelope: Json = {
            "envelope_id": envelope_id,
            "type": kind,
            "payload": payload,
            "accepts_response_payload": kind != "events_api",
        }
        if kind == "events_api":
            envelope |= {"retry_attempt": attempt, "retry_reason": reason}
        future = asyncio.get_running_loop().create_future()
        connection.waiting[envelope_id] = future
        try:
            await connection.socket.send_text(json.dumps(envelope))
            # Not wait_for: before Python 3.12 it forgets to be cancelled when the future is done.
            async with asyncio.timeout(self.ack_timeout):
                answer = await future
        except TimeoutError:
            return DeliveryOutcome(reason="timeout")
        except (WebSocketDisconnect, RuntimeError, OSError):
            return DeliveryOutcome(reason="connection_failed")
        finally:
            connection.waiting.pop(envelope_id, None)
        return DeliveryOutcome(accepted=True, answer=answer)

    async def refresh(self, reason: str) -> None:
        """Ask every connection to reconnect (`warning` only announces it), as Slack does daily."""
        leaving = [c for c in self.connections if not c.leaving]
        host = {"host": "applink-playground"}
        for connection in leaving:
            connection.leaving = reason != "warning"
            message = {"type": "disconnect", "reason": reason, "debug_info": host}
            await connection.socket.send_text(json.dumps(message))
        if not self.open:
            self._connected.clear()
        if reason != "warning":
            await asyncio.sleep(self.refresh_grace)
            await self._close(leaving, 1000)

    async def drop(self) -> None:
        """Close every connection without a word."""
        await self._close(list(self.connections), 1011)

    async def _close(self, connections: list[Connection], code: int) -> None:
        for connection in connections:
            if connection in self.connections:
                await connection.socket.close(code=code)

    def _receive(self, connection: Connection, text: str) -> None:
        try:
            message = json.loads(text)
        except ValueError:
            return
        future = connection.waiting.get(message.get("envelope_id", ""))
        if future is None or future.done() or self.faults.take_ack():
            return
        future.set_result(message.get("payload") or {})

    def _hello(self) -> Json:
        return {
            "type": "hello",
            "num_connections": len(self.connections),
            "connection_info": {"app_id": tidewater.APP_ID},
            "debug_info": {
                "host": "applink-playground",
                "started": datetime.now(UTC).isoformat(timespec="seconds"),
                "build_number": 1,
                "approximate_connection_time": 18_060,
            },
        }
