"""Links to the own pages of documents that have no web address, such as files from disk.

A link consists of the setting `ONCALL_PUBLIC_URL`, domain, id and heading. It is made when a
generation is opened and stored in no index, so a server can move without an ingestion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol
from urllib.parse import parse_qs, quote, unquote, urlsplit

from config.parsing.addresses import is_this_machine
from enrichment.chunk import Chunk, DocumentCard

if TYPE_CHECKING:
    from config.settings import Settings

PAGE_PATH = "/document"
SIGNED_IN_PATH = "/signed-in"
"""Where Slack sends people after a sign-in."""


def is_web(url: str) -> bool:
    """Whether a browser can open it: an http(s) URL with a host."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.netloc)


def address(url: str) -> str:
    """The URL to show; '' for a document that can't be opened."""
    return url if is_web(url) else ""


def anchor_of(chunk: Chunk) -> str:
    """The HTML id of its section on the document's page; '' for none."""
    return unquote(chunk.url.partition("#")[2])


def page_target(url: str) -> tuple[str, str] | None:
    """(domain, document id) of a link to an own page, on any host; None for other URLs."""
    try:
        parts = urlsplit(url)
        named = parse_qs(parts.query)
    except ValueError:
        return None
    if not parts.path.endswith(PAGE_PATH) or not {"domain", "id"} <= named.keys():
        return None
    return named["domain"][0], named["id"][0]


def page_query(domain: str, document: str, **more: str) -> str:
    """An id is a value of the query: browsers and proxies rewrite `..`, `//` and `%2f` in paths."""
    values = {"domain": domain, "id": document, **more}
    return "&".join(
        f"{name}={quote(value, safe='/', errors='replace')}"
        for name, value in values.items()
        if value
    )


def page_base(settings: Settings) -> str:
    """Where documents' pages are; '' while readers couldn't open one. On this machine nobody needs
    to sign in."""
    address = settings.public_url or ""
    return address if settings.slack_client_id or is_this_machine(address) else ""


@dataclass(frozen=True)
class PageLinks:
    """Adds links to the cards and chunks of one domain. Those with a web address stay unchanged.

    Without `base`, cards get no URL, and chunks only their `#heading`."""

    domain: str
    base: str = ""
    """`ONCALL_PUBLIC_URL`, where readers can open pages."""

    def card(self, card: DocumentCard) -> DocumentCard:
        return card if is_web(card.url) else replace(card, url=self._link(card.id, ""))

    def cards(self, cards: Mapping[str, DocumentCard]) -> dict[str, DocumentCard]:
        return {document: self.card(card) for document, card in cards.items()}

    def chunk(self, chunk: Chunk) -> Chunk:
        if is_web(chunk.url):
            return chunk
        return replace(chunk, url=self._link(chunk.document_id, chunk.url.partition("#")[2]))

    def _link(self, document: str, fragment: str) -> str:
        """The heading stands in the query too: the server never sees a fragment."""
        place = f"#{fragment}" if fragment else ""
        if not self.base:
            return place
        query = page_query(self.domain, document, at=unquote(fragment))
        return f"{self.base}{PAGE_PATH}?{query}{place}"


class ReadsChunks(Protocol):
    def chunks(self, row_ids: Sequence[int]) -> dict[int, Chunk]: ...


@dataclass(frozen=True)
class LinkedChunks:
    """Chunks of a store, with links."""

    store: ReadsChunks
    links: PageLinks

    def chunks(self, row_ids: Sequence[int]) -> dict[int, Chunk]:
        return {row: self.links.chunk(chunk) for row, chunk in self.store.chunks(row_ids).items()}
