"""Word → Document, through mammoth's HTML, which keeps merged cells, lists and footnotes."""

from __future__ import annotations

import io
import zipfile
from dataclasses import replace
from typing import Unpack

from config.errors import LoadError
from loaders.assemble import Metadata
from loaders.document import Document
from loaders.document_limits import MAX_BYTES
from loaders.files.html import parse_html

MIME_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
_STYLES = """
p[style-name='Title'] => h1:fresh
p[style-name='Subtitle'] => p:fresh
p[style-name='Quote'] => blockquote > p:fresh
p[style-name='Intense Quote'] => blockquote > p:fresh
p[style-name='HTML Preformatted'] => pre:separator('\\n')
"""


def parse_docx(data: bytes, *, url: str = "", **metadata: Unpack[Metadata]) -> Document:
    """Raises LoadError for what is no Word file or is beyond the limits."""
    import mammoth

    name = metadata.get("id") or "Word file"
    _check_archive(data, name)
    try:
        result = mammoth.convert_to_html(io.BytesIO(data), style_map=_STYLES)
    except RecursionError as error:
        raise LoadError(name, "its content is nested too deep") from error
    except Exception as error:  # mammoth leaks what zipfile, XML and its own parser raise
        raise LoadError(name, f"not a readable Word file: {error}") from error
    metadata.setdefault("mime_type", MIME_TYPE)
    document = parse_html(str(result.value), url=url, **metadata)
    document = replace(document, title=document.title or name)
    notes = tuple(dict.fromkeys(message.message for message in result.messages))
    return replace(document, warnings=(*document.warnings, *notes))


def _check_archive(data: bytes, name: str) -> None:
    try:
        members = zipfile.ZipFile(io.BytesIO(data)).infolist()
    except zipfile.BadZipFile as error:
        raise LoadError(name, "not a Word file (.docx)") from error
    size = sum(
        member.file_size for member in members if member.filename.endswith((".xml", ".rels"))
    )
    if size > MAX_BYTES:
        raise LoadError(name, f"it unpacks to {size:,} bytes, more than {MAX_BYTES:,}")
