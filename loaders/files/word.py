"""Word files → Document. mammoth converts them to HTML and preserves merged cells, lists and
footnotes.

A file of some kilobytes can stand for gigabytes: by compression, by elements of a few bytes, and by
pictures, footnotes and links that are stored once and referenced often. Each has its limit here."""

from __future__ import annotations

import base64
import io
import zipfile
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Unpack

from config.errors import LoadError
from loaders.assemble import Metadata
from loaders.document import MAX_BYTES, Document, Image, too_many
from loaders.files.html import parse_html
from loaders.pictures.document_pictures import with_images
from loaders.pictures.image import MAX_PICTURE_BYTES, kind_of
from loaders.untrusted import too_large

MIME_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
MAX_MEDIA_BYTES = 2 * MAX_BYTES
"""Unpacked bytes of all pictures."""
MAX_ELEMENTS = 1_000_000
"""XML elements, which take 1 kB each in memory. A page has some 800."""
_ELEMENT_BYTES = 100
"""An element in HTML, apart from its text."""
_PIECE = 1 << 20
_STYLES = """
p[style-name='Title'] => h1:fresh
p[style-name='Subtitle'] => p:fresh
p[style-name='Quote'] => blockquote > p:fresh
p[style-name='Intense Quote'] => blockquote > p:fresh
p[style-name='HTML Preformatted'] => pre:separator('\\n')
"""


def parse_docx(data: bytes, *, url: str = "", **metadata: Unpack[Metadata]) -> Document:
    """Raises LoadError when the data is not a Word file or a limit is exceeded."""
    import mammoth

    name = metadata.get("id") or "Word file"
    _check_archive(data, name)
    pictures = _Pictures()
    try:
        result = mammoth.convert_to_html(
            io.BytesIO(data),
            style_map=_STYLES,
            include_embedded_style_map=False,
            convert_image=mammoth.images.img_element(pictures.attributes),
            transform_document=lambda document: _checked(document, name),
        )
    except LoadError:
        raise
    except RecursionError:
        raise LoadError(name, "its content is nested too deep") from None
    except Exception as error:  # mammoth leaks what zipfile, XML and its own parser raise
        kind = type(error).__name__  # its text may quote the content
        raise LoadError(name, f"not a readable Word file: {kind}") from None
    metadata.setdefault("mime_type", MIME_TYPE)
    document = parse_html(str(result.value), url=url, **metadata)
    messages = (message.message for message in result.messages)
    return replace(
        document,
        blocks=tuple(with_images(block, pictures.restored) for block in document.blocks),
        warnings=tuple(dict.fromkeys([*document.warnings, *messages, *pictures.warnings])),
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
    with suppress(Exception), archive.open(part) as opened:  # damaged, or locked: mammoth says so
        start = opened.read(_PIECE).lstrip(b"\xef\xbb\xbf\xff\xfe\0 \t\r\n")
        return not start or start.startswith(b"<")
    return False


def _count_elements(archive: zipfile.ZipFile, part: zipfile.ZipInfo, name: str) -> int:
    """Raises LoadError for a document type: its entities unfold to any size, and Word writes
    none."""
    count, has_type, before = 0, False, b""
    with suppress(Exception), archive.open(part) as opened:
        while piece := opened.read(_PIECE):
            count += piece.count(b"<") - piece.count(b"</") - piece.count(b"<\0/")
            has_type = has_type or b"<!DOCTYPE" in (before + piece).replace(b"\0", b"")
            before = piece[-20:]
    if has_type:
        raise LoadError(name, "not a Word file (.docx): it declares a document type")
    return count


def _checked(document: Any, name: str) -> Any:
    """The document, as mammoth read it. Raises LoadError when it would become too much HTML.

    A note is written once for each reference to it, and so is the address of a link."""
    notes: dict[str, int] = {}

    def size_of(elements: Iterable[Any]) -> int:
        size, waiting = 0, list(elements)
        while waiting:
            one = waiting.pop()
            words = (getattr(one, key, None) for key in ("value", "href", "anchor", "alt_text"))
            size += _ELEMENT_BYTES + sum(len(text) for text in words if isinstance(text, str))
            if hasattr(one, "note_id"):
                size += size_of_note(one)
            waiting += getattr(one, "children", ())
        return size

    def size_of_note(reference: Any) -> int:
        key = f"{reference.note_type} {reference.note_id}"
        if key not in notes:
            notes[key] = 0  # a note that refers to itself is not written inside itself
            with suppress(KeyError):  # mammoth says so
                notes[key] = size_of(document.notes.resolve(reference).body)
        return notes[key]

    size = size_of(document.children)
    if size > MAX_BYTES:
        reason = f"it becomes {size:,} bytes of HTML, more than the {MAX_BYTES:,} that are read"
        raise LoadError(name, reason, remedy="split it into smaller documents")
    return document


@dataclass
class _Pictures:
    """The pictures of one file, each held once. While HTML is made of it, a number stands for
    each."""

    _uris: dict[str, str] = field(default_factory=dict)
    """Its placeholder → its data URL."""
    _placeholders: dict[str, str] = field(default_factory=dict)
    """Name of its part → its placeholder."""
    warnings: list[str] = field(default_factory=list)

    def attributes(self, image: Any) -> dict[str, str]:
        with image.open() as part:
            name = str(part.name)
            if name not in self._placeholders:
                placeholder = self._placeholders[name] = f"data:,{len(self._placeholders)}"
                self._uris[placeholder] = self._uri(part.read(MAX_PICTURE_BYTES + 1))
        return {"src": self._placeholders[name]}

    def _uri(self, data: bytes) -> str:
        if len(data) > MAX_PICTURE_BYTES:
            reason = too_large(len(data), MAX_PICTURE_BYTES)
            self.warnings.append(f"a picture was not looked at: it {reason}")
            return ""
        if not kind_of(data):
            data = data[:200]  # enough to say what it is
        return "data:;base64," + base64.b64encode(data).decode("ascii")

    def restored(self, image: Image) -> Image:
        return replace(image, uri=self._uris.get(image.uri, image.uri))
