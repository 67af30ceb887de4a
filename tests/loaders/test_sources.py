"""Sources by their keys in a domain file, built in or from LangChain."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from langchain_core.document_loaders import BaseLoader
from langchain_core.documents import Document as Page

from config.domain import Domain, Sources
from config.settings import Settings
from loaders import registry
from loaders.langchain import LangChainSource
from loaders.source import SourceChanges

SETTINGS = Settings(_env_file=None)


def domain(folder: Path, **sources: object) -> Domain:
    values = {"domain": "tea", "title": "Tea help", "sources": sources}
    return Domain.model_validate(values).read_from(folder / "tea.yaml")


class WikiLoader(BaseLoader):
    def __init__(self, *pages: Page, breaks: bool = False) -> None:
        self.pages = pages
        self.breaks = breaks

    def lazy_load(self) -> Iterator[Page]:
        yield from self.pages
        if self.breaks:
            raise RuntimeError("429 from the wiki")


def changes(loader: BaseLoader) -> SourceChanges:
    return LangChainSource("wiki", loader).changes(cursor="", indexed={}, settled=())


def test_each_key_of_a_domains_sources_has_its_source() -> None:
    assert registry.KINDS.keys() == Sources.model_fields.keys()


def test_only_sources_that_name_documents_are_opened(tmp_path: Path) -> None:
    one = domain(tmp_path, google_drive={"folders": []}, files=["*.md"])
    assert [source.name for source in registry.open_sources(one, SETTINGS)] == ["files"]
    assert registry.open_sources(domain(tmp_path), SETTINGS) == []


def test_pages_of_one_langchain_source_are_one_document() -> None:
    green = {"source": "https://wiki.example.com/green", "title": "Green tea"}
    loader = WikiLoader(
        Page("# Steeping\n\nTwo minutes.", metadata=green),
        Page("# Kettle", metadata={"source": "kettle"}),
        Page("# Cups\n\nSmall ones.", metadata=green),
    )
    loads = changes(loader).changed
    assert list(loads) == ["https://wiki.example.com/green", "kettle"]
    document = loads["https://wiki.example.com/green"]()
    assert (document.id, document.title) == (green["source"], "Green tea")
    assert (document.url, document.source) == (green["source"], "wiki")
    assert [block.text for block in document.blocks] == [
        "Steeping", "Two minutes.", "Cups", "Small ones."
    ]  # fmt: skip
    assert loads["kettle"]().url == ""


def test_a_langchain_document_without_a_source_is_named_as_skipped() -> None:
    result = changes(WikiLoader(Page("whose?"), Page("# Kettle", metadata={"source": "kettle"})))
    assert result.skipped == ("wiki: 1 without `source` in the metadata",)
    assert list(result.changed) == ["kettle"]


def test_no_document_is_deleted_after_a_langchain_loader_failed() -> None:
    result = changes(WikiLoader(Page("# Kettle", metadata={"source": "kettle"}), breaks=True))
    assert not result.complete
    assert not result.changed
    assert "429 from the wiki" in str(result.failed[0])
