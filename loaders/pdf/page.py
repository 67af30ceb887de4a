"""A PDF page → its words and ruling lines, in the frame in which most of its text reads upright.

PDFium is not thread-safe: whoever calls this module holds `PDFIUM`. PDFium's objects are plain
handles here, because a helper object would call PDFium whenever and wherever it is collected."""

from __future__ import annotations

import math
import threading
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from loaders.pdf.form import Widget
from loaders.pdf.letters import TYPED, Letters, read_letters
from loaders.pdf.rules import Rules, read_rules

PDFIUM = threading.RLock()
"""Held by a thread from a document's opening to its closing."""
_WORD_GAP = 0.28
"""Ems between two words without a space character between them. Kerned letters stay below 0.15."""
_GUESSED_GAP = 0.14
"""Ems between two words where PDFium infers a space."""
_MAX_OBJECTS, _MAX_LETTERS = 300_000, 1_000_000


@dataclass(slots=True)
class Word:
    """A word, or a line of turned text, with its box. Points, from the top left corner."""

    text: str
    x0: float
    x1: float
    top: float
    bottom: float
    base: float
    """The baseline's distance from the top."""
    size: float
    bold: bool = False
    mono: bool = False
    turned: bool = False
    """Reads in another direction than most of the page."""


@dataclass
class Page:
    words: list[Word]
    rules: Rules
    width: float
    height: float
    unmapped: int
    """Characters whose font doesn't say what they mean."""


def read_page(handle: Any, widgets: list[Widget]) -> Page | None:
    """`handle`: an open FPDF_PAGE. Values of form fields are words at their place. None when the
    page has more content than any page that people read."""
    import pypdfium2.raw as pdfium

    if pdfium.FPDFPage_CountObjects(handle) > _MAX_OBJECTS:
        return None
    text_page = pdfium.FPDFText_LoadPage(handle)
    try:
        if text_page and pdfium.FPDFText_CountChars(text_page) > _MAX_LETTERS:
            return None
        letters, unmapped = read_letters(pdfium, text_page) if text_page else ([], 0)
    finally:
        pdfium.FPDFText_ClosePage(text_page)
    angles = Counter[int]()
    for letter in letters:
        angles[letter.angle] += len(letter.text)
    main = angles.most_common(1)[0][0] if angles else 0
    frame = _Frame(pdfium, handle, main)
    words = [frame.word(run) for run in _runs(letters, main)]
    for angle in angles:
        if angle != main:
            words += _turned(letters, angle, frame)
    words += [frame.value(widget) for widget in widgets]
    rules = read_rules(handle, frame.point)
    return Page(words, rules, frame.width, frame.height, unmapped)


class _Frame:
    """Turns the page so that text of one direction reads from left to right, downwards."""

    def __init__(self, pdfium: Any, handle: Any, angle: int) -> None:
        radians = math.radians(angle)
        self._cos, self._sin = round(math.cos(radians), 9), round(math.sin(radians), 9)
        self.angle = angle
        bounds = pdfium.FS_RECTF()
        pdfium.FPDF_GetPageBoundingBox(handle, bounds)
        self._left = self._top = 0.0
        x0, y0, x1, y1 = self.box(bounds.left, bounds.bottom, bounds.right, bounds.top)
        self._left, self._top = x0, y0
        self.width, self.height = x1 - x0, y1 - y0

    def point(self, x: float, y: float) -> tuple[float, float]:
        return (
            x * self._cos + y * self._sin - self._left,
            x * self._sin - y * self._cos - self._top,
        )

    def box(self, x0: float, y0: float, x1: float, y1: float) -> tuple[float, float, float, float]:
        a, b = self.point(x0, y0), self.point(x1, y1)
        c, d = self.point(x0, y1), self.point(x1, y0)
        xs, ys = (a[0], b[0], c[0], d[0]), (a[1], b[1], c[1], d[1])
        return min(xs), min(ys), max(xs), max(ys)

    def word(self, run: list[Letters]) -> Word:
        first = run[0]
        boxes = [self.box(one.x0, one.bottom, one.x1, one.top) for one in run]
        size = first.style.size
        bottom = max(box[3] for box in boxes)
        base = bottom - first.style.drop
        return Word(
            text=unicodedata.normalize("NFC", _without_ligatures("".join(o.text for o in run))),
            x0=min(box[0] for box in boxes),
            x1=max(box[2] for box in boxes),
            top=base - 0.75 * size,
            bottom=base + 0.22 * size,
            base=base,
            size=size,
            bold=first.style.bold,
            mono=first.style.mono,
        )

    def value(self, widget: Widget) -> Word:
        x0, top, x1, bottom = self.box(widget.x0, widget.bottom, widget.x1, widget.top)
        size = min(bottom - top, 10.0)
        base = (top + bottom) / 2 + 0.3 * size
        return Word(widget.text, x0, x1, base - 0.75 * size, base + 0.22 * size, base, size)


def _without_ligatures(text: str) -> str:
    return "".join(
        unicodedata.normalize("NFKC", sign) if "\ufb00" <= sign <= "\ufb06" else sign
        for sign in text
    )


def _runs(letters: list[Letters], angle: int) -> Iterator[list[Letters]]:
    """Letters of one direction, word by word."""
    radians = math.radians(angle)
    cos, sin = math.cos(radians), math.sin(radians)
    run: list[Letters] = []
    space = 0
    for letter in letters:
        if letter.angle != angle:
            space = TYPED
            continue
        space = max(space, letter.space)
        if run and _parts(run[-1], letter, space, (cos, sin)):
            yield run
            run = []
        run.append(letter)
        space = 0
    if run:
        yield run


def _parts(last: Letters, letter: Letters, space: int, direction: tuple[float, float]) -> bool:
    """Whether a letter starts a new word."""
    size = max(last.style.size, letter.style.size)
    along, away = _step(last, letter, *direction)
    gap = _GUESSED_GAP if space else _WORD_GAP
    is_apart = not -1.2 * size < along < gap * size or abs(away) > 0.6 * size
    is_styled = last.style.bold != letter.style.bold and along > 0.1 * size
    is_raised = letter.style.size < 0.85 * last.style.size and away > 0.1 * size
    return space == TYPED or is_apart or is_styled or is_raised


def _step(last: Letters, letter: Letters, cos: float, sin: float) -> tuple[float, float]:
    """The gap between two letters along the writing direction, and the step across it."""
    half_last = (abs((last.x1 - last.x0) * cos) + abs((last.top - last.bottom) * sin)) / 2
    half = (abs((letter.x1 - letter.x0) * cos) + abs((letter.top - letter.bottom) * sin)) / 2
    dx = (letter.x0 + letter.x1 - last.x0 - last.x1) / 2
    dy = (letter.bottom + letter.top - last.bottom - last.top) / 2
    along = dx * cos + dy * sin
    if unicodedata.bidirectional(letter.text[0]) in ("R", "AL"):
        along = -along
    return along - half_last - half, dy * cos - dx * sin


def _turned(letters: list[Letters], angle: int, frame: _Frame) -> list[Word]:
    """Lines of text in another direction, each as one word with its box in the page's frame."""
    lines: list[list[list[Letters]]] = []
    radians = math.radians(angle)
    cos, sin = math.cos(radians), math.sin(radians)
    for run in _runs(letters, angle):
        size = run[0].style.size
        if lines:
            along, away = _step(lines[-1][-1][-1], run[0], cos, sin)
            if -0.3 * size < along < size and abs(away) < 0.4 * size:
                lines[-1].append(run)
                continue
        lines.append([run])
    words = []
    for line in lines:
        word = frame.word([letter for run in line for letter in run])
        text = " ".join(_without_ligatures("".join(one.text for one in run)) for run in line)
        boxes = [frame.box(o.x0, o.bottom, o.x1, o.top) for run in line for o in run]
        word.text, word.turned = text, True
        word.top, word.bottom = min(b[1] for b in boxes), max(b[3] for b in boxes)
        word.base = word.bottom
        words.append(word)
    return words
