"""The ruling lines and filled rectangles of a PDF page, from its paths."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

_MAX_OBJECTS = 60_000
"""Objects of a page that are looked at. A map or a diagram has tens of thousands."""
_MAX_SEGMENTS = 30_000
"""Path segments of a page that are looked at. A dense form has 2,000."""
_MAX_DEPTH = 12
"""Levels of form objects in a page's content."""
_THICKEST = 3.0
"""Points. A filled rectangle this thin is a ruling line."""
_SKEW = 0.7
"""Points by which a straight line may be out of level."""

Box = tuple[float, float, float, float]
Matrix = tuple[float, float, float, float, float, float]


@dataclass(frozen=True, slots=True)
class Rule:
    """A ruling line: `at` is its y when it runs across, its x when it runs down."""

    at: float
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class Fill:
    """A filled rectangle, such as the background of a cell."""

    x0: float
    x1: float
    top: float
    bottom: float
    color: str


@dataclass
class Rules:
    across: list[Rule] = field(default_factory=list)
    down: list[Rule] = field(default_factory=list)
    fills: list[Fill] = field(default_factory=list)
    are_too_many: bool = False
    """The page has more paths than are looked at, and the lists are empty."""

    def add_line(self, x0: float, y0: float, x1: float, y1: float) -> None:
        if abs(y0 - y1) <= _SKEW and abs(x0 - x1) > 1:
            self.across.append(Rule((y0 + y1) / 2, min(x0, x1), max(x0, x1)))
        elif abs(x0 - x1) <= _SKEW and abs(y0 - y1) > 1:
            self.down.append(Rule((x0 + x1) / 2, min(y0, y1), max(y0, y1)))

    def add_box(self, box: Box, *, is_stroked: bool, color: str) -> None:
        """`color`: of its inside, empty when that is not filled."""
        x0, y0, x1, y1 = box
        if min(x1 - x0, y1 - y0) <= _THICKEST:
            if x1 - x0 >= y1 - y0:
                self.add_line(x0, (y0 + y1) / 2, x1, (y0 + y1) / 2)
            else:
                self.add_line((x0 + x1) / 2, y0, (x0 + x1) / 2, y1)
            return
        if color:
            self.fills.append(Fill(x0, x1, y0, y1, color))
        if is_stroked:
            for line in ((x0, y0, x1, y0), (x0, y1, x1, y1), (x0, y0, x0, y1), (x1, y0, x1, y1)):
                self.add_line(*line)


class _Enough(Exception):
    """The page has more paths than are looked at."""


def read_rules(handle: Any, to_frame: Any) -> Rules:
    """`handle`: an open FPDF_PAGE. `to_frame`: a point of the page → one of the frame."""
    reader = _Reader(to_frame)
    try:
        reader.read_page(handle)
    except _Enough:
        return Rules(are_too_many=True)
    return reader.rules


class _Reader:
    def __init__(self, to_frame: Any) -> None:
        import pypdfium2.raw as pdfium

        self._pdfium = pdfium
        self._to_frame = to_frame
        self._objects = self._segments = 0
        self.rules = Rules()

    def read_page(self, handle: Any) -> None:
        pdfium = self._pdfium
        for i in range(pdfium.FPDFPage_CountObjects(handle)):
            self._read(pdfium.FPDFPage_GetObject(handle, i), (1, 0, 0, 1, 0, 0), 0)

    def _read(self, target: Any, outer: Matrix, depth: int) -> None:
        pdfium = self._pdfium
        self._objects += 1
        if self._objects > _MAX_OBJECTS:
            raise _Enough
        kind = pdfium.FPDFPageObj_GetType(target)
        if kind == pdfium.FPDF_PAGEOBJ_PATH:
            self._read_path(target, self._matrix(target, outer))
        elif kind == pdfium.FPDF_PAGEOBJ_FORM and depth < _MAX_DEPTH:
            matrix = self._matrix(target, outer)
            for i in range(pdfium.FPDFFormObj_CountObjects(target)):
                self._read(pdfium.FPDFFormObj_GetObject(target, i), matrix, depth + 1)

    def _matrix(self, target: Any, outer: Matrix) -> Matrix:
        own = self._pdfium.FS_MATRIX(1, 0, 0, 1, 0, 0)
        self._pdfium.FPDFPageObj_GetMatrix(target, own)
        a, b, c, d, e, f = outer
        return (
            own.a * a + own.b * c,
            own.a * b + own.b * d,
            own.c * a + own.d * c,
            own.c * b + own.d * d,
            own.e * a + own.f * c + e,
            own.e * b + own.f * d + f,
        )

    def _read_path(self, path: Any, matrix: Matrix) -> None:
        pdfium = self._pdfium
        fill, stroke = ctypes.c_int(), ctypes.c_int()
        pdfium.FPDFPath_GetDrawMode(path, fill, stroke)
        if not fill.value and not stroke.value:
            return
        color = self._color(path) if fill.value else ""
        for points, is_closed in self._parts(path, matrix):
            if box := _rectangle(points, is_closed or bool(fill.value)):
                self.rules.add_box(box, is_stroked=bool(stroke.value), color=color)
            elif stroke.value:
                ends = [*points[1:], points[0]] if is_closed else points[1:]
                for (x0, y0), (x1, y1) in zip(points, ends, strict=False):
                    self.rules.add_line(x0, y0, x1, y1)

    def _parts(self, path: Any, matrix: Matrix) -> Iterator[tuple[list[tuple[float, float]], bool]]:
        """The points of each part of a path that has no curve."""
        pdfium = self._pdfium
        count = pdfium.FPDFPath_CountSegments(path)
        self._segments += max(count, 0)
        if self._segments > _MAX_SEGMENTS:
            raise _Enough
        a, b, c, d, e, f = matrix
        x, y = ctypes.c_float(), ctypes.c_float()
        points: list[tuple[float, float]] = []
        is_straight, is_closed = True, False
        for i in range(count):
            segment = pdfium.FPDFPath_GetPathSegment(path, i)
            kind = pdfium.FPDFPathSegment_GetType(segment)
            if kind == pdfium.FPDF_SEGMENT_MOVETO:
                if is_straight and len(points) > 1:
                    yield points, is_closed
                points, is_straight, is_closed = [], True, False
            elif kind == pdfium.FPDF_SEGMENT_BEZIERTO:
                is_straight = False
            pdfium.FPDFPathSegment_GetPoint(segment, x, y)
            points.append(
                self._to_frame(a * x.value + c * y.value + e, b * x.value + d * y.value + f)
            )
            is_closed = is_closed or bool(pdfium.FPDFPathSegment_GetClose(segment))
        if is_straight and len(points) > 1:
            yield points, is_closed

    def _color(self, path: Any) -> str:
        parts = [ctypes.c_uint() for _ in range(4)]
        self._pdfium.FPDFPageObj_GetFillColor(path, *parts)
        red, green, blue, alpha = (part.value for part in parts)
        is_white = min(red, green, blue) >= 250 or alpha == 0
        return "" if is_white else f"#{red:02x}{green:02x}{blue:02x}"


def _rectangle(points: list[tuple[float, float]], is_closed: bool) -> Box | None:
    """The box of an upright rectangle's corners, or of a thin border with cut ones; else None."""
    if len(points) == 5 and _near(points[0], points[4]):
        points, is_closed = points[:4], True
    if len(points) != 4 or not is_closed:
        return None
    xs, ys = sorted(x for x, _ in points), sorted(y for _, y in points)
    if min(xs[3] - xs[0], ys[3] - ys[0]) <= _THICKEST:
        return xs[0], ys[0], xs[3], ys[3]
    if xs[1] - xs[0] > _SKEW or xs[3] - xs[2] > _SKEW:
        return None
    if ys[1] - ys[0] > _SKEW or ys[3] - ys[2] > _SKEW:
        return None
    return xs[0], ys[0], xs[3], ys[3]


def _near(a: tuple[float, float], b: tuple[float, float]) -> bool:
    return abs(a[0] - b[0]) <= _SKEW and abs(a[1] - b[1]) <= _SKEW
