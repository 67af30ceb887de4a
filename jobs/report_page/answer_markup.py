"""What others wrote, as harmless HTML: answers in Markdown, quotes marked in passages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from html import escape
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.token import Token

_WORD = re.compile(r"\w+")
_LONGEST_QUOTE = 400
"""Words; a longer one is marked up to there."""


def as_html(markdown: str) -> str:
    """An answer as its readers see it. HTML in it is text, an image is a link, and a link leads to
    http or https or is none."""
    reader = _reader()
    tokens = reader.parse(markdown)
    for token in _all(tokens):
        if token.type in ("heading_open", "heading_close"):
            token.tag = "h5"
        elif token.type == "link_open":
            token.attrSet("rel", "noopener noreferrer nofollow")
    return str(reader.renderer.render(tokens, reader.options, {}))


def link(url: str, words: str) -> str:
    """Only the words where the address is none of the web."""
    if not is_web(url):
        return escape(words)
    return f'<a rel="noopener noreferrer nofollow" href="{escape(url)}">{escape(words)}</a>'


def is_web(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.netloc)


def marked_places(text: str, quotes: Iterable[str]) -> list[tuple[int, int]]:
    """Where the quotes stand in a text, markup and white space aside: (start, end) in characters,
    in order, none overlapping."""
    found: list[tuple[int, int]] = []
    for quote in quotes:
        words = _WORD.findall(quote)[:_LONGEST_QUOTE]
        if not words:
            continue
        pattern = r"(?<!\w)" + r"[\W_]+".join(map(re.escape, words)) + r"(?!\w)"
        found += [match.span() for match in re.finditer(pattern, text, re.IGNORECASE)]
    return _apart(sorted(found))


def _apart(places: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    kept: list[tuple[int, int]] = []
    for start, end in places:
        if kept and start <= kept[-1][1]:
            kept[-1] = (kept[-1][0], max(end, kept[-1][1]))
        else:
            kept.append((start, end))
    return kept


@lru_cache(maxsize=1)
def _reader() -> MarkdownIt:
    reader = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    reader.validateLink = is_web  # type: ignore[method-assign]  # the library's own hook
    return reader


def _all(tokens: Iterable[Token]) -> Iterable[Token]:
    for token in tokens:
        yield token
        yield from token.children or ()
