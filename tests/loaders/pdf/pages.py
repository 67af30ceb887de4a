"""Small PDF files: text at places, ruling lines, form fields and bookmarks."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

_FONTS = {"F": "Helvetica", "B": "Helvetica-Bold", "M": "Courier"}


@dataclass
class PdfPage:
    """A4. `y` counts from the top."""

    content: list[str] = field(default_factory=list)
    annotations: list[str] = field(default_factory=list)
    more: str = ""

    def text(self, x: float, y: float, text: str, size: float = 10, font: str = "F") -> None:
        escaped = text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
        self.content.append(f"BT /{font} {size} Tf {x} {842 - y} Td ({escaped}) Tj ET")

    def lines(self, x: float, y: float, lines: Sequence[str], pitch: float = 12) -> None:
        for i, line in enumerate(lines):
            self.text(x, y + i * pitch, line)

    def rule(self, x0: float, y0: float, x1: float, y1: float) -> None:
        self.content.append(f"{x0} {842 - y0} m {x1} {842 - y1} l S")

    def grid(self, xs: Sequence[float], ys: Sequence[float]) -> None:
        for y in ys:
            self.rule(xs[0], y, xs[-1], y)
        for x in xs:
            self.rule(x, ys[0], x, ys[-1])

    def cells(
        self, xs: Sequence[float], ys: Sequence[float], rows: Sequence[Sequence[str]]
    ) -> None:
        for row, y in zip(rows, ys, strict=False):
            for text, x in zip(row, xs, strict=False):
                if text:
                    self.text(x + 4, y + 11, text)


def write_pdf(
    *pages: PdfPage, objects: Mapping[int, str] | None = None, catalog: str = "", info: str = ""
) -> bytes:
    """`objects`: by number, from 500. The first page is object 11, the next one 13."""
    bodies: dict[int, bytes] = {1: f"<</Type/Catalog/Pages 2 0 R{catalog}>>".encode()}
    fonts = ""
    for number, (name, font) in enumerate(_FONTS.items(), 3):
        fonts += f"/{name} {number} 0 R"
        bodies[number] = (
            f"<</Type/Font/Subtype/Type1/BaseFont/{font}/Encoding/WinAnsiEncoding>>".encode()
        )
    bodies[9] = f"<<{info}>>".encode("latin-1")
    kids = ""
    for number, page in zip(range(10, 400, 2), pages, strict=False):
        data = zlib.compress("\n".join(page.content).encode("cp1252"))
        head = f"<</Length {len(data)}/Filter/FlateDecode>>stream\n".encode()
        bodies[number] = head + data + b"\nendstream"
        bodies[number + 1] = (
            f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Resources<</Font<<{fonts}>>>>"
            f"/Contents {number} 0 R/Annots[{' '.join(page.annotations)}]{page.more}>>"
        ).encode()
        kids += f"{number + 1} 0 R "
    bodies[2] = f"<</Type/Pages/Count {len(pages)}/Kids[{kids}]>>".encode()
    bodies |= {number: text.encode("latin-1") for number, text in (objects or {}).items()}
    out, places = b"%PDF-1.7\n", dict[int, int]()
    for number, body in bodies.items():
        places[number] = len(out)
        out += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    start, size = len(out), max(bodies) + 1
    out += b"xref\n0 %d\n" % size
    for number in range(size):
        at = places.get(number)
        out += b"0000000000 65535 f \n" if at is None else b"%010d 00000 n \n" % at
    return out + b"trailer<</Size %d/Root 1 0 R/Info 9 0 R>>\nstartxref\n%d\n%%%%EOF" % (
        size,
        start,
    )
