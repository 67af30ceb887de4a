"""A document's page: its indexed passages as sections, in reading order. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from urllib.parse import unquote

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markupsafe import Markup

from agents.context.sections import section_text
from enrichment.chunk import Chunk, DocumentCard
from enrichment.references import linked_path
from index.page_links import anchor_of, is_web
from loaders.text.plain import markdown_parser, shared

PART_CHUNKS = 200
"""Passages on one page: some 60,000 words at most."""
MAX_MARKDOWN_CHARS = 1_000_000
MAX_BRACKETS = 200
"""Of one paragraph or row of a table. Beyond either a section is shown unformatted: the parser
searches the end of each bracket."""
_PARAGRAPH_END = re.compile(r"\n\n|\n(?=\|)")
MAX_OUTLINE = 300
REL = "noopener noreferrer nofollow"


@dataclass(frozen=True, kw_only=True)
class Heading:
    level: int
    """2 to 6; the title is 1."""
    text: str


@dataclass(frozen=True, kw_only=True)
class PageSection:
    anchor: str
    """HTML id; '' for none."""
    headings: tuple[Heading, ...]
    """Those that begin here, outermost first."""
    html: Markup
    is_continued: bool = False
    """Whether it began on the page before."""


@dataclass(frozen=True, kw_only=True)
class OutlineEntry:
    part: int
    anchor: str
    heading: Heading


Resolve = Callable[[str], str]
"""Target of a link in the document → URL to open, or '' for none."""


def part_of(chunks: Sequence[Chunk], anchor: str) -> int:
    """The page, from 1, on which a section begins."""
    place = next((n for n, one in enumerate(chunks) if anchor and anchor_of(one) == anchor), 0)
    return place // PART_CHUNKS + 1


def parts(chunks: Sequence[Chunk]) -> int:
    return max(1, -(-len(chunks) // PART_CHUNKS))


def sections(chunks: Sequence[Chunk], part: int, resolve: Resolve) -> Iterator[PageSection]:
    """The sections of one page; `chunks`: all of the document."""
    first, last = (part - 1) * PART_CHUNKS, part * PART_CHUNKS
    above = _names(chunks[first - 1]) if first else ()
    anchors: set[str] = set()
    for key, group in groupby(range(first, min(last, len(chunks))), lambda n: _place(chunks[n])):
        places = list(group)
        own = [chunks[n] for n in places]
        before, after = places[0] - 1, places[-1] + 1
        is_continued = places[0] == first > 0 and _place(chunks[before]) == key
        text = section_text(
            own,
            own,
            before=chunks[before] if is_continued else None,
            after=chunks[after] if after == last < len(chunks) and _place(chunks[after]) == key
            else None,
        )  # fmt: skip
        names, anchor = _names(own[0]), anchor_of(own[0])
        yield PageSection(
            anchor="" if anchor in anchors else anchor,
            headings=tuple(_headings(names, names[:-1] if is_continued else above)),
            html=to_html(text, resolve),
            is_continued=is_continued,
        )
        anchors.add(anchor)
        above = names


def outline(chunks: Sequence[Chunk]) -> list[OutlineEntry]:
    """The sections of all pages that a link can open, at most MAX_OUTLINE."""
    entries: dict[str, OutlineEntry] = {}
    for number, chunk in enumerate(chunks):
        names, anchor = _names(chunk), anchor_of(chunk)
        if names and anchor and anchor not in entries:
            heading = Heading(level=_level(len(names)), text=names[-1])
            part = number // PART_CHUNKS + 1
            entries[anchor] = OutlineEntry(part=part, anchor=anchor, heading=heading)
    return list(entries.values())[:MAX_OUTLINE]


def link_resolver(
    card: DocumentCard, documents: Mapping[str, DocumentCard], anchors: frozenset[str]
) -> Resolve:
    """Follows web addresses, headings of the document, and relative paths to documents."""

    @cache
    def by_path() -> Mapping[str, DocumentCard]:
        return {one.path or one.id: one for one in documents.values()}

    def resolve(target: str) -> str:
        if is_web(target):
            return target
        name, _, fragment = target.partition("#")
        if not name:
            return target if unquote(fragment) in anchors else ""
        path = linked_path(target, card.path or card.id)
        linked = by_path().get(path) if path else documents.get(name.removeprefix("doc:"))
        if linked is None or not is_web(linked.url):
            return ""
        return f"{linked.url}#{fragment}" if fragment else linked.url

    return resolve


def to_html(markdown: str, resolve: Resolve) -> Markup:
    """Raw HTML is text, pictures are not loaded, and links that don't resolve are only labels."""
    brackets = max(text.count("[") for text in _PARAGRAPH_END.split(markdown))
    if len(markdown) > MAX_MARKDOWN_CHARS or brackets > MAX_BRACKETS:
        return Markup("<pre>{}</pre>").format(markdown)
    parser = _parser()
    tokens = parser.parse(markdown)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = "h6"
        if token.children:
            token.children = list(_inline(token.children, resolve))
    return Markup(parser.renderer.render(tokens, parser.options, {}))  # noqa: S704


def _inline(tokens: Sequence[Token], resolve: Resolve) -> Iterator[Token]:
    opened: list[bool] = []
    for token in tokens:
        if token.type == "link_open":
            target = resolve(str(token.attrGet("href") or ""))
            opened.append(bool(target))
            token.attrs = {"href": target, "rel": REL}
        if token.type == "image":
            label = f"[picture: {token.content}]" if token.content else "[picture]"
            yield Token("text", "", 0, content=label)
        elif not token.type.startswith("link_") or (
            opened.pop() if token.type == "link_close" else opened[-1]
        ):
            yield token


@cache
def _parser() -> MarkdownIt:
    parser = markdown_parser()
    parser.options["html"] = False
    # `[^1]: note` is a footnote's text here, and no definition of a link.
    parser.disable(["html_block", "html_inline", "reference"])
    parser.validateLink = lambda url: True  # type: ignore[method-assign]  # `resolve` decides
    parser.inline.ruler.before("autolink", "line_break", _line_break)
    return shared(parser)


def _line_break(state: StateInline, silent: bool) -> bool:
    """`<br>`, which stands for a line end in table cells."""
    if not state.src.startswith("<br>", state.pos):
        return False
    if not silent:
        state.push("hardbreak", "br", 0)
    state.pos += len("<br>")
    return True


def _place(chunk: Chunk) -> tuple[str, tuple[str, ...], str]:
    return chunk.tab, chunk.heading_path, chunk.url


def _names(chunk: Chunk) -> tuple[str, ...]:
    """Tab and headings. The title stands above all."""
    path = chunk.heading_path
    path = path[1:] if path[:1] == (chunk.document_title,) else path
    return (*((chunk.tab,) if chunk.tab else ()), *path)


def _headings(names: Sequence[str], above: Sequence[str]) -> Iterator[Heading]:
    """The headings that the section above doesn't have; always the last, as two sections may have
    the same."""
    same = 0
    while same < min(len(names) - 1, len(above)) and names[same] == above[same]:
        same += 1
    for depth, name in enumerate(names[same:], start=same + 1):
        yield Heading(level=_level(depth), text=name)


def _level(depth: int) -> int:
    return min(6, depth + 1)
