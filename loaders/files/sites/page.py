"""What the rules for markup of site generators share: a page's notes, titles and inner blocks."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property

from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore

from loaders.files.sites.tags import Pairs, find_pairs

OPTION = re.compile(r"[ \t]*:(?P<key>[\w-]+):(?:[ \t]+(?P<value>.*))?$")

_TABLE_TAGS = ("table", "tr", "", "td")


@dataclass
class Notes:
    """What one page has, for the rules that read it."""

    text: str
    warnings: dict[str, list[int]] = field(default_factory=dict)
    """Warning → the lines that it is about, from 1."""
    holds_html: bool = False
    _last: dict[str, tuple[int, int]] = field(default_factory=dict)

    @cached_property
    def pairs(self) -> Pairs:
        return find_pairs(self.text)

    @cached_property
    def is_mdx(self) -> bool:
        return any(form == "mdx" for form, _ in self.pairs.names)

    @cached_property
    def has_components(self) -> bool:
        """Whether two colons open and close boxes, as in Nuxt Content."""
        has_end = re.search(r"^[ \t]*::[ \t]*$", self.text, re.MULTILINE)
        return bool(has_end and re.search(r"^[ \t]*::[A-Za-z]", self.text, re.MULTILINE))

    def last(self, sign: str) -> tuple[int, int]:
        """Position and line, from 0, behind which a sign does not stand again; -1 for none."""
        if sign not in self._last:
            position = self.text.lower().rfind(sign)
            line = self.text.count("\n", 0, position) if position >= 0 else -1
            self._last[sign] = position, line
        return self._last[sign]

    def warn(self, warning: str, line: int) -> None:
        """`line`: from 0."""
        self.warnings.setdefault(warning, []).append(line + 1)

    def filled_in(self, tag: str, line: int) -> None:
        self.warn(f"`{tag}` is filled in by the site: its text is not read", line)


def line_of(state: StateBlock, number: int) -> str:
    return state.src[state.bMarks[number] + state.tShift[number] : state.eMarks[number]]


def notes_of(state: StateBlock | StateCore) -> Notes:
    notes: Notes = state.env["site"]
    return notes


def write_title(state: StateBlock, line: int, title: str) -> None:
    """A paragraph in bold. A list doesn't take its lines for its own, as with `paragraph`."""
    if not title:
        return
    state.push("site_title_open", "p", 1).map = [line, line + 1]
    state.push("site_bold_open", "strong", 1)
    inline = state.push("inline", "", 0)
    inline.content, inline.children, inline.map = title, [], [line, line + 1]
    state.push("site_bold_close", "strong", -1)
    state.push("site_title_close", "p", -1)


def read_inside(state: StateBlock, first: int, last: int, title: str = "") -> None:
    """Reads lines as blocks, without the indentation that they share."""
    state.push("site_open", "", 1).hidden = True
    write_title(state, max(first - 1, 0), title)
    indents = [state.sCount[line] for line in range(first, last) if not state.isEmpty(line)]
    if indents:
        before = state.parentType, state.lineMax, state.blkIndent
        state.lineMax, state.blkIndent = last, min(indents)
        state.md.block.tokenize(state, first, last)
        state.parentType, state.lineMax, state.blkIndent = before
    state.push("site_close", "", -1).hidden = True


def read_table(state: StateBlock, first: int, last: int) -> None:
    """Reads a list of lists as the rows of a table, as `list-table` of docutils."""
    begin = len(state.tokens)
    read_inside(state, first, last)
    depth = 0
    for token in state.tokens[begin:]:
        kind, _, side = token.type.rpartition("_")
        if kind not in ("bullet_list", "list_item"):
            continue
        depth += side == "open"
        if depth <= len(_TABLE_TAGS):
            token.tag = _TABLE_TAGS[depth - 1]
            token.hidden = not token.tag
        depth -= side == "close"


def write_code(state: StateBlock, first: int, last: int, language: str) -> None:
    """A code block of these lines, without MyST's options and the indentation that they share."""
    while first < last and (state.isEmpty(first) or OPTION.match(line_of(state, first))):
        first += 1
    indents = [state.sCount[line] for line in range(first, last) if not state.isEmpty(line)]
    token = state.push("fence", "code", 0)
    token.info = language
    token.content = state.getLines(first, last, min(indents, default=0), True)
    token.map = [first, last]
