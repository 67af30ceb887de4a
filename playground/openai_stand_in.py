"""A local server that speaks the OpenAI protocol: scripted replies, and faults on demand."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

PIECE = 12
"""Characters in each piece of a stream."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """One request as it arrived."""

    path: str
    body: dict[str, Any]
    authorization: str = ""

    @property
    def name(self) -> str:
        """The name of the JSON schema asked for; '' for plain text."""
        wanted = self.body.get("response_format") or {}
        return str(wanted.get("json_schema", {}).get("name", ""))

    @property
    def max_tokens(self) -> int:
        """Tokens, here words, that the reply may have."""
        limits = (self.body.get(name) for name in ("max_completion_tokens", "max_tokens"))
        return next((int(limit) for limit in limits if limit), 1_000_000)

    @property
    def text(self) -> str:
        """All messages, joined."""
        return "\n".join(str(message["content"]) for message in self.body.get("messages", ()))


@dataclass(frozen=True, kw_only=True)
class ModelFault:
    """What to do instead of replying."""

    kind: Literal["status", "slow", "malformed", "cut"]
    """`slow` waits before the reply; `cut` ends a stream in the middle of it."""
    status: int = 500
    retry_after: float | None = None
    seconds: float = 0.0
    message: str = "scripted fault"


@dataclass(frozen=True, kw_only=True)
class RawReply:
    """A body as another server sends it, byte for byte."""

    body: bytes
    status: int = 200
    content_type: str = "application/json"


Scripted = str | dict[str, Any] | ModelFault | RawReply
Script = Callable[[Request], Scripted] | Mapping[str, Scripted | Sequence[Scripted]]


@dataclass
class OpenAIStandIn:
    """`with OpenAIStandIn(script) as server:` serves `server.base_url` on the loopback.

    A script is a callable, or a mapping from a schema's name (or a piece of the messages) to a
    reply, or to several that are used up in order. Text is sent as it is, a dict as JSON. A
    callable is called by as many threads as there are requests."""

    script: Script
    schemas: bool = True
    """False: refuses `response_format: json_schema` as older servers do."""
    counts_tokens: bool = True
    """False: goes on beyond `max_tokens`, as servers do that don't know the option."""
    reports_usage: bool = True
    """False: no reply says how many tokens it took."""
    dimensions: int = 32
    requests: list[Request] = field(default_factory=list)
    faults: list[ModelFault] = field(default_factory=list)
    """Used up in order, one a request, before the script is asked."""
    before_piece: Callable[[str], None] = lambda so_far: None
    """Called before each piece of a stream with the text already sent; may make it wait."""
    before_vectors: Callable[[], None] = lambda: None
    """Called before a reply with vectors; may make it wait."""
    _used: dict[str, int] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> OpenAIStandIn:
        handler = type("Handler", (_Handler,), {"stand_in": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()
        return self

    def __exit__(self, *_raised: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def reply_to(self, request: Request) -> Scripted:
        """The next fault, or what the script says; a request nobody scripted is a 400."""
        with self._lock:
            self.requests.append(request)
            if self.faults:
                return self.faults.pop(0)
        if request.name and not self.schemas:
            refused = "response_format of type json_schema is not supported"
            return ModelFault(kind="status", status=400, message=refused)
        if callable(self.script):  # it may take its time: others are answered meanwhile
            return self.script(request)
        with self._lock:
            return self._from_mapping(self.script, request)

    def _from_mapping(
        self, script: Mapping[str, Scripted | Sequence[Scripted]], request: Request
    ) -> Scripted:
        for key, scripted in script.items():
            if key == request.name or (key and key in request.text):
                if isinstance(scripted, (str, dict, ModelFault, RawReply)):
                    return scripted
                turn = self._used.get(key, 0)
                self._used[key] = turn + 1
                return scripted[min(turn, len(scripted) - 1)]
        return ModelFault(kind="status", status=400, message="nothing scripted for this request")


def embed(text: str, dimensions: int) -> list[float]:
    """A unit vector that depends on the text alone."""
    seed = hashlib.sha256(text.encode()).digest()
    stream = b"".join(
        hashlib.sha256(seed + bytes([block])).digest() for block in range(dimensions // 8 + 1)
    )
    raw = [value / 2**31 - 1 for (value,) in struct.iter_unpack(">I", stream)][:dimensions]
    length = math.sqrt(sum(value * value for value in raw)) or 1.0
    return [value / length for value in raw]


def _usage(request: Request, text: str) -> dict[str, int]:
    prompt, completion = len(request.text.split()), len(text.split())
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }


def _completion(request: Request, text: str, reason: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": text, "refusal": None}
    return {
        "id": "chatcmpl-local",
        "object": "chat.completion",
        "created": 0,
        "model": request.body.get("model", ""),
        "choices": [{"index": 0, "message": message, "finish_reason": reason, "logprobs": None}],
        "usage": _usage(request, text),
    }


def _events(request: Request, text: str, reason: str) -> Iterator[dict[str, Any]]:
    base = {
        "id": "chatcmpl-local",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": request.body.get("model", ""),
    }
    for start in range(0, len(text), PIECE):
        delta = {"role": "assistant", "content": text[start : start + PIECE]}
        yield {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield {**base, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}
    if (request.body.get("stream_options") or {}).get("include_usage"):
        yield {**base, "choices": [], "usage": _usage(request, text)}


class _Handler(BaseHTTPRequestHandler):
    stand_in: OpenAIStandIn

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - inherited
        """Quiet."""

    def do_POST(self) -> None:
        length = int(self.headers.get("content-length", 0))
        request = Request(
            path=self.path,
            body=json.loads(self.rfile.read(length) or b"{}"),
            authorization=self.headers.get("authorization", ""),
        )
        scripted = self.stand_in.reply_to(request)
        if isinstance(scripted, RawReply):
            headers = {"content-type": scripted.content_type}
            return self._send_bytes(scripted.status, scripted.body, headers)
        cut = False
        if isinstance(scripted, ModelFault):
            if scripted.kind in ("status", "malformed"):
                return self._fault(scripted)
            time.sleep(scripted.seconds)
            cut = scripted.kind == "cut"
            scripted = "This reply comes late, or only in part."
        if self.path.endswith("/embeddings"):
            return self._embeddings(request)
        text = scripted if isinstance(scripted, str) else json.dumps(scripted)
        reason = "stop"
        if self.stand_in.counts_tokens and len(text.split()) > request.max_tokens:
            text, reason = " ".join(text.split()[: request.max_tokens]), "length"
        if request.body.get("stream"):
            return self._stream(request, text, reason, cut)
        completion = _completion(request, text, reason)
        if not self.stand_in.reports_usage:
            del completion["usage"]
        return self._send(200, completion)

    def _fault(self, fault: ModelFault) -> None:
        if fault.kind == "malformed":
            return self._send_bytes(200, b'{"choices": [{"mess')
        error = {"message": fault.message, "type": "scripted", "param": None, "code": None}
        headers = {} if fault.retry_after is None else {"retry-after": f"{fault.retry_after}"}
        return self._send(fault.status, {"error": error}, headers)

    def _embeddings(self, request: Request) -> None:
        self.stand_in.before_vectors()
        texts = request.body["input"]
        texts = [texts] if isinstance(texts, str) else texts
        data = [
            {"object": "embedding", "index": index, "embedding": self._vector(request, text)}
            for index, text in enumerate(texts)
        ]
        usage = {"prompt_tokens": 0, "total_tokens": 0}
        self._send(
            200,
            {"object": "list", "model": request.body["model"], "data": data, "usage": usage},
        )

    def _vector(self, request: Request, text: str) -> list[float] | str:
        vector = embed(str(text), request.body.get("dimensions") or self.stand_in.dimensions)
        if request.body.get("encoding_format") != "base64":
            return vector
        return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()

    def _stream(self, request: Request, text: str, reason: str, cut: bool) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        events = list(_events(request, text, reason))
        if not self.stand_in.reports_usage:
            events = [event for event in events if "usage" not in event]
        with suppress(BrokenPipeError, ConnectionResetError):  # the client has read enough
            for number, event in enumerate(events[: len(events) // 2] if cut else events):
                self.stand_in.before_piece(text[: number * PIECE])
                self.wfile.write(f"data: {json.dumps(event)}\n\n".encode())
                self.wfile.flush()
            if not cut:
                self.wfile.write(b"data: [DONE]\n\n")

    def _send(
        self, status: int, body: dict[str, Any], headers: Mapping[str, str] | None = None
    ) -> None:
        self._send_bytes(status, json.dumps(body).encode(), headers)

    def _send_bytes(
        self, status: int, body: bytes, headers: Mapping[str, str] | None = None
    ) -> None:
        try:
            self.send_response(status)
            every = {"content-type": "application/json", "content-length": str(len(body))}
            for name, value in {**every, **(headers or {})}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)
        except BrokenPipeError:
            pass  # the client's timeout came first
