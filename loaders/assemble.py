"""Blocks in reading order → Document: heading paths, anchors, footnotes, content hash."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import PurePosixPath
from typing import Any, TypedDict, Unpack
from urllib.parse import quote

from loaders.document import MAX_NAME, Block, BlockKind, Document, Permission, Tab, images_of

_FOLDER_PAGES = frozenset({"readme", "index", "_index"})
"""File names that stand for their folder."""


class Metadata(TypedDict, total=False):
    """A document's metadata from its source. The keys are fields of `Document`."""

    id: str
    title: str
    mime_type: str
    source: str
    modified_at: datetime | None
    version: str
    owner: str
    status: str
    review_by: date | None
    permissions: tuple[Permission, ...]


@dataclass
class BlockWriter:
    """Collects blocks and tracks the tab, page and headings of the next one."""

    url: str = ""
    blocks: list[Block] = field(default_factory=list)
    warnings: dict[str, None] = field(default_factory=dict)
    """Warnings in order, without duplicates."""
    tabs: list[Tab] = field(default_factory=list)
    labels: set[str] = field(default_factory=set)
    """Footnote labels in use."""
    page: int | None = None
    code: list[str] = field(default_factory=list)
    """Lines of the code block that grows."""
    _tab: Tab | None = None
    _headings: list[tuple[int, str, str]] = field(default_factory=list)
    _footnotes: list[dict[str, Any]] = field(default_factory=list)

    def start_tab(self, tab: Tab | None, url: str) -> None:
        self._close_section()
        self._tab, self.url, self._headings = tab, url, []
        if tab:
            self.tabs.append(tab)

    def leave_sections(self) -> None:
        """Ends all sections. Later blocks belong to the whole tab, e.g. a page footer."""
        self._close_section()
        self._headings = []

    def heading(self, level: int, text: str, markdown: str, url: str = "", **details: Any) -> None:
        """`url`: opens this heading. Default: the URL of the parent heading or of the tab."""
        self._close_section()
        while self._headings and self._headings[-1][0] >= level:
            self._headings.pop()
        self._headings.append((level, as_name(text), url))
        self.add("heading", text, markdown, level=level, **details)

    def add(self, kind: BlockKind, text: str, markdown: str, **details: Any) -> None:
        self.blocks.append(
            Block(
                kind=kind,
                text=text,
                markdown=markdown,
                position=len(self.blocks),
                heading_path=tuple(title for _, title, _ in self._headings),
                tab=self._tab,
                url=next((url for *_, url in reversed(self._headings) if url), self.url),
                page=self.page,
                **details,
            )
        )

    def end_code(self) -> None:
        """Adds the lines of `code` as one block."""
        text, self.code = "\n".join(self.code).strip("\n"), []
        if text:
            self.add("code", text, text)

    def footnote(self, marker: str, text: str, markdown: str) -> None:
        """Adds a footnote at the end of the current section."""
        self._footnotes.append({"marker": marker, "text": text, "markdown": markdown})

    def warn(self, warning: str) -> None:
        self.warnings[warning] = None

    def finish(self) -> tuple[Block, ...]:
        self._close_section()
        return tuple(self.blocks)

    def _close_section(self) -> None:
        footnotes, self._footnotes = self._footnotes, []
        for footnote in footnotes:
            self.add("footnote", **footnote)


def as_name(text: str) -> str:
    """Shortens a title or heading to MAX_NAME characters, because every passage repeats it.

    The heading's own block contains its full text."""
    return text if len(text) <= MAX_NAME else text[: MAX_NAME - 1].rstrip() + "…"


def title_from_name(name: str) -> str:
    """`ops/Restart a node.pdf` → `Restart a node`; `ops/README.md` → `ops`.

    Ids of other sources stay as they are, unless they end like a file name."""
    path = PurePosixPath(name)
    stem = re.sub(r"(?<=.)\.[A-Za-z]\w{0,8}$", "", path.name)
    return path.parent.name or stem if stem.lower() in _FOLDER_PAGES else stem


def slug(title: str) -> str:
    """The URL fragment that code hosts generate for a heading."""
    return re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", title.lower()).strip())


def own_address(name: str, source: str = "file") -> str:
    """The address, on every machine, of a document that has none on the web.

    No link leads there: readers get the document's own page instead."""
    return f"{source}:{quote(name, errors='replace')}"


def make_document(writer: BlockWriter, *, url: str, **metadata: Unpack[Metadata]) -> Document:
    """Without a title, the document is called by its name."""
    blocks = writer.finish()
    fields: dict[str, Any] = {"id": "", "title": "", "mime_type": "", "source": "file", **metadata}
    fields["title"] = fields["title"] or title_from_name(fields["id"])
    return Document(
        **fields | {"title": as_name(fields["title"])},
        url=url,
        blocks=blocks,
        content_hash=content_hash(blocks),
        tabs=tuple(writer.tabs),
        warnings=tuple(writer.warnings),
    )


def content_hash(blocks: Iterable[Block]) -> str:
    """SHA-256 of the blocks and of the images that were fetched.

    It ignores the images' URLs, which expire; `repr` leaves them out."""
    digest = hashlib.sha256()
    for block in blocks:
        digest.update(repr(block).encode("utf-8", "surrogatepass"))
        for image in images_of(block):
            digest.update(image.digest.encode())
    return digest.hexdigest()
