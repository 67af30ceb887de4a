"""PDF → Document: the text of each page, with headings from the outline."""

from __future__ import annotations

import io
import logging
import re
from datetime import UTC
from typing import TYPE_CHECKING, Any, Unpack

from config.errors import LoadError
from loaders.assemble import BlockWriter, Metadata, make_document
from loaders.document import MAX_CHARACTERS, Document
from loaders.files.text import write_lines
from loaders.text.markdown import clean, escape

if TYPE_CHECKING:
    from pypdf import PdfReader

_MAX_PAGES = 5_000
_SENTENCE_END = re.compile(r"[.!?:;…][\"”')\]]*$")


def parse_pdf(data: bytes, *, url: str = "", **metadata: Unpack[Metadata]) -> Document:
    """Blocks have a `page` and a URL that opens it. `warnings` lists pages without text.

    Raises LoadError when the data is not a PDF, is locked, or exceeds a limit."""
    name = metadata.get("id") or "PDF file"
    logging.getLogger("pypdf").setLevel(logging.ERROR)
    try:
        return _read(data, name, url, metadata)
    except LoadError:
        raise
    except Exception as error:  # pypdf raises a dozen types on damaged files, and quotes them
        raise LoadError(name, f"not a readable PDF: {type(error).__name__}") from None


def _read(data: bytes, name: str, url: str, metadata: Metadata) -> Document:
    from pypdf import PdfReader

    reader = PdfReader(io.BytesIO(data))
    if reader.is_encrypted and not reader.decrypt(""):
        raise LoadError(name, "the PDF is locked", remedy="save it without a password")
    if len(reader.pages) > _MAX_PAGES:
        raise LoadError(name, f"{len(reader.pages):,} pages, more than {_MAX_PAGES:,}")
    writer = BlockWriter(url=url)
    outline = _outline(reader)
    characters = 0
    for number, page in enumerate(reader.pages, 1):
        writer.page = number
        writer.url = f"{url}#page={number}"
        try:
            text = clean(page.extract_text())
        except Exception as error:  # one damaged page doesn't lose the others
            writer.warn(f"skipped page {number}: {type(error).__name__}")
            continue
        characters += len(text)
        if characters > MAX_CHARACTERS:
            raise LoadError(name, f"it has more than {MAX_CHARACTERS:,} characters")
        if not text.strip():
            writer.warn(f"page {number} has no text; is it a scan?")
        _write_page(writer, text, outline.get(number, []))
    about = reader.metadata
    metadata["title"] = metadata.get("title") or str((about and about.title) or "")
    metadata["owner"] = metadata.get("owner") or str((about and about.author) or "")
    changed = about.modification_date if about else None
    if changed:
        metadata["modified_at"] = changed.replace(tzinfo=changed.tzinfo or UTC).astimezone(UTC)
    metadata.setdefault("mime_type", "application/pdf")
    return make_document(writer, url=url, **metadata)


def _outline(reader: PdfReader) -> dict[int, list[tuple[str, int]]]:
    """Page number → its bookmarks as (title, level)."""
    pages: dict[int, list[tuple[str, int]]] = {}

    def collect(entries: Any, level: int) -> None:
        for entry in entries:
            if isinstance(entry, list):
                collect(entry, level + 1)
            elif entry.title and (number := reader.get_destination_page_number(entry)) is not None:
                pages.setdefault(number + 1, []).append((str(entry.title), min(level, 6)))

    collect(reader.outline, 1)
    return pages


def _write_page(writer: BlockWriter, text: str, bookmarks: list[tuple[str, int]]) -> None:
    waiting = {_key(title): level for title, level in bookmarks}
    for paragraph in re.split(r"\n\s*\n", text):
        lines: list[str] = []
        for line in paragraph.split("\n"):
            level = waiting.pop(_key(line), None)
            if level is None:
                lines.append(line)
                continue
            _write_lines(writer, lines)
            lines = []
            title = " ".join(line.split())
            writer.heading(level, title, escape(title), writer.url)
        _write_lines(writer, lines)


def _write_lines(writer: BlockWriter, lines: list[str]) -> None:
    """Joins lines up to the end of a sentence, because the page layout broke them."""
    joined: list[str] = []
    for line in filter(None, (line.strip() for line in lines)):
        if joined and not _SENTENCE_END.search(joined[-1]):
            joined += [line] if joined[-1].endswith("\u00ad") else [" ", line]
        else:
            joined += ["\n", line] if joined else [line]
    write_lines(writer, "".join(joined).replace("\u00ad", ""))


def _key(title: str) -> str:
    return re.sub(r"\W+", " ", title).strip().lower()
