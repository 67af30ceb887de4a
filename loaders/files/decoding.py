"""Bytes of a text file → text. What is no text is refused: published, it would fill the index with
passages that nobody can read."""

from __future__ import annotations

import codecs
import unicodedata
from collections.abc import Iterable

from config.errors import LoadError
from loaders.document import Block

_BOMS = (  # that of UTF-32 begins like that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CONTROL = bytes([*range(8), *range(0x0E, 0x1A), *range(0x1C, 0x20), 0x7F])
"""Without those of printed text: tab, line ends, form feed, backspace, end of file, escape."""
_MAX_STRAY = 8
"""Characters that a short text may have and a binary file has."""
_REMEDY = "take it out of the source, or save it as text"

_MIN_MACHINE_MADE = 20_000
"""Characters. What is shorter is published as it is; code, ten times as much."""
_MAX_WORD = 40
"""Characters of a word, on average. In German prose it has 7, in base64 76 and more."""
_MIN_PRINTED = 0.85
"""Share of letters, digits and spaces in a line of that length: 0.96 in prose, 0.7 in a script."""
_SAMPLE = 20_000


def decode(data: bytes, name: str = "file") -> tuple[str, str]:
    """Returns the text, and a warning when the encoding is a guess. Raises LoadError for bytes that
    are no text."""
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return _checked(data.decode(encoding, "replace"), name), ""
    if encoding := _utf_16_without_mark(data):
        return _checked(data.decode(encoding, "replace"), name), ""
    # Compressed data has a tenth of control characters; no encoding of text has any.
    controls = len(data) - len(data.translate(None, _CONTROL))
    if _is_much(controls, len(data)):
        raise LoadError(
            name,
            f"it is no text: {controls:,} of its {len(data):,} bytes are control characters, as in "
            "a picture, an archive or a program",
            remedy=_REMEDY,
        )
    try:
        return data.decode("utf-8-sig"), ""
    except UnicodeDecodeError as error:
        warning = f"not UTF-8 at byte {error.start}: read as Windows-1252"
        return data.decode("cp1252", "replace"), warning


def check_words(blocks: Iterable[Block], name: str) -> None:
    """Raises LoadError when most of a long text has no words or no lines, as a minified script or
    base64."""
    sizes = [(len(block.text), _is_machine_made(block)) for block in blocks]
    total = sum(size for size, _ in sizes)
    without_words = sum(size for size, is_machine_made in sizes if is_machine_made)
    if without_words * 2 > total:
        raise LoadError(
            name,
            f"{without_words:,} of its {total:,} characters are no words in lines, as in a "
            "minified or encoded file",
            remedy=_REMEDY,
        )


def _utf_16_without_mark(data: bytes) -> str:
    """The encoding, by the zeros that it puts beside Latin letters, spaces and line ends."""
    sample = data[:_SAMPLE]
    zeros = sample[::2].count(0), sample[1::2].count(0)
    often, seldom = len(sample) // 8, len(sample) // 200
    if len(data) % 2 or min(zeros) > seldom or max(zeros) <= often:
        return ""
    return "utf-16-be" if zeros[0] > zeros[1] else "utf-16-le"


def _checked(text: str, name: str) -> str:
    broken = text.count("\ufffd") + text.count("\0")
    if _is_much(broken, len(text)):
        raise LoadError(
            name, f"it is no text: {broken:,} of {len(text):,} characters are none", remedy=_REMEDY
        )
    return text


def _is_much(count: int, of: int) -> bool:
    return count > _MAX_STRAY and count * 100 > of


def _is_machine_made(block: Block) -> bool:
    text = block.text
    if len(text) < _MIN_MACHINE_MADE * (10 if block.kind == "code" else 1):
        return False
    # Chinese, Japanese, Thai and others write no spaces; their letters are "other" ones.
    sample = text[:_SAMPLE]
    if sum(unicodedata.category(one) == "Lo" for one in sample) * 5 > len(sample):
        return False
    if len(text) > _MAX_WORD * len(text.split()):
        return True
    if text.find("\n", 0, _MIN_MACHINE_MADE) >= 0:
        return False
    return sum(one.isalnum() or one.isspace() for one in sample) < _MIN_PRINTED * len(sample)
