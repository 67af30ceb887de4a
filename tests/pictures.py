"""Small pictures for tests: real files, drawn here."""

from __future__ import annotations

import io
from functools import cache

from PIL import Image, ImageDraw


def drawn(*lines: str, size: tuple[int, int] = (640, 320), kind: str = "PNG") -> bytes:
    """A page with boxes that say something."""
    picture = Image.new("RGB", size, "white")
    pen = ImageDraw.Draw(picture)
    for number, line in enumerate(lines):
        top = 20 + 60 * number
        pen.rectangle((20, top, size[0] - 20, top + 40), outline="black")
        pen.text((30, top + 12), line, fill="black")
    written = io.BytesIO()
    picture.save(written, kind)
    return written.getvalue()


@cache
def blank(width: int, height: int, kind: str = "PNG") -> bytes:
    written = io.BytesIO()
    mode = "1" if width * height > 10**7 else "RGB"  # a large one is quick to write in one bit
    Image.new(mode, (width, height), "white").save(written, kind)
    return written.getvalue()
