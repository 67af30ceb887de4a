"""Blocks grouped under the heading they stand under."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from loaders.document import Block, Document


@dataclass(frozen=True, kw_only=True)
class Section:
    """The blocks between one heading and the next, of one tab."""

    title: str
    """Nearest heading, else the tab's title, else the document's."""
    heading_path: tuple[str, ...]
    tab_path: tuple[str, ...]
    url: str
    blocks: tuple[Block, ...]
    """Never a heading, rule or footnote."""
    footnotes: tuple[Block, ...] = ()

    @property
    def tab(self) -> str:
        return self.tab_path[-1] if self.tab_path else ""


def sections(document: Document) -> list[Section]:
    """In reading order; headings without content of their own make no section."""
    found: list[Section] = []
    gathered: list[Block] = []
    for block in document.blocks:
        if gathered and (block.kind == "heading" or _place(block) != _place(gathered[0])):
            found.append(_section(document, gathered))
            gathered = []
        if block.kind not in ("heading", "rule"):
            gathered.append(block)
    if gathered:
        found.append(_section(document, gathered))
    return found


def breadcrumb(document: Document, section: Section) -> str:
    """`title › tab › headings`, each name once: the title is often the first heading too."""
    return " › ".join(_distinct((document.title, *section.tab_path, *section.heading_path)))


def _place(block: Block) -> tuple[str, tuple[str, ...], str]:
    return (block.tab.id if block.tab else "", block.heading_path, block.url)


def _section(document: Document, blocks: list[Block]) -> Section:
    first = blocks[0]
    tab_path = first.tab.path if first.tab else ()
    names = (document.title, *tab_path, *first.heading_path)
    return Section(
        title=names[-1],
        heading_path=first.heading_path,
        tab_path=tab_path,
        url=first.url or document.url,
        blocks=tuple(block for block in blocks if block.kind != "footnote"),
        footnotes=tuple(block for block in blocks if block.kind == "footnote"),
    )


def _distinct(names: Iterable[str]) -> list[str]:
    kept: list[str] = []
    for name in names:
        if name and (not kept or name.strip() != kept[-1].strip()):
            kept.append(name.strip())
    return kept
