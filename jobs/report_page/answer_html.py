"""An answer's Markdown as HTML that can do nothing but be read."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt


def answer_html(markdown: str) -> str:
    """HTML in it is text; links open only on the web, and pictures aren't loaded."""
    return str(_parser().render(markdown))


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    parser.disable("image")
    # Read by the parser when it meets a link.
    parser.validateLink = lambda url: url.startswith(("https://", "http://"))  # type: ignore[method-assign]
    return parser
