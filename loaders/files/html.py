"""HTML → Document. Markdown is converted to HTML first."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Unpack

from bs4 import BeautifulSoup, Tag
from bs4.element import Comment, PageElement, PreformattedString

from loaders.assemble import BlockWriter, Metadata, make_document, slug
from loaders.document import MAX_MARKUP_NESTING, BlockKind, Document, Tab, check_size, too_deep
from loaders.files.confluence import as_html, simplify_storage
from loaders.files.google_export import simplify_export
from loaders.files.html_code import code_text, language_of, numbered_code
from loaders.files.html_inline import attribute, inline, item_markers, list_level, take_footnotes
from loaders.files.html_page import anchor_in, heading_anchor, simplify_page, word_list_place
from loaders.files.html_tables import (
    images_in,
    is_block,
    is_layout,
    outside_cells,
    read_lines,
    read_table,
    rows_of,
    to_image,
)
from loaders.tables.headers import outline, own_cells

_INVISIBLE = ["script", "style", "noscript", "template", "head", "iframe", "object", "svg"]
_BOXES = frozenset(["article", "div", "section"])
_TAB = re.compile(r"\s*tab:\s*(.+?)\s*", re.DOTALL)


def parse_html(html: str, *, url: str = "", **metadata: Unpack[Metadata]) -> Document:
    """`url` opens the document; headings add their `#id`.

    The default title is `<title>`, or the first heading. Raises LoadError when a limit is exceeded.
    """
    name = metadata.get("id") or metadata.get("title") or "HTML document"
    check_size(name, len(html))
    soup = BeautifulSoup(as_html(html), "lxml")
    title = soup.title.get_text().strip() if soup.title else ""
    writer = BlockWriter(url=url)
    write_html(soup, writer, name)
    heading = title or next((b.text for b in writer.blocks if b.kind == "heading"), "")
    metadata.setdefault("title", heading)
    metadata.setdefault("mime_type", "text/html")
    return make_document(writer, url=url, **metadata)


def write_html(
    soup: BeautifulSoup, writer: BlockWriter, name: str, *, is_page: bool = True
) -> None:
    """`is_page`: whether a program other than ours wrote some of it."""
    _check_depth(soup, name)
    if is_page:
        simplify_storage(soup)
        if words := simplify_page(soup):
            writer.warn(f"left out {words} words that the page hides")
        if soup.find("frameset"):
            writer.warn("its frames are pages of their own, and not read")
        simplify_export(soup)
    for element in soup.find_all(_INVISIBLE):
        if element.name in ("iframe", "object", "svg"):
            writer.warn(f"skipped an embedded <{element.name}>")
        element.decompose()
    footnotes = take_footnotes(soup, lambda note: read_lines(note, name))
    _Walk(writer, name, footnotes, writer.url).children(soup.body or soup)


def _check_depth(soup: BeautifulSoup, name: str) -> None:
    depths = {id(soup): 0}
    for element in soup.descendants:
        if isinstance(element, Tag) and element.parent is not None:
            depth = depths[id(element.parent)] + 1
            if depth > MAX_MARKUP_NESTING:
                raise too_deep(name, f"<{element.name}>", MAX_MARKUP_NESTING, "elements")
            depths[id(element)] = depth


@dataclass
class _Walk:
    writer: BlockWriter
    name: str
    footnotes: dict[str, tuple[str, str]]
    base: str
    """The document's URL."""
    slugs: dict[str, int] = field(default_factory=dict)
    quoted: bool = False
    tables: int = 0
    anchor: str = ""
    """Stands alone before the next block."""

    def children(self, element: Tag) -> None:
        waiting: list[PageElement] = []
        for node in [*element.children, None]:
            if isinstance(node, Comment):
                if match := _TAB.fullmatch(str(node)):
                    self._flush(waiting)
                    self._start_tab(match[1])
            elif node is not None and not is_block(node):
                if not isinstance(node, PreformattedString):
                    waiting.append(node)
            else:
                self._flush(waiting)
                if isinstance(node, Tag):
                    self._block(node)

    def _block(self, node: Tag) -> None:
        if re.fullmatch(r"h[1-6]", node.name):
            self._heading(node)
        elif node.name in ("ul", "ol"):
            self._list(node)
        elif node.name == "table":
            self._table(node)
        elif node.name == "pre":
            self._code(node)
        elif node.name == "p" and (place := word_list_place(node)):
            text = [one for one in node.children if not isinstance(one, PreformattedString)]
            self._text(text, "list_item", marker=place[0], level=place[1])
        elif node.name == "hr":
            if "page-break" not in attribute(node, "style"):
                self.writer.add("rule", "", "")
        elif node.name == "blockquote":
            outer, self.quoted = self.quoted, True
            self.children(node)
            self.quoted = outer
        else:
            self.children(node)

    def _flush(self, waiting: list[PageElement]) -> None:
        nodes, waiting[:] = list(waiting), []
        for paragraph in _paragraphs(nodes):
            self._text(paragraph, "quote" if self.quoted else "paragraph")

    def _text(self, nodes: list[PageElement], kind: BlockKind, **details: object) -> None:
        images = images_in(nodes)
        for image in images:
            image.extract()
        pictures = {id(image) for image in images}
        text, markdown = inline(node for node in nodes if id(node) not in pictures)
        if text.strip():
            self.writer.add(kind, text, markdown, **details)
            self._refer(markdown)
            self.anchor = ""
        else:
            self.anchor = anchor_in(nodes) or self.anchor
        for image in images:
            picture = to_image(image)
            _, image_markdown = inline([image])
            self.writer.add("image", picture.alt or picture.title, image_markdown, image=picture)

    def _refer(self, markdown: str) -> None:
        for label in re.findall(r"\[\^([^\[\]\s]{1,100}+)\]", markdown) if self.footnotes else ():
            if label in self.footnotes:
                self.writer.footnote(label, *self.footnotes.pop(label))

    def _heading(self, node: Tag) -> None:
        anchor = heading_anchor(node) or self.anchor
        self.anchor = ""
        images = [image.extract() for image in node.find_all("img")]
        text, markdown = inline(node.children)
        text, markdown = " ".join(text.split()), " ".join(markdown.split())
        if text:
            fragment = anchor or self._slug(text)
            fragment = f"heading={fragment}" if fragment.startswith("h.") else fragment
            self.writer.heading(int(node.name[1]), text, markdown, f"{self.base}#{fragment}")
            self._refer(markdown)
        self._text(list(images), "paragraph")

    def _slug(self, text: str) -> str:
        plain = slug(text)
        count = self.slugs[plain] = self.slugs.get(plain, -1) + 1
        return f"{plain}-{count}" if count else plain

    def _list(self, node: Tag) -> None:
        level = list_level(node)
        markers = {id(item): marker for item, marker in item_markers(node)}
        waiting: list[PageElement] = []
        for child in [*node.children, None]:
            if (
                child is not None
                and not is_block(child)
                and not isinstance(child, PreformattedString)
            ):
                waiting.append(child)
                continue
            self._flush(waiting)
            if isinstance(child, Tag) and id(child) in markers:
                self._item(child, markers[id(child)], level)
            elif isinstance(child, Tag):
                self._block(child)  # invalid HTML, but common: lists directly in lists

    def _item(self, item: Tag, marker: str, level: int) -> None:
        """Writes an item: first its own text, across paragraphs, then its nested blocks."""
        own: list[PageElement] = []
        inside: list[Tag] = []
        is_ended = False
        """Whether the last one of `own` ends a paragraph."""
        for node in _unboxed(item):
            if isinstance(node, Comment):
                continue
            is_paragraph = isinstance(node, Tag) and _is_paragraph(node)
            if own and (is_paragraph or is_ended) and str(node).strip() and not inside:
                own.append(_new_tag("br"))
                is_ended = False
            if isinstance(node, Tag) and is_paragraph and not inside:
                own += (one for one in node.children if not isinstance(one, Comment))
                is_ended = True
            elif isinstance(node, Tag) and is_block(node):
                inside.append(node)
            elif inside and str(node).strip():
                paragraph = _new_tag("p")
                paragraph.append(node)
                inside.append(paragraph)
            elif not inside:
                own.append(node)
        self._text(own, "list_item", marker=marker, level=level)
        for node in inside:
            self._block(node)

    def _table(self, node: Tag) -> None:
        for stray in list(outside_cells(node)):
            self._block(stray) if isinstance(stray, Tag) and is_block(stray) else self._flush(
                [stray]
            )
        rows = list(rows_of(node))
        if len(rows) > 1 and len(rows[0]) == 1 and (code := numbered_code(rows[1:])):
            self.children(rows[0][0])  # the name of the file
            self.writer.add("code", code, code, language=language_of(node))
        elif code := numbered_code(rows):
            self.writer.add("code", code, code, language=language_of(node))
        elif is_layout(node):
            for cell in (cell for cells in rows for cell in cells):
                self.children(cell)
        else:
            self._grid(node)

    def _grid(self, node: Tag) -> None:
        caption = node.find("caption", recursive=False)
        if isinstance(caption, Tag):
            self._text(list(caption.children), "paragraph")
        table, warnings = read_table(node, self.name)
        for warning in warnings:
            self.writer.warn(f"table {self.tables + 1}: {warning}")
        cells = [cell for row in table.rows for cell in row]
        if len(cells) > 1:
            self.tables += 1
            self.writer.add("table", outline(table), "", table=table)
            for cell in own_cells(table):
                self._refer(cell.markdown)
        elif cells:
            box = node.find(["td", "th"])
            outer, self.quoted = self.quoted, True
            self.children(box if isinstance(box, Tag) else node)
            self.quoted = outer

    def _code(self, node: Tag) -> None:
        text = code_text(node)
        if text.strip():
            self.writer.add("code", text, text, language=language_of(node))

    def _start_tab(self, name: str) -> None:
        title = " ".join(name.split())
        anchor = f"{self.base}#{self._slug(title)}"
        self.writer.start_tab(Tab(id=slug(title), title=title, path=(title,)), anchor)


def _is_paragraph(node: Tag) -> bool:
    return node.name == "p" or (node.name in _BOXES and not any(map(is_block, node)))


def _unboxed(item: Tag) -> Iterator[PageElement]:
    """Its children, with those of boxes of blocks at its beginning in place of the boxes."""
    is_start = True
    waiting = list(item.children)[::-1]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Tag) and node.name in _BOXES and is_start and any(map(is_block, node)):
            waiting += list(node.children)[::-1]
            continue
        yield node
        is_start = is_start and not str(node).strip()


def _paragraphs(nodes: list[PageElement]) -> Iterator[list[PageElement]]:
    """Splits at two line breaks in a row, which old pages have for paragraphs."""
    paragraph: list[PageElement] = []
    breaks = 0
    for node in nodes:
        if isinstance(node, Tag) and node.name == "br":
            breaks += 1
        elif isinstance(node, Tag) or str(node).strip():
            if breaks > 1:
                yield paragraph
                paragraph = []
            breaks = 0
        paragraph.append(node)
    yield paragraph


def _new_tag(name: str) -> Tag:
    return BeautifulSoup("", "html.parser").new_tag(name)
