"""Which document, and which part of it, a link opens. Pure, but for the index it looks in."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import groupby
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

from agents.extractive.excerpts import unit_text
from enrichment.chunk import Chunk, DocumentCard
from index.search import Snapshot

_GOOGLE = frozenset({"docs.google.com", "drive.google.com"})
"""One file has addresses at both."""
_GOOGLE_ID = re.compile(r"/(?:u/\d+/)?d/([A-Za-z0-9_-]+)")
LONGEST_ADDRESS = 2_000


@dataclass(frozen=True, kw_only=True)
class LinkedSection:
    """What a link opens."""

    card: DocumentCard
    heading: str
    """Of the section; empty where the link opens the document as a whole."""
    text: str
    """Markdown; how the section begins, or what the document is about."""
    url: str
    """Opens the section."""
    successor: DocumentCard | None = None
    """What replaced the document, if that may be read, too."""


def find(snapshot: Snapshot, url: str) -> LinkedSection | None:
    """None for what is not in the index, or not for whoever the snapshot is read by."""
    if len(url) > LONGEST_ADDRESS:
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
    return LinkedSection(
        card=card,
        heading=chunk.heading if chunk else "",
        text=_read(chunk) if chunk else card.summary or (_read(first) if first else ""),
        url=chunk.url if chunk and chunk.url else card.url,
        successor=next(iter(snapshot.cards([card.superseded_by])), None)
        if card.superseded_by
        else None,
    )


def _read(chunk: Chunk) -> str:
    """Its words, a table as a list with a merged value once: `(as left)` tells nothing to who sees
    how a table begins and no columns."""
    if chunk.table is None or not chunk.units:
        return chunk.text
    parts = []
    for is_row, units in groupby(chunk.units, key=lambda unit: unit.kind == "row"):
        said = [unit_text(chunk, unit) for unit in units]
        parts.append("\n".join(f"- {row}" for row in said) if is_row else " ".join(said))
    return "\n\n".join(parts)


def _card(snapshot: Snapshot, address: SplitResult) -> DocumentCard | None:
    named = _GOOGLE_ID.search(address.path) or re.search(r"[?&]id=([\w-]+)", f"?{address.query}")
    known = snapshot.cards([named[1]]) if named else []
    for card in known:
        if _same_host(urlsplit(card.url), address):
            return card
    for card in snapshot.documents.values():
        if card.url and _page(urlsplit(card.url)) == _page(address):
            return next(iter(snapshot.cards([card.id])), None)
    return None


def _chunk(snapshot: Snapshot, card: DocumentCard, address: SplitResult) -> Chunk | None:
    """The first one below the heading that the link names; of the tab where it names that."""
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


def _same_host(one: SplitResult, other: SplitResult) -> bool:
    return one.netloc == other.netloc or {one.netloc, other.netloc} <= _GOOGLE


def _page(address: SplitResult) -> tuple[str, str]:
    """Without what only says where on the page, or how it is opened."""
    path = re.sub(r"/(?:edit|view|preview|mobilebasic)?$", "", address.path)
    return address.netloc.lower(), path
