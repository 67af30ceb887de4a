"""Inline markdown to the words that it shows."""

from __future__ import annotations

import re
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from loaders.markdown_parser import markdown_parser, shared
from loaders.numbering import number

_FOOTNOTE_MARK = re.compile(r"\[\^[^\[\]\s\\]{1,100}+\]")
_LIST_TAG = re.compile(r"<(/?)(ol|ul|li)\b([^>]*)>", re.IGNORECASE)
_BREAK_TAG = re.compile(r"</?(?:br|p|div)\b[^>]*>", re.IGNORECASE)
_KNOWN_TAG = re.compile(
    r"</?(?:a|b|i|u|s|em|strong|del|ins|code|sub|sup|span|small|mark|kbd)\b[^>]*>", re.IGNORECASE
)

_DEEPEST = 8
"""Levels of lists that are indented further."""


def plain_text(markdown: str, *, code: str = "") -> str:
    """What a reader sees: no markup, `\\n` for line breaks, footnote marks left out.

    `code`: a sign that is put around what is code."""
    if not markdown:
        return ""
    return _text(_parser().parseInline(markdown.replace("\n", "<br>"))[0].children or [], code)


def _text(tokens: list[Token], code: str) -> str:
    pieces: list[str] = []
    lists: list[tuple[str, int]] = []
    begun = False
    for token in tokens:
        if token.type == "image":
            pieces.append(_text(token.children or [], code) or token.content)
        elif token.type in ("softbreak", "hardbreak"):
            pieces.append("\n")
        elif token.type == "html_inline":
            pieces.append(_tag_text(token.content, lists, at_start=not begun))
        elif token.type == "code_inline":
            pieces.append(f"{code}{token.content}{code}")
        elif token.type != "footnote_mark":
            pieces.append(token.content)
        begun = begun or bool(pieces and pieces[-1].strip("\n"))
    return "".join(pieces)


def _tag_text(tag: str, lists: list[tuple[str, int]], *, at_start: bool) -> str:
    found = _LIST_TAG.fullmatch(tag)
    if not found:
        return "\n" if _BREAK_TAG.fullmatch(tag) else "" if _KNOWN_TAG.fullmatch(tag) else tag
    closing, name, attributes = found[1], found[2].lower(), found[3]
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
    found = _FOOTNOTE_MARK.match(state.src, state.pos)
    if not found or state.src[found.end() : found.end() + 1] == "(":
        return False
    if not silent:
        state.push("footnote_mark", "", 0).content = found.group()
    state.pos = found.end()
    return True


@cache
def _parser() -> MarkdownIt:
    parser = markdown_parser()
    parser.inline.ruler.before("link", "footnote_mark", _footnote_mark)
    return shared(parser)
