"""Blocks of ReadMe.com, whose text is JSON: `[block:callout]`, `[block:code]` and others.

https://docs.readme.com/rdmd/docs/legacy-magic-blocks"""

from __future__ import annotations

import json
import re
from typing import Any

from markdown_it.rules_block import StateBlock

from loaders.files.sites.page import Notes, line_of, notes_of, write_title

_OPENING = re.compile(r"\[block:[\w-]+\][ \t]*$")
_CELL = re.compile(r"(?P<row>h|\d{1,6})-(?P<column>\d{1,4})")
_TEXTS = ("body", "html", "caption")


def json_block(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Text that is not JSON stays as it is."""
    if not _OPENING.match(line_of(state, start)):
        return False
    last = start + 1
    while last < end and line_of(state, last).strip() != "[/block]":
        last += 1
    try:
        values = json.loads(state.getLines(start + 1, last, 0, False)) if last < end else None
    except (ValueError, RecursionError):
        return False
    if not isinstance(values, dict):
        return False
    if not silent:
        _write(state, start, values)
        state.line = last + 1
    return True


def _write(state: StateBlock, line: int, values: dict[str, Any]) -> None:
    title = " ".join(_words(values, "title").split())
    if line_of(state, line).startswith("[block:api-header]") and title:
        _read(state, f"# {title}")
    else:
        write_title(state, line, title)
    for key in _TEXTS:
        _read(state, _words(values, key))
    for image in _dicts(values.get("images")):
        _read(state, _words(image, "caption"))
    for code in _dicts(values.get("codes")):
        write_title(state, line, _words(code, "name"))
        token = state.push("fence", "code", 0)
        token.info = _words(code, "language").partition("|")[0]
        token.content, token.map = _words(code, "code").rstrip("\n") + "\n", [line, line + 1]
    cells = values.get("data")
    if isinstance(cells, dict):
        _write_table(state, line, cells)


def _write_table(state: StateBlock, line: int, cells: dict[str, Any]) -> None:
    """`cells`: text by `ROW-COLUMN`; the header's row is `h`."""
    places = [match for key in cells if (match := _CELL.fullmatch(key))]
    rows = sorted(
        {place["row"] for place in places}, key=lambda row: -1 if row == "h" else int(row)
    )
    columns = sorted({int(place["column"]) for place in places})
    if len(rows) * len(columns) > 2 * len(places) + 100:
        notes_of(state).warn("a table of mostly empty cells is not read", line)
        return
    state.push("table_open", "table", 1)
    for row in rows:
        state.push("tr_open", "tr", 1)
        for column in columns:
            tag = "th" if row == "h" else "td"
            state.push(f"{tag}_open", tag, 1)
            inline = state.push("inline", "", 0)
            inline.content, inline.children = _words(cells, f"{row}-{column}"), []
            inline.map = [line, line + 1]
            state.push(f"{tag}_close", tag, -1)
        state.push("tr_close", "tr", -1)
    state.push("table_close", "table", -1)


def _read(state: StateBlock, text: str) -> None:
    """Reads Markdown that is no part of the page's own lines."""
    if text.strip():
        environment = {**state.env, "site": Notes(text, notes_of(state).warnings)}
        state.md.block.parse(text, state.md, environment, state.tokens)


def _words(values: dict[str, Any], key: str) -> str:
    value = values.get(key)
    return value if isinstance(value, str) else ""


def _dicts(values: object) -> list[dict[str, Any]]:
    return [one for one in values if isinstance(one, dict)] if isinstance(values, list) else []
