"""Letters of a PDF page, in the order of the file, with their boxes and fonts."""

from __future__ import annotations

import ctypes
import math
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from loaders.text.markdown import is_monospace

TYPED, GUESSED = 2, 1
"""A space character in the file; one that PDFium infers, also between letters set apart."""
_BOLD = re.compile(r"bold|black|heavy|demi(?!c)", re.IGNORECASE)
_FIXED_PITCH, _FORCE_BOLD = 1, 1 << 18
_HYPHENS = frozenset((0x02, 0xFFFE))
"""PDFium's codes for a hyphen at a line's end."""
_SPACES = frozenset((0xA0, 0x1680, *range(0x2000, 0x200C), 0x2028, 0x2029, 0x202F, 0x3000, 0xFFFE))
_PRIVATE = re.compile("[\ue000-\uf8ff\ufffd]")
_VERTICAL = re.compile("[\u3000-\u30ff\u3400-\u9fff\uac00-\ud7af\uff00-\uffef]")
"""Scripts that are also written from top to bottom."""


@dataclass(slots=True)
class _Style:
    """What the characters of one text object have in common."""

    size: float
    angle: int
    """Degrees of the writing direction, counterclockwise."""
    bold: bool
    mono: bool
    drop: float
    """From a character's loose bottom up to its baseline."""


@dataclass(slots=True)
class Letters:
    """Letters of one text object without a space between them."""

    text: str
    x0: float
    bottom: float
    x1: float
    top: float
    style: _Style
    angle: int
    space: int
    """What parts it from the letter before: TYPED, GUESSED or nothing."""


def read_letters(pdfium: Any, text_page: Any) -> tuple[list[Letters], int]:
    """Letters of a page in the order of the file, and how many of them mean nothing known."""
    unicode_of = _fast(pdfium.FPDFText_GetUnicode, ctypes.c_uint)
    target_of = _fast(pdfium.FPDFText_GetTextObject, ctypes.c_void_p)
    handle = ctypes.cast(text_page, ctypes.c_void_p).value
    runs: list[tuple[int, list[str], int, int, int]] = []
    """Text object, signs, first and last index, and what parts them from those before."""
    high, last, space = 0, -1, TYPED
    for i in range(pdfium.FPDFText_CountChars(text_page)):
        code = unicode_of(handle, i)
        if code <= 0x20 or code in _SPACES:
            if code not in _HYPHENS:
                is_typed = code == 0x20 and pdfium.FPDFText_IsGenerated(text_page, i) != 1
                space = TYPED if is_typed or space == TYPED else GUESSED
                continue
            code = 0x2D
        if 0xD800 <= code < 0xDC00:
            high = code
            continue
        if high and 0xDC00 <= code < 0xE000:
            code = 0x10000 + ((high - 0xD800) << 10) + code - 0xDC00
        high = 0
        target = target_of(handle, i) or 0
        if space or target != last or not runs:
            runs.append((target, [chr(code)], i, i, space))
        else:
            key, signs, start, _, before = runs[-1]
            signs.append(chr(code))
            runs[-1] = (key, signs, start, i, before)
        last, space = target, 0
    return _measured(pdfium, text_page, runs)


def _measured(
    pdfium: Any, text_page: Any, runs: list[tuple[int, list[str], int, int, int]]
) -> tuple[list[Letters], int]:
    styles: dict[int, _Style] = {}
    letters: list[Letters] = []
    first, last = pdfium.FS_RECTF(), pdfium.FS_RECTF()
    unmapped = 0
    for key, signs, start, end, space in runs:
        pdfium.FPDFText_GetLooseCharBox(text_page, start, first)
        pdfium.FPDFText_GetLooseCharBox(text_page, end, last)
        style = styles.get(key)
        if style is None:
            style = styles[key] = _style(pdfium, text_page, start, first)
        text = "".join(signs)
        if _PRIVATE.search(text) or pdfium.FPDFText_HasUnicodeMapError(text_page, start) == 1:
            unmapped += len(text)
        letters.append(
            Letters(
                text,
                min(first.left, last.left),
                min(first.bottom, last.bottom),
                max(first.right, last.right),
                max(first.top, last.top),
                style,
                style.angle,
                space,
            )
        )
    _mark_vertical(letters)
    return letters, unmapped


def _fast(function: Any, result: Any) -> Any:
    """A function of PDFium whose calls convert no pointers: there is one for each letter."""
    address = ctypes.cast(function, ctypes.c_void_p).value or 0
    return ctypes.CFUNCTYPE(result, ctypes.c_void_p, ctypes.c_int)(address)


def _style(pdfium: Any, text_page: Any, i: int, box: Any) -> _Style:
    matrix = pdfium.FS_MATRIX(1, 0, 0, 1, 0, 0)
    pdfium.FPDFText_GetMatrix(text_page, i, matrix)
    size = pdfium.FPDFText_GetFontSize(text_page, i) * math.hypot(matrix.c, matrix.d)
    angle = round(math.degrees(math.atan2(matrix.b, matrix.a)))
    nearest = round(angle / 90) * 90
    angle = (nearest if abs(angle - nearest) <= 3 else angle) % 360
    x, y = ctypes.c_double(), ctypes.c_double()
    pdfium.FPDFText_GetCharOrigin(text_page, i, x, y)
    name = ctypes.create_string_buffer(128)
    flags = ctypes.c_int()
    pdfium.FPDFText_GetFontInfo(text_page, i, name, 128, flags)
    font = name.value.decode("utf-8", "replace")
    target = pdfium.FPDFText_GetTextObject(text_page, i)
    is_stroked = bool(target) and pdfium.FPDFTextObj_GetTextRenderMode(target) == 2
    bold = bool(_BOLD.search(font)) or bool(flags.value & _FORCE_BOLD) or is_stroked
    if not size > 0.5 or not math.isfinite(size):
        size = max(abs(box.top - box.bottom), 1.0)
    drops = {
        0: y.value - box.bottom,
        90: box.right - x.value,
        180: box.top - y.value,
        270: x.value - box.left,
    }
    drop = drops.get(angle, size * 0.2)
    return _Style(
        size=size,
        angle=angle,
        bold=bold or pdfium.FPDFText_GetFontWeight(text_page, i) >= 600,
        mono=is_monospace(font) or bool(flags.value & _FIXED_PITCH),
        drop=drop if 0 <= drop <= size else size * 0.2,
    )


def _mark_vertical(letters: list[Letters]) -> None:
    """Letters of East Asian scripts that stand one below the other read from top to bottom."""
    for one in letters:
        size = one.style.size
        if len(one.text) > 1 and one.x1 - one.x0 < 1.3 * size < 1.5 * size < one.top - one.bottom:
            one.angle = 270 if one.angle == 0 and _VERTICAL.match(one.text) else one.angle
    for left, right in pairwise(letters):
        size = left.style.size
        is_below = 0.6 * size < left.top - right.top < 2 * size
        if (
            left.style.angle == 0
            and is_below
            and len(left.text) == len(right.text) == 1
            and abs(left.x0 - right.x0) < 0.3 * size
            and _VERTICAL.match(left.text)
            and _VERTICAL.match(right.text)
        ):
            left.angle = right.angle = 270
