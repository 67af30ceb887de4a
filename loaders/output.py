"""Writes a document as markdown for people and as JSON for programs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from typing import Any

from loaders.document import Block, Document, Tab, Table
from loaders.tables.headers import own_cells
from loaders.tables.markdown import table_to_markdown
from loaders.text.markdown import destination, escape

_BLOCK_START = re.compile(
    r"(?m)^([^\S\n]*+)"
    r"([-+*](?=\s|$)|[>|]|#{1,6}(?=\s|$)|=+[^\S\n]*$|-+[^\S\n]*$|~~~)"
)
_CLOSING_HASHES = re.compile(r"(^|\s)(#+)$")
_NUMBER_START = re.compile(r"(?m)^([^\S\n]*+\d{1,9})([.)])(?=\s)")
_NUMBER = re.compile(r"\d{1,9}[.)]")
_INDENT = "    "


def document_to_markdown(document: Document) -> str:
    """The whole document as markdown. Each tab starts with a comment and its title as a heading."""
    pieces: list[str] = []
    waiting = list(document.tabs)
    previous = None
    for block in document.blocks:
        while block.tab is not None and block.tab in waiting:
            pieces.append(_tab(waiting.pop(0)))
            previous = None
        text = block_to_markdown(block)
        tight = previous == block.kind and block.kind in ("list_item", "quote", "footnote")
        if tight and text:
            pieces[-1] += ("\n>\n" if block.kind == "quote" else "\n") + text
        elif text:
            pieces.append(text)
        previous = block.kind if text else previous
    pieces += [_tab(tab) for tab in waiting]
    return "\n\n".join(pieces) + "\n" if pieces else ""


def _tab(tab: Tab) -> str:
    path = " › ".join(tab.path).replace("--", "- -")
    title = " ".join(tab.title.split()) or "(untitled tab)"
    return f"<!-- tab: {path} -->\n\n# {escape(title)}"


def block_to_markdown(block: Block) -> str:
    """One block with its `#`, list marker, `>` or fence."""
    match block.kind:
        case "heading":
            title = _CLOSING_HASHES.sub(r"\1\\\2", block.markdown.replace("\n", " "))
            return "#" * max(1, min(block.level, 6)) + " " + title
        case "list_item":
            return _list_item(block)
        case "table":
            return "\n\n".join(_tables(block.table)) if block.table else ""
        case "code":
            return _fenced(block.text, block.language)
        case "quote":
            return "\n".join(f"> {line}" for line in _paragraph(block.markdown).split("\n"))
        case "image":
            return _image(block)
        case "footnote":
            text = _hard_breaks(block.markdown).replace("\n", f"\n{_INDENT}")
            return f"[^{block.marker}]: {text}"
        case "rule":
            return "---"
        case _:
            return _paragraph(block.markdown)


def document_to_json(document: Document) -> dict[str, Any]:
    """All fields of the document, ready for `json.dumps`. Empty fields of blocks are left out."""
    return {name: value for name, value in _plain(document).items() if name != "blocks"} | {
        "blocks": [_without_blanks(_plain(block)) for block in document.blocks]
    }


def _paragraph(markdown: str) -> str:
    """Escapes lines that begin like a list, heading or table."""
    escaped = _BLOCK_START.sub(r"\1\\\2", _hard_breaks(markdown))
    return _NUMBER_START.sub(r"\1\\\2", escaped)


def _hard_breaks(markdown: str) -> str:
    return re.sub(r"(?<![ \t])[ \t]*\n", "  \n", markdown)


def _list_item(block: Block) -> str:
    number = _NUMBER.fullmatch(block.marker)
    sign = block.marker if number else "-"
    marker = "" if number or block.marker in ("", "-") else f"{block.marker} "
    indent = _INDENT * block.level
    text = _paragraph(block.markdown) if not marker else _hard_breaks(block.markdown)
    return f"{indent}{sign} {marker}" + text.replace("\n", f"\n{indent}{_INDENT}")


def _tables(table: Table) -> Iterator[str]:
    """Yields the table, then its nested tables, each as a separate grid."""
    yield table_to_markdown(table, header_levels_too=True)
    for cell in own_cells(table):
        for nested in cell.tables:
            yield from _tables(nested)


def _fenced(text: str, language: str) -> str:
    longest = max((len(run) for run in re.findall("`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _image(block: Block) -> str:
    image = block.image
    if image is None:
        return block.markdown
    name = escape((image.alt or image.title).replace("\n", " "))
    title = f' "{image.title}"' if image.title and image.title != image.alt else ""
    return f"![{name}]({destination(image.uri)}{title})"


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value.isoformat() if isinstance(value, datetime) else value


def _without_blanks(block: Mapping[str, Any]) -> dict[str, Any]:
    required = ("kind", "text", "markdown", "position")
    return {n: v for n, v in block.items() if n in required or v not in (None, "", [], 0)}
