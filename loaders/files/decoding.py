"""Bytes of a text file → text. What is no text is refused: published, it would fill the index with
passages that nobody can read."""

from __future__ import annotations

import codecs
import email
import mimetypes
import re
import string
import unicodedata
from collections import Counter
from collections.abc import Iterable
from itertools import accumulate

from bs4.dammit import EncodingDetector as Markup

from config.errors import LoadError
from loaders.document import Block

_BOMS = (  # that of UTF-32 begins like that of UTF-16
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_WIDE = ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"]
_LISTED = """
    cp1250 cp1251 cp1252 cp1253 cp1254 cp1255 cp1256 cp1257 cp1258 cp850 cp852 cp866 cp874
    iso-8859-2 koi8-r koi8-u mac-roman cp932 euc-jp gb18030 cp950 big5hkscs cp949"""
_NARROW = _LISTED.split()
"""What text files are saved in: the encodings of the web, of DOS and of the first Macs."""
_LARGER = {
    "ascii": "cp1252", "iso8859-1": "cp1252", "iso8859-9": "cp1254", "iso8859-11": "cp874",
    "tis-620": "cp874", "shift_jis": "cp932", "gb2312": "gb18030", "gbk": "gb18030",
    "euc_kr": "cp949", "big5": "cp950",
}  # fmt: skip
"""Encoding → a larger one that its name stands for in browsers and on Windows."""
_DECLARABLE = re.compile(
    r"cp(?:125\d|8[56]\d|874|932|949|950)|euc_jp|gb18030|big5hkscs|iso8859-\d+|iso2022_\w+|koi8-\w"
    r"|mac-\w+"
)
"""In others ASCII is not itself, so they can't be declared in ASCII."""
_CONTROL = bytes([*range(8), *range(0x0E, 0x1A), *range(0x1C, 0x20), 0x7F])
"""Without those of printed text: tab, line ends, form feed, backspace, end of file, escape."""
_SIGNS = dict.fromkeys(map(ord, "“”„‘’–—…•°€™©®§\xa0"))
_POINTER = b"version https://git-lfs.github.com/spec/"
_KINDS = {
    _POINTER: "a pointer of Git LFS, whose content is elsewhere (`git lfs pull` fetches it)",
    b"\xd0\xcf\x11\xe0": "an Office file of before 2007, or one with a password",
    b"{\\rtf": "application/rtf",
    b"%PDF-": "application/pdf",
}
"""First bytes → kind, for files that `chardet` takes for text or doesn't know."""
_MARKED = (b"%PDF-", b"{\\rtf", _POINTER)
"""How files begin that are no text to read, and hold no control characters."""
_MAX_STRAY = 8
"""Characters that a short text may have and a binary file has."""
_REMEDY = "take it out of the source, or save it as text"
_EVIDENCE = 65_536
"""Bytes from which an encoding is detected."""
_ENOUGH = 200
"""Bytes that one detector alone may judge: of so many it reads 0.3 % wrong, of 20 it reads 8 %."""

_MIN_MACHINE_MADE = 10_000
"""Characters. What is shorter is published as it is; code, ten times as much."""
_MAX_WORD = 40
"""Characters between spaces, on average. In German prose it has 7, in base64 76 and more."""
_MAX_PART = 25
"""Characters between the signs of addresses and paths, on average. In base64 it has 32 and more."""
_BETWEEN_PARTS = re.compile(r"[\s/.:?&=_-]+")
_MAX_SIGNS = 0.15
"""Share of ASCII punctuation in a line of that length: 0.04 in prose, 0.3 in a script."""
_SAMPLE = 10_000


def decode(data: bytes, name: str = "file", *, markup: bool = False) -> tuple[str, str]:
    """Returns the text, and a warning when bytes are wrong or the encoding is a guess.

    `markup`: an HTML page may declare its encoding. Raises LoadError for bytes that are no text,
    and for letters that could as well be those of another alphabet."""
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return _read(data.removeprefix(mark), encoding, name)
    if data.startswith(_MARKED):
        raise _no_text(name, data, "it is no text")
    is_utf_8 = _decodes(data, "utf-8")
    if (b"\0" in data or not is_utf_8) and (encoding := _wide(data)):
        return _read(data, encoding, name)
    # Compressed data has a tenth of control characters; no encoding of text has any.
    controls = len(data) - len(data.translate(None, _CONTROL))
    problem = f"it is no text: {controls:,} of its {len(data):,} bytes are control characters"
    if _is_much(controls, len(data)):
        raise _no_text(name, data, problem)
    if is_utf_8:
        is_jis = b"\x1b$" in data and _decodes(data, "iso2022_jp")
        return data.decode("iso2022_jp" if is_jis else "utf-8"), ""
    text = data.decode("utf-8", "replace")
    wrong = text.count("\ufffd")
    # In another encoding one character of five, at most, happens to be right UTF-8.
    if 3 * wrong <= len(text) - len(text.encode("ascii", "ignore")):
        return _read(data, "utf-8", name)
    if markup and (encoding := _declared(data)):
        text = data.decode(encoding, "replace")
        if not _is_much(text.count("\ufffd"), len(text)):
            return _read(data, encoding, name)
    if controls:
        raise _no_text(name, data, problem)
    encoding = _detected(data, name)
    text, warning = _read(data, encoding, name)
    label = re.sub(r"^cp(?=125)", "Windows-", encoding)
    return text, "; ".join(filter(None, (f"not UTF-8: read as {label}, a guess", warning)))


def is_html(data: bytes) -> bool:
    """Whether a file is a whole page, whatever its name: exports are HTML by other names."""
    return re.match(rb"(?:\xef\xbb\xbf)?\s*<(?:!doctype\s+html|html)\b", data, re.I) is not None


def page_of(data: bytes) -> bytes:
    """The HTML page in a web archive (MHTML); other files unchanged."""
    if not re.match(rb"[\w-]+:", data) or not re.search(rb"(?im)^mime-version:", data[:2_000]):
        return data
    for part in email.message_from_bytes(data).walk():
        page = part.get_payload(decode=True)
        if part.get_content_type() == "text/html" and isinstance(page, bytes):
            charset = _codec(str(part.get_content_charset() or ""))
            return page.decode(charset, "replace").encode("utf-8-sig") if charset else page
    return data


def check_words(blocks: Iterable[Block], source: str, name: str) -> None:
    """Raises LoadError when most of a long text has no words or no lines, as a minified script or
    base64.

    `source`: the file, as Markdown joins lines."""
    has_long_line = max(map(len, source.split("\n"))) > _MIN_MACHINE_MADE
    sizes = [(len(block.text), _is_machine_made(block, has_long_line)) for block in blocks]
    total = sum(size for size, _ in sizes)
    without_words = sum(size for size, is_machine_made in sizes if is_machine_made)
    if without_words * 2 > total:
        raise LoadError(
            name,
            f"{without_words:,} of its {total:,} characters are no words in lines, as in a "
            "minified or encoded file",
            remedy=_REMEDY,
        )


def _read(data: bytes, encoding: str, name: str) -> tuple[str, str]:
    """The text, and a warning that says where the first wrong byte is."""
    try:
        return _checked(data.decode(encoding), name), ""
    except UnicodeDecodeError as error:
        at = error.start
    line = data[:at].decode(encoding, "replace").count("\n") + 1
    text = data.decode(encoding, "replace")
    wrong = text.count("\ufffd")
    return _checked(text, name), (
        f"{wrong} of {len(text):,} characters are not {encoding.upper()} and read as \ufffd, "
        f"the first at byte {at}, 0x{data[at]:02X}, in line {line}"
    )


def _checked(text: str, name: str) -> str:
    broken = text.count("\ufffd") + text.count("\0")
    if _is_much(broken, len(text)):
        raise LoadError(
            name, f"it is no text: {broken:,} of {len(text):,} characters are none", remedy=_REMEDY
        )
    return text


def _no_text(name: str, data: bytes, problem: str) -> LoadError:
    """Says what it is, when its first bytes do, and how to name it."""
    import chardet

    head = data[:512]
    kind = next((kind for mark, kind in _KINDS.items() if head.startswith(mark)), "")
    kind = kind or chardet.detect(head)["mime_type"] or ""
    suffix = mimetypes.guess_extension(kind) or ""
    if kind.startswith("text/") or suffix == ".bin":
        return LoadError(
            name, f"{problem}, as in a picture, an archive or a program", remedy=_REMEDY
        )
    remedy = f"name it *{suffix}, or take it out of the source" if suffix else _REMEDY
    return LoadError(name, f"{problem}; it is {kind}", remedy=remedy)


def _is_much(count: int, of: int) -> bool:
    return count > _MAX_STRAY and count * 100 > of


def _decodes(data: bytes, encoding: str) -> bool:
    try:
        data.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _wide(data: bytes) -> str:
    """UTF-16 or UTF-32 without a mark, in the byte order that gives more of ASCII; else ''."""
    import chardet  # here, as few files need it

    sample = data[:_EVIDENCE]
    guess = chardet.detect(sample, include_encodings=[*_WIDE, "cp1252"])["encoding"] or ""
    orders = [one for one in _WIDE if one[:6] == guess[:6]]
    texts = {one: sample.decode(one, "replace") for one in orders}
    best = max(orders, key=lambda one: (_ascii(texts[one]), one == guess), default="")
    printed = sum(one.isprintable() or one.isspace() for one in texts.get(best, ""))
    return best if printed * 100 >= 98 * len(texts.get(best, "")) else ""


def _ascii(text: str) -> int:
    return sum(map(str.isascii, text))


def _declared(data: bytes) -> str:
    """The encoding that a page declares, '' for none that can be."""
    encoding = _codec(Markup.find_declared_encoding(data, is_html=True) or "")
    return encoding if _DECLARABLE.fullmatch(encoding) else ""


def _codec(label: str) -> str:
    """A label → Python's name of the encoding, '' for none."""
    label = re.sub(r"^x-(?!mac)|-i$", "", re.sub(r"^(windows|cp)-?(?=\d)", "cp", label.lower()))
    try:
        encoding = codecs.lookup(label).name
    except LookupError:
        return ""
    return _LARGER.get(encoding, encoding)


def _detected(data: bytes, name: str) -> str:
    """What two detectors agree on; between Latin alphabets, what the better one of them says.

    Raises LoadError when they don't agree on the alphabet."""
    import chardet

    lines = [line for line in data.split(b"\n") if not line.isascii()]
    sizes = accumulate(map(len, lines))
    few = [line for line, size in zip(lines, sizes, strict=True) if size <= _EVIDENCE]
    sample = b"\n".join(few or [lines[0][:_EVIDENCE]]) + b"\n"
    if _has_only_signs(sample.decode("cp1252", "replace")):
        return "cp1252"
    one = _codec(chardet.detect(sample, include_encodings=_NARROW)["encoding"] or "latin-1")
    two = _second_opinion(sample) or (one if len(sample) >= _ENOUGH else "cp1252")
    texts = [sample.decode(encoding, "replace") for encoding in (one, two)]
    if texts[0] == texts[1] or set(map(_alphabet, texts)) == {"LATIN"}:
        return one
    raise LoadError(
        name,
        f"it is not UTF-8, and its letters may be those of {one} or of {two}",
        remedy="save it as UTF-8",
    )


def _second_opinion(sample: bytes) -> str:
    """The encoding; '' where there is no build of the second detector."""
    try:
        from chardetng_py import EncodingDetector
    except ImportError:
        return ""
    detector = EncodingDetector()
    detector.feed(sample, last=True)
    return _codec(detector.guess(tld=None, allow_utf8=False))


def _has_only_signs(text: str) -> bool:
    """Whether it is English with the quotes and dashes of Windows, which are letters elsewhere."""
    if re.search(r"[^\W\d_][“”„•°][^\W\d_]", text):
        return False
    return text.translate(_SIGNS).isascii()


def _alphabet(text: str) -> str:
    """The first word of most of its letters' Unicode names, ASCII aside."""
    letters = (one for one in text if one > "\x7f" and one.isalpha())
    names = Counter(unicodedata.name(one, "").partition(" ")[0] for one in letters)
    return names.most_common(1)[0][0] if names else ""


def _is_machine_made(block: Block, has_long_line: bool) -> bool:
    text = block.text
    if len(text) < _MIN_MACHINE_MADE * (10 if block.kind == "code" else 1):
        return False
    # Chinese, Japanese, Thai and others write no spaces; their letters are "other" ones.
    sample = text[:_SAMPLE]
    if sum(unicodedata.category(one) == "Lo" for one in sample) * 5 > len(sample):
        return False
    if len(text) > _MAX_WORD * len(text.split()) and (
        len(text) > _MAX_PART * len(_BETWEEN_PARTS.split(text))
    ):
        return True
    if not has_long_line or text.find("\n", 0, _MIN_MACHINE_MADE) >= 0:
        return False
    return sum(one in string.punctuation for one in sample) > _MAX_SIGNS * len(sample)
