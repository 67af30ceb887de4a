"""The content of a Word file → blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from loaders.assemble import BlockWriter, slug
from loaders.document import MAX_NESTING, BlockKind, too_deep
from loaders.tables.headers import outline
from loaders.text.markdown import Span, spans_to_markdown, spans_to_text
from loaders.word.drawings import Box, Budget, Drawings, picture_markdown
from loaders.word.inline import Inline
from loaders.word.numbering import Numbering
from loaders.word.package import Element, Part, R, W, child, is_on
from loaders.word.paragraphs import Paragraph, Paragraphs, blocks
from loaders.word.styles import Styles
from loaders.word.tables import Tables, tidy, within


@dataclass
class Body:
    """Reads the main part into `writer`: page headers, text with its notes, page footers."""

    writer: BlockWriter
    main: Part
    budget: Budget
    picture: Callable[[str], str | None]
    """Path of a part → URI; None when there is no such part."""
    _base: str = ""
    _quoted: int = 0
    _slugs: dict[str, int] = field(default_factory=dict)
    _labels: dict[tuple[str, str], str] = field(default_factory=dict)
    _notes: list[tuple[str, Element, Inline]] = field(default_factory=list)
    """Label, content and reader of notes whose reference is being written."""

    def __post_init__(self) -> None:
        self._base = self.writer.url
        styles = self.main.related("styles", "styles.xml")
        numbers = self.main.related("numbering", "numbering.xml")
        self._styles = Styles(styles.root if styles else None)
        numbering = Numbering(numbers.root if numbers else None, self._styles)
        self._paragraphs = Paragraphs(self._styles, numbering)
        self._tables = Tables(self.budget.document, self._paragraphs)
        self._inline = self._reader_of(self.main)
        self._note_parts = {kind: self._note_contents(kind) for kind in ("footnote", "endnote")}

    def read(self) -> None:
        self._furniture("header")
        for body in self.main.root.iterchildren(f"{W}body"):
            self._content(body, 0)
        self._hand_over_notes()
        self.writer.leave_sections()
        self._furniture("footer")

    def _reader_of(self, part: Part) -> Inline:
        return Inline(
            part=part,
            styles=self._styles,
            drawings=Drawings(part, self.budget, self.picture, self.writer.warn),
            note=self._note,
        )

    def _furniture(self, kind: str) -> None:
        """Adds page headers or footers. Each text is added once, not once per page."""
        texts: set[str] = set()
        for part in self._furniture_parts(kind):
            inline = replace(self._reader_of(part), is_furniture=True)
            text, markdown = self._tables.text(part.root, inline)
            if any(letter.isalnum() for letter in text) and text not in texts:
                texts.add(text)
                self.writer.add("paragraph", text, markdown)
        self._hand_over_notes()

    def _furniture_parts(self, kind: str) -> Iterator[Part]:
        """Those that some page shows: Word keeps the others, of first and even pages, as well. A
        section without its own has those of the section before."""
        settings = self.main.related("settings", "settings.xml")
        shows_even = is_on(child(settings.root if settings else None, "evenAndOddHeaders"))
        current: dict[str, str] = {}
        names: dict[str, None] = {}
        for section in self.main.root.iter(f"{W}sectPr"):
            for reference in section.iterchildren(f"{W}{kind}Reference"):
                current[reference.get(f"{W}type", "default")] = reference.get(f"{R}id", "")
            types = {"first": is_on(child(section, "titlePg")), "default": True, "even": shows_even}
            names |= {current[one]: None for one, on in types.items() if on and one in current}
        targets = {one.target: name for name in names if (one := self.main.relations.get(name))}
        for name in targets.values():
            if (part := self.main.by_id(name)) is not None:
                yield part

    def _content(self, holder: Element, depth: int) -> None:
        if depth > MAX_NESTING:
            raise too_deep(self.budget.document, "", MAX_NESTING, "tables and text boxes")
        for block in blocks(holder):
            if block.tag == f"{W}p":
                paragraph = self._paragraphs.read(block, self._inline)
                if paragraph:
                    self._paragraph(paragraph, depth)
            elif block.tag == f"{W}tbl":
                self.writer.end_code()
                self._table(block, depth)
            else:
                self.writer.warn("an embedded document was not read")
        self.writer.end_code()

    def _paragraph(self, paragraph: Paragraph, depth: int) -> None:
        if paragraph.kind != "heading" and not paragraph.marker and self._is_code(paragraph):
            return
        self.writer.end_code()
        if paragraph.kind == "heading":
            self._heading(paragraph)
        elif paragraph.marker:
            self._text("list_item", paragraph, marker=paragraph.marker, level=paragraph.depth)
        else:
            quoted = self._quoted or paragraph.kind == "quote"
            self._text("quote" if quoted else "paragraph", paragraph)
        for image in paragraph.images:
            self.writer.add("image", image.alt, picture_markdown(image), image=image)
        self._hand_over_notes()
        for drawing in paragraph.floating:
            if isinstance(drawing, Box):
                self._content(drawing.content, depth + 1)
            else:
                for text in drawing.texts:
                    self.writer.add("paragraph", text, spans_to_markdown([Span(text=text)]))

    def _heading(self, paragraph: Paragraph) -> None:
        plain = [replace(span, bold=False) for span in paragraph.spans]
        title = " ".join(spans_to_text(plain).split())
        if not title:
            self._text("paragraph", paragraph)
            return
        number = paragraph.marker if paragraph.marker != "-" else ""
        self.writer.heading(
            paragraph.level,
            f"{number} {title}".lstrip(),
            f"{number} {' '.join(spans_to_markdown(plain).split())}".lstrip(),
            f"{self._base}#{paragraph.bookmark or self._slug(title)}",
            marker=number,
        )

    def _slug(self, title: str) -> str:
        plain = slug(title)
        count = self._slugs[plain] = self._slugs.get(plain, -1) + 1
        return f"{plain}-{count}" if count else plain

    def _text(self, kind: BlockKind, paragraph: Paragraph, **details: object) -> None:
        text = tidy(spans_to_text(paragraph.spans))
        markdown = tidy(spans_to_markdown(paragraph.spans))
        if text or markdown:
            self.writer.add(kind, text, markdown, **details)

    def _is_code(self, paragraph: Paragraph) -> bool:
        """Collects a line of code. Consecutive monospaced paragraphs form one block."""
        spans = paragraph.spans
        text = spans_to_text(spans)
        if len(spans) < len(paragraph.pieces) or any(one.link or one.markdown for one in spans):
            return False
        if not (text.strip() or self.writer.code):
            return False
        typewritten = all(one.code for one in spans if one.text.strip())
        if text.strip() and paragraph.kind != "code" and not typewritten:
            return False
        self.writer.code.append(text.rstrip())
        return True

    def _table(self, table: Element, depth: int) -> None:
        cells = [cell for row in within(table, "tr") for cell in within(row, "tc")]
        if len(cells) == 1:  # a frame around text
            self._quoted += 1
            self._content(cells[0], depth + 1)
            self._quoted -= 1
            return
        grid = self._tables.read(table, self._inline, depth + 1)
        if grid and any(cell.text or cell.markdown for row in grid.rows for cell in row):
            self.writer.add("table", outline(grid), "", table=grid)
        self._hand_over_notes()

    def _note_contents(self, kind: str) -> Mapping[str, tuple[Element, Inline]]:
        part = self.main.related(f"{kind}s", f"{kind}s.xml")
        if part is None:
            return {}
        inline = self._reader_of(part)
        return {one.get(f"{W}id", ""): (one, inline) for one in part.root.iterchildren(W + kind)}

    def _note(self, kind: str, name: str) -> str:
        """The label of a note. Its text follows the block with its first reference."""
        key = (kind, name)
        if key not in self._labels:
            note = self._note_parts.get(kind, {}).get(name)
            if note is None:
                self.writer.warn(f"a {kind} is missing in the file")
                return ""
            self._labels[key] = str(len(self._labels) + 1)
            self._notes.append((self._labels[key], *note))
        return self._labels[key]

    def _hand_over_notes(self) -> None:
        while self._notes:
            label, content, inline = self._notes.pop(0)
            text, markdown = self._tables.text(content, inline)
            if text or markdown:
                self.writer.footnote(label, text, markdown)
