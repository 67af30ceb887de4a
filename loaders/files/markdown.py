"""Markdown → Document. markdown-it converts it to HTML, which the HTML loader reads."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from functools import cache
from typing import Any, Unpack

from bs4 import BeautifulSoup
from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from mdit_py_plugins.footnote import footnote_plugin
from mdit_py_plugins.tasklists import tasklists_plugin

from config.errors import LoadError
from config.parsing.strict_yaml import UnreadableFileError, read_fields
from loaders.assemble import BlockWriter, Metadata, make_document
from loaders.dates import date_in
from loaders.document import MAX_MARKUP_NESTING, MAX_NAME, Document, check_size, too_deep, too_many
from loaders.files.html import write_html
from loaders.text.plain import markdown_parser, shared

_FRONT_MATTER = re.compile(
    r"\ufeff?---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE
)
_NOTE_MARK = re.compile(r"\[\^([^\[\]\s]{1,100}+)\]")
_TABLE_TAG = re.compile(r"<(/?)table\b", re.IGNORECASE)
_TOC_LINE = re.compile(r"^\[(?:TOC|_TOC_|\[_TOC_\])\][ \t]*$", re.MULTILINE | re.IGNORECASE)
_REVIEWED_BY = ("review_by", "next_review", "review_date", "valid_until", "expires")
_TAG = re.compile(r"</?([a-zA-Z][\w-]*)")
_HTML_TAGS_LISTED = """
    a abbr address article aside b big blockquote br caption center cite code col colgroup dd del
    details dfn div dl dt em figcaption figure footer font h1 h2 h3 h4 h5 h6 header hr i iframe img
    input ins kbd li main mark nav ol p pre q s samp script section small span strike strong style
    sub summary sup svg table tbody td tfoot th thead tr tt u ul var video wbr"""
_HTML_TAGS = frozenset(_HTML_TAGS_LISTED.split())


def parse_markdown(text: str, *, url: str = "", **metadata: Unpack[Metadata]) -> Document:
    """Front matter `id`, `title`, `modified`, `status` and `owner` override the caller's metadata.

    `<!-- tab: Name -->` starts a tab. Raises LoadError for broken front matter or when a limit is
    exceeded."""
    name = metadata.get("id") or metadata.get("title") or "Markdown document"
    check_size(name, len(text))
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")
    front, body = _front_matter(text, name)
    _apply(front, metadata, name)
    writer = BlockWriter(url=url)
    write_html(BeautifulSoup(f"<body>{_to_html(body, name)}</body>", "lxml"), writer, name)
    first = next((block.text for block in writer.blocks if block.kind == "heading"), "")
    metadata["title"] = metadata.get("title") or first
    metadata.setdefault("mime_type", "text/markdown")
    return make_document(writer, url=url, **metadata)


def _front_matter(text: str, name: str) -> tuple[Mapping[str, Any], str]:
    match = _FRONT_MATTER.match(text)
    if not match:
        return {}, text.removeprefix("\ufeff")
    try:
        front = read_fields(match[1]) or {}
    except UnreadableFileError as error:
        raise LoadError(
            name, f"its front matter is not YAML: {error.message}", place=f"line {error.line + 1}"
        ) from error
    if not isinstance(front, dict):
        return {}, text  # text between two horizontal rules
    return front, text[match.end() :]


def _apply(front: Mapping[str, Any], metadata: Metadata, name: str) -> None:
    for key in ("id", "title", "owner", "status"):
        value = front.get(key)
        if value is None:
            continue
        if isinstance(value, (dict, list, set, tuple, bytes)):
            raise LoadError(name, f"`{key}:` is not one line of text", place="front matter")
        if (count := len(str(value))) > MAX_NAME:
            raise too_many(name, "front matter", count, MAX_NAME, f"characters of `{key}:`")
        metadata[key] = str(value)
    if front.get("modified") is not None:
        metadata["modified_at"] = _utc(front["modified"], name)
    if due := next(filter(None, (_day(front.get(key)) for key in _REVIEWED_BY)), None):
        metadata["review_by"] = due


def _day(value: object) -> date | None:
    """The value as a date; None when it is not one, because other tools use these keys freely."""
    if isinstance(value, str):
        return date_in(value)
    if isinstance(value, datetime):
        return value.date()
    return value if isinstance(value, date) else None


def _utc(value: object, name: str) -> datetime:
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.strip())
        except ValueError as error:
            raise LoadError(
                name,
                "`modified:` is not a date",
                place="front matter",
                remedy="write it as 2026-03-14",
            ) from error
    if isinstance(value, datetime):
        return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    raise LoadError(name, "`modified:` is not a date", place="front matter")


def _to_html(body: str, name: str) -> str:
    parser = _parser()
    env: dict[str, Any] = {}
    tokens = parser.parse(_TOC_LINE.sub("", body), env)
    for token in tokens:
        # The parser stops silently at its own limit, one level deeper.
        if token.level >= MAX_MARKUP_NESTING - 1:
            line = (token.map or [0])[0] + 1
            raise too_deep(name, f"line {line}", MAX_MARKUP_NESTING, "quotes and lists")
    return str(parser.renderer.render(tokens, parser.options, env))


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


def _html_or_text(_: object, tokens: Sequence[Token], index: int, *_options: object) -> str:
    """Escapes tags that are not HTML elements: `<id>` in a sentence is a placeholder."""
    content = tokens[index].content

    def keep(match: re.Match[str]) -> str:
        return match.group() if match[1].lower() in _HTML_TAGS else "&lt;" + match.group()[1:]

    return _TAG.sub(keep, content)


@cache
def _parser() -> MarkdownIt:
    parser = markdown_parser()
    parser.use(footnote_plugin, inline=False).use(tasklists_plugin)
    parser.block.ruler.before(
        "html_block", "whole_table", _whole_table, {"alt": ["paragraph", "reference", "blockquote"]}
    )
    parser.core.ruler.before("footnote_tail", "every_footnote", _keep_every_footnote)
    parser.add_render_rule("html_inline", _html_or_text)
    parser.add_render_rule("html_block", _html_or_text)
    return shared(parser)
