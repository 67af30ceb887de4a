"""Inline Markdown → plain text, the shared Markdown parser, and list numbers.

The parser is CommonMark with tables and strikethrough."""

from __future__ import annotations

import re
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from loaders.document import MAX_MARKUP_NESTING

_INLINE_NESTING = 12
"""Levels of nested brackets. The parser visits each unclosed `[` once per level."""

# mdurl fills its character table at the first URL, and a concurrent thread reads past its end: with
# two cores, one of three first runs lost a document to an IndexError.
MarkdownIt().normalizeLink("")


def markdown_parser() -> MarkdownIt:
    """Returns a new parser, to which the caller can add rules."""
    parser = MarkdownIt("commonmark", {"maxNesting": MAX_MARKUP_NESTING})
    parser.enable(["table", "strikethrough"])
    shallow = MarkdownIt("commonmark", {"maxNesting": _INLINE_NESTING})
    shallow.inline = parser.inline

    def inline(state: StateCore) -> None:
        shallow.helpers = parser.helpers
        for token in state.tokens:
            if token.type == "inline":
                token.children = shallow.inline.parse(token.content, shallow, state.env, [])

    parser.core.ruler.at("inline", inline)
    return parser


def shared(parser: MarkdownIt) -> MarkdownIt:
    """Makes a parser safe for concurrent threads.

    A parser sorts its rules on first use. A concurrent thread would use an incomplete list of rules
    and read tables as text."""
    for ruler in (parser.core.ruler, parser.block.ruler, parser.inline.ruler, parser.inline.ruler2):
        ruler.getRules("")
    return parser


def read_blocks(text: str) -> list[Token]:
    """Block tokens of an answer. `map` counts `\\n`-separated lines; inline content is unparsed.

    Tags are text: in answers `<cluster-name>` is a placeholder, and as HTML it would swallow the
    table below it."""
    return _block_parser().parse(text)


@cache
def _block_parser() -> MarkdownIt:
    parser = markdown_parser()
    parser.options["html"] = False
    parser.core.ruler.enableOnly(["normalize", "block"])
    return shared(parser)


_ROMAN = (
    (1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"),
    (50, "l"), (40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"),
)  # fmt: skip
BULLETS = ("•", "◦", "▪")


def number(value: int, kind: str) -> str:
    """`value` in an HTML list `type`: `1`, `a`, `A`, `i` or `I`; decimal when out of range."""
    if kind in "aA" and value > 0:
        label = _letters(value)
    elif kind in "iI" and 0 < value < 4000:
        label = _roman(value)
    else:
        return str(value)
    return label.upper() if kind.isupper() else label


def _letters(value: int) -> str:
    """1 → a, 26 → z, 27 → aa, 28 → bb, like Google."""
    return chr(ord("a") + (value - 1) % 26) * min((value - 1) // 26 + 1, 100)


def _roman(value: int) -> str:
    roman = ""
    for size, sign in _ROMAN:
        roman += sign * (value // size)
        value %= size
    return roman


_FOOTNOTE_MARK = re.compile(r"\[\^[^\[\]\s\\]{1,100}+\]")
_LIST_TAG = re.compile(r"<(/?)(ol|ul|li)\b([^>]*)>", re.IGNORECASE)
_BREAK_TAG = re.compile(r"</?(?:br|p|div)\b[^>]*>", re.IGNORECASE)
_KNOWN_TAG = re.compile(
    r"</?(?:a|b|i|u|s|em|strong|del|ins|code|sub|sup|span|small|mark|kbd)\b[^>]*>", re.IGNORECASE
)

_DEEPEST = 8
"""The deepest list level that increases the indentation."""


def plain_text(markdown: str, *, code: str = "") -> str:
    """The visible text: no markup, no footnote marks, `\\n` for line breaks.

    `code`: a mark to put around code."""
    if not markdown:
        return ""
    return _text(_parser().parseInline(markdown.replace("\n", "<br>"))[0].children or [], code)


def _text(tokens: list[Token], code: str) -> str:
    pieces: list[str] = []
    lists: list[tuple[str, int]] = []
    has_text = False
    for token in tokens:
        if token.type == "image":
            pieces.append(_text(token.children or [], code) or token.content)
        elif token.type in ("softbreak", "hardbreak"):
            pieces.append("\n")
        elif token.type == "html_inline":
            pieces.append(_tag_text(token.content, lists, at_start=not has_text))
        elif token.type == "code_inline":
            pieces.append(f"{code}{token.content}{code}")
        elif token.type != "footnote_mark":
            pieces.append(token.content)
        has_text = has_text or bool(pieces and pieces[-1].strip("\n"))
    return "".join(pieces)


def _tag_text(tag: str, lists: list[tuple[str, int]], *, at_start: bool) -> str:
    match = _LIST_TAG.fullmatch(tag)
    if not match:
        return "\n" if _BREAK_TAG.fullmatch(tag) else "" if _KNOWN_TAG.fullmatch(tag) else tag
    closing, name, attributes = match[1], match[2].lower(), match[3]
    if name == "li":
        if closing or not lists:
            return ""
        kind, count = lists[-1]
        lists[-1] = (kind, count + 1)
        sign = f"{number(count, kind)}." if kind else "•"
        return ("" if at_start else "\n") + "  " * min(len(lists) - 1, _DEEPEST) + sign + " "
    if closing:
        if lists:
            lists.pop()
        return ""
    start = re.search(r'start="(\d{1,9})"', attributes)
    declared = re.search(r'type="(\w)"', attributes)
    kind = (declared[1] if declared else "1") if name == "ol" else ""
    lists.append((kind, int(start[1]) if start else 1))
    return ""


def _footnote_mark(state: StateInline, silent: bool) -> bool:
    match = _FOOTNOTE_MARK.match(state.src, state.pos)
    if not match or state.src[match.end() : match.end() + 1] == "(":
        return False
    if not silent:
        state.push("footnote_mark", "", 0).content = match.group()
    state.pos = match.end()
    return True


@cache
def _parser() -> MarkdownIt:
    parser = markdown_parser()
    parser.inline.ruler.before("link", "footnote_mark", _footnote_mark)
    return shared(parser)
