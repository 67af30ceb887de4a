"""A second, sparse Slack: only what the protocol promises, so that no habit of the playground's
is mistaken for it. Own messages come back with a bot id alone; most methods don't exist."""

from __future__ import annotations

import itertools
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl

from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection, serve

Json = dict[str, Any]

BOT_USER, BOT_ID = "U0PLAINBOT", "B0PLAINBOT"


class PlainSlack:
    bot_token, app_token, signing_secret = "xoxb-plain", "xapp-plain", "s"

    def __init__(self) -> None:
        self.messages: list[Json] = []
        self.calls: list[tuple[str, Json]] = []
        self.refusals: dict[str, str] = {}
        """Method → error code, or `404` for a page that isn't JSON."""
        self.sockets: list[ServerConnection] = []
        self.acks: list[Json] = []
        self._ids = itertools.count(1)
        handler = type("Handler", (_Handler,), {"slack": self})
        self._api = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._hub = serve(self._connected, "127.0.0.1", 0)
        self.api_url = f"http://127.0.0.1:{self._api.server_address[1]}/api/"
        self._threads = [
            threading.Thread(target=self._api.serve_forever, args=(0.02,)),
            threading.Thread(target=self._hub.serve_forever),
        ]

    def __enter__(self) -> PlainSlack:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_raised: object) -> None:
        self._api.shutdown()
        self._api.server_close()
        self._hub.shutdown()
        for thread in self._threads:
            thread.join()

    def send(self, payload: Json, kind: str = "events_api") -> str:
        """Hand an envelope to the newest connection; its id."""
        envelope_id = f"envelope-{next(self._ids)}"
        self.sockets[-1].send(
            json.dumps({"envelope_id": envelope_id, "type": kind, "payload": payload})
        )
        return envelope_id

    def event(self, **event: Any) -> str:
        """An event without event id, team or anything else that may be missing."""
        return self.send({"type": "event_callback", "event": event})

    def acked(self, envelope_id: str) -> bool:
        return any(ack.get("envelope_id") == envelope_id for ack in self.acks)

    def said(self, thread_ts: str) -> list[Json]:
        return [m for m in self.messages if m.get("thread_ts") == thread_ts and "bot_id" in m]

    def call(self, method: str, given: Json) -> Json:
        self.calls.append((method, given))
        if refusal := self.refusals.get(method):
            return {"ok": False, "error": refusal}
        match method:
            case "auth.test":
                return {"ok": True, "user_id": BOT_USER, "bot_id": BOT_ID, "team_id": "T0"}
            case "apps.connections.open":
                port = self._hub.socket.getsockname()[1]
                url = f"ws://127.0.0.1:{port}/link/?ticket=a%2Bb&app_id=A0&debug_reconnects=true"
                return {"ok": True, "url": url}
            case "chat.postMessage":
                ts = f"{2_000_000_000 + next(self._ids)}.000100"
                self.messages.append({**given, "ts": ts, "bot_id": BOT_ID})
                return {"ok": True, "ts": ts}
            case "chat.update":
                next(m for m in self.messages if m["ts"] == given["ts"]).update(given)
                return {"ok": True}
            case "users.info":
                return {"ok": True, "user": {"id": given["user"], "team_id": "T0"}}
            case "users.conversations":
                return {"ok": True, "channels": [{"id": "C0SECURITY"}]}
            case "conversations.replies":
                found = [m for m in self.messages if given["ts"] in (m["ts"], m.get("thread_ts"))]
                hidden = {"metadata", "channel"}
                shown = [{k: v for k, v in m.items() if k not in hidden} for m in found]
                return {"ok": True, "messages": shown}
        return {"ok": False, "error": "unknown_method"}

    def _connected(self, socket: ServerConnection) -> None:
        socket.send('{"type": "hello"}')
        self.sockets.append(socket)
        try:
            for text in socket:
                self.acks.append(json.loads(text))
        except ConnectionClosed:
            pass


class _Handler(BaseHTTPRequestHandler):
    slack: PlainSlack

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - inherited
        """Quiet."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0))).decode()
        path, _, query = self.path.partition("?")
        given: Json = dict(parse_qsl(query))
        given |= json.loads(body) if body.startswith("{") else dict(parse_qsl(body))
        for name in ("blocks", "metadata"):
            if isinstance(given.get(name), str):
                given[name] = json.loads(given[name])
        answer = self.slack.call(path.removeprefix("/api/"), given)
        missing = answer.get("error") == "404"
        self.send_response(404 if missing else 200)
        self.send_header("content-type", "text/html" if missing else "application/json")
        self.end_headers()
        self.wfile.write(b"<h1>Not Found</h1>" if missing else json.dumps(answer).encode())

    def do_GET(self) -> None:
        self.do_POST()
