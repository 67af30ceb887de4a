"""Word files → Document, within limits.

A file of some kilobytes can stand for gigabytes: by compression, by elements of a few bytes, and by
pictures and links that are stored once and referenced often. Each has its limit here."""

from __future__ import annotations

import base64
import io
import re
import zipfile
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Unpack

from config.errors import LoadError
from loaders.assemble import BlockWriter, Metadata, make_document
from loaders.document import MAX_BYTES, Document, too_many
from loaders.pictures.image import MAX_PICTURE_BYTES, kind_of
from loaders.untrusted import too_large
from loaders.word.body import Body
from loaders.word.drawings import Budget
from loaders.word.package import Package, W

MIME_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
MAX_MEDIA_BYTES = 2 * MAX_BYTES
"""Unpacked bytes of all pictures."""
MAX_ELEMENTS = 1_000_000
"""XML elements. A page has some 800."""
_PIECE = 1 << 20
_DOCTYPE = re.compile(rb"<!DOCTYPE(?!\s{1,9}html\b)", re.IGNORECASE)
_OLE = bytes.fromhex("d0cf11e0a1b11ae1")
"""The container of files before 2007, and of protected ones."""


def parse_docx(data: bytes, *, url: str = "", **metadata: Unpack[Metadata]) -> Document:
    """Raises LoadError when the data is not a Word file or a limit is exceeded."""
    name = metadata.get("id") or "Word file"
    if data.startswith(_OLE):
        raise _in_old_container(data, name)
    _check_archive(data, name)
    writer = BlockWriter(url=url)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            package = Package(archive)
            main = package.main_part()
            if main is None or main.root.tag != f"{W}document":
                raise LoadError(name, "not a Word file (.docx): it holds no document")
            pictures = _Pictures(package, writer)
            Body(writer, main, Budget(name, MAX_BYTES), pictures.uri).read()
    except LoadError:
        raise
    except RecursionError:
        raise LoadError(name, "its content is nested too deep") from None
    except Exception as error:  # of zipfile, zlib and lxml
        kind = type(error).__name__  # its text may quote the content
        raise LoadError(name, f"not a readable Word file: {kind}") from None
    metadata.setdefault("mime_type", MIME_TYPE)
    heading = next((block.text for block in writer.blocks if block.kind == "heading"), "")
    metadata["title"] = metadata.get("title") or heading
    return make_document(writer, url=url, **metadata)


def _in_old_container(data: bytes, name: str) -> LoadError:
    if "EncryptedPackage".encode("utf-16-le") in data:
        return LoadError(name, "it is protected by a password", remedy="save it without a password")
    return LoadError(
        name,
        "not a Word file of 2007 or later (.docx)",
        remedy="open it in Word and save it as .docx",
    )


def _check_archive(data: bytes, name: str) -> None:
    """Counts what is really unpacked, of any part: a part's name says nothing about its use."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            parts = archive.infolist()
            if any(part.compress_type not in (0, zipfile.ZIP_DEFLATED) for part in parts):
                raise LoadError(name, "not a Word file (.docx): compressed in another way")
            media = [part for part in parts if part.filename.startswith("word/media/")]
            _check_sizes(name, media, MAX_MEDIA_BYTES)
            _check_sizes(name, [part for part in parts if part not in media], MAX_BYTES)
            xml = [part for part in parts if _is_xml(archive, part)]
            _check_sizes(name, xml, MAX_BYTES)
            elements = sum(_count_elements(archive, part, name) for part in xml)
    except zipfile.BadZipFile:
        raise LoadError(name, "not a Word file (.docx)") from None
    if elements > MAX_ELEMENTS:
        raise too_many(name, "", elements, MAX_ELEMENTS, "XML elements")


def _check_sizes(name: str, parts: Iterable[zipfile.ZipInfo], limit: int) -> None:
    """A part's stated size is the most that zipfile unpacks of it."""
    size = sum(part.file_size for part in parts)
    if size > limit:
        raise LoadError(name, f"it unpacks to {size:,} bytes, more than {limit:,}")


def _is_xml(archive: zipfile.ZipFile, part: zipfile.ZipInfo) -> bool:
    """Whether an XML parser may accept it, as UTF-8 or UTF-16."""
    with (
        suppress(Exception),
        archive.open(part) as opened,
    ):  # damaged, or locked: its reader says so
        start = opened.read(_PIECE).lstrip(b"\xef\xbb\xbf\xff\xfe\0 \t\r\n")
        return not start or start.startswith(b"<")
    return False


def _count_elements(archive: zipfile.ZipFile, part: zipfile.ZipInfo, name: str) -> int:
    """Raises LoadError for a document type: its entities unfold to any size, and Word writes none.
    That of a web page, which Word embeds as it is, is only refused where the part is parsed."""
    count, has_type, before = 0, False, b""
    with suppress(Exception), archive.open(part) as opened:
        while piece := opened.read(_PIECE):
            count += piece.count(b"<") - piece.count(b"</") - piece.count(b"<\0/")
            has_type = has_type or bool(_DOCTYPE.search((before + piece).replace(b"\0", b"")))
            before = piece[-20:]
    if has_type:
        raise LoadError(name, "not a Word file (.docx): it declares a document type")
    return count


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
