"""Block markup of site generators, as rules of markdown-it: boxes, tabs, directives and tags.

The text in it is read as Markdown, under the title that the site shows. Markup without text of its
own is left out; what the site takes from elsewhere is told in `Notes`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.ruler import RuleOptionsType
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from loaders.files.sites.boxes import fenced_box, indented_box, named_tab, titled_fence
from loaders.files.sites.json_blocks import json_block
from loaders.files.sites.page import Notes, line_of, notes_of, read_inside, write_code, write_title
from loaders.files.sites.tags import CONTROL, TAG_START, SiteTag, box_title, read_tag, title_in

_Rule = Callable[[StateBlock, int, int, bool], bool]
_ALT: RuleOptionsType = {"alt": ["paragraph", "reference", "blockquote", "list"]}
ATTRIBUTES = (
    r"\{(?::[^{}\n]*|[ \t]*(?:[#.][\w:.-]+|[\w:-]+=(?:\"[^\"\n]*\"|'[^'\n]*'|[^\s\"'{}]+))"
    r"(?:[ \t]+(?:[#.]?[\w:.-]+|[\w:-]+=(?:\"[^\"\n]*\"|'[^'\n]*'|[^\s\"'{}]+)))*[ \t]*)\}"
)
_CALLOUT = re.compile(r"\[!(?P<type>[\w-]+)(?P<more>[^\]\n]*)\][+-]?[ \t]*(?P<title>[^\n]*)\n?")
_ID = re.compile(
    r"\{:?[ \t]*(?:[^{}\n]*[ \t])?(?:#|id=[\"']?)(?P<id>[^\s{}\"']+)[^{}\n]*\}"
    r"|\{/\*[ \t]*#(?P<mdx>\S+?)[ \t]*\*/\}|\{-\}|" + ATTRIBUTES
)
_CONTROLLED = "conditions and loops of the site are not followed: all text is read"
_TARGET = re.compile(r"\((?P<id>[\w.:/+ -]+)\)=[ \t]*$")
_TOC = re.compile(r"\[(?:TOC|_TOC_|\[(?:_TOC_|_TOSP_|TOC)\])\][ \t]*$", re.IGNORECASE)
_SNIPPET = re.compile(r"-{1,}8<-{1,}(?:[ \t]+(?P<file>.*))?$")
_MODULE = re.compile(
    r"import\s+(?:[\w*{$][^'\";]*\sfrom\s*)?['\"][^'\"]+['\"];?\s*$"
    r"|import\s+(?:type\s+)?\{\s*$"
    r"|export\s+(?:const|let|var|default|async|function|class|type|interface|\{|\*)",
    re.MULTILINE,
)
_JSX_TEXT = re.compile(r"\s*\{\s*`(?P<code>[^`]*)`\s*\}\s*")
_NEW_LINE = re.compile(
    r"\n(?=[ \t]*(?:\||\+[-=]|\$[ \t]|#\.[ \t]|\(@\w*\)[ \t]|%[ \t]|[A-Za-z][.)][ \t]"
    r"|\([A-Za-z\d]{1,3}\)[ \t]))"
)
"""Before rows and items of forms that CommonMark does not have, and runs together."""
_PROPERTY = re.compile(r"[ \t]*(?:\*\*|__)?[^\W\d_a-z][\w /]{0,40}(?:\*\*|__)?::?(?:\*\*|__)?[ \t]")
_COMMENT = re.compile(r"\{/\*(?:(?!\{/\*).){0,4000}?\*/\}[ \t]*$", re.DOTALL | re.MULTILINE)


def add_site_markup(parser: MarkdownIt) -> None:
    rule = parser.block.ruler
    rule.before("code", "site_markup", _site_markup, _ALT)
    rule.at("fence", titled_fence, _ALT)
    parser.core.ruler.after("block", "site_blocks", _site_blocks)


def _site_markup(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    position = state.bMarks[start] + state.tShift[start]
    rule = _RULES.get(state.src[position : position + 1])
    if rule is None or state.is_code_block(start):
        return False
    return rule(state, start, end, silent)


def _braces(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A line of attributes, a comment of MDX, or tags of Hugo or Liquid."""
    position = state.bMarks[start] + state.tShift[start]
    line = line_of(state, start)
    if re.fullmatch(ATTRIBUTES + r"[ \t]*", line):
        if not silent:
            token = state.push("site_attributes", "", 0)
            token.hidden, token.content = True, line
            if start == 0 or state.isEmpty(start - 1):
                write_title(state, start, box_title(line))
            state.line = start + 1
        return True
    if comment := _COMMENT.match(state.src, position, state.eMarks[end - 1]):
        if not silent:
            state.line = start + comment[0].count("\n") + 1
        return True
    return _tags(state, start, end, silent)


def _tags(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Lines that hold nothing but tags."""
    notes = notes_of(state)
    position, limit = state.bMarks[start] + state.tShift[start], state.eMarks[end - 1]
    tags: list[tuple[SiteTag, int]] = []
    while True:
        tag = read_tag(state.src, position)
        if tag is None or tag.end > limit or not notes.pairs.is_markup(tag):
            return False
        tags.append((tag, position))
        position = tag.end
        while state.src[position : position + 1] in (" ", "\t"):
            position += 1
        if position >= len(state.src) or state.src[position] == "\n":
            break
    if silent:
        return True
    first = start + state.src.count("\n", state.bMarks[start], position) + 1
    state.line = first
    *others, (last, place) = tags
    for tag, _ in others:
        _one_tag(state, start, tag)
    closing = notes.pairs.ends.get(place)
    if closing is None or closing >= state.eMarks[end - 1]:
        _one_tag(state, start, last)
        return True
    end_line = first
    while end_line < end and state.eMarks[end_line] < closing:
        end_line += 1
    _enclosed(state, last, first, end_line)
    behind = read_tag(state.src, closing)
    is_alone = behind is not None and not state.src[behind.end : state.eMarks[end_line]].strip()
    begins = state.bMarks[end_line] + state.tShift[end_line] == closing
    state.line = end_line + 1 if is_alone and begins else end_line
    return True


def _enclosed(state: StateBlock, tag: SiteTag, first: int, last: int) -> None:
    """What stands between the lines of an opening and a closing tag."""
    if tag.form == "liquid" and tag.name == "comment":
        return
    lines = state.src[state.bMarks[first] : state.eMarks[last - 1]] if last > first else ""
    if tag.holds_code and tag.name != "raw" and not re.search(r"^\s*(?:```|~~~)", lines, re.M):
        write_code(state, first, last, tag.target if tag.target.isalnum() else "")
        if tag.form == "mdx" and (text := _JSX_TEXT.fullmatch(state.tokens[-1].content)):
            state.tokens[-1].content = f"{text['code']}\n"
        return
    if tag.name in CONTROL:
        _one_tag(state, first - 1, tag)
        read_inside(state, first, last)
        return
    title = title_in(tag.arguments, tag.name)
    inner = read_tag(lines, len(lines) - len(lines.lstrip()))
    if inner and not inner.closes and _is_group(tag, inner):
        title = title if " " in title else ""  # its name is no text
    state.env["names_code"] = tag.holds_code and tag.form == "mdx"
    read_inside(state, first, last, title)
    state.env["names_code"] = False


def _is_group(tag: SiteTag, inner: SiteTag) -> bool:
    """Of tags that are named alike, such as `tabs` of `tab`, `Tabs` of `TabItem`."""
    name, inner_name = tag.name.lower(), inner.name.lower()
    return name.startswith(inner_name) or (name != inner_name and name[:3] == inner_name[:3])


def _one_tag(state: StateBlock, line: int, tag: SiteTag) -> None:
    if tag.closes or not tag.name:
        return
    notes = notes_of(state)
    if tag.form == "liquid" and tag.name in CONTROL:
        notes.warn(_CONTROLLED, line)
        return
    is_open = not tag.alone and (tag.form, tag.name) in notes.pairs.names
    title = title_in(tag.arguments, tag.name, encloses=is_open)
    if title and (is_open or " " in title or "=" in tag.arguments):
        write_title(state, line, title) if is_open else _plain(state, line, title)
    elif not is_open:
        notes.filled_in(f"{tag.name} {tag.arguments}".strip()[:100], line)


def _plain(state: StateBlock, line: int, text: str) -> None:
    state.push("paragraph_open", "p", 1).map = [line, line + 1]
    inline = state.push("inline", "", 0)
    inline.content, inline.children, inline.map = text, [], [line, line + 1]
    state.push("paragraph_close", "p", -1)


def words_of_tags(html: str, notes: Notes, line: int) -> str:
    """HTML in which tags of the site are replaced by their words."""
    pieces, end = [], 0
    for begin in TAG_START.finditer(html):
        tag = read_tag(html, begin.start()) if begin.start() >= end else None
        if tag is None or not notes.pairs.is_markup(tag):
            continue
        is_control = tag.form == "liquid" and tag.name in CONTROL
        is_silent = tag.closes or not tag.name or is_control
        title = "" if is_silent else title_in(tag.arguments, tag.name, encloses=not tag.alone)
        pieces += [html[end : begin.start()], f"{escapeHtml(title)} " if title else ""]
        end = tag.end
        if is_control and not tag.closes:
            notes.warn(_CONTROLLED, line)
        elif not is_silent and not title and (tag.form, tag.name) not in notes.pairs.names:
            notes.filled_in(f"{tag.name} {tag.arguments}".strip()[:100], line)
    return "".join([*pieces, html[end:]]) if pieces else html


def _bracket(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """The place of a table of contents, or a block of JSON."""
    if json_block(state, start, end, silent):
        return True
    if not _TOC.match(line_of(state, start)):
        return False
    if not silent:
        state.line = start + 1
    return True


def _snippet(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    match = _SNIPPET.match(line_of(state, start))
    if not match:
        return False
    if not silent:
        state.line = start + 1
        if match["file"]:
            notes_of(state).filled_in(f"--8<-- {match['file']}"[:100], start)
    return True


def _module(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """`import` and `export` of MDX, up to the next blank line."""
    position = state.bMarks[start]
    if silent or state.level or not _MODULE.match(state.src, position, position + 2_000):
        return False
    if state.src[position] == "e":
        notes_of(state).warn("code of the site (`export`) is not read", start)
    while start < end and not state.isEmpty(start):
        start += 1
    state.line = start
    return True


def _target(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """`(label)=` of MyST, before the heading that it names."""
    match = _TARGET.match(line_of(state, start))
    if not match:
        return False
    if not silent:
        token = state.push("site_target", "", 0)
        token.hidden, token.content = True, match["id"]
        state.line = start + 1
    return True


_RULES: dict[str, _Rule] = {
    sign: rule
    for signs, rule in (
        ("!?=.", indented_box), (":/", fenced_box), ("@", named_tab), ("{", _braces), ("<", _tags),
        ("[", _bracket), ("-", _snippet), ("ie", _module), ("(", _target),
    )
    for sign in signs
}  # fmt: skip


def _site_blocks(state: StateCore) -> None:
    """Ids of headings, and titles of callouts (`> [!NOTE]`)."""
    tokens: list[Token] = []
    heading: Token | None = None
    name = ""
    for token in state.tokens:
        before = tokens[-1].type if tokens else ""
        if token.type == "site_target":
            name = token.content
        elif token.type == "heading_open":
            heading = token
            if name:
                token.attrSet("id", name)
            name = ""
        elif token.type == "inline" and before == "heading_open" and heading:
            begin = token.content.rfind("{") if token.content.endswith("}") else -1
            if begin >= 0 and (match := _ID.fullmatch(token.content, begin)):
                if match["id"] or match["mdx"]:
                    heading.attrSet("id", match["id"] or match["mdx"])
                token.content = token.content[:begin].rstrip()
        elif token.type == "site_attributes" and before == "heading_close" and heading:
            if match := _ID.fullmatch(token.content):
                heading.attrSet("id", match["id"] or heading.attrGet("id") or "")
        elif token.type == "inline" and before == "paragraph_open":
            token.content = _with_lines(token.content)
            is_first = len(tokens) > 1 and tokens[-2].type == "blockquote_open"
            if is_first and (match := _CALLOUT.match(token.content)):
                tokens += _callout(match, tokens[-1], token)
                token.content = token.content[match.end() :]
        tokens.append(token)
    state.tokens = tokens


def _with_lines(text: str) -> str:
    """A paragraph with the line breaks that a list, a table or properties (`Owner: Ops`) need."""
    if "\n" not in text:
        return text
    if all(map(_PROPERTY.match, text.split("\n"))):
        return text.replace("\n", "  \n")
    return _NEW_LINE.sub("  \n", text)


def _callout(match: re.Match[str], opening: Token, inline: Token) -> list[Token]:
    """The title's tokens and the opening of the next paragraph; `opening` is that of the title."""
    title = match["title"].strip() or ("" if match["more"].strip() else match["type"].capitalize())
    content: Any = Token("inline", "", 0, content=f"**{title}**" if title else "", children=[])
    content.map, content.level, content.block = inline.map, inline.level, True
    return [content, Token("paragraph_close", "p", -1, block=True, level=opening.level), opening]
