"""Word files → Document, within limits.

A file of some kilobytes can stand for gigabytes: by compression, by elements of a few bytes, and by
pictures and links that are stored once and referenced often. Each has its limit here."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import Unpack

from config.errors import LoadError
from loaders.assemble import BlockWriter, Metadata, make_document
from loaders.document import MAX_BYTES, Document
from loaders.office.package import Package, open_package
from loaders.pictures.image import MAX_PICTURE_BYTES, kind_of
from loaders.untrusted import too_large
from loaders.word.body import Body
from loaders.word.drawings import Budget
from loaders.word.package import W

MIME_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"


def parse_docx(data: bytes, *, url: str = "", **metadata: Unpack[Metadata]) -> Document:
    """Raises LoadError when the data is not a Word file or a limit is exceeded."""
    name = metadata.get("id") or "Word file"
    writer = BlockWriter(url=url)
    with open_package(data, name, kind="a Word file", suffix=".docx") as package:
        main = package.main_part("word/document.xml")
        if main is None or main.root.tag != f"{W}document":
            raise LoadError(name, "not a Word file (.docx): it holds no document")
        pictures = _Pictures(package, writer)
        Body(writer, main, Budget(name, MAX_BYTES), pictures.uri).read()
    metadata.setdefault("mime_type", MIME_TYPE)
    headings = (block for block in writer.blocks if block.kind == "heading")
    title = next((block.text.removeprefix(block.marker).strip() for block in headings), "")
    metadata["title"] = metadata.get("title") or title
    return make_document(writer, url=url, **metadata)


@dataclass
class _Pictures:
    """The pictures of one file, each held once."""

    package: Package
    writer: BlockWriter
    _uris: dict[str, str | None] = field(default_factory=dict)
    """By path of the part."""

    def uri(self, path: str) -> str | None:
        if path not in self._uris:
            data = self.package.read(path, MAX_PICTURE_BYTES + 1)
            self._uris[path] = None if data is None else self._data_url(data)
        return self._uris[path]

    def _data_url(self, data: bytes) -> str:
        if len(data) > MAX_PICTURE_BYTES:
            reason = too_large(len(data), MAX_PICTURE_BYTES)
            self.writer.warn(f"a picture was not looked at: it {reason}")
            return ""
        if not kind_of(data):
            data = data[:200]  # enough to say what it is
        return "data:;base64," + base64.b64encode(data).decode("ascii")
