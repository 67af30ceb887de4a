"""An answer's markdown as a tree, and the inline text of its nodes as sanitized markdown. Pure.

Parsing takes time linear in the length of the text."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.tree import SyntaxTreeNode

from bot.blocks.sanitize.text import (
    BACKTICK_LOOKALIKE,
    BREAK,
    WORD,
    Links,
    address_span,
    break_address,
    break_links,
    break_mentions,
    encode_url,
    host_of,
    is_address,
    strip_invisible,
)
from loaders.text.markdown import code_span, escape
from loaders.text.plain import markdown_parser, shared

MAX_BRACKETS = 200
"""Maximum brackets of one paragraph. The parser searches the end of each from the start, so 16 kB
of them cost two seconds; no paragraph has a hundred links."""
MIN_DENSE = 300
SIGN_SHARE, LINE_SHARE = 6, 12
"""Text with more than `MIN_DENSE` of them, where one character in six is markup or one in twelve
ends a line, is not prose: documents have at most one in eleven, and one in 27."""

_SIGNS = re.compile(r"[!&*<\[\\\]_`~]")
_ENDS_TEXT = re.compile(r"[\n!&*<\[\\\]_`~]")
"""The characters at which one of the rules below starts."""
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
    """Nodes as CommonMark names them, and two more: `tag` (HTML) and `slack_link` (`<url|label>`:
    URL in `content`, label in `meta["label"]`). URLs are unchanged."""
    return SyntaxTreeNode(_parser().parse(_bound(markdown)))


def item_number(steps: SyntaxTreeNode, count: int) -> str:
    """The displayed number of an ordered list's item, `count` from 0; empty for other lists.

    Authors may write `1.` before every step and let the renderer count; after a cut or in plain
    text nothing counts."""
    return str(int(steps.attrs.get("start", 1)) + count) if steps.type == "ordered_list" else ""


def _bound(markdown: str) -> str:
    """Text of mostly line ends becomes code."""
    lines = markdown.count("\n")
    if lines < MIN_DENSE or lines * LINE_SHARE < len(markdown) or markdown.startswith("```"):
        return markdown
    return "```\n" + re.sub("`{3,}", "'''", markdown) + "\n```"


@cache
def _parser() -> MarkdownIt:
    parser = markdown_parser()
    parser.disable(["html_block", "html_inline"])
    # `is_web` alone decides what a URL may be, on the unchanged text.
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
    """A paragraph of mostly markup characters becomes code."""
    for token in state.tokens:
        text = token.content
        if token.type != "inline" or len(text) < MIN_DENSE:
            continue
        signs = sum(1 for _ in _SIGNS.finditer(text))
        if signs > MIN_DENSE and signs * SIGN_SHARE > len(text):
            inside = text.strip().strip("`").replace("`", "'").replace("\n", " ").strip()
            token.children = [Token("code_inline", "code", 0, markup="`", content=inside)]
            token.content = ""


def _crowded(state: StateInline, silent: bool) -> bool:
    """In a paragraph with more than `MAX_BRACKETS`, brackets are plain text."""
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
    match = _SLACK_LINK.match(state.src, state.pos)
    if not match or not (is_address(match[1]) or match[1].startswith("//")):
        return False
    if not silent:
        token = state.push("slack_link", "", 0)
        token.content, token.meta = match[1], {"label": match[2]}
    state.pos = match.end()
    return True


def _tag(state: StateInline, silent: bool) -> bool:
    match = _TAG.match(state.src, state.pos)
    if not match:
        return False
    if not silent:
        state.push("tag", "", 0).content = match[0]
    state.pos = match.end()
    return True


_SIGN = re.compile(r"[^\w\s.,;:!?'\"()/+=-]|_")
_REMARK = re.compile(r"(\[\d{1,3}\])\(")
"""A citation, then a remark in parentheses."""
_ENTITY = re.compile(r"&(?=#?\w{1,31};)")


def inline(node: SyntaxTreeNode, links: Links) -> str:
    """A node's inline text, with as few escapes as the same reading allows."""
    careful = _Spans(links, escape, label=False).write(node)
    if "\\" not in careful:
        return careful
    light = _Spans(links, _unchanged, label=False).write(node)
    return light if _shape(light) == _shape(careful) else careful


def break_code(code: str) -> str:
    """Makes code safe as text: a simpler parser would end it at a backtick within."""
    return break_mentions(break_links(code)).replace("](", f"]{BREAK}(")


def break_controls(code: str) -> str:
    """Breaks Slack's control sequences in code; all other characters stay."""
    return re.sub("<(?=[!@#])", f"<{BREAK}", code)


class _Spans:
    """Writes inline nodes."""

    def __init__(self, links: Links, guard: Callable[[str], str], *, label: bool) -> None:
        self._links = links
        self._guard = guard
        self._label = label
        self._pieces: list[str] = []
        self._words: list[str] = []
        """Adjacent text, sanitized together."""

    def write(self, node: SyntaxTreeNode) -> str:
        self._add(node.children)
        self._flush()
        return _join(self._pieces)

    def _add(self, nodes: list[SyntaxTreeNode]) -> None:
        for node in nodes:
            kind = node.type
            if kind == "text":
                self._words.append(node.content.replace("\n", " "))
            elif kind in ("em", "strong", "s"):
                self._emphasis(node)
            elif kind == "code_inline":
                self._put(_code(_in_label(node.content) if self._label else node.content))
            elif kind in ("softbreak", "hardbreak"):
                self._put("\n" if kind == "softbreak" else "  \n")
            elif kind == "link":
                self._link(str(node.attrs.get("href", "")), node)
            elif kind == "slack_link":
                self._slack_link(node)
            elif kind == "tag":
                if node.content[:3].lower() == "<br":
                    self._put("  \n")
            else:  # an image, and any node of a later parser: its text
                self._add(node.children)

    def _put(self, markdown: str) -> None:
        self._flush()
        self._pieces.append(markdown)

    def _flush(self) -> None:
        text = strip_invisible("".join(self._words)).replace("\n", " ")
        self._words = []
        if text:
            self._pieces.append(self._prose(text))

    def _emphasis(self, node: SyntaxTreeNode) -> None:
        inner = self._inside(node, label=self._label)
        core = inner.strip()
        if not core:
            self._put(inner)
            return
        start = inner[: len(inner) - len(inner.lstrip())]
        self._put(f"{start}{node.markup}{core}{node.markup}{inner[len(inner.rstrip()) :]}")

    def _inside(self, node: SyntaxTreeNode, *, label: bool) -> str:
        return _Spans(self._links, self._guard, label=label).write(node)

    def _link(self, url: str, node: SyntaxTreeNode) -> None:
        words = _words_of(node)
        if self._links.allow(url):
            inside = self._guard(url) if words == url else self._inside(node, label=True)
            self._put(_link(url, inside, words))
        elif words.isdigit() and ":" not in url:
            self._words.append(f"[{words}] ({url})")
        else:
            self._add(node.children)

    def _slack_link(self, node: SyntaxTreeNode) -> None:
        url, words = node.content, str(node.meta["label"])
        if self._links.allow(url):
            self._put(
                _link(url, self._plain(_in_label(strip_invisible(words or url))), words or url)
            )
        else:
            self._words.append(words or url)

    def _prose(self, text: str) -> str:
        if self._label:
            return self._plain(_in_label(text))
        pieces: list[str] = []
        at = 0
        for word in WORD.finditer(text):
            if is_address(word[0]):
                start, end = (word.start() + place for place in address_span(word[0]))
                address = self._address(text[start:end])
                pieces += [self._plain(text[at:start]), address]
                at = end
        return _join([*pieces, self._plain(text[at:])])

    def _address(self, text: str) -> str:
        if self._links.allow(text):
            return _link(text, self._guard(text), text)
        return _code(text) if is_address(text) else self._plain(break_address(text))

    def _plain(self, text: str) -> str:
        """Text in which no markdown parser could read a link or a mention."""
        if not _SIGN.search(text):
            return text
        text = _REMARK.sub(r"\1 (", text.replace("`", BACKTICK_LOOKALIKE))
        text = text.replace("](", f"]{BREAK}(")
        text = _ENTITY.sub("&" + BREAK, text)
        text = TAG_START.sub("<" + BREAK, text)
        return self._guard(break_mentions(text)).replace("\\<", "<").replace("\\][", "][")


def _join(pieces: list[str]) -> str:
    """Joins pieces; adjacent code spans stay separate."""
    visible = [piece for piece in pieces if piece]
    for at in range(1, len(visible)):
        if visible[at].startswith("`") and visible[at - 1].endswith("`"):
            visible[at] = BREAK + visible[at]
    return "".join(visible)


def _in_label(text: str) -> str:
    """Without brackets and addresses, so that a label can't end its link early."""
    return re.sub(r"[\[\]]", "", break_links(text))


def _link(url: str, label: str, words: str) -> str:
    """A link; its label also names the host when it mentions another address."""
    host = host_of(url)
    is_named = words.endswith(f"({host})")
    if not is_named and any(is_address(w) and not _leads(w, host) for w in WORD.findall(words)):
        label = f"{label.strip()} ({break_links(host)})"
    return f"[{label.strip() or 'link'}]({encode_url(url)})"


def _leads(word: str, host: str) -> bool:
    start, end = address_span(word)
    address = re.sub("^https?://", "", word[start:end].lower())
    after = address[len(host) : len(host) + 1]
    return address.startswith(host) and after in ("", "/", ":", "?", "#")


def _code(content: str) -> str:
    content = break_controls(content)
    if "`" in content:
        return code_span(break_code(content))
    return f"`{content}`" if content.strip() == content else code_span(content)


def _words_of(node: SyntaxTreeNode) -> str:
    return "".join(inner.content for inner in node.walk(include_self=False) if not inner.children)


def _unchanged(text: str) -> str:
    return text


def _shape(markdown: str) -> list[tuple[str, str]]:
    """Node types and texts that a line parses to."""
    nodes = tree_of(f"x {markdown}").walk(include_self=False)
    return [(node.type, node.content if not node.children else "") for node in nodes]
