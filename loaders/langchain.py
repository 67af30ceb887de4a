"""Any LangChain `BaseLoader` as a source of documents; written for langchain-core 1.

    # loaders/wiki.py
    def open_wiki(domain, settings, pictures):
        return LangChainSource("wiki", ConfluenceLoader(url=domain.sources.wiki.url, ...))

    # loaders/registry.py
    SOURCES = {..., "wiki": open_wiki}

Domain files don't name Python classes. LangChain documents have no permissions: with
`access.audience: asker` nobody may read them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

from config.errors import LoadError
from loaders.document import Document
from loaders.files.markdown import parse_markdown
from loaders.source import IndexedDocument, SourceChanges


class LangChainDocument(Protocol):
    page_content: str
    metadata: dict[str, Any]


class LangChainLoader(Protocol):
    """The part of `langchain_core.document_loaders.BaseLoader` that this module calls."""

    def lazy_load(self) -> Iterable[LangChainDocument]: ...


class LangChainSource:
    """Every run reads all documents. Content hashes show which ones changed.

    Pages with the same `source` in their metadata form one document, which is read as Markdown.
    `source` is its id, and also its URL when it starts with http. `title` is optional."""

    def __init__(self, name: str, loader: LangChainLoader) -> None:
        self.name = name
        self._loader = loader

    def changes(
        self, *, cursor: str, indexed: Mapping[str, IndexedDocument], settled: Collection[str]
    ) -> SourceChanges:
        pages: defaultdict[str, list[LangChainDocument]] = defaultdict(list)
        try:
            for page in self._loader.lazy_load():
                pages[str(page.metadata.get("source") or "")].append(page)
        except Exception as error:  # a loader raises whatever its vendor's client does
            failed = LoadError(self.name, f"its loader failed: {error}", refused=True)
            return SourceChanges(changed={}, failed=(failed,), complete=False)
        nameless = len(pages.pop("", ()))
        return SourceChanges(
            changed={one: partial(self._load, one, pages[one]) for one in pages},
            skipped=(f"{self.name}: {nameless} without `source` in the metadata",) * bool(nameless),
        )

    def _load(self, address: str, pages: Sequence[LangChainDocument]) -> Document:
        document = parse_markdown(
            "\n\n".join(page.page_content for page in pages),
            url=address if address.startswith(("http://", "https://")) else "",
            id=address,
            title=str(pages[0].metadata.get("title") or ""),
            source=self.name,
        )
        return replace(document, id=address)  # not the front matter's
