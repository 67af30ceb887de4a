"""The one reader of untrusted bytes: files below a folder, and URLs.

Every failure is a ReadRefused, whose reason holds no byte of the content and no part of a URL."""

from __future__ import annotations

import os
import re
import socket
import ssl
import stat
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPMessage, HTTPResponse, HTTPSConnection
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import IO, Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import (
    AbstractHTTPHandler,
    HTTPDefaultErrorHandler,
    HTTPErrorProcessor,
    HTTPRedirectHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
    UnknownHandler,
)

Allows = Callable[[str], bool]
_PIECE = 64 * 1024
_SILENCE_SECONDS = 10.0
_MAX_ADDRESSES = 4
"""Addresses of a host that are tried."""
_TEMPORARY = frozenset({408, 425, 429, 500, 502, 503, 504})
_HOST = re.compile(r"[\w.-]+|[\da-f:.]+", re.ASCII | re.IGNORECASE)
_METADATA = frozenset(
    map(ip_address, ("168.63.129.16", "100.100.100.200", "192.0.0.192", "fd00:ec2::254"))
)
"""Metadata services of clouds that are not at a link-local address."""
_UNICAST = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")
_LOCAL_NAT64 = IPv6Network("64:ff9b:1::/48")
_WITH_IPV4_AT_THE_END = (
    _NAT64,
    IPv6Network("::/96"),  # IPv4-compatible
    IPv6Network("::ffff:0:0/96"),  # IPv4-mapped
    IPv6Network("::ffff:0:0:0/96"),  # IPv4-translated
)
_ISATAP = (bytes.fromhex("00005efe"), bytes.fromhex("02005efe"))


class ReadRefused(Exception):
    """Bytes can't be had. `reason` continues a sentence that starts with `it`.

    `temporary`: a later attempt may succeed. `missing`: no such page (404, 410) or host."""

    def __init__(self, reason: str, *, temporary: bool = False, missing: bool = False) -> None:
        super().__init__(reason)
        self.reason, self.temporary, self.missing = reason, temporary, missing


class NotAllowed(ReadRefused):
    """The server responded with 401, 403 or an unfollowed redirect, e.g. to a sign-in page."""


def too_large(size: int, max_bytes: int) -> str:
    return f"has {size / 1e6:,.0f} MB, more than the {max_bytes // 1_000_000} that I open"


def confined(path: Path, roots: Iterable[Path]) -> Path:
    """The real path of a file, without links. Raises ReadRefused unless it is below a root.

    Of a path outside, nothing is revealed, not even whether it exists."""
    try:
        if is_below(path, roots):
            return path.resolve()
    except (OSError, RuntimeError, ValueError):  # a NUL, a link to itself, a name too long
        raise ReadRefused("is not where it should be") from None
    raise ReadRefused("lies outside the folders that may be read")


def is_below(path: Path, roots: Iterable[Path]) -> bool:
    """Whether the real path is below a root, or is one."""
    real = path.resolve()
    return any(real.is_relative_to(root.resolve()) for root in roots)


def read_file(path: Path, *, max_bytes: int) -> tuple[bytes, float]:
    """Content and modification time of a regular file. `path`: real, as `confined` returns it.

    Raises ReadRefused, also for a link, a device or a pipe, and for more than `max_bytes`."""
    # Non-blocking, because opening a pipe would wait for a writer.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
    try:
        with os.fdopen(os.open(path, flags), "rb") as file:
            about = os.fstat(file.fileno())
            if not stat.S_ISREG(about.st_mode):
                raise ReadRefused("is no file, but a device or a pipe")
            if about.st_size > max_bytes:
                raise ReadRefused(too_large(about.st_size, max_bytes))
            return file.read(max_bytes), about.st_mtime
    except OSError as error:
        raise ReadRefused(f"could not be opened: {error.strerror or 'an error'}") from error
    except ValueError:  # a NUL in the name
        raise ReadRefused("could not be opened: no such file") from None


@dataclass(frozen=True)
class Downloaded:
    data: bytes
    media_type: str
    """The type that the server claims; not verified."""


def origin(address: str) -> tuple[str, str, int | None]:
    """Scheme, host and port; empty values for an invalid URL."""
    try:
        parts = urlsplit(address)
        return parts.scheme.lower(), (parts.hostname or "").lower(), parts.port
    except ValueError:
        return "", "", None


@dataclass(frozen=True, kw_only=True)
class Web:
    """What may be fetched, and how much of it."""

    allows: Allows
    """Whether a URL may be requested, also as the target of a redirect."""
    is_inner: Allows = lambda host: False
    """Whether a host may be at a private or loopback address, because the operator named it."""
    max_bytes: int
    max_seconds: float = 60.0
    """For the whole download."""

    def download(
        self, address: str, headers: Mapping[str, str] | None = None, method: str = "GET"
    ) -> Downloaded:
        """Raises ReadRefused, without the URL, because anyone who has it can fetch the file.

        The connection goes to the very address that was checked, so that no second look-up of the
        name leads elsewhere. `headers` may hold a key: redirects to other servers drop
        `Authorization`. A compressed reply is not unpacked."""
        if not self._allows(address):
            raise ReadRefused("lies on a server that I don't ask")
        request = Request(address, headers=dict(headers or {}), method=method)  # noqa: S310 - allowed above
        with _Deadline(self.max_seconds) as deadline:
            try:
                return self._read(request, deadline)
            except (OSError, HTTPException, ValueError) as error:
                if deadline.is_over:
                    refused = ReadRefused("could not be fetched: it took too long", temporary=True)
                else:
                    refused = _refusal(error)
                raise refused from None  # the cause may hold the whole address

    def _allows(self, address: str) -> bool:
        """No host is written in a way that a proxy may read as another: 127.0.0.%31."""
        return bool(_HOST.fullmatch(origin(address)[1])) and self.allows(address)

    def _read(self, request: Request, deadline: _Deadline) -> Downloaded:
        opener = OpenerDirector()  # without the handlers of file: and ftp:
        for handler in (
            _Proxies(),
            UnknownHandler(),
            HTTPDefaultErrorHandler(),
            HTTPErrorProcessor(),
            _Redirections(self._allows),
            _Connections(self.is_inner, deadline),
        ):
            opener.add_handler(handler)
        with opener.open(request, timeout=_SILENCE_SECONDS) as answer:
            stated_length = answer.headers.get("content-length", "")
            stated = int(stated_length) if stated_length.isdecimal() else 0
            data = bytearray()
            # `read` would wait until a piece is full, for hours if bytes arrive one by one.
            while stated <= self.max_bytes and (piece := answer.read1(_PIECE)):
                data += piece
                stated = max(stated, len(data))
            if stated > self.max_bytes:
                raise ReadRefused(too_large(stated, self.max_bytes))
            if deadline.is_over:
                raise TimeoutError
            if len(data) < stated and request.get_method() != "HEAD":
                raise ReadRefused("could not be fetched: it broke off", temporary=True)
            return Downloaded(bytes(data), answer.headers.get_content_type())


def is_public(address: str) -> bool:
    """Whether an IP address belongs to the internet, and so do all inside it."""
    ip, *inside = _unwrapped(address)
    if isinstance(ip, IPv4Address):
        return ip.is_global and not (ip.is_multicast or ip.is_reserved or ip in _METADATA)
    is_global = ip in _NAT64 or (ip in _UNICAST and ip.is_global)
    return is_global and all(is_public(str(one)) for one in inside)


def _may_reach(address: str, *, inner: bool) -> bool:
    """Not even an inner host is where clouds have their metadata services."""
    return is_public(address) or (inner and not any(map(_is_special, _unwrapped(address))))


def _is_special(ip: IPv4Address | IPv6Address) -> bool:
    return ip.is_link_local or ip.is_multicast or ip.is_unspecified or ip in _METADATA


def _unwrapped(address: str) -> Iterator[IPv4Address | IPv6Address]:
    """An IP address, and the IPv4 addresses that an IPv6 one stands for or tunnels to."""
    ip = ip_address(address)
    yield ip
    if isinstance(ip, IPv4Address):
        return
    packed = ip.packed
    if ip.sixtofour:
        yield ip.sixtofour
    yield from ip.teredo or ()
    if any(ip in one for one in _WITH_IPV4_AT_THE_END) or packed[8:12] in _ISATAP:
        yield IPv4Address(packed[12:])
    if ip in _LOCAL_NAT64:  # of several forms (RFC 6052); nothing says which, so all are read
        forms = (packed[12:], *((packed[start:8] + packed[9:])[:4] for start in (6, 7, 8)))
        yield from (IPv4Address(one) for one in forms if any(one))


class _InsideError(OSError):
    """A host leads to a private address."""


def _refusal(error: Exception) -> ReadRefused:
    if isinstance(error, HTTPError):
        error.close()  # the error is also the response
        if error.code in (401, 403) or 300 <= error.code < 400:
            redirect = ", a redirect that I don't follow" if error.code < 400 else ""
            return NotAllowed(f"could not be fetched: HTTP {error.code}{redirect}")
        temporary = error.code in _TEMPORARY
        missing, reason = error.code in (404, 410), f"could not be fetched: HTTP {error.code}"
        return ReadRefused(reason, temporary=temporary, missing=missing)
    cause = error.reason if isinstance(error, URLError) else error
    if isinstance(cause, _InsideError):
        return ReadRefused("leads to a private address, where I don't ask")
    if isinstance(cause, ssl.SSLCertVerificationError):
        return ReadRefused("could not be fetched: its certificate can't be verified")
    missing = isinstance(cause, socket.gaierror) and cause.errno == socket.EAI_NONAME
    return ReadRefused("could not be fetched: no answer", temporary=True, missing=missing)


class _Deadline:
    """One time limit for everything of a download. Breaks connections off when it is over: a
    timeout of a socket is for each read, and a server that sends a byte now and then would hold
    the thread."""

    def __init__(self, seconds: float) -> None:
        self._sockets: list[socket.socket] = []
        self._end = time.monotonic() + seconds
        self._timer = threading.Timer(max(seconds, 0.0), self._break_off)
        self._timer.daemon = True
        self._lock = threading.Lock()
        self._is_broken = False

    @property
    def is_over(self) -> bool:
        return time.monotonic() >= self._end

    def left(self) -> float:
        """In seconds. Raises TimeoutError when the time is over."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    def addresses(self, host: str, port: int) -> list[Any]:
        """What `getaddrinfo` returns. A look-up can't be interrupted, so a thread of its own waits
        for it. Raises TimeoutError, gaierror and ValueError."""
        replies: SimpleQueue[list[Any] | Exception] = SimpleQueue()

        def look_up() -> None:
            try:
                replies.put(socket.getaddrinfo(host, port, 0, socket.SOCK_STREAM))
            except Exception as error:  # raised again by the thread that waits
                replies.put(error)

        threading.Thread(target=look_up, name="look-up of a host", daemon=True).start()
        try:
            reply = replies.get(timeout=self.left())
        except Empty:
            raise TimeoutError from None
        if isinstance(reply, Exception):
            raise reply
        return reply

    def watch(self, connected: socket.socket) -> None:
        """Watches a duplicate: TLS detaches the socket that it wraps."""
        with self._lock:
            self._sockets.append(connected.dup())
            if self._is_broken:
                self._shut()

    def _break_off(self) -> None:
        with self._lock:
            self._is_broken = True
            self._shut()

    def _shut(self) -> None:
        for one in self._sockets:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> _Deadline:
        self._timer.start()
        return self

    def __exit__(self, *_raised: object) -> None:
        self._timer.cancel()
        with self._lock:
            for one in self._sockets:
                one.close()
            self._sockets.clear()


class _Proxies(ProxyHandler):
    """The environment's proxies, which the operator trusts."""

    def proxy_open(self, req: Request, proxy: str, type: str) -> Any:  # noqa: A002 - the base's name
        before = req.host
        response = super().proxy_open(req, proxy, type)
        req.is_proxied = req.host != before  # type: ignore[attr-defined]
        return response


class _Connections(AbstractHTTPHandler):
    """Opens HTTP and HTTPS connections to checked addresses."""

    def __init__(self, is_inner: Allows, deadline: _Deadline) -> None:
        super().__init__()
        self._is_inner = is_inner
        self._deadline = deadline

    def http_open(self, request: Request) -> HTTPResponse:
        return self.do_open(partial(self._connection, HTTPConnection, request), request)

    def https_open(self, request: Request) -> HTTPResponse:
        return self.do_open(partial(self._connection, HTTPSConnection, request), request)

    http_request = https_request = AbstractHTTPHandler.do_request_

    def _connection(
        self, kind: type[HTTPConnection], request: Request, host: str, **options: Any
    ) -> HTTPConnection:
        connection = kind(host, **options)
        is_proxied = getattr(request, "is_proxied", False)
        if is_proxied:
            self._check_behind_proxy(origin(request.full_url)[1])
        connect = partial(self._connect, to_proxy=is_proxied)
        connection._create_connection = connect  # type: ignore[attr-defined]
        return connection

    def _connect(
        self,
        address: tuple[str, int],
        timeout: float,
        source: object = None,
        *,
        to_proxy: bool = False,
    ) -> socket.socket:
        """Each address gets its share of the time that is left, so that one which drops packets
        leaves some for the next."""
        error: OSError = _InsideError()
        inner = self._is_inner(address[0].lower())
        allowed = [
            one
            for one in self._deadline.addresses(*address)
            if to_proxy or _may_reach(str(one[4][0]), inner=inner)
        ][:_MAX_ADDRESSES]
        for position, (family, kind, protocol, _, where) in enumerate(allowed):
            made = socket.socket(family, kind, protocol)
            try:
                share = self._deadline.left() / (len(allowed) - position)
                made.settimeout(min(timeout, share))
                made.connect(where)
                made.settimeout(timeout)
                self._deadline.watch(made)
            except OSError as failure:
                made.close()
                error = failure
            else:
                return made
        raise error

    def _check_behind_proxy(self, host: str) -> None:
        """The proxy looks the name up, so that only a name that is known here can be checked."""
        with suppress(socket.gaierror):
            inner = self._is_inner(host.lower())
            addresses = self._deadline.addresses(host, 0)
            if not any(_may_reach(str(where[0]), inner=inner) for *_, where in addresses):
                raise _InsideError


class _Redirections(HTTPRedirectHandler):
    """Follows redirects to allowed URLs only. Sends the key only to the same server."""

    max_redirections = 3  # read by the base class

    def __init__(self, allows: Allows) -> None:
        self._allows = allows

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> Request | None:
        if not self._allows(newurl):
            return None
        following = super().redirect_request(req, fp, code, msg, headers, newurl)
        if following is not None and origin(newurl) != origin(req.full_url):
            following.remove_header("Authorization")
        return following
