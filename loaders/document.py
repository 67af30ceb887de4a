"""The result of every loader: a document as an ordered list of blocks, without loss.

Loaders reject a document that exceeds the size and depth limits. They never truncate it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Annotated, Literal

from pydantic import Field

from config.errors import LoadError

BlockKind = Literal[
    "heading",
    "paragraph",
    "list_item",
    "table",
    "code",
    "quote",
    "image",
    "equation",
    "footnote",
    "rule",
]
PermissionKind = Literal["user", "group", "domain", "anyone"]


@dataclass(frozen=True, kw_only=True)
class Image:
    """A picture: its metadata in the document, and a model's description if there is one."""

    alt: str = ""
    title: str = ""
    uri: str = field(default="", repr=False)
    """URL to fetch it from. In Google Docs it expires, and anyone who has it can fetch the picture.

    So it is in no repr and in no content hash."""
    object_id: str = ""
    """The picture's id inside its document, when it has one."""
    digest: str = field(default="", repr=False)
    """SHA-256 of the picture's bytes; empty when it was not fetched."""
    passed_over: str = field(default="", repr=False)
    """Why it gets no description, e.g. `small`.

    Empty when it gets one, or when a failed download will be retried."""
    description: str = field(default="", repr=False)
    """A model's description of it, as markdown."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One cell of the rectangular grid. A merged cell appears in each position that it covers."""

    text: str = ""
    """Plain text, one line per paragraph."""
    markdown: str = ""
    """Inline markdown with `<br>` for line breaks and lists; never a bare newline."""
    row: int
    """Row of the merge's top left corner; equals the position's row unless covered from above."""
    column: int
    row_span: int = 1
    column_span: int = 1
    tables: tuple[Table, ...] = ()
    """Tables nested in this cell, in order; their text is also part of `text`."""
    images: tuple[Image, ...] = ()
    """Pictures in this cell, in order."""


@dataclass(frozen=True, kw_only=True)
class Table:
    """A rectangular grid: every row has the same number of cells, merges filled in."""

    rows: tuple[tuple[Cell, ...], ...]
    header_rows: int = 0
    """Leading rows that name columns; 0 when there is no evidence for any."""
    header_columns: int = 0
    """Leading columns that name rows."""
    header_evidence: str = ""
    """Evidence for the headers: `tableHeader`, `bold`, `shaded`, `th`, `short first row`, …"""


@dataclass(frozen=True, kw_only=True)
class Tab:
    """A tab of a Google Doc; documents without tabs have none."""

    id: str
    title: str
    path: tuple[str, ...]
    """Titles from the root tab down to this one."""


@dataclass(frozen=True, kw_only=True)
class Block:
    """One structural element, in reading order."""

    kind: BlockKind
    text: str
    """Plain text without markup; empty for rules."""
    markdown: str
    """Inline markdown of the content, without `#`, list marker, `>` or fence."""
    position: int
    """0-based index among the document's blocks."""
    heading_path: tuple[str, ...] = ()
    """Plain titles of the parent headings, outermost first. A heading's own path includes it."""
    tab: Tab | None = None
    url: str = ""
    """URL of the nearest heading above, with its tab and heading fragment."""
    page: int | None = None
    """1-based page, for paged files."""
    level: int = 0
    """Heading: 1–6. List item: nesting depth from 0."""
    marker: str = ""
    """List item: `-`, or its number as displayed, e.g. `2.` or `b.`. Footnote: its label."""
    language: str = ""
    """Code: language tag when known."""
    table: Table | None = None
    image: Image | None = None


@dataclass(frozen=True, kw_only=True)
class Permission:
    """A user, group or domain that may read a document, or anyone."""

    kind: PermissionKind
    value: str = ""
    """E-mail of the user or group, domain name, or empty for anyone."""
    expires_at: datetime | None = None


FilePath = Annotated[str, Field(exclude_if=lambda path: not path)]
"""Not stored while empty: the digest of a document that is no file stays the same."""


@dataclass(frozen=True, kw_only=True)
class Document:
    id: str
    """Google file id; of a file, the front matter's `id` or its path below the entry's root.

    Golden questions and citations refer to documents by this id."""
    title: str
    url: str
    blocks: tuple[Block, ...]
    mime_type: str
    source: str
    """`google_drive`, `file`, or the key of another source."""
    modified_at: datetime | None = None
    """Last edit known to the source, UTC."""
    version: str = ""
    """The source's own version. It changes even for invisible changes."""
    content_hash: str = ""
    """SHA-256 of the blocks; decides whether a document changed."""
    owner: str = ""
    status: str = ""
    """`current`, `superseded`, `draft`, …; empty when the source has no status."""
    review_by: date | None = None
    """The date of the next review, from the source's metadata."""
    permissions: tuple[Permission, ...] = ()
    """Empty when the source has no permissions (files), or none for existing accounts."""
    path: FilePath = ""
    """Files: the path below the entry's root, which names the file whatever id it states."""
    tabs: tuple[Tab, ...] = ()
    """All tabs in order, also those without content."""
    warnings: tuple[str, ...] = ()
    """Skipped parts and other problems while loading, with their place."""


def images_of(block: Block) -> Iterator[Image]:
    """Yields a block's pictures in reading order, including those in table cells.

    A picture in a merged cell appears once for each position of the cell."""
    if block.image:
        yield block.image
    if block.table:
        yield from _in_table(block.table)


def _in_table(table: Table) -> Iterator[Image]:
    for row in table.rows:
        for cell in row:
            yield from cell.images
            for nested in cell.tables:
                yield from _in_table(nested)


MAX_BYTES = 64 * 1024 * 1024
"""A 1,500-page Google Doc is about 20 MB of JSON."""
MAX_CHARACTERS = 10_000_000
"""Characters of text. A merged cell counts once per position. Google's own limit is 1,020,000."""
MAX_CELLS = 200_000
"""Grid positions of one table."""
MAX_NESTING = 40
"""Levels of tables in tables, or of tabs in tabs."""
MAX_MARKUP_NESTING = 120
"""Levels of HTML elements or Markdown containers."""
MAX_TABS = 1_000
MAX_NAME = 300
"""Characters of a title or heading, when it names the content below it."""


def check_size(document: str, size: int) -> None:
    """Raises LoadError for more than MAX_BYTES."""
    if size > MAX_BYTES:
        raise LoadError(
            document,
            f"it has {size:,} bytes, more than the {MAX_BYTES:,} that are read",
            remedy="split it into smaller documents",
        )


def check_cells(document: str, place: str, count: int) -> None:
    """Raises LoadError for more than MAX_CELLS positions."""
    if count > MAX_CELLS:
        raise too_many(document, place, count, MAX_CELLS, "table cells")


def too_many(document: str, place: str, count: int, limit: int, what: str) -> LoadError:
    return LoadError(
        document, f"{count:,} {what}, more than the {limit:,} that are read", place=place
    )


def too_deep(document: str, place: str, limit: int, what: str) -> LoadError:
    return LoadError(document, f"{what} are nested deeper than {limit} levels", place=place)
