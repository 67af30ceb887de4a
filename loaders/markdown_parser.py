"""The one Markdown parser: CommonMark, with tables and strikethrough."""

from __future__ import annotations

from functools import cache

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from loaders.document_limits import MAX_MARKUP_NESTING

_INLINE_NESTING = 12
"""Levels of brackets in brackets. Each unclosed `[` is looked at once for every level."""

# mdurl fills its table of characters at the first address, and a thread that comes meanwhile reads
# past its end: with two cores, one of three first runs lost a document to an IndexError.
MarkdownIt().normalizeLink("")


def markdown_parser() -> MarkdownIt:
    """A new parser, for whoever adds rules to it."""
    parser = MarkdownIt("commonmark", {"maxNesting": MAX_MARKUP_NESTING})
    parser.enable(["table", "strikethrough"])
    shallow = MarkdownIt("commonmark", {"maxNesting": _INLINE_NESTING})
    shallow.inline = parser.inline

    def inline(state: StateCore) -> None:
        for token in state.tokens:
            if token.type == "inline":
                token.children = shallow.inline.parse(token.content, shallow, state.env, [])

    parser.core.ruler.at("inline", inline)
    return parser


def shared(parser: MarkdownIt) -> MarkdownIt:
    """Made ready for several threads at once.

    A parser sorts its rules when it is first used, and a thread that comes meanwhile takes those
    that are sorted already for all there are: it would read tables as text."""
    for ruler in (parser.core.ruler, parser.block.ruler, parser.inline.ruler, parser.inline.ruler2):
        ruler.getRules("")
    return parser


def read_blocks(text: str) -> list[Token]:
    """Block tokens of an answer, `map` in lines of `text` between `\\n`; inline content as written.

    What looks like a tag is text: in answers `<cluster-name>` is a placeholder, and as HTML it
    would swallow the table below it."""
    return _block_parser().parse(text)


@cache
def _block_parser() -> MarkdownIt:
    parser = markdown_parser()
    parser.options["html"] = False
    parser.core.ruler.enableOnly(["normalize", "block"])
    return shared(parser)
