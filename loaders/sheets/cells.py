"""Texts, styles and values of a workbook's cells."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import IO, TypeVar

from loaders.document import MAX_CHARACTERS
from loaders.office.package import Element
from loaders.sheets.formats import BUILTIN, show_number, show_plain
from loaders.text.markdown import (
    Span,
    clean,
    escape,
    is_exponent,
    spans_to_markdown,
    spans_to_text,
)

Item = TypeVar("Item")
_MAX_OPEN = 200_000
"""Tags between the ends of two rows. A row has at most 16,384 cells of some ten tags."""
_ESCAPE = re.compile("_x([0-9A-Fa-f]{4})_")
MAX_STRINGS = 500_000
"""Shared texts. Programs number them in the order of the cells."""


@dataclass(frozen=True)
class Text:
    text: str
    markdown: str


@dataclass(frozen=True, kw_only=True)
class Style:
    """How cells look."""

    code: str = ""
    """Of the number format."""
    bold: bool = False
    strike: bool = False
    shade: str = ""


@dataclass
class Styles:
    """By the number that a cell gives."""

    of_cells: Sequence[Style] = ()
    since_1904: bool = False

    def __getitem__(self, index: str) -> Style:
        number = int(index) if index.isdecimal() else 0
        return self.of_cells[number] if number < len(self.of_cells) else Style()


def local(element: Element) -> str:
    """Its name without the namespace, of which there are two, strict and transitional."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def relation_id(element: Element) -> str:
    return next((value for name, value in element.items() if name.endswith("}id")), "")


def children(element: Element | None, *path: str) -> list[Element]:
    result = [] if element is None else [element]
    for name in path:
        result = [child for one in result for child in one if local(child) == name]
    return result


def child(element: Element | None, name: str) -> Element | None:
    return next(iter(children(element, name)), None)


def read_styles(root: Element | None, *, since_1904: bool) -> Styles:
    codes = {
        each.get("numFmtId", ""): each.get("formatCode", "")
        for each in children(root, "numFmts", "numFmt")
    }
    codes = {str(number): code for number, code in BUILTIN.items()} | codes
    fonts = [
        {local(mark) for mark in font if _is_on(mark)} for font in children(root, "fonts", "font")
    ]
    shades = [_shade(fill) for fill in children(root, "fills", "fill")]
    cells = []
    for each in children(root, "cellXfs", "xf"):
        font = _at(fonts, each.get("fontId"), set[str]())
        cells.append(
            Style(
                code=codes.get(each.get("numFmtId", ""), ""),
                bold="b" in font,
                strike="strike" in font,
                shade=_at(shades, each.get("fillId"), ""),
            )
        )
    return Styles(cells, since_1904)


def _at(items: Sequence[Item], index: str | None, default: Item) -> Item:
    number = int(index) if index and index.isdecimal() else len(items)
    return items[number] if number < len(items) else default


def _is_on(mark: Element) -> bool:
    return mark.get("val", "1") not in ("0", "false")


def _shade(fill: Element) -> str:
    """A color as the file names it; empty for none and white."""
    pattern = child(fill, "patternFill")
    if pattern is None or pattern.get("patternType", "none") in ("none", "gray125"):
        return ""
    color = child(pattern, "fgColor")
    named = "" if color is None else "".join(f"{k}={v} " for k, v in sorted(color.items()))
    return "" if named in ("", "rgb=FFFFFFFF ", "indexed=9 ", "theme=0 ") else named


def read_text(item: Element) -> Text:
    """Of a text with or without runs (`si`, `is`, a comment's `text`). Reading aids of Japanese
    are left out."""
    if len(item) == 1 and local(item[0]) == "t":
        return plain_text(decoded(item[0].text))
    spans: list[Span] = []
    for part in item:
        name = local(part)
        if name == "t":
            spans.append(Span(text=decoded(part.text)))
        elif name == "r":
            text = decoded("".join(each.text or "" for each in children(part, "t")))
            looks = children(part, "rPr", "vertAlign")
            is_raised = any(look.get("val") == "superscript" for look in looks)
            if is_raised and spans and is_exponent(text, spans[-1].text):
                text = f"^{text}"
            marks = {local(mark) for mark in children(part, "rPr") for mark in mark if _is_on(mark)}
            spans.append(
                Span(
                    text=text,
                    bold="b" in marks,
                    italic="i" in marks,
                    strike="strike" in marks,
                )
            )
    return to_text(spans)


def decoded(text: str | None) -> str:
    """Without `_x000D_` for what XML can't hold."""
    return clean(_ESCAPE.sub(lambda match: chr(int(match[1], 16)), text or ""))


def plain_text(text: str) -> Text:
    text = "\n".join(line.strip() for line in text.strip().split("\n"))
    return Text(text, escape(text).replace("\n", "<br>"))


def to_text(spans: Sequence[Span]) -> Text:
    text = "\n".join(line.strip() for line in spans_to_text(spans).strip().split("\n"))
    markdown = spans_to_markdown(spans).strip()
    return Text(text, "<br>".join(line.strip() for line in markdown.split("\n")))


@dataclass
class Strings:
    """The texts that cells refer to by number, as far as MAX_CHARACTERS go."""

    texts: list[Text] = field(default_factory=list)
    is_whole: bool = True

    @classmethod
    def read(cls, source: IO[bytes]) -> Strings:
        strings, size = cls(), 0
        for item in stream(source, "si"):
            if size > MAX_CHARACTERS or len(strings.texts) == MAX_STRINGS:
                strings.is_whole = False
                break
            text = read_text(item)
            size += len(text.text)
            strings.texts.append(text)
        return strings

    def __getitem__(self, index: str) -> Text | None:
        number = int(index) if index.isdecimal() else len(self.texts)
        return self.texts[number] if number < len(self.texts) else None


class _Guard:
    """Refuses a file whose elements don't end: each would be held in memory."""

    def __init__(self, source: IO[bytes]) -> None:
        self._source = source
        self._open = 0

    def read(self, size: int) -> bytes:
        piece = self._source.read(size)
        end = max(piece.rfind(b"</row"), piece.rfind(b"</si"))
        self._open = piece.count(b"<", max(end, 0)) + (self._open if end < 0 else 0)
        if self._open > _MAX_OPEN:
            raise ValueError("an element with too many others inside")
        return piece


def stream(source: IO[bytes], *names: str) -> Iterator[Element]:
    """Elements of these names as they end, freed behind the reader. Raises XMLSyntaxError."""
    from lxml import etree

    events = etree.iterparse(
        _Guard(source),
        tag=[f"{{*}}{name}" for name in names], resolve_entities=False, no_network=True,
        remove_comments=True, remove_pis=True,
    )  # fmt: skip
    for _, element in events:
        yield element
        element.clear(keep_tail=False)
        while element.getprevious() is not None:
            del element.getparent()[0]


def show_value(kind: str, raw: str, style: Style, *, since_1904: bool) -> str:
    """A cell's value as a spreadsheet shows it. `kind`: the `t` of a cell without shared text."""
    if kind == "b":
        return "TRUE" if raw == "1" else "FALSE"
    if kind == "d":
        return _show_date(raw)
    if kind in ("str", "e"):
        return decoded(raw)
    try:
        number = float(raw)
    except ValueError:
        return clean(raw)
    whole = raw.lstrip("-")
    if not style.code and whole.isdecimal():
        return raw  # an account's number has more digits than a float
    if number != number or number in (float("inf"), float("-inf")):
        return raw
    try:
        return show_number(number, style.code, since_1904=since_1904)
    except (ArithmeticError, ValueError, LookupError):
        return show_plain(number)


def _show_date(raw: str) -> str:
    try:
        moment = datetime.fromisoformat(raw)
    except ValueError:
        return clean(raw)
    return moment.date().isoformat() if len(raw) <= 10 else f"{moment:%Y-%m-%d %H:%M:%S}"
