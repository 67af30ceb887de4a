"""What a question's card shows beside the report's own fields: its answer as safe HTML, and the
answerer's passages with expected quotes marked."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from index.page_links import is_web
from jobs.evaluation.report import ReportPassage, ReportQuestion

if TYPE_CHECKING:
    from markdown_it import MarkdownIt


REL = "noopener noreferrer nofollow"


def answer_html(markdown: str) -> str:
    """Render Markdown as safe HTML: raw HTML is escaped, only http(s) links work, images are not
    loaded, headings become `h5`."""
    parser = _parser()
    tokens = parser.parse(markdown)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = "h5"
        for part in token.children or ():
            if part.type == "link_open":
                part.attrSet("rel", REL)
    return str(parser.renderer.render(tokens, parser.options, {}))


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    parser.disable("image")
    parser.validateLink = is_web  # type: ignore[method-assign]  # called for each link
    return parser


_WORD = re.compile(r"\w+")
_LONGEST_QUOTE = 400
"""Maximum words of a quote to mark; the rest stays unmarked."""


def marked_places(text: str, quotes: Iterable[str]) -> list[tuple[int, int]]:
    """Find quotes in a text, ignoring case, markup and white space.

    Returns (start, end) in characters, in order and without overlaps."""
    spans: list[tuple[int, int]] = []
    for quote in quotes:
        words = _WORD.findall(quote)[:_LONGEST_QUOTE]
        if not words:
            continue
        pattern = r"(?<!\w)" + r"[\W_]+".join(map(re.escape, words)) + r"(?!\w)"
        spans += [match.span() for match in re.finditer(pattern, text, re.IGNORECASE)]
    return _apart(sorted(spans))


def _apart(places: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in places:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


class PassageStore:
    """Stores each passage once, because passages make up most of a report.

    The page's script inserts them when a reader opens a question's passages."""

    def __init__(self) -> None:
        self._places: dict[tuple[str, str, str], int] = {}
        self._passages: list[ReportPassage] = []

    def place_of(self, passage: ReportPassage) -> int:
        key = (passage.document, passage.heading, passage.text)
        if key not in self._places:
            self._places[key] = len(self._passages)
            self._passages.append(passage)
        return self._places[key]

    def marked(self, question: ReportQuestion) -> list[tuple[int, list[tuple[int, int]]]]:
        """(index in the store, marked evidence as (start, end)) for each passage, in order."""
        return [
            (
                self.place_of(passage),
                marked_places(
                    passage.text,
                    [one.quote for one in question.evidence if one.document == passage.document],
                ),
            )
            for passage in question.context
        ]

    def as_json(self) -> str:
        """`[[title, heading, text], …]`, safe within a script element."""
        held = [[one.title or one.document, one.heading, one.text] for one in self._passages]
        return json.dumps(held, ensure_ascii=False).replace("<", "\\u003c").replace("&", "\\u0026")
