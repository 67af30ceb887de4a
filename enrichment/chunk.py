"""Chunks and document cards, as enrichment creates and the index stores them, and whether a
document is in force."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from functools import lru_cache
from typing import Literal

from loaders.document import FilePath, Permission

EntityKind = Literal[
    "code", "system", "role", "team", "channel", "person", "document", "law", "date"
]


@dataclass(frozen=True, kw_only=True)
class Unit:
    """A sentence, list item or table row: searched on its own, displayed within its chunk."""

    kind: Literal["sentence", "item", "row"]
    text: str
    """Displayed text: the sentence verbatim, or the row's cells joined by ` | `."""
    index_text: str
    """Embedded text: nearest heading + the sentence, or heading + `header: cell; …`."""
    row: int | None = None
    """Row within the chunk's `ChunkTable.rows`."""


@dataclass(frozen=True, kw_only=True)
class ChunkTable:
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
    """Number of leading columns that identify a row."""


@dataclass(frozen=True, kw_only=True)
class ChunkRun:
    """The part of a list or code block in a chunk, when the block is longer than one chunk.

    The parts of a run are chunks of one section, in order, and together cover the whole block.
    For tables see `ChunkTable`."""

    id: str
    """Same for all parts of one list or code block; unique within a generation."""
    what: Literal["items", "lines"]
    """Unit of the counts: outermost list items, or lines of code."""
    part: int
    """0-based position among the parts."""
    parts: int
    """At least 2."""
    first: int
    """0-based position of the first item or line here. A cut item belongs to both parts."""
    count: int
    """Items or lines here."""
    total: int
    """Items or lines of the whole list or code block."""


@dataclass(frozen=True, kw_only=True)
class Entity:
    """A name worth an exact match: `SEC-1234`, `web-eu1`, `#help-keys`, `ISO 27001`."""

    kind: EntityKind
    value: str


@dataclass(frozen=True, kw_only=True)
class Chunk:
    """A passage: what retrieval ranks, the answerer reads, and a citation opens."""

    id: str
    """Hash of document id, address and content: an unchanged chunk keeps its id."""
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
    """Displayed text, markdown."""
    index_text: str
    """Embedded and searched text: breadcrumb (title › tab › headings) + text."""
    tokens: int
    """Size of `text` in the embedder's tokens."""
    units: tuple[Unit, ...] = ()
    table: ChunkTable | None = None
    runs: tuple[ChunkRun, ...] = ()
    """Lists and code blocks that continue in other chunks; complete ones are not listed."""
    from_picture: bool = False
    """Whether the text is a model's description of a picture. Nobody wrote it: check its numbers
    and names in the picture itself, at `url`."""
    summary: str = ""
    """Tables: two lines; text: empty unless enriched."""
    keywords: tuple[str, ...] = ()
    entities: tuple[Entity, ...] = ()
    document_type: str = ""

    @property
    def heading(self) -> str:
        """The nearest heading above; '' for none."""
        return self.heading_path[-1] if self.heading_path else ""

    @property
    def section(self) -> tuple[str, str, tuple[str, ...]]:
        """Document, tab and headings: the same for all passages of one section."""
        return self.document_id, self.tab, self.heading_path

    @property
    def place(self) -> str:
        """`Title › Heading`, for display."""
        return " › ".join(filter(None, (self.document_title, self.heading)))


_LINE = re.compile(r"(> )?( *)((?:[-*+•◦▪]|\(?\w{1,4}[.)]) )?(.*)")
_NO_LETTER = re.compile(r"\]\([^()]*\)|[\W_]")
FENCE = re.compile(r" *(?:`{3}|~{3})")
CODE_WORD = re.compile(r"\w{2}")
"""What a line of code has to hold to be a unit."""
QUOTE, CODE = "> ", "```"
_TELLING_LETTERS = 24
STEP = re.compile(r"\s*\(?(?:\d+|[a-z]+)[.)]", re.IGNORECASE)
"""The prefix of a numbered item."""


@lru_cache(maxsize=1_024)
def unit_prefixes(chunk: Chunk) -> tuple[str, ...]:
    """For each unit, the markdown that its line has before it: a list marker with its indentation,
    `QUOTE` in a quotation, `CODE` for a line of code; '' for others."""
    lines: list[tuple[str, str]] = []
    is_code = False
    for line in chunk.text.split("\n"):
        if FENCE.match(line):
            is_code = not is_code
        elif match := _LINE.match(line):
            quote, indent, marker, text = match.groups(default="")
            prefix = CODE if is_code else quote or (f"{indent}{marker}" if marker else "")
            lines.append((prefix, _NO_LETTER.sub("", text)))
    prefixes, at, read = [], 0, 0
    for unit in chunk.units:
        letters = _NO_LETTER.sub("", unit.text)
        telling = letters[:_TELLING_LETTERS]
        for place in range(at, len(lines)):
            prefix, text = lines[place]
            start = text.find(telling, read if place == at else 0)
            if start == 0 or (start > 0 and unit.kind != "item"):
                prefixes.append(prefix)
                at, read = place, start + len(letters)
                break
        else:
            prefixes.append("")
    return tuple(prefixes)


@dataclass(frozen=True, kw_only=True)
class Faq:
    question: str
    answer: str


@dataclass(frozen=True, kw_only=True)
class DocumentCard:
    """A document's entry in the list that the source identifier reads (offline feature store)."""

    id: str
    title: str
    url: str
    summary: str
    """'' when nothing says more than title and headings."""
    headings: tuple[str, ...] = ()
    """The outline in reading order; a long outline omits the deeper levels."""
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
    """Review date that the document states."""
    superseded_by: str = ""
    """Id of the successor; '' when no document names one."""
    replaces: tuple[str, ...] = ()
    """Ids of documents that this one says it replaces."""
    permissions: tuple[Permission, ...] = ()
    """Who may read it, according to its source at load time; see index/permissions/rules.py."""
    source: str = ""
    """`google_drive` or `file`; empty in cards of older releases."""
    path: FilePath = ""
    """Files: the path below the entry's root; empty in cards of older releases."""
    enriched_by: str = "extractive"
    """`extractive`, or the model's name."""
    made_by: str = ""
    """Fingerprint of the pipeline that prepared it; empty in cards of older releases."""
    content_hash: str = ""
    version: str = ""
    withheld: tuple[str, ...] = ()
    """`place: beginning` of each text that addresses an AI and is not indexed."""


OUT_OF_FORCE = frozenset({"superseded", "obsolete", "deprecated", "withdrawn", "retired"})
"""Statuses of documents that no longer apply."""


def is_out_of_force(card: DocumentCard | None) -> bool:
    """Whether its status or a named successor ends it. A document without a card is in force."""
    return card is not None and (bool(card.superseded_by) or ends_document(card.status))


def ends_document(status: str) -> bool:
    """Whether one of the words of a status, which are separated by commas, is out of force."""
    return not OUT_OF_FORCE.isdisjoint(status.lower().split(", ")) or says_retired(status)


_RETIRED_WORDS = "|".join(
    (*sorted(OUT_OF_FORCE), "replaced by", "no longer (?:in force|valid|used)", "veraltet",
     "abgelöst", "au(?:ß|ss)er kraft", "zurückgezogen", "ersetzt durch", "obsol[eè]te", "retirée?",
     "remplacée? par", "abrogée?", "obsolet[oa]", "retirad[oa]",
     "(?:reemplazad|sustituid|derogad)[oa](?: por)?")
)  # fmt: skip
_RETIRED = re.compile(
    rf"(?:^|[(\[|:–—]|\s-\s)[\s*_>#-]*(?:now |jetzt )?(?:{_RETIRED_WORDS})\b"
    r"(?=[\s*_]*(?:$|[)\]:.,;–—!-]|\d|(?:by|since|on|in|as of|see|durch|seit|am|par|depuis|por)\b"
    r"|(?:alert|alarm|runbook|monitor|rule)s\b)|(?<=by|ar|or)\s|(?<=durch)\s)",
    re.IGNORECASE,
)


def says_retired(text: str) -> bool:
    """Whether one line, cell or heading says of itself that it no longer applies: it is struck out,
    or the word stands alone or apart: `DiskFull (retired 2025-11)`, `Superseded by DiskFull2`."""
    text = text.strip()
    struck = text.startswith("~~") and text.endswith("~~") and len(text) > 4
    return struck or bool(_RETIRED.search(text[:300]))


def standing(card: DocumentCard, documents: Mapping[str, DocumentCard] | None = None) -> str:
    """Status for a prompt or a title: `superseded by TITLE`, `withdrawn`, `draft`; '' when current.

    Names only a successor in `documents`: the reader may not be allowed to know others."""
    successor = (documents or {}).get(card.superseded_by)
    if successor:
        return f"superseded by {successor.title}"
    status = card.status.lower()
    if card.superseded_by and not ends_document(status):
        return "superseded"
    return "" if status == "current" else status
