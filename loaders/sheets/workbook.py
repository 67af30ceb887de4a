"""Excel workbooks → Document: each visible sheet below its name, as its readers see it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Unpack

from config.errors import LoadError
from loaders.assemble import BlockWriter, Metadata, make_document
from loaders.document import MAX_TABS, Document, Image
from loaders.office.package import Element, Package, Relation, open_package
from loaders.sheets.cells import (
    Strings,
    Text,
    child,
    children,
    local,
    plain_text,
    read_styles,
    read_text,
    relation_id,
)
from loaders.sheets.sheet import Budget, SheetContent, SheetReader, count_of, table_header, to_grid
from loaders.tables.regions import write_sheet
from loaders.text.markdown import escape

MIME_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_NOTES = ("threadedComment", "comments")
"""Kinds of parts. Beside the first kind, the second repeats its words for old programs."""


def parse_xlsx(data: bytes, *, url: str = "", **metadata: Unpack[Metadata]) -> Document:
    """Raises LoadError when the data is not a workbook or a limit is exceeded. Rows and sheets
    beyond the limits are left out, with a warning that names them."""
    name = metadata.get("id") or "Excel file"
    writer = BlockWriter(url=url)
    with open_package(data, name, kind="an Excel file", suffix=".xlsx") as package:
        _Workbook(package, writer, name).read()
    metadata.setdefault("mime_type", MIME_TYPE)
    return make_document(writer, url=url, **metadata)


class _Workbook:
    def __init__(self, package: Package, writer: BlockWriter, name: str) -> None:
        self._package = package
        self._writer = writer
        self._name = name
        self._budget = Budget()

    def read(self) -> None:
        main = self._package.main_part("xl/workbook.xml")
        if main is None or local(main.root) != "workbook":
            raise LoadError(self._name, "not an Excel file (.xlsx): it holds no workbook")
        properties = child(main.root, "workbookPr")
        since_1904 = properties is not None and properties.get("date1904") in ("1", "true")
        styles = main.related("styles", "styles.xml")
        reader = SheetReader(
            strings=self._strings(main.relations.values()),
            styles=read_styles(styles.root if styles else None, since_1904=since_1904),
            budget=self._budget,
        )
        sheets = children(main.root, "sheets", "sheet")
        if len(sheets) > MAX_TABS:
            self._writer.warn(f"the sheets behind the first {MAX_TABS:,} are left out")
        for sheet in sheets[:MAX_TABS]:
            title, relation = sheet.get("name", ""), main.relations.get(relation_id(sheet))
            if sheet.get("state", "visible") != "visible":
                self._writer.warn(f"sheet {title!r} is hidden: it is left out")
            elif relation is None or relation.target not in self._package:
                self._writer.warn(f"sheet {title!r} is missing in the file")
            elif relation.kind != "worksheet":
                self._writer.warn(f"sheet {title!r} is left out: it is a {relation.kind}")
            elif self._budget.is_spent:
                self._writer.warn(f"sheet {title!r} is left out: the workbook is too big")
            else:
                self._sheet(title, relation.target, reader)

    def _strings(self, relations: Iterable[Relation]) -> Strings:
        path = next((one.target for one in relations if one.kind == "sharedStrings"), "")
        if path not in self._package:
            return Strings()
        with self._package.open(path) as source:
            return Strings.read(source)

    def _sheet(self, title: str, path: str, reader: SheetReader) -> None:
        relations = self._package.relations(path)
        links = {key: one.target for key, one in relations.items() if one.external}
        with self._package.open(path) as source:
            content = reader.read(source, links)
        for key in content.tables:
            root = self._root(relations.get(key))
            header = table_header(root) if root is not None else None
            content.headers += [header] if header else []
        grid, left_out = to_grid(content)
        for line in left_out:
            self._writer.warn(f"sheet {title!r}: {line}")
        heading_at = len(self._writer.blocks)
        self._writer.heading(1, title, escape(title))
        write_sheet(self._writer, grid, document=self._name, level=2)
        self._drawing(title, self._root(relations.get(content.drawing)))
        self._notes(content, [one for one in relations.values() if one.kind in _NOTES])
        if len(self._writer.blocks) == heading_at + 1:
            self._writer.blocks.pop()  # a sheet without content

    def _root(self, relation: Relation | None) -> Element | None:
        if relation is None or relation.external:
            return None
        part = self._package.part(relation.target)
        return part.root if part else None

    def _notes(self, content: SheetContent, relations: list[Relation]) -> None:
        kind = min((one.kind for one in relations), key=_NOTES.index, default="")
        for relation in relations:
            root = self._root(relation) if relation.kind == kind else None
            for place, text in _notes(root):
                neighbor = content.text_at(place)
                of = f"Note at {place} ({neighbor}): " if neighbor else f"Note at {place}: "
                self._write(Text(of + text.text, escape(of) + text.markdown))

    def _drawing(self, title: str, root: Element | None) -> None:
        """Text boxes and pictures with a description; the others are counted."""
        charts = pictures = 0
        for shape in _shapes(root):
            name = local(shape)
            if name == "sp":
                paragraphs = [one for one in shape.iter() if local(one) == "p"]
                lines = [
                    "".join(t.text or "" for t in p.iter() if local(t) == "t") for p in paragraphs
                ]
                self._write(plain_text("\n".join(line for line in lines if line.strip())))
            elif name == "graphicFrame":
                charts += 1
            elif name == "pic":
                described = (
                    each.get("descr", "") for each in shape.iter() if local(each) == "cNvPr"
                )
                if alt := next(described, "").strip():
                    self._writer.add("image", alt, f"![{escape(alt)}]()", image=Image(alt=alt))
                else:
                    pictures += 1
        if charts:
            self._writer.warn(
                f"sheet {title!r}: {count_of(charts, 'chart')} left out, not the cells"
            )
        if pictures:
            self._writer.warn(f"sheet {title!r}: {count_of(pictures, 'picture')} left out")

    def _write(self, text: Text) -> None:
        if text.text:
            self._budget.characters -= len(text.text)
            self._writer.add("paragraph", text.text, text.markdown.replace("<br>", "\n"))


def _shapes(root: Element | None) -> Iterator[Element]:
    """In order, also of groups; of alternatives the first."""
    for element in [] if root is None else root:
        name = local(element)
        if name in ("sp", "graphicFrame", "pic"):
            yield element
        elif name != "Fallback":
            yield from _shapes(element)


def _notes(root: Element | None) -> Iterator[tuple[str, Text]]:
    """Reference of a cell, text."""
    for note in children(root, "threadedComment") + children(root, "commentList", "comment"):
        text = child(note, "text")
        if text is not None:
            read = read_text(text) if len(text) else plain_text(text.text or "")
            yield note.get("ref", ""), read
