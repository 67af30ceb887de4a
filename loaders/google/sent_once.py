"""An HTTP client that sends what it is given once, whatever becomes of the reply.

httplib2 sends a request again of its own accord when a connection ends without a status line, a
POST as well: a comment whose reply was lost stood there twice."""

from __future__ import annotations

from http.client import BadStatusLine, HTTPConnection, HTTPResponse
from typing import Any

from httplib2 import Http, HTTPConnectionWithTimeout, HTTPSConnectionWithTimeout


class _EndsForGood(HTTPConnection):
    def getresponse(self) -> HTTPResponse:
        try:
            return super().getresponse()
        except BadStatusLine as error:
            # Of this kind httplib2 makes no second attempt.
            raise ConnectionResetError("the connection ended without a reply") from error


class _PlainOnce(_EndsForGood, HTTPConnectionWithTimeout):
    """See the module's docstring."""


class _SecureOnce(_EndsForGood, HTTPSConnectionWithTimeout):
    """Likewise, encrypted."""


class SendingOnce(Http):
    def request(self, uri: str, *arguments: Any, **named: Any) -> Any:
        kind = _SecureOnce if uri.startswith("https:") else _PlainOnce
        return super().request(uri, *arguments, **{**named, "connection_type": kind})
