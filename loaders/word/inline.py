"""Runs of a paragraph → spans, pictures and boxes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from loaders.text.markdown import Span, clean, is_exponent
from loaders.word.drawings import Drawing, Drawings, alternative
from loaders.word.equations import linear
from loaders.word.fields import Field, Fields, checkbox
from loaders.word.package import (
    CHART,
    DIAGRAM,
    MC,
    W14,
    A,
    Element,
    M,
    O,
    Part,
    R,
    V,
    W,
    child,
)  # fmt: skip
from loaders.word.styles import PLAIN, Look, ParagraphStyle, Styles
from loaders.word.symbols import symbol

EQUATION = "[equation]"
Piece = Span | Drawing


@dataclass
class Inline:
    """Reads the paragraphs of one part: the document, a header, the footnotes."""

    part: Part
    styles: Styles
    drawings: Drawings
    note: Callable[[str, str], str]
    """(`footnote` or `endnote`, id) → label; '' when there is no such note."""
    is_furniture: bool = False
    """A page header or footer."""
    bookmark: str = ""
    """The first one in the paragraph that was read last."""
    _style: ParagraphStyle = PLAIN
    _fields: Fields = field(default_factory=Fields)
    _link: str = ""
    _last: str = ""
    """The text of the span before."""

    def pieces(self, paragraph: Element, style: ParagraphStyle) -> list[Piece]:
        self._style, self.bookmark, self._last = style, "", ""
        pieces = list(self._children(paragraph, {}))
        self._fields.end_paragraph()
        return pieces

    def _children(self, element: Element, look: Look) -> Iterator[Piece]:
        for one in element:
            yield from self._piece(one, look)

    def _piece(self, element: Element, look: Look) -> Iterable[Piece]:
        """Elements that nobody here knows are read through: what they hold is not lost."""
        if element.tag in _SKIPPED:
            return ()
        reader = _READERS.get(element.tag)
        return reader(self, element, look) if reader else self._children(element, look)

    def _run(self, run: Element, _: Look) -> Iterator[Piece]:
        look = self.styles.text(self._style, child(run, "rPr"))
        if not look.get("hidden"):
            yield from self._children(run, look)
            return
        for one in run:
            if one.tag in (f"{W}fldChar", f"{W}instrText"):
                yield from self._piece(one, look)
            elif one.tag == f"{W}t" and (one.text or "").strip():
                self.drawings.warn("hidden text was left out")

    def _text(self, element: Element, look: Look) -> Iterator[Piece]:
        text = element.text or ""
        if any("\uf000" <= letter <= "\uf0ff" for letter in text):
            font = _font(element.getparent())
            text = "".join(symbol(font, letter) for letter in text)
        return self._span(text, look)

    def _span(self, text: str, look: Look) -> Iterator[Piece]:
        pages = self.is_furniture and self._fields.counts_pages
        text = clean(text.replace("\xad", ""))
        if not text or pages or self._fields.in_instruction:
            return
        if look.get("raised") and is_exponent(text, self._last):
            text = "^" + text
        self._last = text
        self._fields.show()
        link = self._link or self._fields.link
        self.drawings.budget.spend(text, link)
        yield Span(
            text=text,
            bold=look.get("bold", False),
            italic=look.get("italic", False),
            strike=look.get("strike", False) or look.get("double", False),
            code=look.get("code", False),
            link=link,
        )

    def _symbol(self, element: Element, look: Look) -> Iterator[Piece]:
        code = element.get(f"{W}char", "")
        if re.fullmatch(r"[0-9A-Fa-f]{1,5}", code):
            yield from self._span(symbol(element.get(f"{W}font", ""), chr(int(code, 16))), look)

    def _field_mark(self, element: Element, look: Look) -> Iterator[Piece]:
        return self._span(self._fields.mark(element), look)

    def _instruction(self, element: Element, _: Look) -> Iterable[Piece]:
        self._fields.instruct(element.text or "")
        return ()

    def _simple_field(self, element: Element, look: Look) -> Iterator[Piece]:
        self._fields.begin(Field([element.get(f"{W}instr", "")], has_result=True))
        yield from self._children(element, look)
        if self._fields.stack:
            self._fields.stack.pop()

    def _hyperlink(self, element: Element, look: Look) -> Iterator[Piece]:
        relation = self.part.relations.get(element.get(f"{R}id", ""))
        anchor = element.get(f"{W}anchor", "")
        link = (relation.target if relation else "") + (f"#{anchor}" if anchor else "")
        with self._linked(link or self._link):
            yield from self._children(element, look)

    @contextmanager
    def _linked(self, link: str) -> Iterator[None]:
        outer, self._link = self._link, link
        yield
        self._link = outer

    def _bookmark(self, element: Element, _: Look) -> Iterable[Piece]:
        name = element.get(f"{W}name", "")
        if not self.bookmark and name != "_GoBack":
            self.bookmark = name
        return ()

    def _note(self, element: Element, _: Look) -> Iterator[Piece]:
        kind = element.tag[len(W) :].removesuffix("Reference")
        if label := self.note(kind, element.get(f"{W}id", "")):
            yield Span(text="", markdown=f"[^{label}]")

    def _control(self, element: Element, look: Look) -> Iterator[Piece]:
        """A content control, with the chosen value where no text shows it."""
        properties = child(element, "sdtPr")
        box = None if properties is None else properties.find(f"{W14}checkbox")
        if box is not None:
            state = box.find(f"{W14}checked")
            on = state is not None and state.get(f"{W14}val") in ("1", "true", "on")
            yield from self._span(checkbox(on), look)
            return
        content = child(element, "sdtContent")
        pieces = [] if content is None else list(self._children(content, look))
        yield from pieces or self._span(_chosen(properties), look)

    def _nested(self, element: Element, look: Look) -> Iterator[Piece]:
        """A paragraph in a paragraph, which is invalid but written by templates."""
        yield from self._span("\n", look)
        yield from self._children(element, look)
        yield from self._span("\n", look)

    def _ruby(self, element: Element, look: Look) -> Iterator[Piece]:
        for name, before, behind in (("rubyBase", "", ""), ("rt", "(", ")")):
            if (part := child(element, name)) is not None:
                yield from self._span(before, look)
                yield from self._children(part, look)
                yield from self._span(behind, look)

    def _equation(self, element: Element, look: Look) -> Iterator[Piece]:
        return self._span(" ".join(linear(element).split()) or EQUATION, look)

    def _equations(self, element: Element, look: Look) -> Iterator[Piece]:
        for at, one in enumerate(element.iterchildren(f"{M}oMath")):
            yield from self._span("\n" if at else "", look)
            yield from self._equation(one, look)

    def _alternatives(self, element: Element, look: Look) -> Iterator[Piece]:
        chosen = alternative(element)
        if chosen is not None:
            yield from self._children(chosen, look)

    def _object(self, element: Element, look: Look) -> Iterator[Piece]:
        embedded = element.find(f".//{O}OLEObject")
        if embedded is not None and embedded.get("ProgID", "").startswith("Equation"):
            yield from self._span(EQUATION, look)
            return
        if embedded is not None:
            self.drawings.warn("an embedded object was not read")
        yield from self._children(element, look)

    def _comment(self, _: Element, __: Look) -> Iterable[Piece]:
        self.drawings.warn("comments were left out")
        return ()


_Reader = Callable[[Inline, Element, Look], Iterable[Piece]]


def _sign(text: str) -> _Reader:
    return lambda inline, _, look: inline._span(text, look)


def _drawing(read: Callable[[Drawings, Element], Iterable[Drawing]]) -> _Reader:
    return lambda inline, element, _: read(inline.drawings, element)


_SKIPPED = frozenset(
    W + name
    for name in (
        "pPr", "rPr", "sdtPr", "sdtEndPr", "smartTagPr", "customXmlPr", "del", "moveFrom",
        "delText", "delInstrText", "softHyphen", "pgNum", "fldData", "footnoteRef", "endnoteRef",
        "annotationRef", "separator", "continuationSeparator", "proofErr",
    )
)  # fmt: skip
_READERS: Mapping[str, _Reader] = {
    f"{W}p": Inline._nested,
    f"{W}r": Inline._run,
    f"{W}t": Inline._text,
    f"{W}tab": _sign("\t"),
    f"{W}ptab": _sign("\t"),
    f"{W}br": _sign("\n"),
    f"{W}cr": _sign("\n"),
    f"{W}noBreakHyphen": _sign("-"),
    f"{W}sym": Inline._symbol,
    f"{W}fldChar": Inline._field_mark,
    f"{W}instrText": Inline._instruction,
    f"{W}fldSimple": Inline._simple_field,
    f"{W}hyperlink": Inline._hyperlink,
    f"{W}bookmarkStart": Inline._bookmark,
    f"{W}footnoteReference": Inline._note,
    f"{W}endnoteReference": Inline._note,
    f"{W}commentReference": Inline._comment,
    f"{W}sdt": Inline._control,
    f"{W}ruby": Inline._ruby,
    f"{W}object": Inline._object,
    f"{W}txbxContent": _drawing(Drawings.box),
    f"{M}oMath": Inline._equation,
    f"{M}oMathPara": Inline._equations,
    f"{MC}AlternateContent": Inline._alternatives,
    f"{A}blip": _drawing(Drawings.picture),
    f"{V}imagedata": _drawing(Drawings.picture),
    f"{V}textpath": _drawing(Drawings.word_art),
    f"{A}p": _drawing(Drawings.drawn),
    f"{DIAGRAM}relIds": _drawing(Drawings.diagram),
    f"{CHART}chart": _drawing(Drawings.chart),
}


def _font(run: Element) -> str:
    fonts = child(run, "rPr/rFonts")
    return "" if fonts is None else fonts.get(f"{W}ascii") or fonts.get(f"{W}hAnsi") or ""


def _chosen(properties: Element | None) -> str:
    """What is chosen in a list, or a date."""
    for name in ("dropDownList", "comboBox"):
        options = child(properties, name)
        last = "" if options is None else options.get(f"{W}lastValue", "")
        for one in () if options is None else options.iterchildren(f"{W}listItem"):
            if last and one.get(f"{W}value") == last:
                return one.get(f"{W}displayText") or last
        if last:
            return last
    date = child(properties, "date")
    return "" if date is None else date.get(f"{W}fullDate", "")[:10]
