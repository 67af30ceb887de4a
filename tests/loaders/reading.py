"""Checks of what `oncall convert` prints: lists, headings, tables and code of the markdown.

Texts are compared without signs of bold and code, and with white space as one space."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from loaders.document import Document
from loaders.output import document_to_json, document_to_markdown
from loaders.text.plain import markdown_parser, plain_text

_SIGNS = re.compile(r"\*+|`+|\\(?=[!-/:-@\[-`{-~])")
_LIST_MARK = r"\s*(?:[-*+]\s+)?"


def plain(text: str) -> str:
    return " ".join(_SIGNS.sub("", text).split())


@dataclass(frozen=True)
class Section:
    path: tuple[str, ...]
    """Titles from the outermost heading down to its own; empty before the first one."""
    text: str


@dataclass(frozen=True)
class Reading:
    """A converted file, or the reason why it was refused."""

    document: Document | None
    refusal: str = ""

    @cached_property
    def markdown(self) -> str:
        return document_to_markdown(self.document) if self.document else ""

    @cached_property
    def text(self) -> str:
        return plain(self.markdown)

    @cached_property
    def code(self) -> str:
        tokens = markdown_parser().parse(self.markdown)
        return "\n".join(one.content for one in tokens if one.type in ("fence", "code_block"))

    @cached_property
    def tables(self) -> list[list[list[str]]]:
        """Rows of cells of each table, the head first."""
        tables: list[list[list[str]]] = []
        before = ""
        for token in markdown_parser().parse(self.markdown):
            if token.type == "table_open":
                tables.append([])
            elif token.type == "tr_open":
                tables[-1].append([])
            elif before in ("th_open", "td_open"):
                tables[-1][-1].append(plain(plain_text(token.content)))
            before = token.type
        return tables

    @cached_property
    def sections(self) -> list[Section]:
        """The text below each heading, without that of the headings below it."""
        path: list[tuple[int, str]] = []
        sections, lines, fenced = list[Section](), list[str](), ""
        for line in [*self.markdown.split("\n"), "# "]:
            fence = re.match(r"\s*(```+|~~~+)", line)
            if fence and (not fenced or line.strip() == fenced):
                fenced = "" if fenced else fence[1]
            heading = re.match(r"(#{1,6}) (.*)", line)
            if heading and not fenced:
                sections.append(Section(tuple(title for _, title in path), plain("\n".join(lines))))
                lines = []
                level = len(heading[1])
                path = [one for one in path if one[0] < level]
                path.append((level, plain(heading[2])))
            else:
                lines.append(line)
        return sections

    def problems(self, expected: Sequence[Mapping[str, Any]]) -> list[str]:
        """The expectations that don't hold."""
        return [str(one) for one in expected if not self.holds(one)]

    def holds(self, expectation: Mapping[str, Any]) -> bool:
        ((name, value),) = expectation.items()
        if name == "any":
            return any(self.holds(one) for one in value)
        return _CHECKS[name](self, value)

    def _cell(self, value: Mapping[str, str]) -> bool:
        return any(
            cell == plain(value["is"]) for cell in self._cells(value["row"], value["column"])
        )

    def _cells(self, row: str, column: str) -> Iterator[str]:
        for head, *rows in self.tables:
            places = [at for at, name in enumerate(head) if re.search(column, name)]
            for cells in rows:
                if plain(row) in cells:
                    yield from (cells[at] for at in places)

    def _item(self, value: Mapping[str, str]) -> bool:
        lines = [_SIGNS.sub("", line) for line in self.markdown.split("\n")]
        for marker in (re.escape(value["marker"]), value["marker"]):
            pattern = rf"^{_LIST_MARK}(?:{marker})\s+{re.escape(value['text'])}"
            with suppress(re.error):  # `i)` is a marker and no pattern
                if any(re.search(pattern, line) for line in lines):
                    return True
        return False

    def _line(self, value: str) -> bool:
        lines = (re.sub(rf"^{_LIST_MARK}", "", line) for line in self.markdown.split("\n"))
        return any(plain(line) == plain(value) for line in lines)

    def _heading_path(self, path: Sequence[str]) -> bool:
        return any(_leads(section.path, path) for section in self.sections)

    def _under(self, value: Mapping[str, Any]) -> bool:
        below = (
            section.text
            for section in self.sections
            if any(
                _leads(section.path[:end], value["path"]) for end in range(1, len(section.path) + 1)
            )
        )
        return any(plain(value["text"]) in text for text in below)

    def _order(self, texts: Sequence[str]) -> bool:
        at = 0
        for text in map(plain, texts):
            at = self.text.find(text, at)
            if at < 0:
                return False
            at += len(text)
        return True

    def _json(self, value: Mapping[str, str]) -> bool:
        blocks = document_to_json(self.document)["blocks"] if self.document else []
        return any(one.get("url", "").endswith(value["block_url_ends"]) for one in blocks)

    def _count(self, text: str) -> int:
        return self.text.count(plain(text))

    def _has(self, value: str) -> bool:
        return any(plain(one) in self.text for one in value.split("|"))

    def _lacks(self, value: str) -> bool:
        """Whether no line holds the text: what stands below each other is not run together."""
        lines = map(plain, self.markdown.split("\n"))
        return self.document is not None and not any(plain(value) in line for line in lines)

    def _warned(self, pattern: str) -> bool:
        warnings = self.document.warnings if self.document else ()
        return any(re.search(pattern, one, re.IGNORECASE) for one in warnings)

    @property
    def _title(self) -> str:
        return self.document.title if self.document else ""


def _leads(path: Sequence[str], wanted: Sequence[str]) -> bool:
    """Whether a heading of this path is the last wanted one, below the others in order."""
    if not path or plain(path[-1]) != plain(wanted[-1]):
        return False
    above = iter(map(plain, path[:-1]))
    return all(plain(one) in above for one in wanted[:-1])


_CHECKS: Mapping[str, Callable[[Reading, Any], bool]] = {
    "read": lambda one, value: (one.document is not None) == value,
    "refused": lambda one, value: bool(one.refusal) == value,
    "warning": Reading._warned,
    "text": Reading._has,
    "no_text": Reading._lacks,
    "raw": lambda one, value: value in one.markdown,
    "order": Reading._order,
    "count": lambda one, value: one._count(value["text"]) == value["is"],
    "count_at_most": lambda one, value: one._count(value["text"]) <= value["is"],
    "line": Reading._line,
    "item": Reading._item,
    "code": lambda one, value: plain(value) in plain(one.code),
    "no_code": lambda one, value: plain(value) not in plain(one.code),
    "cell": Reading._cell,
    "row_count": lambda one, value: sum(len(rows) - 1 for rows in one.tables) == value,
    "heading_path": Reading._heading_path,
    "under": Reading._under,
    "title": lambda one, value: one._title == value,
    "not_title": lambda one, value: not re.search(value, one._title, re.IGNORECASE),
    "json": Reading._json,
}
