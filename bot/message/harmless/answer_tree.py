"""An answer's markdown as a tree, at a cost that grows with its length alone."""

from __future__ import annotations

import re
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.tree import SyntaxTreeNode

from bot.message.harmless.harmless_words import is_address
from loaders.text.plain import markdown_parser, shared

MAX_BRACKETS = 200
"""Of one paragraph. The parser looks for the end of each from the start, so 16 kB of them cost
two seconds; no paragraph has a hundred links."""
FEWEST = 300
SIGN_SHARE, LINE_SHARE = 6, 12
"""Among more than `FEWEST`, one character in six that is a sign of markup, or in twelve that ends a
line, is nothing anyone wrote: documents have at most one in eleven, and one in 27."""

_SIGNS = re.compile(r"[!&*<\[\\\]_`~]")
_ENDS_TEXT = re.compile(r"[\n!&*<\[\\\]_`~]")
"""The characters that one of the rules below begins with."""
_NAME = (
    r"</?(?:a|abbr|b|big|blockquote|body|br|button|center|code|dd|del|details|div|dl|dt|em|embed"
    r"|font|form|h[1-6]|head|hr|html|i|iframe|img|input|ins|kbd|li|link|mark|meta|object|ol|p|pre"
    r"|q|s|script|small|span|strike|strong|style|sub|summary|sup|svg|table|tbody|td|th|thead|tr"
    r"|tt|u|ul|video)"
)
"""HTML only: `<service-name>` in prose is a placeholder, and stays."""
_TAG = re.compile(_NAME + r"(?:[\s/][^<>]{0,500})?>|<!--[^<>]{0,500}-->", re.IGNORECASE)
TAG_START = re.compile(rf"(?={_NAME}(?:[\s/>]|$)|<!--)<", re.IGNORECASE)
_SLACK_LINK = re.compile(r"<([^<>|\s]+)\|([^<>\n]*)>")


def tree_of(markdown: str) -> SyntaxTreeNode:
    """Nodes as CommonMark names them, and two more: `tag` (HTML) and `slack_link` (`<url|label>`,
    its address in `content`, its words in `meta["label"]`). Addresses are as they were written."""
    return SyntaxTreeNode(_parser().parse(_bounded(markdown)))


def numbered(steps: SyntaxTreeNode, count: int) -> str:
    """The number of an ordered list's item, counted from 0, as a reader sees it; empty for others.

    Whoever writes `1.` before every step leaves the counting to the reader, and after a cut or in
    plain text nobody counts."""
    return str(int(steps.attrs.get("start", 1)) + count) if steps.type == "ordered_list" else ""


def _bounded(markdown: str) -> str:
    """Text of hardly more than line ends is shown as code."""
    lines = markdown.count("\n")
    if lines < FEWEST or lines * LINE_SHARE < len(markdown) or markdown.startswith("```"):
        return markdown
    return "```\n" + re.sub("`{3,}", "'''", markdown) + "\n```"


@cache
def _parser() -> MarkdownIt:
    parser = markdown_parser()
    parser.disable(["html_block", "html_inline"])
    # What an address may be is decided in one place, on what was written.
    parser.validateLink = lambda url: True  # type: ignore[method-assign]
    parser.normalizeLink = lambda url: url  # type: ignore[method-assign]
    parser.normalizeLinkText = lambda link: link  # type: ignore[method-assign]
    parser.inline.terminator_re = _ENDS_TEXT
    parser.inline.ruler.before("link", "crowded", _crowded)
    parser.inline.ruler.before("autolink", "slack_link", _slack_link)
    parser.inline.ruler.after("slack_link", "tag", _tag)
    parser.core.ruler.before("inline", "dense", _dense)
    return shared(parser)


def _dense(state: StateCore) -> None:
    """A paragraph of hardly more than signs is shown as code."""
    for token in state.tokens:
        text = token.content
        if token.type != "inline" or len(text) < FEWEST:
            continue
        signs = sum(1 for _ in _SIGNS.finditer(text))
        if signs > FEWEST and signs * SIGN_SHARE > len(text):
            inside = text.strip().strip("`").replace("`", "'").replace("\n", " ").strip()
            token.children = [Token("code_inline", "code", 0, markup="`", content=inside)]
            token.content = ""


def _crowded(state: StateInline, silent: bool) -> bool:
    """Brackets beyond the bound are words."""
    sign = state.src[state.pos]
    if sign not in "![" or _brackets(state) <= MAX_BRACKETS:
        return False
    if not silent:
        state.pending += sign
    state.pos += 1
    return True


def _brackets(state: StateInline) -> int:
    if -1 not in state.cache:
        state.cache[-1] = state.src.count("[")
    return state.cache[-1]


def _slack_link(state: StateInline, silent: bool) -> bool:
    found = _SLACK_LINK.match(state.src, state.pos)
    if not found or not (is_address(found[1]) or found[1].startswith("//")):
        return False
    if not silent:
        token = state.push("slack_link", "", 0)
        token.content, token.meta = found[1], {"label": found[2]}
    state.pos = found.end()
    return True


def _tag(state: StateInline, silent: bool) -> bool:
    found = _TAG.match(state.src, state.pos)
    if not found:
        return False
    if not silent:
        state.push("tag", "", 0).content = found[0]
    state.pos = found.end()
    return True
