"""The pictures of a Google Doc, from the addresses that `documents.get` gives for half an hour."""

from __future__ import annotations

import time
from collections.abc import Callable
from urllib.parse import urlsplit

from loaders.document import Image
from loaders.pictures.document_pictures import Fetch
from loaders.pictures.download import download, origin
from loaders.pictures.picture_file import PictureRefused

_ATTEMPTS = 3
_PAUSE_SECONDS = 1.0
_HOST = ".googleusercontent.com"


def google_pictures(api_url: str = "", *, sleep: Callable[[float], object] = time.sleep) -> Fetch:
    """`api_url`: another host than Google's. No token is sent: whoever has the address may have the
    picture, and any other address than Google's own isn't asked."""

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
            sleep(_PAUSE_SECONDS * 2**attempt)
        raise AssertionError("unreachable")

    return fetch
