"""Downloads from allowed servers, with limits on size and time, e.g. pictures of Google Docs.

Picture URLs from `documents.get` expire after half an hour."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.client import HTTPException, HTTPMessage
from typing import IO, Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from loaders.document import Image
from loaders.pictures.document_pictures import Fetch
from loaders.pictures.image import MAX_PICTURE_BYTES, PictureRefused, too_large

_PIECE = 64 * 1024
_SILENCE_SECONDS = 10.0
_MAX_SECONDS = 60.0
_TEMPORARY = frozenset({408, 425, 429, 500, 502, 503, 504})


@dataclass(frozen=True)
class Downloaded:
    data: bytes
    media_type: str
    """The type that the server claims; not verified."""


class NotAllowed(PictureRefused):
    """The server responded with 401, 403 or an unfollowed redirect, e.g. to a sign-in page."""


def origin(address: str) -> tuple[str, str, int | None]:
    """Scheme, host and port; empty values for an invalid URL."""
    try:
        parts = urlsplit(address)
        return parts.scheme.lower(), (parts.hostname or "").lower(), parts.port
    except ValueError:
        return "", "", None


def download(
    address: str,
    *,
    allowed: Callable[[str], bool],
    headers: Mapping[str, str] | None = None,
    most_seconds: float = _MAX_SECONDS,
) -> Downloaded:
    """Raises PictureRefused, without the URL, because anyone who has it can fetch the file.

    `allowed`: whether a URL may be requested, also as the target of a redirect. `headers` may hold
    a key: redirects to other servers drop `Authorization`."""
    if not allowed(address):
        raise PictureRefused("lies on a server that I don't ask")
    opener = build_opener(_Redirections(allowed))
    request = Request(address, headers=dict(headers or {}))  # noqa: S310 - allowed above
    until = time.monotonic() + most_seconds
    try:
        with opener.open(request, timeout=_SILENCE_SECONDS) as answer:
            stated_length = answer.headers.get("content-length", "")
            if stated_length.isdecimal() and int(stated_length) > MAX_PICTURE_BYTES:
                raise PictureRefused(too_large(int(stated_length)))
            data = _read(answer, until)
            media_type = answer.headers.get_content_type()
            if stated_length.isdecimal() and len(data) < int(stated_length):
                raise PictureRefused("could not be fetched: it broke off", temporary=True)
            return Downloaded(data, media_type)
    except HTTPError as error:
        error.close()  # the error is also the response
        if error.code in (401, 403) or 300 <= error.code < 400:
            raise NotAllowed(f"could not be fetched: HTTP {error.code}") from None
        raise PictureRefused(
            f"could not be fetched: HTTP {error.code}", temporary=error.code in _TEMPORARY
        ) from None
    except (URLError, HTTPException, OSError, ValueError):
        raise PictureRefused("could not be fetched: no answer", temporary=True) from None


def _read(answer: Any, until: float) -> bytes:
    data = bytearray()
    # `read` would wait until a piece is full, for hours if bytes arrive one by one.
    while piece := answer.read1(_PIECE):
        data += piece
        if len(data) > MAX_PICTURE_BYTES:
            raise PictureRefused(too_large(len(data)))
        if time.monotonic() > until:
            raise PictureRefused("could not be fetched: it took too long", temporary=True)
    return bytes(data)


class _Redirections(HTTPRedirectHandler):
    """Follows redirects to allowed URLs only. Sends the key only to the same server."""

    max_redirections = 3  # read by the base class

    def __init__(self, allowed: Callable[[str], bool]) -> None:
        self._allowed = allowed

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> Request | None:
        if not self._allowed(newurl):
            return None
        following = super().redirect_request(req, fp, code, msg, headers, newurl)
        if following is not None and origin(newurl) != origin(req.full_url):
            following.remove_header("Authorization")
        return following


_ATTEMPTS = 3
_PAUSE_SECONDS = 1.0
_HOST = ".googleusercontent.com"


def google_pictures(api_url: str = "") -> Fetch:
    """Returns a `Fetch` for pictures on Google's servers, or on `api_url` if set.

    Sends no token, because the URL alone grants access. Never requests any other server."""

    def allowed(address: str) -> bool:
        scheme, host, _ = origin(address)
        if api_url and origin(address) == origin(api_url):
            return True
        return scheme == "https" and host.endswith(_HOST)

    def fetch(image: Image) -> bytes:
        if not image.uri:
            raise PictureRefused("has no address: a drawing or an equation")
        if not urlsplit(image.uri).scheme:
            raise PictureRefused("lies beside a file in Drive, where it isn't looked for")
        for attempt in range(_ATTEMPTS):
            try:
                return download(image.uri, allowed=allowed).data
            except PictureRefused as refused:
                if not refused.temporary or attempt + 1 == _ATTEMPTS:
                    raise
            time.sleep(_PAUSE_SECONDS * 2**attempt)
        raise AssertionError("unreachable")

    return fetch
