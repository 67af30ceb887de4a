"""Sanitizes an answer's markdown: no mentions, and links only to citations and allowed hosts.

A model repeats documents, and a document may contain `<!channel>` or a link to anywhere. So an
answer is parsed into a tree, and only the nodes named here are written as markdown; of all others
the text remains. See docs/decisions/072-answers-as-trees.md."""

from __future__ import annotations

import re
from collections.abc import Callable

from markdown_it.tree import SyntaxTreeNode

from bot.blocks.sanitize.text import BREAK, Links, links_to, strip_invisible
from bot.blocks.sanitize.tree import break_code, break_controls, inline, item_number, tree_of

__all__ = ["Links", "links_to", "sanitize_markdown"]

_DEFINITION = re.compile(r"\[[^\]^][^\]]*\](?=:)")
"""The start of a link definition for a `[label]` elsewhere; not a footnote's."""
_LINE_SIGN = re.compile(
    r"[ ]*(?=(?:\#{1,6}|[-+*]|\d{1,9}[.)])(?:\s|$)|>|=+\s*$|~{3}|[-|:][-|: ]*$"
    r"|[*_](?:\s*[*_]){2,}\s*$)"
)
"""The start of a heading, list, quote, code block, table or rule."""
_NUMBER = re.compile(r"\d{1,9}(?=[.)])")
_LANGUAGE = re.compile(r"[\w+#-]{1,20}")


def sanitize_markdown(markdown: str, links: Links) -> str:
    """The same text, sanitized. Idempotent."""
    return _Writer(strip_invisible(markdown), links).write()


class _Writer:
    """Writes a tree as markdown: nodes without a method here are written as their text."""

    def __init__(self, markdown: str, links: Links) -> None:
        self._root = tree_of(markdown)
        self._lines = markdown.split("\n")
        self._links = links
        self._blocks: dict[str, Callable[[SyntaxTreeNode], str]] = {
            "paragraph": self._paragraph,
            "heading": self._heading,
            "fence": self._code_block,
            "code_block": self._code_block,
            "blockquote": self._quote,
            "bullet_list": self._list,
            "ordered_list": self._list,
            "table": self._table,
            "hr": lambda node: node.markup[:3],
        }

    def write(self) -> str:
        return self._stacked(self._root)

    def _stacked(self, parent: SyntaxTreeNode) -> str:
        """Blocks below each other, with their original spacing."""
        pieces: list[str] = []
        before = ""
        for node in parent.children:
            text = self._blocks.get(node.type, self._stacked)(node)
            if not text and node.type == "paragraph":
                continue
            if pieces:
                pieces.append("\n" if self._close(before, node) else "\n\n")
            pieces.append(text)
            before = node.type
        return "".join(pieces)

    def _close(self, before: str, node: SyntaxTreeNode) -> bool:
        """Whether a block was right below the one before it, and may stay there."""
        start = node.map[0] if node.map else 0
        if not self._lines[start - 1].strip(" \t>"):
            return False
        if before in ("heading", "fence", "hr") or node.type == "list_item":
            return True
        starts_later = node.type == "ordered_list" and node.children[0].info != "1"
        return node.type not in ("paragraph", "code_block", "table") and not starts_later

    def _paragraph(self, node: SyntaxTreeNode) -> str:
        words = re.sub(r"[ \t]{3,}(?=\n)", "  ", self._words(node)).strip()
        lines = [line.lstrip() for line in words.split("\n") if line.strip()]
        return "\n".join(_escape_start(line, first=not at) for at, line in enumerate(lines))

    def _heading(self, node: SyntaxTreeNode) -> str:
        words = self._words(node).replace("\n", " ").strip()
        return f"{'#' * int(node.tag[1:])} {words}"

    def _code_block(self, node: SyntaxTreeNode) -> str:
        content = break_controls(node.content.removesuffix("\n"))
        longest = max((len(run) for run in re.findall("`+", content)), default=0)
        if longest > 2:
            content = break_code(content)
        fence = "`" * max(3, longest + 1)
        language = _LANGUAGE.match(node.info.strip())
        return f"{fence}{language[0] if language else ''}\n{content}\n{fence}"

    def _quote(self, node: SyntaxTreeNode) -> str:
        return "\n".join(f"> {line}".rstrip() for line in self._stacked(node).split("\n"))

    def _list(self, node: SyntaxTreeNode) -> str:
        pieces: list[str] = []
        for count, item in enumerate(node.children):
            mark = f"{item_number(node, count)}{item.markup} "
            inside = self._stacked(item).replace("\n", "\n" + " " * len(mark))
            if pieces:
                pieces.append("\n" if self._close("list_item", item) else "\n\n")
            pieces.append((mark + re.sub(r"\n +(?=\n|$)", "\n", inside)).rstrip())
        return "".join(pieces)

    def _table(self, node: SyntaxTreeNode) -> str:
        rows = [row for part in node.children for row in part.children]
        lines: list[str] = []
        for at, row in enumerate(rows):
            cells = [self._words(cell).replace("  \n", "<br>") for cell in row.children]
            if at and row.map and "|" not in self._lines[row.map[0]]:
                # By the specification, a line of text right below a table is a row of it.
                lines.append("")
                for other in rows[at:]:
                    words = " ".join(filter(None, map(self._words, other.children)))
                    lines.append(_escape_start(words, first=True))
                break
            lines.append("| " + " | ".join(re.sub(r"(?<!\\)\|", r"\\|", c) for c in cells) + " |")
            if not at:
                lines.append("|" + " --- |" * len(cells))
        return "\n".join(lines)

    def _words(self, node: SyntaxTreeNode) -> str:
        return inline(node, self._links)


def _escape_start(line: str, *, first: bool) -> str:
    """Escapes the start of a paragraph's line that would begin another kind of block."""
    if label := _DEFINITION.match(line):
        return f"{label[0]}{BREAK}{line[label.end() :]}"
    sign = _LINE_SIGN.match(line)
    if not sign:
        return line
    at = sign.end()
    if number := _NUMBER.match(line, at):
        if not first and number[0] != "1":
            return line  # only a list that counts from one may interrupt a paragraph
        at = number.end()
    return f"{line[:at]}\\{line[at:]}"
