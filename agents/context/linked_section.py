"""The document and section that a link opens. Reads the index only."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import groupby
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

from agents.extractive.markdown import unit_text
from enrichment.chunk import Chunk, DocumentCard
from index.page_links import page_target
from index.search import Snapshot

_GOOGLE = frozenset({"docs.google.com", "drive.google.com"})
"""One file has URLs at both."""
_GOOGLE_ID = re.compile(r"/(?:u/\d+/)?d/([A-Za-z0-9_-]+)")
MAX_URL_CHARS = 2_000


@dataclass(frozen=True, kw_only=True)
class LinkedSection:
    card: DocumentCard
    heading: str
    """The section's heading; '' when the link opens the whole document."""
    text: str
    """Markdown: the section's beginning, or the document's summary."""
    url: str
    """Opens the section."""
    successor: DocumentCard | None = None
    """The document's replacement, if readable."""


def find(snapshot: Snapshot, url: str) -> LinkedSection | None:
    """None when the snapshot's reader has no such document."""
    if len(url) > MAX_URL_CHARS:
        return None
    try:
        address = urlsplit(url)
    except ValueError:
        return None
    card = _card(snapshot, address)
    if card is None:
        return None
    chunk = _chunk(snapshot, card, address)
    first = next(iter(snapshot.chunks(card.id)), None)
    successors = snapshot.cards([card.superseded_by]) if card.superseded_by else []
    return LinkedSection(
        card=card,
        heading=chunk.heading if chunk else "",
        text=_text_of(chunk) if chunk else card.summary or (_text_of(first) if first else ""),
        url=chunk.url if chunk and chunk.url else card.url,
        successor=next(iter(successors), None),
    )


def _text_of(chunk: Chunk) -> str:
    """The text; a table as a list with merged values once: `(as left)` means nothing without
    columns."""
    if chunk.table is None or not chunk.units:
        return chunk.text
    parts = []
    for is_row, units in groupby(chunk.units, key=lambda unit: unit.kind == "row"):
        lines = [unit_text(chunk, unit) for unit in units]
        parts.append("\n".join(f"- {row}" for row in lines) if is_row else " ".join(lines))
    return "\n\n".join(parts)


def _card(snapshot: Snapshot, address: SplitResult) -> DocumentCard | None:
    if own := page_target(address.geturl()):
        cards = snapshot.cards([own[1]]) if own[0] == snapshot.domain else []
        return next((one for one in cards if _page(urlsplit(one.url)) == _page(address)), None)
    file_id = _GOOGLE_ID.search(address.path) or re.search(r"[?&]id=([\w-]+)", f"?{address.query}")
    cards = snapshot.cards([file_id[1]]) if file_id else []
    for card in cards:
        host = urlsplit(card.url).netloc
        if host == address.netloc or {host, address.netloc} <= _GOOGLE:
            return card
    for card in snapshot.documents.values():
        if card.url and _page(urlsplit(card.url)) == _page(address):
            return next(iter(snapshot.cards([card.id])), None)
    return None


def _chunk(snapshot: Snapshot, card: DocumentCard, address: SplitResult) -> Chunk | None:
    """The first chunk below the link's heading, in the link's tab."""
    heading, tab = unquote(address.fragment), _tab(address)
    if not heading and not tab:
        return None
    for chunk in snapshot.chunks(card.id):
        place = urlsplit(chunk.url)
        if heading and unquote(place.fragment) != heading:
            continue
        if tab and _tab(place) not in ("", tab):
            continue
        if heading or _tab(place) == tab:
            return chunk
    return None


def _tab(address: SplitResult) -> str:
    return parse_qs(address.query).get("tab", [""])[0]


def _page(address: SplitResult) -> tuple[str, str]:
    """Without fragment, query and the way of opening."""
    path = re.sub(r"/(?:edit|view|preview|mobilebasic)?$", "", address.path)
    return address.netloc.lower(), path
