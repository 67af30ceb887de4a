"""The content of one Google Docs tab → blocks."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from loaders.assemble import BlockWriter
from loaders.docs.inline import BREAK, EQUATION, Elements, ListNumbers, Piece, Rule, image_markdown
from loaders.docs.node import Node
from loaders.docs.tables import Tables
from loaders.document import MAX_NESTING, BlockKind, Image, too_deep
from loaders.tables.headers import outline
from loaders.text.markdown import Span, spans_to_markdown, spans_to_text

_HEADING = re.compile(r"HEADING_([1-6])")
LinkTo = Callable[[str, str], str]
"""(tab id, fragment) → URL; an empty tab id means this tab."""


@dataclass
class TabReader:
    """Reads a `documentTab`, or the root of a response without tabs."""

    writer: BlockWriter
    tab: Node
    document: str
    link_to: LinkTo
    _notes: list[tuple[str, str, str]] = field(default_factory=list)
    _quoted: int = 0

    def __post_init__(self) -> None:
        self._footnotes = self.tab.entries("footnotes")
        self._labels: dict[str, str] = {}
        self._numbers = ListNumbers(self.tab.entries("lists"))
        self._elements = Elements(
            document=self.document,
            link_to=self.link_to,
            inline_objects=self.tab.entries("inlineObjects"),
            positioned_objects=self.tab.entries("positionedObjects"),
            dropdowns=self.tab.entries("dropdownDefinitions"),
            footnote=self._footnote,
        )
        self._tables = Tables(self.document, self._elements, self._numbers)

    def read(self) -> None:
        self._furniture("headers")
        body = self.tab.child("body")
        if body is None or not body.has("content"):
            (body or self.tab).warn(f"{(body or self.tab).place or 'document'}: no content")
        else:
            self._content(body, depth=0)
        for name in self._footnotes:
            if name not in self._labels:
                self._keep_footnote(name, "")
        self._hand_over_notes()
        self.writer.leave_sections()
        self._furniture("footers")

    def _furniture(self, kind: str) -> None:
        """Adds page headers or footers. Each text is added once, not once per page."""
        texts: set[str] = set()
        for node in self.tab.entries(kind).values():
            if node.suggested():
                continue
            text, markdown = self._tables.content(node)
            if text.strip() and text not in texts:
                texts.add(text)
                self.writer.add("paragraph", text, markdown)
        self._hand_over_notes()

    def _content(self, holder: Node, depth: int) -> None:
        if depth > MAX_NESTING:
            raise too_deep(self.document, holder.place[:80] + "…", MAX_NESTING, "tables")
        for element in holder.children("content"):
            paragraph, table = element.child("paragraph"), element.child("table")
            if paragraph is not None:
                self._paragraph(paragraph)
            elif table is not None:
                self.writer.end_code()
                self._table(table, depth)
            elif not any(
                element.has(k) for k in ("paragraph", "table", "tableOfContents", "sectionBreak")
            ):
                element.skipped("an unknown element")
        self.writer.end_code()

    def _paragraph(self, paragraph: Node) -> None:
        pieces = self._elements.pieces(paragraph)
        style = paragraph.child("paragraphStyle")
        style_name = style.text("namedStyleType") if style else ""
        bullet = paragraph.child("bullet")
        level = 1 if style_name == "TITLE" else int((_HEADING.fullmatch(style_name) or "00")[1])
        if not level and not bullet and self._is_code(pieces):
            return
        self.writer.end_code()
        marker, depth = self._numbers.next(bullet) if bullet else ("", 0)
        for run in _heading_first(pieces) if level else _runs(pieces):
            if isinstance(run, Rule):
                self.writer.add("rule", "", "")
            elif isinstance(run, Image):
                self._image(run)
            elif level and not all(span.markdown for span in run):
                self._heading(run, level, style, marker)
            elif bullet:
                self._text("list_item", run, marker=marker, level=depth)
            else:
                quoted = self._quoted or _has_bar(style)
                self._text("quote" if quoted else "paragraph", run)
        self._hand_over_notes()

    def _heading(self, spans: Sequence[Span], level: int, style: Node | None, marker: str) -> None:
        plain = [replace(span, bold=False) for span in spans]
        text = " ".join(spans_to_text(plain).split())
        if not text:
            self._text("paragraph", plain)
            return
        name = style.text("headingId") if style else ""
        url = self.link_to("", f"heading={name}") if name else ""
        markdown = " ".join(spans_to_markdown(plain).split())
        self.writer.heading(level, text, markdown, url, marker=marker)

    def _text(self, kind: BlockKind, spans: Sequence[Span], **details: object) -> None:
        text, markdown = spans_to_text(spans).strip(), spans_to_markdown(spans).strip()
        if text == markdown == EQUATION and kind == "paragraph":
            kind = "equation"
        if text or markdown:
            self.writer.add(kind, text, markdown, **details)

    def _image(self, image: Image) -> None:
        text = " ".join((image.alt or image.title).split())
        self.writer.add("image", text, image_markdown(image), image=image)

    def _is_code(self, pieces: Sequence[Piece]) -> bool:
        """Collects a line of code. Consecutive monospace paragraphs form one block."""
        spans = [piece for piece in pieces if isinstance(piece, Span)]
        plain = len(spans) == len(pieces) and not any(s.link or s.markdown for s in spans)
        text = spans_to_text(spans)
        if not plain or not (text.strip() or self.writer.code):
            return False
        if text.strip() and not all(span.code for span in spans if span.text.strip()):
            return False
        self.writer.code.append(text.rstrip())
        return True

    def _table(self, table: Node, depth: int) -> None:
        rows = list(table.children("tableRows"))
        cells = list(rows[0].children("tableCells")) if len(rows) == 1 else []
        if len(cells) == 1:  # a frame around text
            self._quoted += 1
            self._content(cells[0], depth + 1)
            self._quoted -= 1
            return
        grid = self._tables.read(table, depth + 1)
        if grid and any(cell.text or cell.markdown for row in grid.rows for cell in row):
            self.writer.add("table", outline(grid), "", table=grid)
        self._hand_over_notes()

    def _footnote(self, reference: Node) -> str:
        name = reference.text("footnoteId")
        if name not in self._labels:
            if name not in self._footnotes:
                reference.warn(f"{reference.place}: footnote {name!r} is not in the document")
            self._keep_footnote(name, reference.text("footnoteNumber"))
        return self._labels[name]

    def _keep_footnote(self, name: str, number: str) -> None:
        """Stores the footnote under a label that is unique in the document.

        Each tab numbers its footnotes from 1, but all tabs share one markdown text."""
        label = re.sub(r"[^\w-]", "", number) or str(len(self._labels) + 1)
        count = 1
        while (unique := label if count == 1 else f"{label}-{count}") in self.writer.labels:
            count += 1
        self.writer.labels.add(unique)
        self._labels[name] = unique
        node = self._footnotes.get(name)
        text, markdown = self._tables.content(node) if node else ("", "")
        if text or markdown:
            self._notes.append((unique, text, markdown))

    def _hand_over_notes(self) -> None:
        """Adds pending footnotes to the current section.

        Runs after the block that refers to them is written."""
        notes, self._notes = self._notes, []
        for note in notes:
            self.writer.footnote(*note)


def _heading_first(pieces: Sequence[Piece]) -> list[list[Span] | Image | Rule]:
    """The heading's words come first.

    Pictures, rules, footnote marks and equations follow it as separate runs."""
    words = [piece for piece in pieces if isinstance(piece, Span) and piece.markdown is None]
    marks = [piece for piece in pieces if isinstance(piece, Span) and piece.markdown is not None]
    others = [piece for piece in pieces if not isinstance(piece, Span)]
    return [[span for span in words if span.text != BREAK], *others, marks]


def _runs(pieces: Sequence[Piece]) -> list[list[Span] | Image | Rule]:
    """Splits pieces at rules. Each run of text is followed by the pictures it contained."""
    runs: list[list[Span] | Image | Rule] = []
    spans: list[Span] = []
    images: list[Image] = []
    for piece in [*pieces, Rule()]:
        if isinstance(piece, Span):
            spans.append(piece)
        elif isinstance(piece, Image):
            images.append(piece)
        else:
            runs += [spans, *images, piece]
            spans, images = [], []
    return runs[:-1]


def _has_bar(style: Node | None) -> bool:
    """Whether the paragraph has a left border, which is how Docs formats quotes."""
    width = style.at("borderLeft", "width") if style else None
    size = width.value.get("magnitude") if width else 0
    return isinstance(size, int | float) and size > 0
