"""Converts styled text to inline markdown and plain text.

Uses as few escapes as possible, so that search finds text as its author wrote it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from typing import Literal

from loaders.text.plain import plain_text

Mark = Literal["bold", "italic", "strike"]
_MARKS: tuple[tuple[Mark, str], ...] = (("bold", "**"), ("italic", "*"), ("strike", "~~"))

_ESCAPED = r"""
      \\(?=[!-/:-@\[-`{-~]|\s*(?:\n|$))   # a backslash that would escape something
    | `
    | (?<!\s)\*|\*(?!\s)                  # `5 * 3` stays
    | (?<!\w)_|_(?!\w)                    # snake_case stays
    | ~(?=~)|(?<=~)~
    | <(?=[A-Za-z/!?])
    | &(?=\#?\w{1,31};)
"""
_SPECIAL = re.compile(
    _ESCAPED + r"| \[(?=\^)|\](?=[(\[:])  # would be a footnote or a link", re.VERBOSE
)
_SPECIAL_IN_LINK = re.compile(_ESCAPED + r"| [\[\]^]", re.VERBOSE)
_SIGN = re.compile(r"[\\`*_~\[\]<&]|^\W|\W$")
_LINE_ENDS = re.compile(r"\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_EXPONENT = re.compile(r"[-−]?\d+")
_INVISIBLE = re.compile(
    "\x1b\\[[0-9;]{0,20}[A-Za-z]|[\ue907\uec02\uec03\ufeff\x00-\x08\x0e-\x1b\x1f]"
)
"""Private-use marks of Google's building blocks, byte order marks, control characters, colors of
terminals."""
_MONOSPACE = re.compile(
    r"mono|courier|consolas|menlo|monaco|inconsolata|source code|code pro", re.IGNORECASE
)
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def is_monospace(font: str) -> bool:
    return bool(_MONOSPACE.search(font))


@dataclass(frozen=True, kw_only=True)
class Span:
    """A run of text in one style."""

    text: str
    bold: bool = False
    italic: bool = False
    strike: bool = False
    code: bool = False
    link: str = ""
    markdown: str | None = None
    """Markdown to use unchanged instead of `text`, e.g. `[^1]` for a footnote reference."""

    @property
    def style(self) -> tuple[object, ...]:
        return self.bold, self.italic, self.strike, self.code, self.link, self.markdown


def is_exponent(raised: str, before: str) -> bool:
    """Whether a superscript is that of a number: 10 with a raised 6 is 10^6, not 106."""
    return before[-1:].isdigit() and bool(_EXPONENT.fullmatch(raised.strip()))


def clean(text: str) -> str:
    """Unifies line ends, drops invisible characters and replaces lone surrogates."""
    text = _INVISIBLE.sub("", _LINE_ENDS.sub("\n", text))
    return _LONE_SURROGATE.sub("\ufffd", text)


def escape(text: str) -> str:
    """Markdown that displays as `text`. Line breaks stay."""
    return _SPECIAL.sub(r"\\\g<0>", text)


def destination(url: str) -> str:
    """A URL, escaped for `[…](…)`."""
    url = re.sub(r"[\s\x00-\x1f]+", lambda match: "%20" * len(match.group()), url.strip())
    url = url.replace("<", "%3C").replace(">", "%3E").replace("\\", "%5C")
    balanced = url.count("(") == url.count(")") and ")" not in url.split("(")[0]
    return url if balanced else f"<{url}>"


def spans_to_text(spans: Iterable[Span]) -> str:
    return "".join(span.text for span in spans)


def spans_to_markdown(spans: Sequence[Span]) -> str:
    """Inline markdown. A line break is `\\n`."""
    spans = _merged(spans)
    if len(spans) == 1 and spans[0] == Span(text=spans[0].text):
        return escape(spans[0].text)
    rich = _styled(spans)
    if not _in_doubt(spans):
        return rich
    if _letters(plain_text(rich)) != _letters(spans_to_text(spans)):
        # Markdown misreads `**a***b*`. The text matters more, so the style is dropped.
        return _styled(_merged(replace(s, bold=False, italic=False, strike=False) for s in spans))
    return rich


def _merged(spans: Iterable[Span]) -> list[Span]:
    nonempty = (_without_blank_code(span) for span in spans if span.text or span.markdown)
    merged: list[Span] = []
    for (*_, markdown), run in groupby(nonempty, key=lambda span: span.style):
        same = list(run)
        if markdown is None and len(same) > 1:
            same = [replace(same[0], text="".join(span.text for span in same))]
        merged += same
    return merged


def _without_blank_code(span: Span) -> Span:
    """Removes the code style from white space."""
    blank = span.code and not span.text.strip() and not span.markdown
    return replace(span, code=False) if blank else span


def _letters(text: str) -> str:
    return "".join(text.split())


def _in_doubt(spans: Sequence[Span]) -> bool:
    """Whether emphasis starts or ends inside a word, touches other emphasis, or has symbols."""
    if any((s.bold or s.italic or s.strike or s.code) and _SIGN.search(s.text) for s in spans):
        return True
    for left, right in pairwise(spans):
        styled = [(s.bold, s.italic, s.strike) for s in (left, right)]
        apart = left.text[-1:].isspace() or right.text[:1].isspace()
        if styled[0] != styled[1] and not apart:
            return True
    return False


def _styled(spans: Sequence[Span]) -> str:
    pieces: list[str] = []
    for link, group in groupby(spans, key=lambda span: span.link):
        inner = _emphasized(list(group), _MARKS, in_link=bool(link))
        if link:
            inner = _wrapped(inner, "[", f"]({destination(link)})")
        if pieces and pieces[-1].endswith("!") and inner.startswith("["):
            pieces[-1] = pieces[-1][:-1] + "\\!"
        pieces.append(inner)
    return "".join(pieces)


def _emphasized(spans: Sequence[Span], marks: Sequence[tuple[Mark, str]], *, in_link: bool) -> str:
    if not marks:
        return "".join(_leaf(span, in_link) for span in spans)
    (mark, sign), *inner_marks = marks
    if not any(getattr(span, mark) for span in spans):
        return _emphasized(spans, inner_marks, in_link=in_link)
    pieces = []
    for marked, group in groupby(spans, key=lambda span: bool(getattr(span, mark))):
        inner = _emphasized(list(group), inner_marks, in_link=in_link)
        pieces.append(_wrapped(inner, sign, sign) if marked else inner)
    return "".join(pieces)


def _wrapped(inner: str, before: str, after: str) -> str:
    """Wraps each line. White space stays outside, because `** a**` is not emphasis."""
    lines = []
    for line in inner.split("\n"):
        core = line.strip()
        start = line[: len(line) - len(line.lstrip())]
        end = line[len(line.rstrip()) :] if core else ""
        lines.append(f"{start}{before}{core}{after}{end}" if core else line)
    return "\n".join(lines)


def _leaf(span: Span, in_link: bool) -> str:
    if span.markdown is not None:
        return span.markdown
    if span.code:
        return "\n".join(code_span(line) for line in span.text.split("\n"))
    return _SPECIAL_IN_LINK.sub(r"\\\g<0>", span.text) if in_link else escape(span.text)


def code_span(text: str) -> str:
    core = text.strip()
    if not core:
        return text
    longest = max((len(run) for run in re.findall("`+", core)), default=0)
    fence = "`" * (longest + 1)
    padded = f" {core} " if longest else core
    start, end = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
    return f"{start}{fence}{padded}{fence}{end}"
