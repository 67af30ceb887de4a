"""Checks every request before its route: caller, origin, size, rate, and a JSON body."""

from __future__ import annotations

import asyncio
import ipaddress
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Protocol

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.auth.routes import HttpDoor, NotIdentified, RequestRejected, door_at
from api.auth.tokens import THIS_MACHINE, Caller, LiveTokens
from config.parsing.strict_json import JunkJsonError, read_json

log = structlog.get_logger()

_THIS_MACHINE = re.compile(rb"(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?", re.IGNORECASE)
# Any of these headers means that a proxy forwards the request: then a loopback address does not
# identify the client.
_PROXY = (
    b"forwarded", b"via", b"x-forwarded", b"x-real-ip", b"x-client-ip", b"x-cluster-client-ip",
    b"x-original-", b"x-envoy-", b"x-amzn-", b"x-azure-", b"x-appengine-", b"x-arr-", b"x-proxy",
    b"client-ip", b"true-client-ip", b"remote-addr", b"x-remote-", b"cf-", b"cdn-", b"fastly-",
    b"fly-", b"akamai-", b"x-akamai-", b"x-vercel-", b"x-nf-", b"ngrok-", b"tailscale-",
    b"x-scheme", b"x-host",
)  # fmt: skip


def is_loopback(address: str) -> bool:
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    mapped = ip.ipv4_mapped if isinstance(ip, ipaddress.IPv6Address) else None
    return (mapped or ip).is_loopback


def came_by_proxy(header_names: Iterable[bytes]) -> bool:
    return any(name.lower().startswith(_PROXY) for name in header_names)


def names_this_machine(host: bytes) -> bool:
    """Prevents DNS rebinding: a foreign page whose name resolves to this machine sends that name.

    Any port matches, because a tunnel may use another one."""
    return _THIS_MACHINE.fullmatch(host) is not None


def is_same_origin(origin: bytes, host: bytes) -> bool:
    return origin.lower() in {b"http://" + host.lower(), b"https://" + host.lower()}


_MAKE_ONE = "set ONCALL_API_TOKEN, or run `oncall token create NAME`"
_READ_OUT = 1_000_000
"""Bytes of an oversized body that are read and dropped: a client reads no reply while it sends."""
_WITH_BODY = {"POST", "PUT", "PATCH", "DELETE"}


@dataclass(frozen=True, kw_only=True)
class RequestLimits:
    per_minute: int = 120
    """Requests per caller; all of them may arrive at once after a quiet minute."""
    at_once: int = 32
    """Below the server's 40 threads, so that health probes find a free one."""
    each_at_once: int = 8
    body_seconds: float = 20.0
    """Timeout for receiving a request's body."""
    send_seconds: float = 30.0
    """Timeout for sending each piece of a response, once the connection's buffer is full."""
    url_bytes: int = 4_000
    header_bytes: int = 16_000


class RequestLimiter:
    """Limits each caller separately, within this process."""

    def __init__(self, bounds: RequestLimits, clock: Callable[[], float] = time.monotonic) -> None:
        self._bounds = bounds
        self._clock = clock
        self._left: dict[str, tuple[float, float]] = {}
        """Caller → (requests left, time of that count)."""
        self._running: Counter[str] = Counter()

    @contextmanager
    def of(self, caller: Caller) -> Iterator[None]:
        """Context of one request in progress. Raises RequestRejected above a limit."""
        if not caller.local:
            self._take(caller.name)
            if self._running[caller.name] >= self._bounds.each_at_once:
                too_many = "too many requests of yours are being answered"
                raise RequestRejected(429, too_many, retry_after=1)
        if self._running.total() >= self._bounds.at_once:
            raise RequestRejected(503, "too many requests are being answered", retry_after=1)
        self._running[caller.name] += 1
        try:
            yield
        finally:
            self._running[caller.name] -= 1

    def _take(self, name: str) -> None:
        now, limit = self._clock(), float(self._bounds.per_minute)
        left, before = self._left.get(name, (limit, now))
        left = min(limit, left + (now - before) * limit / 60)
        if left < 1:
            self._left[name] = left, now
            wait = int((1 - left) * 60 / limit) + 1
            too_many = f"more than {limit:.0f} requests in a minute"
            raise RequestRejected(429, too_many, retry_after=wait)
        self._left[name] = left - 1, now


class _NotTakenError(Exception):
    """The client does not read the response."""


class Readers(Protocol):
    """People who read pages in a browser."""

    @property
    def everywhere(self) -> bool:
        """Whether they come from other machines, and so through a proxy."""
        ...

    def caller(self, request: HTTPConnection) -> Caller | None:
        """Who signed in; None without a valid session."""
        ...

    def rejection(self, request: HTTPConnection, refused: RequestRejected) -> Response:
        """A page, or the way to sign in."""
        ...


class AuthMiddleware:
    """ASGI middleware; sets `request.state.caller` for the routes."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        tokens: LiveTokens,
        bounds: RequestLimits,
        open_metrics: bool,
        readers: Readers,
    ) -> None:
        self._app = app
        self._tokens = tokens
        self._bounds = bounds
        self._readers = readers
        self._open_metrics = open_metrics
        self._traffic = RequestLimiter(bounds)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            send = self._sender(send)
            try:
                await self._admit(scope, receive, send)
            except _NotTakenError:
                log.info("client stopped reading its response")
            except RequestRejected as refused:
                response = self._rejection(scope, refused)
                if scope["method"] in _WITH_BODY:
                    # The rest of the body is not read.
                    response.headers["Connection"] = "close"
                await response(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008})

    async def _admit(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._check_size(scope)
        door = door_at(scope["method"], scope["path"])
        caller = self._caller(scope, door)
        if caller:
            scope.setdefault("state", {})["caller"] = caller
        with self._traffic.of(caller) if caller else nullcontext():
            if scope["method"] in _WITH_BODY:
                headers = Headers(scope=scope)
                is_ours = door.guard != "slack" and not _says_nothing(scope["method"], headers)
                if is_ours:
                    _check_media_type(headers.get("content-type", ""))
                body = await self._body(receive, headers, door.max_body)
                if is_ours:
                    _check_json(body)
                receive = _again(body, receive)
            await self._app(scope, receive, send)

    def _rejection(self, scope: Scope, refused: RequestRejected) -> Response:
        if door_at(scope["method"], scope["path"]).guard == "reader":
            return self._readers.rejection(HTTPConnection(scope), refused)
        return refused.response()

    def _check_size(self, scope: Scope) -> None:
        url = len(scope.get("raw_path") or scope["path"]) + len(scope["query_string"])
        if url > self._bounds.url_bytes:
            raise RequestRejected(414, "the address is too long")
        length = sum(len(name) + len(value) for name, value in scope["headers"])
        if length > self._bounds.header_bytes:
            raise RequestRejected(431, "the headers are too long")

    def _caller(self, scope: Scope, door: HttpDoor) -> Caller | None:
        """Identify the caller. Raises RequestRejected without access to this route."""
        if door.guard in {"nobody", "slack"} or (door.guard == "metrics" and self._open_metrics):
            return None
        _check_origin(scope)
        caller = self._bearer(scope)
        if caller is None and door.guard == "reader":
            caller = self._readers.caller(HTTPConnection(scope))
        caller = caller or self._at_this_machine(scope)
        if door.guard == "metrics" and not caller.metrics:
            raise RequestRejected(403, "this token may not see metrics; create one with --metrics")
        return caller

    def _bearer(self, scope: Scope) -> Caller | None:
        headers = _all(scope, b"authorization")
        if not headers:
            return None
        scheme, _, token = headers[0].partition(b" ")
        borne = len(headers) == 1 and scheme.lower() == b"bearer"
        caller = self._tokens.bearer(token.strip()) if borne else None
        if caller is None:
            raise RequestRejected(401, "the bearer token is wrong, or has been revoked")
        return caller

    def _at_this_machine(self, scope: Scope) -> Caller:
        # A proxy here that adds no header looks like the operator.
        if self._tokens.demanded() or self._readers.everywhere:
            raise NotIdentified(401, "a bearer token is needed: `Authorization: Bearer …`")
        peer = scope.get("client")
        if not peer or not is_loopback(peer[0]):
            raise NotIdentified(401, f"without a token only this machine may ask; {_MAKE_ONE}")
        if came_by_proxy(name for name, _ in scope["headers"]):
            raise NotIdentified(401, f"what comes through a proxy needs a token; {_MAKE_ONE}")
        hosts = _all(scope, b"host")
        if len(hosts) != 1 or not names_this_machine(hosts[0]):
            raise NotIdentified(
                403, f"call this machine localhost, 127.0.0.1 or [::1], or use a token; {_MAKE_ONE}"
            )
        return THIS_MACHINE

    def _sender(self, send: Send) -> Send:
        """Adds headers against caching and against use as a script by pages of other origins."""

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["Cache-Control"] = "no-store"
                headers["X-Content-Type-Options"] = "nosniff"
                headers["Cross-Origin-Resource-Policy"] = "same-origin"
            try:
                async with asyncio.timeout(self._bounds.send_seconds):
                    await send(message)
            except TimeoutError:
                raise _NotTakenError from None

        return sent

    async def _body(self, receive: Receive, headers: Headers, limit: int) -> bytes:
        """Read the body up to `limit`, also without a Content-Length."""
        too_long = RequestRejected(413, f"the body is longer than {limit} bytes")
        stated = headers.get("content-length", "")
        if stated.isdecimal() and int(stated[:20]) > limit + _READ_OUT:
            raise too_long
        body, length = bytearray(), 0
        try:
            async with asyncio.timeout(self._bounds.body_seconds):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise RequestRejected(400, "the body ended early")
                    piece = message.get("body", b"")
                    length += len(piece)
                    if length <= limit:
                        body += piece
                    ends = not message.get("more_body", False)
                    if length > limit + _READ_OUT or (ends and length > limit):
                        raise too_long
                    if ends:
                        return bytes(body)
        except TimeoutError:
            raise RequestRejected(408, "the body took too long to arrive") from None


def _all(scope: Scope, name: bytes) -> list[bytes]:
    return [value for key, value in scope["headers"] if key.lower() == name]


def _check_origin(scope: Scope) -> None:
    """Rejects requests from pages of other origins; no CORS headers are sent."""
    origins, hosts = _all(scope, b"origin"), _all(scope, b"host")
    if origins and not (len(origins) == len(hosts) == 1 and is_same_origin(origins[0], hosts[0])):
        raise RequestRejected(403, "pages of another address may not use this API")


def _says_nothing(method: str, headers: Headers) -> bool:
    """Whether it is a DELETE whose headers announce no body; it needs none."""
    sent = headers.get("content-length", "0").strip()
    return method == "DELETE" and sent == "0" and "transfer-encoding" not in headers


def _check_media_type(content_type: str) -> None:
    media, _, more = content_type.partition(";")
    charset = more.strip().lower().replace('"', "")
    if media.strip().lower() != "application/json" or charset not in {"", "charset=utf-8"}:
        raise RequestRejected(415, "send application/json in UTF-8")


def _check_json(body: bytes) -> None:
    try:
        read_json(body)
    except JunkJsonError as junk:
        raise RequestRejected(400, f"the body can't be read: {junk}") from None


def _again(body: bytes, receive: Receive) -> Receive:
    """Replays the body for the route, then passes on later events of the connection."""
    waiting = [body]

    async def replayed() -> Message:
        if waiting:
            return {"type": "http.request", "body": waiting.pop(), "more_body": False}
        return await receive()

    return replayed
