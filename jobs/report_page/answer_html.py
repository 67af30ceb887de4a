"""An answer's Markdown as HTML that can do nothing but be read."""

from __future__ import annotations

from functools import cache
from html import escape
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_REL = "noopener noreferrer nofollow"


def answer_html(markdown: str) -> str:
    """HTML in it is text; links open only on the web, and pictures aren't loaded. Its headings
    stand below those of the page."""
    parser = _parser()
    tokens = parser.parse(markdown)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = "h5"
        for part in token.children or ():
            if part.type == "link_open":
                part.attrSet("rel", _REL)
    return str(parser.renderer.render(tokens, parser.options, {}))


def link(url: str, words: str) -> str:
    """Only the words where the address is none of the web."""
    if not is_web(url):
        return escape(words)
    return f'<a rel="{_REL}" href="{escape(url)}">{escape(words)}</a>'


def is_web(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.netloc)


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    parser.disable("image")
    parser.validateLink = is_web  # type: ignore[method-assign]  # read when it meets a link
    return parser
