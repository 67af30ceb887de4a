"""Answers can't ping anybody or link anywhere: only citations and allowed hosts stay links.

A model repeats what documents say, and a document may say `<!channel>` or link to a stranger. So
an answer is read as a tree, and only the nodes named here are written again; of all others their
words remain. See docs/decisions/072-answers-as-trees.md."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from markdown_it.tree import SyntaxTreeNode

from bot.blocks.sanitize.text import BREAK, Links, links_to, strip_invisible
from bot.blocks.sanitize.tree import apart, inline, numbered, tree_of, unsigned

__all__ = ["Links", "links_to", "sanitize_markdown"]

_DEFINITION = re.compile(r"\[[^\]^][^\]]*\](?=:)")
"""What would name an address for a `[label]` elsewhere; a footnote's does not."""
_LINE_SIGN = re.compile(
    r"[ ]*(?=(?:\#{1,6}|[-+*]|\d{1,9}[.)])(?:\s|$)|>|=+\s*$|~{3}|[-|:][-|: ]*$"
    r"|[*_](?:\s*[*_]){2,}\s*$)"
)
"""What would begin a heading, a list, a quote, code, a table or a rule."""
_NUMBER = re.compile(r"\d{1,9}(?=[.)])")
_LANGUAGE = re.compile(r"[\w+#-]{1,20}")


def sanitize_markdown(markdown: str, links: Links) -> str:
    """The same words, harmless. What this returns, it returns again when given it."""
    return _Writer(strip_invisible(markdown), links).written()


class _Writer:
    """Writes a tree as markdown: what it has no method for is written as its words."""

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

    def written(self) -> str:
        return self._stacked(self._root)

    def _stacked(self, parent: SyntaxTreeNode) -> str:
        """Blocks one under the other, as close as they were."""
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
        """Whether a block stood right under the one before it, and may."""
        start = node.map[0] if node.map else 0
        if not self._lines[start - 1].strip(" \t>"):
            return False
        if before in ("heading", "fence", "hr") or node.type == "list_item":
            return True
        numbered = node.type == "ordered_list" and node.children[0].info != "1"
        return node.type not in ("paragraph", "code_block", "table") and not numbered

    def _paragraph(self, node: SyntaxTreeNode) -> str:
        words = re.sub(r"[ \t]{3,}(?=\n)", "  ", self._words(node)).strip()
        lines = [line.lstrip() for line in words.split("\n") if line.strip()]
        return "\n".join(_begun(line, first=not at) for at, line in enumerate(lines))

    def _heading(self, node: SyntaxTreeNode) -> str:
        words = self._words(node).replace("\n", " ").strip()
        return f"{'#' * int(node.tag[1:])} {words}"

    def _code_block(self, node: SyntaxTreeNode) -> str:
        content = unsigned(node.content.removesuffix("\n"))
        longest = max((len(run) for run in re.findall("`+", content)), default=0)
        if longest > 2:
            content = apart(content)
        fence = "`" * max(3, longest + 1)
        language = _LANGUAGE.match(node.info.strip())
        return f"{fence}{language[0] if language else ''}\n{content}\n{fence}"

    def _quote(self, node: SyntaxTreeNode) -> str:
        return "\n".join(f"> {line}".rstrip() for line in self._stacked(node).split("\n"))

    def _list(self, node: SyntaxTreeNode) -> str:
        pieces: list[str] = []
        for count, item in enumerate(node.children):
            mark = f"{numbered(node, count)}{item.markup} "
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
                # By the specification a line of text right below a table is a row of it.
                lines += ["", *(cell for other in rows[at:] for cell in self._row_words(other))]
                break
            lines.append("| " + " | ".join(re.sub(r"(?<!\\)\|", r"\\|", c) for c in cells) + " |")
            if not at:
                lines.append("|" + " --- |" * len(cells))
        return "\n".join(lines)

    def _row_words(self, row: SyntaxTreeNode) -> Iterator[str]:
        words = " ".join(filter(None, (self._words(cell) for cell in row.children)))
        yield _begun(words, first=True)

    def _words(self, node: SyntaxTreeNode) -> str:
        return inline(node, self._links)


def _begun(line: str, *, first: bool) -> str:
    """A line of a paragraph that begins nothing else."""
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
