"""Markdown for Slack: cut into prose pieces and tables of Slack's sizes, or as Slack's older mrkdwn
for a workspace that refuses `markdown` blocks. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from markdown_it.token import Token
from markdown_it.tree import SyntaxTreeNode

from bot.blocks.kit import link
from bot.blocks.sanitize.text import (
    BACKTICK_LOOKALIKE,
    Links,
    break_links,
    break_mentions,
    escape_mrkdwn,
    sanitize_mrkdwn,
    strip_invisible,
)
from bot.blocks.sanitize.tree import item_number, tree_of
from bot.blocks.tables import Grid, bare, row_text
from loaders.text.plain import plain_text, read_blocks

_SIGNS = {"em": "_", "strong": "*", "s": "~"}


def as_mrkdwn(markdown: str, links: Links) -> str:
    """`markdown`: from `sanitize_markdown`. Code stays code, and links stay links."""
    return _blocks(tree_of(markdown), links)


def _blocks(parent: SyntaxTreeNode, links: Links) -> str:
    apart = "\n" if parent.type in ("list_item", "bullet_list", "ordered_list") else "\n\n"
    return apart.join(filter(None, (_block(node, links) for node in parent.children)))


def _block(node: SyntaxTreeNode, links: Links) -> str:
    if node.type in ("fence", "code_block"):
        content = node.content.removesuffix("\n")
        whole = content if "```" not in content else break_links(content.replace("```", "'''"))
        return f"```\n{escape_mrkdwn(whole)}\n```"
    if node.type == "blockquote":
        return "\n".join(f"> {line}" for line in _blocks(node, links).split("\n"))
    if node.type in ("ordered_list", "bullet_list"):
        items = enumerate(node.children)
        return "\n".join(_item(item, item_number(node, count), links) for count, item in items)
    if node.type == "hr":
        return "———"
    if node.type == "tr":
        return " | ".join(_spans(cell.children, links) for cell in node.children)
    if node.type == "heading":
        return f"*{_spans(node.children, links)}*"
    return _spans(node.children, links) if node.type == "paragraph" else _blocks(node, links)


def _item(node: SyntaxTreeNode, number: str, links: Links) -> str:
    """Indented below its mark, except code: copied code must have no added spaces."""
    blocks = []
    for block in node.children:
        text = _block(block, links)
        is_code = block.type in ("fence", "code_block")
        blocks.append(text if is_code else text.replace("\n", "\n    "))
    mark = f"{number}{node.markup}" if number else "•"
    inside = [
        one if one.startswith("```") or at == 0 else f"    {one}" for at, one in enumerate(blocks)
    ]
    return f"{mark} " + "\n".join(filter(None, inside))


def _spans(nodes: list[SyntaxTreeNode], links: Links) -> str:
    return "".join(_span(node, links) for node in nodes)


def _span(node: SyntaxTreeNode, links: Links) -> str:
    if node.type == "text":
        return sanitize_mrkdwn(node.content.replace("`", BACKTICK_LOOKALIKE))
    if node.type == "code_inline":
        content = node.content
        whole = (
            content if "`" not in content else break_links(content.replace("`", BACKTICK_LOOKALIKE))
        )
        return f"`{escape_mrkdwn(whole)}`"
    if node.type in ("softbreak", "hardbreak", "tag"):
        return "\n"
    inner = _spans(node.children, links)
    if node.type == "link" and links.allow(url := str(node.attrs.get("href", ""))):
        words = "".join(n.content for n in node.walk(include_self=False) if not n.children)
        return link(url, words)
    sign = _SIGNS.get(node.type, "") if inner.strip() else ""
    return f"{sign}{inner}{sign}"


MAX_CELL = 400
CODE = ("fence", "code_block")
MIN_PIECE = 200
"""Characters of a piece that isn't cut any further: it fits however it is written."""
MAX_FENCE = 20
"""Characters; a code block with a longer fence isn't reopened when it is cut."""
_LEADS_TO_CODE = re.compile(r"(?: *(?:>|[-+*](?= )|\d{1,9}[.)](?= )))* *")
_SIGN = "\ue000"
"""Replaces the backticks around code while a cell is read; nobody types it."""
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)


@dataclass(frozen=True)
class Prose:
    text: str


def segments(markdown: str) -> Iterator[Prose | Grid]:
    """Prose and tables in order; tables inside code stay code."""
    text = markdown.replace("\r\n", "\n").replace("\r", "\n")
    tokens = read_blocks(text)
    lines = text.split("\n")
    code = {line for token in tokens if token.type in CODE for line in _lines_of(token)}
    cleaned = [line if at in code else _BREAK.sub("\n", line) for at, line in enumerate(lines)]
    at = 0
    for start, rows in _tables(tokens):
        # By the specification, a line of text right below a table is a row of it: rarely intended.
        body = list(takewhile(lambda row: "|" in lines[row[0]], rows[1:]))
        if prose := "\n".join(cleaned[at:start]).strip("\n"):
            yield Prose(prose)
        cells = [row for _, row in (rows[0], *body)]
        bold = tuple(sum("**" in row[at] for row in cells[1:]) for at in range(len(cells[0])))
        texts = [tuple(map(_cell, row)) for row in cells]
        yield Grid(texts[0], tuple(texts[1:]), bold)
        at = start + 2 + len(body)
    if prose := "\n".join(cleaned[at:]).strip("\n"):
        yield Prose(prose)


def _tables(tokens: Sequence[Token]) -> Iterator[tuple[int, list[tuple[int, tuple[str, ...]]]]]:
    """(first line, rows as (line, cells as written), the header first) of each table."""
    for at, token in enumerate(tokens):
        if token.type != "table_open":
            continue
        start = _lines_of(token).start
        rows: list[list[str]] = []
        for inner in takewhile(lambda one: one.type != "table_close", tokens[at:]):
            if inner.type == "tr_open":
                rows.append([])
            elif inner.type == "inline":
                rows[-1].append(inner.content)
        # The line of dashes is no row.
        places = [start, *range(start + 2, start + 1 + len(rows))]
        yield start, [(place, tuple(row)) for place, row in zip(places, rows, strict=True)]


def _lines_of(token: Token) -> range:
    return range(*(token.map or (0, 0)))


def _cell(markdown: str) -> str:
    """A cell's text, with code between backticks: Slack's table cells show no other markdown."""
    words = plain_text(markdown.replace(_SIGN, ""), code=_SIGN).replace("`", BACKTICK_LOOKALIKE)
    words = " · ".join(break_mentions(strip_invisible(words)).strip().splitlines()).replace(
        _SIGN, "`"
    )
    words = _cut_short(words, MAX_CELL)
    return words if words.count("`") % 2 == 0 else f"{words}`"


def _cut_short(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def excerpt(markdown: str, limit: int) -> str:
    """The beginning of a text without markup; tables have one line for each row."""
    lines: list[str] = []
    for part in segments(markdown):
        if isinstance(part, Prose):
            lines.extend(_plain_lines(part.text))
        else:
            lines.extend(f"• {bare(row_text(part.header, row, row[0]))}" for row in part.rows)
    return _cut_short("\n".join(line for line in lines if line), limit)


def _plain_lines(markdown: str) -> Iterator[str]:
    lists: list[int | None] = []
    sign = ""
    for token in read_blocks(markdown):
        if token.type == "bullet_list_open":
            lists.append(None)
        elif token.type == "ordered_list_open":
            lists.append(int(token.attrs.get("start", 1)))
        elif token.type in ("bullet_list_close", "ordered_list_close"):
            lists.pop()
        elif token.type == "list_item_open":
            number = lists[-1]
            mark = "•" if number is None else f"{number}{token.markup}"
            lists[-1] = None if number is None else number + 1
            sign = f"{'  ' * (len(lists) - 1)}{mark} "
        elif token.type in CODE:
            yield from token.content.splitlines()
        elif token.type == "inline":
            for line in plain_text(token.content).splitlines():
                yield f"{sign}{line.strip()}"
                sign = " " * len(sign)
            sign = ""


def pieces(text: str, limit: int) -> Iterator[str]:
    """Prose in order, each piece at most `limit` characters: cut between paragraphs, else lines,
    else words. Cut code is closed and reopened."""
    while len(text) > limit:
        cut = _cut(text, limit)
        head, rest = text[:cut].rstrip(), text[cut:].lstrip("\n")
        if code := _open_code(head):
            # Within code, empty lines and indents count: only the line's end is cut away.
            head, rest = text[:cut], text[cut:].removeprefix("\n")
            inside = _before_code(head, code)
            head = f"{head}\n{inside}{code.markup}"
            rest = f"{code.markup}{code.info.strip()[:40]}\n{_without(inside, rest)}"
        else:
            # Indented text of a list item would be read as code without its mark.
            rest = _without(" " * (len(rest) - len(rest.lstrip(" "))), rest)
        yield head
        text = rest
    if text.strip():
        yield text


def fit_pieces(text: str, limit: int, write: Callable[[str], str]) -> Iterator[str]:
    """Prose in pieces, each at most `limit` characters as `write` returns it."""
    for piece in pieces(text, limit):
        result = write(piece)
        if len(result) <= limit or len(piece) < MIN_PIECE:
            if result.strip():
                yield result[:limit]
        else:
            for half in pieces(piece, max(MIN_PIECE - 1, len(piece) // 2)):
                yield from fit_pieces(half, limit, write)


def _cut(text: str, limit: int) -> int:
    room = limit - 2 * MAX_FENCE  # for a closing fence
    for separator in ("\n\n", "\n", " "):
        cut = text.rfind(separator, room // 3, room)
        if cut > 0:
            return cut
    return room


def _open_code(text: str) -> Token | None:
    """The code block that is not closed at the end of the text."""
    fences = [token for token in read_blocks(f"{text}\n") if token.type == "fence"]
    last = fences[-1] if fences else None
    if last is None or len(last.markup) > MAX_FENCE:
        return None
    # Its lines: the opening fence, the content, the closing fence.
    is_closed = len(_lines_of(last)) == last.content.count("\n") + 2
    return None if is_closed else last


def _before_code(text: str, code: Token) -> str:
    """The prefix of each line of a code block in a list or a quote."""
    opening = text.split("\n")[_lines_of(code).start]
    match = _LEADS_TO_CODE.match(opening)
    return re.sub("[^> ]", " ", match[0]) if match else ""


def _without(lead: str, text: str) -> str:
    """The first lines without this prefix."""
    lines = text.split("\n") if lead else []
    for at, line in enumerate(lines):
        if line.strip() and not line.startswith(lead):
            break
        lines[at] = line.removeprefix(lead if line.startswith(lead) else lead.rstrip())
    return "\n".join(lines) if lead else text
