"""Local files → Document, by suffix."""

from __future__ import annotations

import codecs
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Unpack

from config.errors import LoadError
from loaders.assemble import Metadata
from loaders.document import Document
from loaders.html import parse_html
from loaders.limits import check_size
from loaders.markdown import parse_markdown

Parse = Callable[..., Document]


def load_file(path: Path, *, base_url: str = "") -> Document:
    """The document's url is `base_url` + file name, or a `file://` URI.

    Raises LoadError, naming the file, for what can't be read."""
    try:
        size = path.stat().st_size
        check_size(str(path), size)
        data = path.read_bytes()
        changed = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    except OSError as error:
        raise LoadError(str(path), error.strerror or str(error)) from error
    url = base_url.rstrip("/") + "/" + path.name if base_url else path.resolve().as_uri()
    return load_bytes(data, suffix=path.suffix, url=url, id=path.stem, modified_at=changed)


def load_bytes(
    data: bytes, *, suffix: str, url: str = "", **metadata: Unpack[Metadata]
) -> Document:
    """What a file of this suffix says; also for downloads and exports from Drive."""
    name = metadata.get("id") or url or "file"
    parse = _PARSERS.get(suffix.lower())
    if parse is None:
        raise LoadError(
            name,
            f"there is no loader for `{suffix}` files",
            remedy="supported: " + ", ".join(sorted(_PARSERS)),
        )
    check_size(name, len(data))
    return parse(data, url=url, **metadata)


def _text(parse: Callable[..., Document]) -> Parse:
    def from_bytes(data: bytes, *, url: str, **metadata: Unpack[Metadata]) -> Document:
        text, warning = decode(data)
        document = parse(text, url=url, **metadata)
        if warning:
            document = replace(document, warnings=(*document.warnings, warning))
        return document

    return from_bytes


def decode(data: bytes) -> tuple[str, str]:
    """Text and a warning when its encoding had to be guessed."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace"), ""
    try:
        return data.decode("utf-8-sig"), ""
    except UnicodeDecodeError as error:
        place = f"byte {error.start}"
        return data.decode("cp1252", "replace"), f"not UTF-8 at {place}: read as Windows-1252"


_PARSERS: dict[str, Parse] = {
    ".htm": _text(parse_html),
    ".html": _text(parse_html),
    ".markdown": _text(parse_markdown),
    ".md": _text(parse_markdown),
}
