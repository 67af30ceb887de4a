"""What enrichment makes of a document and the index stores; whether a document is in force."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Literal

from loaders.document import Permission

EntityKind = Literal[
    "code", "system", "role", "team", "channel", "person", "document", "law", "date"
]


@dataclass(frozen=True, kw_only=True)
class Unit:
    """A sentence, list item or table row of a chunk: found on its own, shown in its chunk."""

    kind: Literal["sentence", "item", "row"]
    text: str
    """What is shown: the sentence verbatim, or the row's cells joined by ` | `."""
    index_text: str
    """What is embedded: nearest heading + the sentence, or heading + `header: cell; …`."""
    row: int | None = None
    """Row within the chunk's `ChunkTable.rows`."""


@dataclass(frozen=True, kw_only=True)
class ChunkTable:
    """The table rows that a chunk holds, ready to be answered from."""

    id: str
    """Same for all row groups of one table."""
    caption: str
    """Nearest heading or lead-in sentence."""
    header: tuple[str, ...]
    """One path per column, levels joined by ` › `, e.g. `Maximum age › EU`; '' when unnamed."""
    rows: tuple[tuple[str, ...], ...]
    """Plain cell text; merged values repeated in every position they cover."""
    first_row: int = 0
    """Position of rows[0] among the table's body rows."""
    total_rows: int = 0
    """Body rows of the whole table."""
    label_columns: int = 1
    """Leading columns that tell rows apart."""


@dataclass(frozen=True, kw_only=True)
class ChunkRun:
    """Which part of a list or code block a chunk holds, when that is longer than one chunk.

    The parts of a run are chunks of one section, in order; all of them together are the whole.
    A table's part is told by its `ChunkTable`."""

    id: str
    """Same for all parts of one list or code block; unique within a generation."""
    what: Literal["items", "lines"]
    """What is counted: outermost list items, or lines of code."""
    part: int
    """0-based: which of the parts this one is."""
    parts: int
    """At least 2."""
    first: int
    """0-based: the first item or line here. An item that is cut belongs to both parts."""
    count: int
    """Items or lines here."""
    total: int
    """Of the whole list or code block."""


@dataclass(frozen=True, kw_only=True)
class Entity:
    """A name worth an exact match: `SEC-1234`, `web-eu1`, `#help-keys`, `ISO 27001`."""

    kind: EntityKind
    value: str


@dataclass(frozen=True, kw_only=True)
class Chunk:
    """A passage: what retrieval ranks, the answerer reads, and a citation opens."""

    id: str
    """Hash of document id + anchor + content: an unchanged chunk keeps its id."""
    document_id: str
    document_title: str
    kind: Literal["text", "table", "code"]
    position: int
    """0-based order within the document."""
    heading_path: tuple[str, ...]
    tab: str = ""
    url: str = ""
    page: int | None = None
    text: str
    """What is shown: markdown."""
    index_text: str
    """What is embedded and matched: breadcrumb (title › tab › headings) + text."""
    tokens: int
    """Size of `text` in the embedder's tokens."""
    units: tuple[Unit, ...] = ()
    table: ChunkTable | None = None
    runs: tuple[ChunkRun, ...] = ()
    """Lists and code blocks of which this is a part; what it holds whole isn't named here."""
    from_picture: bool = False
    """A model's description of a picture, and nothing that somebody wrote: its numbers and names
    are to be looked up in the picture itself, where `url` opens."""
    summary: str = ""
    """Tables: two lines; text: empty unless enriched."""
    keywords: tuple[str, ...] = ()
    entities: tuple[Entity, ...] = ()
    document_type: str = ""

    @property
    def heading(self) -> str:
        """The nearest one above it; '' where there is none."""
        return self.heading_path[-1] if self.heading_path else ""

    @property
    def place(self) -> str:
        """`Title › Heading`, for people."""
        return " › ".join(filter(None, (self.document_title, self.heading)))


@dataclass(frozen=True, kw_only=True)
class Faq:
    question: str
    answer: str


@dataclass(frozen=True, kw_only=True)
class DocumentCard:
    """A document in the list that the source identifier reads (the offline feature store)."""

    id: str
    title: str
    url: str
    summary: str
    """What it is about; '' when nothing better than title and headings is known."""
    headings: tuple[str, ...] = ()
    """The outline in reading order: the deeper levels are left out where it would be long."""
    faqs: tuple[Faq, ...] = ()
    keywords: tuple[str, ...] = ()
    document_type: str = ""
    """policy | standard | runbook | register | guide | procedure | catalogue | schedule | other"""
    technical_density: float = 0.0
    """Share of codes, identifiers and commands among the words, 0–1."""
    modified_at: datetime | None = None
    owner: str = ""
    status: str = ""
    review_by: date | None = None
    """Until when it was to be looked over again, as it says itself."""
    superseded_by: str = ""
    """Id of the successor when the text names one."""
    replaces: tuple[str, ...] = ()
    """Ids of documents that this one says it replaces."""
    permissions: tuple[Permission, ...] = ()
    """Who may read it, as its source said when it was read; see index/permissions/rules.py."""
    source: str = ""
    """`google_drive` or `file`; empty: published before this was kept."""
    enriched_by: str = "extractive"
    """`extractive`, or the model's name."""
    made_by: str = ""
    """A mark of the pipeline that split, described and embedded it; empty: of an older release."""
    content_hash: str = ""
    version: str = ""
    withheld: tuple[str, ...] = ()
    """`place: beginning` of each text in it that addresses an AI and was kept out of the index."""


OUT_OF_FORCE = frozenset({"superseded", "obsolete", "deprecated", "withdrawn", "retired"})
"""Statuses of documents to which nobody should hold any more."""


def is_out_of_force(card: DocumentCard | None) -> bool:
    """By its status or by a named successor; a document without a card holds."""
    return card is not None and (bool(card.superseded_by) or card.status.lower() in OUT_OF_FORCE)


def standing(card: DocumentCard, documents: Mapping[str, DocumentCard] | None = None) -> str:
    """In words for a prompt or a title: `superseded by TITLE`, `withdrawn`, `draft`; '' when it is
    current. Only a successor among the documents is named: a reader may not know of others."""
    successor = (documents or {}).get(card.superseded_by)
    if successor:
        return f"superseded by {successor.title}"
    status = card.status.lower()
    if card.superseded_by and status not in OUT_OF_FORCE:
        return "superseded"
    return "" if status == "current" else status
