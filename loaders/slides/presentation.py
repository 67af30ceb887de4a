"""PowerPoint presentations → Document: each visible slide as a page, its title as a heading.

Shapes are read in the order that the file gives them, which is the one that screen readers follow.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Unpack

from config.errors import LoadError
from loaders.assemble import BlockWriter, Metadata, make_document
from loaders.document import Document, Image
from loaders.office.package import Element, Package, Part, Relation, open_package
from loaders.sheets.cells import child, children, local, relation_id
from loaders.slides.text import Paragraph, TextReader
from loaders.tables.cells import Line, SourceCell, lines_to_markdown, lines_to_text
from loaders.tables.grid import build_table
from loaders.tables.headers import outline
from loaders.text.markdown import escape

MIME_TYPE = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
_TITLES = ("title", "ctrTitle")
_FURNITURE = ("dt", "ftr", "sldNum", "hdr")
"""Date, footer, number: on every slide."""


def parse_pptx(data: bytes, *, url: str = "", **metadata: Unpack[Metadata]) -> Document:
    """Raises LoadError when the data is not a presentation or a limit is exceeded."""
    name = metadata.get("id") or "PowerPoint file"
    writer = BlockWriter(url=url)
    with open_package(data, name, kind="a PowerPoint file", suffix=".pptx") as package:
        _Presentation(package, writer, name).read()
    metadata.setdefault("mime_type", MIME_TYPE)
    return make_document(writer, url=url, **metadata)


class _Presentation:
    def __init__(self, package: Package, writer: BlockWriter, name: str) -> None:
        self._package = package
        self._writer = writer
        self._name = name
        self._layouts: dict[str, _Layout] = {}

    def read(self) -> None:
        main = self._package.main_part("ppt/presentation.xml")
        if main is None or local(main.root) != "presentation":
            raise LoadError(self._name, "not a PowerPoint file (.pptx): it holds no presentation")
        for number, entry in enumerate(children(main.root, "sldIdLst", "sldId"), 1):
            relation = main.relations.get(relation_id(entry))
            part = self._package.part(relation.target) if relation else None
            if part is None:
                self._writer.warn(f"slide {number} is missing in the file")
            elif part.root.get("show") in ("0", "false"):
                self._writer.warn(f"slide {number} is hidden: it is left out")
            else:
                self._writer.page = number
                _Slide(part, self._layout(part), self._writer, self._name).read()

    def _layout(self, slide: Part) -> _Layout:
        path = _target(slide.relations, "slideLayout")
        if path not in self._layouts:
            layout = self._package.part(path) if path else None
            master = layout.related("slideMaster") if layout else None
            self._layouts[path] = _Layout([one.root for one in (layout, master) if one])
        return self._layouts[path]


def _target(relations: Mapping[str, Relation], kind: str) -> str:
    return next((one.target for one in relations.values() if one.kind == kind), "")


class _Layout:
    """What placeholders of a slide inherit from its layout and master."""

    def __init__(self, roots: Sequence[Element]) -> None:
        """`roots`: nearest first."""
        self._shapes = [list(_shapes(root)) for root in roots]
        self._masters = [style for root in roots for style in children(root, "txStyles")]

    def styles(self, shape: Element) -> list[Element]:
        """Lists of level styles, nearest first."""
        kind, index = _placeholder(shape)
        if kind is None:
            return [style for one in self._masters for style in children(one, "otherStyle")]
        styles: list[Element] = []
        for shapes in self._shapes:
            alike = [one for one in shapes if _placeholder(one) == (kind, index)] or [
                one for one in shapes if _placeholder(one)[0] == kind
            ]
            styles += [style for one in alike[:1] for style in children(one, "txBody", "lstStyle")]
        name = "titleStyle" if kind in _TITLES else "bodyStyle"
        return styles + [style for one in self._masters for style in children(one, name)]


class _Slide:
    def __init__(self, part: Part, layout: _Layout, writer: BlockWriter, name: str) -> None:
        self._part = part
        self._layout = layout
        self._writer = writer
        self._name = name
        self._text = TextReader(part.relations)

    def read(self) -> None:
        shapes = list(_shapes(self._part.root))
        titles = [one for one in shapes if _placeholder(one)[0] in _TITLES]
        title = " ".join(one.text for shape in titles for one in self._of(shape)).replace("\n", " ")
        if title:
            self._writer.heading(1, title, escape(title))
        else:
            self._writer.leave_sections()
        for shape in shapes:
            if shape not in titles and _placeholder(shape)[0] not in _FURNITURE:
                self._shape(shape)
        self._notes()

    def _shape(self, shape: Element) -> None:
        name = local(shape)
        if name == "sp":
            self._write(self._of(shape))
        elif name == "pic":
            alt = next(
                (p.get("descr", "") for p in shape.iter() if local(p) == "cNvPr"), ""
            ).strip()
            if alt:
                self._writer.add("image", alt, f"![{escape(alt)}]()", image=Image(alt=alt))
            else:
                self._left_out("a picture")
        elif name == "graphicFrame":
            self._frame(shape)

    def _frame(self, frame: Element) -> None:
        for content in children(frame, "graphic", "graphicData"):
            table = child(content, "tbl")
            kind = content.get("uri", "").rpartition("/")[2]
            if table is not None:
                self._table(table)
            elif kind == "diagram":
                self._diagram(content)
            else:
                self._left_out("a chart" if kind == "chart" else "an embedded object")

    def _left_out(self, what: str) -> None:
        self._writer.warn(f"slide {self._writer.page}: {what} is left out")

    def _of(self, shape: Element) -> list[Paragraph]:
        return list(self._text.paragraphs(child(shape, "txBody"), self._layout.styles(shape)))

    def _write(self, paragraphs: Sequence[Paragraph]) -> None:
        for one in paragraphs:
            if one.marker:
                self._writer.add(
                    "list_item", one.text, one.markdown, marker=one.marker, level=one.level
                )
            else:
                self._writer.add("paragraph", one.text, one.markdown)

    def _table(self, table: Element) -> None:
        rows = [[self._cell(cell) for cell in children(row, "tc")] for row in children(table, "tr")]
        if not any(rows):
            return
        properties = child(table, "tblPr")
        marked = properties is not None and properties.get("firstRow") in ("1", "true")
        grid, warnings = build_table(
            rows,
            placeholders=True,
            marked_rows=int(marked and len(rows) > 1),
            document=self._name,
            place=f"slide {self._writer.page}",
        )
        for warning in warnings:
            self._writer.warn(f"slide {self._writer.page}: {warning}")
        self._writer.add("table", outline(grid), "", table=grid)

    def _cell(self, cell: Element) -> SourceCell:
        if cell.get("hMerge") in ("1", "true") or cell.get("vMerge") in ("1", "true"):
            return SourceCell()
        lines = [
            Line(text=one.text, markdown=one.markdown, marker=one.marker, level=one.level)
            for one in self._text.paragraphs(child(cell, "txBody"))
        ]
        spans = [cell.get(name, "1") for name in ("rowSpan", "gridSpan")]
        height, width = (min(int(one), 1_000) if one.isdecimal() else 1 for one in spans)
        return SourceCell(
            text=lines_to_text(lines),
            markdown=lines_to_markdown(lines),
            row_span=max(height, 1),
            column_span=max(width, 1),
        )

    def _diagram(self, content: Element) -> None:
        """The texts of SmartArt, in the order of its outline."""
        ids = next((child for child in content if local(child) == "relIds"), None)
        keys = {} if ids is None else {name.rpartition("}")[2]: key for name, key in ids.items()}
        relation = self._part.relations.get(keys.get("dm", ""))
        part = self._part.package.part(relation.target) if relation else None
        points = children(part.root, "ptLst", "pt") if part else []
        texts = [one for pt in points for one in self._text.paragraphs(child(pt, "t"))]
        self._write([Paragraph(one.text, one.markdown, "-") for one in texts])

    def _notes(self) -> None:
        path = _target(self._part.relations, "notesSlide")
        part = self._part.package.part(path) if path else None
        if part is None:
            return
        reader = TextReader(part.relations)
        bodies = [one for one in _shapes(part.root) if _placeholder(one)[0] == "body"]
        notes = [one for body in bodies for one in reader.paragraphs(child(body, "txBody"))]
        if notes:
            self._writer.add("paragraph", "Speaker notes:", "Speaker notes:")
            self._write(notes)


def _shapes(root: Element) -> Iterator[Element]:
    """Shapes in order, also of groups; of alternatives the first."""
    for element in root:
        name = local(element)
        if name in ("sp", "pic", "graphicFrame"):
            yield element
        elif name in ("cSld", "spTree", "grpSp", "AlternateContent", "Choice"):
            yield from _shapes(element)


def _placeholder(shape: Element) -> tuple[str | None, str]:
    """Type and index; the type is None for a shape that is no placeholder."""
    for properties in shape:
        for mark in children(properties, "nvPr", "ph"):
            return mark.get("type", "body"), mark.get("idx", "0")
    return None, ""
