"""Plain text → Document."""

from __future__ import annotations

import re
from typing import Unpack

from loaders.assemble import BlockWriter, Metadata, make_document
from loaders.document import Document
from loaders.text.markdown import clean, escape

_MARKER = r"(?:[-*+•◦▪‣]|\d{1,9}[.)])"
_ITEM = re.compile(rf"({_MARKER})\s+(?=\S)")
_NEXT_ITEM = re.compile(rf"\n(?=[ \t]*{_MARKER}\s+\S)")


def parse_text(text: str, *, url: str = "", **metadata: Unpack[Metadata]) -> Document:
    """Blank lines end paragraphs. Lines that begin with a bullet or number are list items."""
    writer = BlockWriter(url=url)
    for paragraph in re.split(r"\n\s*\n", clean(text)):
        write_lines(writer, paragraph)
    metadata.setdefault("mime_type", "text/plain")
    return make_document(writer, url=url, **metadata)


def write_lines(writer: BlockWriter, paragraph: str) -> None:
    """Writes lines of text as paragraphs and list items."""
    for part in _NEXT_ITEM.split(paragraph):
        lines = "\n".join(line.strip() for line in part.split("\n") if line.strip())
        item = _ITEM.match(lines)
        if item:
            marker = item[1] if item[1][0].isdigit() else "-"
            indent = len(part) - len(part.lstrip(" \t"))
            rest = lines[item.end() :]
            writer.add("list_item", rest, escape(rest), marker=marker, level=min(indent // 2, 8))
        elif lines:
            writer.add("paragraph", lines, escape(lines))
