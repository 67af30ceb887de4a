"""Pictures, text boxes and diagrams of a Word file, in DrawingML and in VML."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from config.errors import LoadError
from loaders.document import Image
from loaders.text.markdown import clean, escape
from loaders.word.package import (
    DIAGRAM,
    MC,
    WP,
    A,
    Element,
    M,
    O,
    Part,
    R,
    V,
    W,
)  # fmt: skip

_NO_PICTURE = "a picture is missing in the file"
_READABLE = (
    f"{W}t", f"{W}txbxContent", f"{A}blip", f"{V}imagedata", f"{M}t", f"{DIAGRAM}relIds",
)  # fmt: skip


@dataclass(frozen=True)
class Box:
    """A text box. It floats beside its paragraph."""

    content: Element


@dataclass(frozen=True)
class Lines:
    """Text of a drawing, e.g. of a diagram or a watermark."""

    texts: tuple[str, ...]


Drawing = Image | Box | Lines


@dataclass
class Budget:
    """Counts what is written: a link or a number's words are stored once and used often."""

    document: str
    limit: int
    """Characters."""
    size: int = 0

    def spend(self, *texts: str) -> None:
        self.size += sum(map(len, texts))
        if self.size > self.limit:
            reason = f"it becomes more than the {self.limit:,} characters that are read"
            raise LoadError(self.document, reason, remedy="split it into smaller documents")


@dataclass
class Drawings:
    """Reads the drawings of one part."""

    part: Part
    budget: Budget
    uri_of: Callable[[str], str | None]
    """Path of a picture's part → URI; None when there is no such part."""
    warn: Callable[[str], None]
    _diagrams: set[str] = field(default_factory=set)

    def picture(self, element: Element) -> Iterator[Drawing]:
        """DrawingML's `a:blip` and VML's `v:imagedata`."""
        alt = _alternative_text(element)
        self.budget.spend(alt)
        names = ("embed", "id", "pict", "link", "href")
        relations = (self.part.relations.get(element.get(R + name, "")) for name in names)
        relation = next((one for one in relations if one), None)
        if relation is None or relation.external:
            address = relation.target if relation else ""
            self.warn("a picture is linked to and not in the file" if address else _NO_PICTURE)
            web = address.lower().startswith(("http://", "https://"))
            yield Image(alt=alt, uri=address if web else "")
            return
        uri = self.uri_of(relation.target)
        if uri is None:
            self.warn(_NO_PICTURE)
        yield Image(alt=alt, uri=uri or "")

    def box(self, element: Element) -> Iterator[Drawing]:
        yield Box(element)

    def diagram(self, element: Element) -> Iterator[Drawing]:
        """Once, however often it is referenced: in Word each has a part of its own."""
        name = element.get(f"{R}dm", "")
        if name in self._diagrams:
            return
        self._diagrams.add(name)
        if (part := self.part.by_id(name)) is None:
            self.warn("a diagram was not read")
            return
        yield self._lines(_drawn_text(one) for one in part.root.iter(f"{A}p"))

    def drawn(self, element: Element) -> Iterator[Drawing]:
        yield self._lines([_drawn_text(element)])

    def word_art(self, element: Element) -> Iterator[Drawing]:
        yield self._lines([element.get("string", "")])

    def _lines(self, texts: Iterable[str]) -> Lines:
        lines = tuple(line for text in texts if (line := " ".join(clean(text).split())))
        self.budget.spend(*lines)
        return Lines(lines)

    def chart(self, _: Element) -> Iterable[Drawing]:
        self.warn("a chart was not read")
        return ()


def alternative(element: Element) -> Element | None:
    """The first variant of an `mc:AlternateContent` that holds something readable, so that it is
    read once."""
    variants = [*element.iterchildren(f"{MC}Choice"), *element.iterchildren(f"{MC}Fallback")]
    readable = (one for one in variants if next(one.iter(*_READABLE), None) is not None)
    return next(readable, variants[0] if variants else None)


def picture_markdown(image: Image) -> str:
    """Without the address, which is the picture itself."""
    return f"![{escape(image.alt)}]()"


def _drawn_text(paragraph: Element) -> str:
    return "".join(one.text or "" for one in paragraph.iter(f"{A}t"))


def _alternative_text(element: Element) -> str:
    """The picture's own, or that of the drawing around it."""
    for holder in element.iterancestors():
        if holder.tag in (f"{W}r", f"{W}p"):
            break
        if holder.tag == f"{V}shape" and (text := holder.get("alt", "").strip()):
            return clean(text)
        if holder.tag in (f"{WP}inline", f"{WP}anchor"):
            about = holder.find(f"{WP}docPr")
            texts = [] if about is None else [about.get("descr", ""), about.get("title", "")]
            return next((clean(text).strip() for text in texts if text.strip()), "")
    return clean(element.get(f"{O}title", "")).strip()
