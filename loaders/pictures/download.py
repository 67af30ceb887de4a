"""A file from a server that is known beforehand, with a bound on everything."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.client import HTTPException, HTTPMessage
from typing import IO, Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from loaders.pictures.picture_file import MAX_PICTURE_BYTES, PictureRefused, too_large

_PIECE = 64 * 1024
_SILENCE_SECONDS = 10.0
_MOST_SECONDS = 60.0
_TEMPORARY = frozenset({408, 425, 429, 500, 502, 503, 504})


@dataclass(frozen=True)
class Downloaded:
    data: bytes
    media_type: str
    """As the server says, which proves nothing."""


class NotAllowed(PictureRefused):
    """401, 403, or a page to sign in at."""


def origin(address: str) -> tuple[str, str, int | None]:
    """Scheme, host and port; empty ones of what is no address."""
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
    most_seconds: float = _MOST_SECONDS,
) -> Downloaded:
    """Raises PictureRefused, without the address: whoever holds it may hold the file.

    `allowed`: whether an address may be asked, that of a redirection too. `headers` hold a key, so
    they go to no other server."""
    if not allowed(address):
        raise PictureRefused("lies on a server that I don't ask")
    opener = build_opener(_Redirections(allowed))
    request = Request(address, headers=dict(headers or {}))  # noqa: S310 - allowed above
    until = time.monotonic() + most_seconds
    try:
        with opener.open(request, timeout=_SILENCE_SECONDS) as answer:
            said = answer.headers.get("content-length", "")
            if said.isdecimal() and int(said) > MAX_PICTURE_BYTES:
                raise PictureRefused(too_large(int(said)))
            data = _read(answer, until)
            media_type = answer.headers.get_content_type()
            if said.isdecimal() and len(data) < int(said):
                raise PictureRefused("could not be fetched: it broke off", temporary=True)
            return Downloaded(data, media_type)
    except HTTPError as error:
        error.close()  # it is the reply, too
        if error.code in (401, 403) or 300 <= error.code < 400:
            raise NotAllowed(f"could not be fetched: HTTP {error.code}") from None
        raise PictureRefused(
            f"could not be fetched: HTTP {error.code}", temporary=error.code in _TEMPORARY
        ) from None
    except (URLError, HTTPException, OSError, ValueError):
        raise PictureRefused("could not be fetched: no answer", temporary=True) from None


def _read(answer: Any, until: float) -> bytes:
    data = bytearray()
    # `read` would wait until a piece is full, for hours where bytes come one by one.
    while piece := answer.read1(_PIECE):
        data += piece
        if len(data) > MAX_PICTURE_BYTES:
            raise PictureRefused(too_large(len(data)))
        if time.monotonic() > until:
            raise PictureRefused("could not be fetched: it took too long", temporary=True)
    return bytes(data)


class _Redirections(HTTPRedirectHandler):
    """To where one may ask anyway, and with the key to the same server alone."""

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
