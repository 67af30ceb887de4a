"""Markdown → Document. markdown-it converts it to HTML, which the HTML loader reads."""

from __future__ import annotations

import re
from collections.abc import Sequence
from copy import copy
from functools import cache
from typing import Any, Unpack

from bs4 import BeautifulSoup
from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, html_block, table
from markdown_it.rules_block.table import escapedSplit
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from mdit_py_plugins.deflist import deflist_plugin
from mdit_py_plugins.footnote import footnote_plugin
from mdit_py_plugins.tasklists import tasklists_plugin

from loaders.assemble import BlockWriter, Metadata, make_document
from loaders.document import MAX_MARKUP_NESTING, Document, check_size, too_deep
from loaders.files.html import write_html
from loaders.files.sites.front_matter import take_front_matter
from loaders.files.sites.inline import add_inline_markup
from loaders.files.sites.markup import add_site_markup, words_of_tags
from loaders.files.sites.page import Notes, line_of
from loaders.files.sites.tags import CODE_SPAN, HTML_TAGS
from loaders.text.plain import markdown_parser, shared

_NOTE_MARK = re.compile(r"\[\^([^\[\]\s]{1,100}+)\]")
_TABLE_TAG = re.compile(r"<(/?)table\b", re.IGNORECASE)
_INTERRUPTS = ["paragraph", "reference", "blockquote"]
_ODD_SPACE = re.compile(r"^([ \t]*(?:#{1,6}|[-*+]|\d{1,9}[.)]))\xa0", re.MULTILINE)
_UNSEEN = re.compile(r"^[\u200b\u2060\ufeff]+", re.MULTILINE)
_ENDS = {"<!--": "-->", "<?": "?>", "<![cdata[": "]]>", "<script": "</script", "<style": "</style"}
_OPEN_HTML = re.compile(r"<(?:!--|\?|!\[CDATA\[|(?:script|style)\b)", re.IGNORECASE)
_TAG = re.compile(r"</?([a-zA-Z][\w-]*)")
_HIDING = ("script", "style", "iframe", "svg")
"""Elements without readable text."""


def parse_markdown(text: str, *, url: str = "", **metadata: Unpack[Metadata]) -> Document:
    """Front matter `id`, `title`, `modified`, `status` and `owner` override the caller's metadata.

    `<!-- tab: Name -->` starts a tab. Raises LoadError when a limit is exceeded."""
    name = metadata.get("id") or metadata.get("title") or "Markdown document"
    check_size(name, len(text))
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")
    writer = BlockWriter(url=url)
    body = take_front_matter(text, metadata, writer.warn)
    if not body.isascii():
        body = _ODD_SPACE.sub(r"\1 ", _UNSEEN.sub("", body))
    notes = Notes(body)
    soup = BeautifulSoup(f"<body>{_to_html(notes, name, writer)}</body>", "lxml")
    write_html(soup, writer, name, is_page=notes.holds_html)
    first = next((block.text for block in writer.blocks if block.kind == "heading"), "")
    metadata["title"] = metadata.get("title") or first
    metadata.setdefault("mime_type", "text/markdown")
    return make_document(writer, url=url, **metadata)


def _to_html(notes: Notes, name: str, writer: BlockWriter) -> str:
    parser = _parser()
    env: dict[str, Any] = {"site": notes}
    tokens = parser.parse(notes.text, env)
    for token in tokens:
        # The parser stops silently at its own limit, one level deeper.
        if token.level >= MAX_MARKUP_NESTING - 1:
            line = (token.map or [0])[0] + 1
            raise too_deep(name, f"line {line}", MAX_MARKUP_NESTING, "quotes and lists")
    html = str(parser.renderer.render(tokens, parser.options, env))
    for warning, lines in notes.warnings.items():
        place = f"line {lines[0]}: " if lines[0] else ""
        more = f" ({len(lines)} times)" if len(lines) > 1 else ""
        writer.warn(f"{place}{warning}{more}")
    return html


def _keep_every_footnote(state: StateCore) -> None:
    """Adds the footnotes that the plugin loses.

    The plugin ignores references inside HTML tables and drops notes without a reference."""
    notes = state.env.get("footnotes", {})
    numbers: dict[str, int] = notes.get("refs", {})
    listed: dict[int, dict[str, Any]] = notes.setdefault("list", {}) if numbers else {}

    def number(label: str) -> int:
        if numbers[f":{label}"] < 0:
            numbers[f":{label}"] = len(listed)
            listed[len(listed)] = {"label": label, "count": 0}
        return numbers[f":{label}"]

    def reference(match: re.Match[str]) -> str:
        if f":{match[1]}" not in numbers:
            return match[0]
        place = number(match[1])
        listed[place]["count"] += 1
        note = place + 1
        return f'<sup><a href="#fn{note}" id="fnref{note}">[{note}]</a></sup>'

    for token in state.tokens:
        if token.type == "html_block":
            token.content = _NOTE_MARK.sub(reference, token.content)
    for label in numbers:
        number(label[1:])


def _whole_table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Reads an HTML table up to `</table>`. CommonMark would end it at the first blank line."""
    first = state.src[state.bMarks[start] + state.tShift[start] : state.eMarks[start]]
    if not re.match(r"<table\b", first, re.IGNORECASE):
        return False
    if silent:
        return True
    depth, line = 0, start
    while line < end:
        text = state.src[state.bMarks[line] : state.eMarks[line]]
        depth += sum(-1 if match[1] else 1 for match in _TABLE_TAG.finditer(text))
        line += 1
        if depth <= 0:
            break
    state.line = line
    token = state.push("html_block", "", 0)
    token.map = [start, line]
    token.content = state.getLines(start, line, state.blkIndent, True)
    return True


def _html_block(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """HTML as CommonMark reads it, but a comment that is never closed hides nothing, and scripts
    are no text."""
    position = state.bMarks[start] + state.tShift[start]
    opening = _OPEN_HTML.match(state.src, position)
    notes: Notes = state.env["site"]
    if opening is None:
        is_html = html_block(state, start, end, silent)
        if is_html and not silent:
            _close_comments(state, notes, end)
        return is_html
    sign = opening[0].lower()
    if position > notes.last(_ENDS[sign])[0]:
        if not silent:
            notes.warn(f"`{opening[0]}` is never closed: what follows is read as text", start)
        return False
    if not html_block(state, start, end, silent):
        return False
    if not silent and sign in ("<script", "<style"):
        state.tokens.pop()
    elif not silent:
        _close_comments(state, notes, end)
    return True


def _close_comments(state: StateBlock, notes: Notes, end: int) -> None:
    """Continues a block of HTML, which ends in a comment, to the line that closes the comment.

    By CommonMark it ends earlier, and the comment would hide the rest of the page."""
    token = state.tokens[-1]
    while (opened := token.content.rfind("<!--")) > token.content.rfind("-->"):
        first = line = state.line
        closing = notes.last("-->")[1]
        while line <= min(closing, end - 1) and "-->" not in line_of(state, line):
            line += 1
        if line > min(closing, end - 1):
            notes.warn("`<!--` is never closed: what follows is read as text", first - 1)
            token.content = f"{token.content[:opened]}&lt;{token.content[opened + 1 :]}"
            continue
        state.line = line + 1
        token.content += state.getLines(first, state.line, state.blkIndent, True)


def _table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Pipe tables. CommonMark ends a cell at a pipe in code, and cuts away cells beyond the
    header's. Here code that the header has room for stays whole, and other cells stay beside it.
    Below a header without a pipe in front, a full row like ` | x` has an empty first cell."""
    begin = len(state.tokens)
    if not table(state, start, end, silent):
        return False
    width = sum(token.type == "th_open" for token in state.tokens[begin:])
    tokens: list[Token] = []
    surplus = 0
    for token in state.tokens[begin:]:
        if token.type == "tr_close" and tokens[-1].type == "td_close":
            surplus = max(surplus, _complete(state, tokens, width, start))
        tokens.append(token)
    if surplus:
        after = next(n for n, token in enumerate(tokens) if token.type == "tr_close")
        nameless = [copy(token) for token in tokens[after - 3 : after]]
        nameless[1].content = ""
        tokens[after:after] = nameless * surplus
    state.tokens[begin:] = tokens
    return True


def _line(state: StateBlock, line: int) -> str:
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]]


def _complete(state: StateBlock, tokens: list[Token], width: int, first: int) -> int:
    """Writes the cells of the row that ends `tokens`, when its line has more than `width`.

    `first`: line of the table's header.

    Returns how many there are beyond it."""
    line = (tokens[-2].map or [0])[0]
    source = _line(state, line)
    in_full = [cell.strip() for cell in escapedSplit(source.strip())]
    if len(in_full) == width > 1 and not in_full[0] and not _line(state, first).startswith("|"):
        for token, cell in zip(tokens[1 - 3 * width :: 3], in_full, strict=True):
            token.content = cell
    if source.count("|") < width:
        return 0
    cells = _cells(source)
    if len(cells) <= width:
        return 0
    whole = _cells(CODE_SPAN.sub(lambda code: code[0].replace("|", "\0"), source))
    if len(whole) == width:
        for token, cell in zip(tokens[1 - 3 * width :: 3], whole, strict=True):
            token.content = cell.replace("\0", "|")
        return 0
    surplus = [cell for cell in cells[width:] if cell]
    for cell in surplus:
        opening, inline, closing = (copy(token) for token in tokens[-3:])
        inline.content = cell
        tokens += [opening, inline, closing]
    if surplus:
        notes: Notes = state.env["site"]
        notes.warn(f"a table row has more cells than the header, which has {width}", line)
    return len(surplus)


def _cells(line: str) -> list[str]:
    cells = [cell.strip() for cell in escapedSplit(line.strip())]
    return cells[not cells[0] : len(cells) - (len(cells) > 1 and not cells[-1])]


def _show_unclosed(state: StateCore) -> None:
    """Makes text of tags that would hide the rest of the page: "put it into a <script>"."""
    notes: Notes = state.env["site"]
    for token in state.tokens:
        if token.type == "html_block":
            notes.holds_html = True
            line = (token.map or [0])[0]
            token.content = words_of_tags(token.content, notes, line)
            for name in _HIDING:
                opened = token.content.lower().rfind(f"<{name}")
                if opened >= 0 and notes.last(f"</{name}")[1] < line:
                    opening = re.compile(f"<(?={name})", re.IGNORECASE)
                    token.content = opening.sub("&lt;", token.content)
            continue
        waiting: dict[str, list[Token]] = {}
        for child in token.children or ():
            if child.type != "html_inline":
                continue
            notes.holds_html = True
            match = _TAG.match(child.content)
            name = match[1].lower() if match else ""
            if name in _HIDING and child.content[1] == "/":
                waiting.pop(name, None)
            elif name in _HIDING:
                waiting.setdefault(name, []).append(child)
        for child in (child for children in waiting.values() for child in children):
            child.type = "text"


def _html_or_text(_: object, tokens: Sequence[Token], index: int, *_options: object) -> str:
    """Escapes tags that are not HTML elements: `<id>` in a sentence is a placeholder."""
    content = tokens[index].content

    def keep(match: re.Match[str]) -> str:
        return match.group() if match[1].lower() in HTML_TAGS else "&lt;" + match.group()[1:]

    return _TAG.sub(keep, content)


@cache
def _parser() -> MarkdownIt:
    parser = markdown_parser()
    parser.use(footnote_plugin, inline=False).use(tasklists_plugin).use(deflist_plugin)
    add_site_markup(parser)
    add_inline_markup(parser)
    parser.block.ruler.before("html_block", "whole_table", _whole_table, {"alt": _INTERRUPTS})
    parser.block.ruler.at("html_block", _html_block, {"alt": _INTERRUPTS})
    parser.block.ruler.at("table", _table, {"alt": ["paragraph", "reference"]})
    parser.core.ruler.before("footnote_tail", "every_footnote", _keep_every_footnote)
    parser.core.ruler.after("inline", "show_unclosed", _show_unclosed)
    parser.add_render_rule("html_inline", _html_or_text)
    parser.add_render_rule("html_block", _html_or_text)
    return shared(parser)
