"""HTML blocks → structural elements of a Google Doc: paragraphs, lists, code, quotes, contents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from bs4 import Tag
from bs4.element import NavigableString, PageElement

from playground.google.docs_writer.docs_style import (
    MONOSPACE,
    Json,
    list_properties,
    object_id,
    points,
)
from playground.google.docs_writer.written_segment import Segment
from playground.google.docs_writer.written_spans import Run, Setting, read_inlines

HEADINGS = {
    "h1": "TITLE",
    "h2": "HEADING_1",
    "h3": "HEADING_2",
    "h4": "HEADING_3",
    "h5": "HEADING_4",
    "h6": "HEADING_5",
}
BLOCK_TAGS = {*HEADINGS, "p", "ul", "ol", "table", "pre", "blockquote", "hr", "div", "section"}
INDENT = 36
QUOTE_BAR: Json = {
    "color": {"color": {"rgbColor": {"red": 0.8, "green": 0.8, "blue": 0.8}}},
    "width": points(3),
    "padding": points(9),
    "dashStyle": "SOLID",
}
ALIGNMENTS = {"right": "END", "center": "CENTER"}


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a block stands: how its text is read, and how far it is indented."""

    setting: Setting
    indent: int = 0
    direction: str = "LEFT_TO_RIGHT"
    alignment: str = ""
    quoted: bool = False

    def style(self, **more: object) -> Json:
        style: Json = {"direction": self.direction}
        if self.alignment:
            style["alignment"] = self.alignment
        if self.indent:
            style |= {"indentStart": points(self.indent), "indentFirstLine": points(self.indent)}
        if self.quoted:
            style["borderLeft"] = QUOTE_BAR
        return {**style, **more}


@dataclass
class ListGlyphs:
    """What one list shows at each nesting depth."""

    ordered: dict[int, bool] = field(default_factory=dict)
    starts: dict[int, int] = field(default_factory=dict)


@dataclass
class DocsBlockWriter:
    """Writes the blocks of one segment, in order."""

    segment: Segment
    tab_id: str
    table: Callable[[DocsBlockWriter, Tag, Place], Json]
    """Writes a `<table>`; given from outside, since cells hold blocks again."""
    headings: Sequence[tuple[str, str, str]] = ()
    """Named style, heading id and text of the tab's headings, in order, for the contents."""
    lists: dict[str, ListGlyphs] = field(default_factory=dict)
    heading_ids: Iterator[tuple[str, str, str]] = field(init=False)

    def __post_init__(self) -> None:
        self.heading_ids = iter(self.headings)

    def lists_json(self) -> Json:
        return {
            list_id: list_properties(glyphs.ordered, glyphs.starts)
            for list_id, glyphs in self.lists.items()
        }

    def container(self, node: Tag, place: Place) -> list[Json]:
        """Content of a body, cell or note; it never ends with a table, as in Google Docs."""
        content: list[Json] = []
        for element in self.blocks(node.children, place):
            content.append(element)
        if not content or "paragraph" not in content[-1]:
            content.append(self.segment.paragraph([], place.style()))
        return content

    def blocks(self, nodes: Iterable[PageElement], place: Place) -> Iterator[Json]:
        """Loose inline content becomes a paragraph of its own."""
        loose: list[PageElement] = []
        after_table = False
        for node in nodes:
            if not (isinstance(node, Tag) and node.name in BLOCK_TAGS):
                loose.append(node)
                continue
            written = list(self._loose(loose, place))
            yield from written
            loose = []
            if after_table and not written and node.name == "table":
                yield self.segment.paragraph([], place.style())
            yield from self._block(node, place)
            after_table = node.name == "table"
        yield from self._loose(loose, place)

    def _loose(self, nodes: Sequence[PageElement], place: Place) -> Iterator[Json]:
        if inlines := read_inlines(nodes, place.setting):
            yield self.segment.paragraph(inlines, place.style())

    def _block(self, node: Tag, place: Place) -> Iterator[Json]:
        if node.name in HEADINGS:
            yield self._heading(node, place)
        elif node.name in {"ul", "ol"}:
            yield from self._list(node, place, self._new_list(), 0)
        elif node.name == "table":
            yield self.table(self, node, place)
        elif node.name == "pre":
            yield from self._code(node, place)
        elif node.name == "hr":
            yield self.segment.rule()
        elif node.name == "p":
            yield from self._paragraph(node, place)
        elif node.name == "blockquote":
            quoted = replace(place.setting, newline="\v")
            inner = replace(place, setting=quoted, indent=place.indent + INDENT, quoted=True)
            yield from self.blocks(node.children, inner)
        else:
            rtl = node.get("dir") == "rtl"
            inner = replace(place, direction="RIGHT_TO_LEFT") if rtl else place
            yield from self.blocks(node.children, inner)

    def _heading(self, node: Tag, place: Place) -> Json:
        named, heading_id, _text = next(self.heading_ids)
        inlines = read_inlines(node.children, place.setting)
        style = place.style(namedStyleType=named, headingId=heading_id)
        return self.segment.paragraph(inlines, style)

    def _paragraph(self, node: Tag, place: Place) -> Iterator[Json]:
        if node.get_text().strip() == "[TOC]":
            yield self._contents()
        elif inlines := read_inlines(node.children, place.setting):
            yield self.segment.paragraph(inlines, place.style())

    def _contents(self) -> Json:
        start = self.segment.index
        self.segment.advance(1)
        content = [
            self._contents_line(named, heading_id, text)
            for named, heading_id, text in self.headings
            if named != "TITLE"
        ]
        self.segment.advance(1)
        contents = {"content": content}
        return {
            "startIndex": start,
            "endIndex": self.segment.index,
            "tableOfContents": contents,
        }

    def _contents_line(self, named: str, heading_id: str, text: str) -> Json:
        link = {"link": {"heading": {"id": heading_id, "tabId": self.tab_id}}, "underline": True}
        indent = INDENT / 2 * (int(named[-1]) - 1)
        style = {"indentStart": points(indent), "indentFirstLine": points(indent)}
        return self.segment.paragraph([Run(text, link)], style)

    def _code(self, node: Tag, place: Place) -> Iterator[Json]:
        for line in node.get_text().rstrip("\n").split("\n"):
            yield self.segment.paragraph([Run(line, MONOSPACE)], place.style())

    def _new_list(self) -> str:
        list_id = object_id(self.segment.scope, "list", self.segment.index, len(self.lists))
        self.lists[list_id] = ListGlyphs()
        return list_id

    def _list(self, node: Tag, place: Place, list_id: str, depth: int) -> Iterator[Json]:
        ordered = node.name == "ol"
        if self.lists[list_id].ordered.setdefault(depth, ordered) is not ordered:
            # One list has one glyph for each depth; a sibling of the other kind is another list.
            list_id = self._new_list()
            self.lists[list_id].ordered[depth] = ordered
        start = node.get("start")
        if ordered and isinstance(start, str) and start.isdigit():
            self.lists[list_id].starts[depth] = int(start)
        for item in node.find_all("li", recursive=False):
            if isinstance(item, Tag):
                yield from self._item(item, place, list_id, depth)

    def _item(self, item: Tag, place: Place, list_id: str, depth: int) -> Iterator[Json]:
        lead, rest = _split_lead(item)
        indent = place.indent + INDENT * (depth + 1)
        bullet: Json = {"listId": list_id, "textStyle": {}}
        if depth:
            bullet["nestingLevel"] = depth
        style = place.style(indentStart=points(indent), indentFirstLine=points(indent - INDENT / 2))
        yield self.segment.paragraph(read_inlines(lead, place.setting), style, bullet)
        inner = replace(place, indent=indent)
        for node in rest:
            if isinstance(node, Tag) and node.name in {"ul", "ol"}:
                yield from self._list(node, place, list_id, depth + 1)
            else:
                yield from self.blocks([node], inner)


def _split_lead(item: Tag) -> tuple[list[PageElement], list[PageElement]]:
    """The words beside the bullet, and what follows below them."""
    children = [child for child in item.children if not _is_blank(child)]
    if children and isinstance(children[0], Tag) and children[0].name == "p":
        return list(children[0].children), children[1:]
    blocks = [isinstance(child, Tag) and child.name in BLOCK_TAGS for child in children]
    end = blocks.index(True) if True in blocks else len(children)
    return children[:end], children[end:]


def _is_blank(node: PageElement) -> bool:
    return isinstance(node, NavigableString) and not node.strip()
