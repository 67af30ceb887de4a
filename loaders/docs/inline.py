"""Paragraph elements of Google Docs → spans, pictures and rules; numbers of list items."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from config.errors import LoadError
from loaders.docs.node import Node
from loaders.document import MAX_CHARACTERS, Image
from loaders.text.markdown import Span, clean, escape, is_exponent, is_monospace
from loaders.text.plain import number

EQUATION = "[equation]"
BREAK = "\n"
"""A page or column break."""
_POSITION_KEYS = frozenset(("startIndex", "endIndex"))


@dataclass(frozen=True)
class Rule:
    """A horizontal line inside a paragraph."""


Piece = Span | Image | Rule


@dataclass
class Elements:
    """Reads the elements of paragraphs in one tab."""

    document: str
    link_to: Callable[[str, str], str]
    """(tab id, fragment such as `heading=h.x`) → URL; an empty tab id means this tab."""
    inline_objects: Mapping[str, Node]
    positioned_objects: Mapping[str, Node]
    dropdowns: Mapping[str, Node]
    footnote: Callable[[Node], str]
    """Stores the footnote of a reference and returns its label; '' when there is none."""
    characters: int = 0

    def pieces(self, paragraph: Node) -> list[Piece]:
        """Pieces in reading order, without the newline that ends every paragraph."""
        pieces: list[Piece] = []
        end: int | None = None
        for element in paragraph.children("elements"):
            end = self._check_gap(element, end)
            pieces += self._piece(element, pieces)
        ids = paragraph.value.get("positionedObjectIds")
        for name in ids if isinstance(ids, list) else ():
            pieces.append(self._image(paragraph, name, self.positioned_objects))
        for place, piece in reversed(list(enumerate(pieces))):
            if isinstance(piece, Span):
                if piece.markdown is None and piece.text.endswith("\n"):
                    pieces[place] = replace(piece, text=piece.text[:-1])
                break
        return pieces

    def _check_gap(self, element: Node, end: int | None) -> int | None:
        start = element.number("startIndex", -1)
        if end is not None and start > end:
            element.warn(f"before {element.place}: characters {end} to {start} are missing")
        return element.number("endIndex", 0) or None

    def _piece(self, element: Node, before: list[Piece]) -> Iterator[Piece]:
        for kind, reader in _READERS.items():
            if not element.has(kind):
                continue
            node = element.child(kind)
            if node is None or node.suggested():
                return
            piece = reader(self, node)
            if isinstance(piece, Span) and _is_exponent(node, piece, before):
                piece = replace(piece, text="^" + piece.text)
            if piece is not None:
                yield piece
            return
        unknown = [k for k, v in element.value.items() if v is not None and k not in _POSITION_KEYS]
        element.skipped(f"unknown element {', '.join(unknown)}" if unknown else "an empty element")

    def _text(self, run: Node) -> Span | None:
        if not isinstance(run.value.get("content"), str):
            run.skipped("a text run without text")
            return None
        text = clean(run.text("content"))
        self.characters += len(text)
        if self.characters > MAX_CHARACTERS:
            raise LoadError(self.document, f"it has more than {MAX_CHARACTERS:,} characters")
        style = run.child("textStyle")
        return self._styled(text, style) if text else None

    def _styled(self, text: str, style: Node | None, link: str = "") -> Span:
        if style is None:
            return Span(text=text, link=link)
        font = style.child("weightedFontFamily")
        return Span(
            text=text,
            bold=style.flag("bold"),
            italic=style.flag("italic"),
            strike=style.flag("strikethrough"),
            code=font is not None and is_monospace(font.text("fontFamily")),
            link=link or self._link(style),
        )

    def _link(self, style: Node) -> str:
        link = style.child("link")
        if link is None:
            return ""
        if link.has("url"):
            return link.text("url")
        for kind in ("heading", "bookmark"):
            target = link.child(kind)
            name = target.text("id") if target else link.text(f"{kind}Id")
            if name:
                tab = (target.text("tabId") if target else "") or link.text("tabId")
                return self.link_to(tab, f"{kind}={name}")
        return self.link_to(link.text("tabId"), "") if link.has("tabId") else ""

    def _person(self, chip: Node) -> Span | None:
        properties = chip.section("personProperties")
        name, email = clean(properties.text("name")), clean(properties.text("email"))
        link = f"mailto:{email}" if email else ""
        return self._chip(chip, name or email, link, empty="a person without name and e-mail")

    def _date(self, chip: Node) -> Span | None:
        properties = chip.section("dateElementProperties")
        text = properties.text("displayText") or properties.text("timestamp")[:10]
        return self._chip(chip, text, empty="a date without text")

    def _rich_link(self, chip: Node) -> Span | None:
        properties = chip.section("richLinkProperties")
        uri, title = clean(properties.text("uri")), clean(properties.text("title"))
        return self._chip(chip, title or uri, uri, empty="a link chip without title and address")

    def _dropdown(self, chip: Node) -> Span | None:
        properties = chip.section("dropdownProperties")
        text = properties.text("displayValue") or self._option(properties)
        return self._chip(chip, text, empty="a dropdown without a value")

    def _option(self, properties: Node) -> str:
        definition = self.dropdowns.get(properties.text("dropdownDefinitionId"))
        details = definition.child("dropdownDefinitionProperties") if definition else None
        selected = properties.text("selectedOptionId")
        for option in details.children("options") if details else ():
            if option.text("optionId") == selected:
                return option.text("displayValue")
        return ""

    def _chip(self, chip: Node, text: str, link: str = "", *, empty: str) -> Span | None:
        """`empty`: what is skipped when there is no text."""
        if not text:
            chip.skipped(empty)
            return None
        return self._styled(" ".join(clean(text).split()), chip.child("textStyle"), link)

    def _footnote(self, reference: Node) -> Span | None:
        label = self.footnote(reference)
        return Span(text="", markdown=f"[^{label}]") if label else None

    def _image(self, place: Node, name: object, objects: Mapping[str, Node]) -> Image:
        entry = objects.get(name) if isinstance(name, str) else None
        if entry is None:
            place.warn(f"{place.place}: its picture {name!r} is not in the document")
            return Image(object_id=name if isinstance(name, str) else "")
        properties = entry.child("inlineObjectProperties") or entry.child(
            "positionedObjectProperties"
        )
        embedded = properties.child("embeddedObject") if properties else None
        if embedded is None:
            entry.skipped("an object without content")
            return Image(object_id=str(name))
        return Image(
            alt=clean(embedded.text("description")).strip(),
            title=clean(embedded.text("title")).strip(),
            uri=_picture_uri(embedded),
            object_id=str(name),
        )


def image_markdown(image: Image) -> str:
    """Image markdown without the address, which expires after 30 minutes.

    An address in the text would change the content hash."""
    name = escape(" ".join((image.alt or image.title).split()))
    return f"![{name}](image:{image.object_id})"


def _picture_uri(embedded: Node) -> str:
    picture = embedded.child("imageProperties")
    uri = (picture.text("contentUri") or picture.text("sourceUri")) if picture else ""
    chart = embedded.at("linkedContentReference", "sheetsChartReference")
    if not uri and chart and chart.has("spreadsheetId"):
        uri = f"https://docs.google.com/spreadsheets/d/{chart.text('spreadsheetId')}"
    return uri


def _is_exponent(node: Node, span: Span, before: list[Piece]) -> bool:
    """Whether the span is a superscript after a digit: 10 with a raised 6 is 10^6, not 106."""
    style = node.child("textStyle")
    last = before[-1] if before else None
    return (
        style is not None
        and style.text("baselineOffset") == "SUPERSCRIPT"
        and isinstance(last, Span)
        and is_exponent(span.text, last.text)
    )


_READERS: Mapping[str, Callable[[Elements, Node], Piece | None]] = {
    "textRun": Elements._text,
    "person": Elements._person,
    "dateElement": Elements._date,
    "richLink": Elements._rich_link,
    "dropdown": Elements._dropdown,
    "footnoteReference": Elements._footnote,
    "inlineObjectElement": lambda self, node: self._image(
        node, node.value.get("inlineObjectId"), self.inline_objects
    ),
    "equation": lambda _, node: Span(text=EQUATION, markdown=EQUATION),
    "horizontalRule": lambda _, node: Rule(),
    "autoText": lambda _, node: None,  # page numbers
    "pageBreak": lambda _, node: Span(text=BREAK),
    "columnBreak": lambda _, node: Span(text=BREAK),
}


MAX_LEVEL = 8
"""Google Docs has nine levels, 0 to 8."""
_KINDS = {
    "DECIMAL": "1", "ZERO_DECIMAL": "01", "UPPER_ALPHA": "A", "ALPHA": "a",
    "UPPER_ROMAN": "I", "ROMAN": "i",
}  # fmt: skip
_PLACEHOLDER = re.compile(r"%(\d)")


@dataclass
class ListNumbers:
    """Counts the items of each list. A list continues after other content, as in Docs."""

    lists: Mapping[str, Node]
    _counts: dict[str, dict[int, int]] = field(default_factory=dict)
    _levels: dict[str, list[Node]] = field(default_factory=dict)

    def next(self, bullet: Node) -> tuple[str, int]:
        """(marker, nesting level) of the next item: `-`, or its number, e.g. `2.` or `b)`."""
        level = bullet.number("nestingLevel", 0)
        if not 0 <= level <= MAX_LEVEL:
            bullet.warn(f"{bullet.place}.nestingLevel: {level} is not between 0 and {MAX_LEVEL}")
            level = min(max(level, 0), MAX_LEVEL)
        name = bullet.text("listId")
        if name not in self.lists:
            bullet.warn(f"{bullet.place}: its list {name!r} is not in the document")
            return "-", level
        counts = self._counts.setdefault(name, {})
        for deeper in range(level + 1, MAX_LEVEL + 1):
            counts.pop(deeper, None)
        counts[level] = counts[level] + 1 if level in counts else self._start(name, level)
        return self._marker(name, level, counts), level

    def _marker(self, name: str, level: int, counts: Mapping[int, int]) -> str:
        node = self._level(name, level)
        kind = _KINDS.get(node.text("glyphType")) if node else None
        if node is None or kind is None:
            return "-"

        def replacement(match: re.Match[str]) -> str:
            other = int(match[1])
            return self._number(name, other, counts.get(other, self._start(name, other)))

        marker = _PLACEHOLDER.sub(replacement, node.text("glyphFormat") or f"%{level}.").strip()
        return marker if any(letter.isalnum() for letter in marker) else "-"

    def _number(self, name: str, level: int, value: int) -> str:
        node = self._level(name, level)
        kind = _KINDS.get(node.text("glyphType"), "") if node else ""
        if not kind:
            return ""
        return f"{value:02d}" if kind == "01" else number(value, kind)

    def _start(self, name: str, level: int) -> int:
        node = self._level(name, level)
        return node.number("startNumber", 1) if node else 1

    def _level(self, name: str, level: int) -> Node | None:
        if name not in self._levels:
            properties = self.lists[name].section("listProperties")
            self._levels[name] = list(properties.children("nestingLevels"))
        levels = self._levels[name]
        return levels[level] if level < len(levels) else None
