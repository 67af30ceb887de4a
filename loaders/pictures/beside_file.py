"""The pictures that a local file names by a path."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from urllib.parse import unquote, urlsplit

from loaders.document import Image
from loaders.pictures.document_pictures import Fetch
from loaders.pictures.picture_file import MAX_PICTURE_BYTES, PictureRefused, too_large


def beside(path: Path, root: Path) -> Fetch:
    """Fetches pictures below `root` that a file at `path` names; what is on the web stays there."""

    def fetch(image: Image) -> bytes:
        return _read(_below(image.uri, path.parent, root.resolve()))

    return fetch


def _below(uri: str, folder: Path, root: Path) -> Path:
    parts = urlsplit(uri)
    if parts.scheme or parts.netloc:
        raise PictureRefused("lies on the web, from where nothing is fetched")
    if not parts.path:
        raise PictureRefused("has no address")
    try:
        found = (folder / unquote(parts.path)).resolve(strict=True)
    except (OSError, RuntimeError, ValueError):
        raise PictureRefused("is not where its document says") from None
    if not found.is_relative_to(root):
        raise PictureRefused("lies outside the folder that documents are read from")
    return found


def _read(path: Path) -> bytes:
    try:
        # Not blocking: a pipe would wait for whoever writes into it.
        with os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
            about = os.fstat(file.fileno())
            if not stat.S_ISREG(about.st_mode):
                raise PictureRefused("is no file")
            if about.st_size > MAX_PICTURE_BYTES:
                raise PictureRefused(too_large(about.st_size))
            return file.read(MAX_PICTURE_BYTES + 1)
    except OSError as error:
        raise PictureRefused(f"can't be read: {error.strerror or 'an error'}") from None
