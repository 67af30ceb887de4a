"""Broken lines → text, and raw tables → table blocks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from loaders.assemble import BlockWriter
from loaders.pdf.lines import RawCell, RawTable
from loaders.tables.cells import SourceCell
from loaders.tables.grid import build_table
from loaders.tables.headers import outline
from loaders.text.markdown import clean, escape

HYPHENS = "-\u2010\u00ad"
_PARTED = re.compile(rf"(\w+)[{HYPHENS}]$")
_PUNCTUATION = ".,;:!?()[]{}<>\"'`“”„‘’«»"
WORD = re.compile(r"\w+(?:[-\u2010]\w+)*")
_CODE = re.compile(r"^-|[\\/_=@:.$#%&~]")
"""Signs of a command's option, an address or a file's name, whose hyphens are its own."""
_SUSPENDED = re.compile(
    r"(?:und|oder|bzw|sowie|and|or|to|en|of|et|ou|y|o|e|och|eller|og|i|lub)\b\.?", re.IGNORECASE
)
"""Words after a suspended hyphen: `pre- and postmortem`, `Vor- und Nachteile`."""


class Joiner:
    """Joins lines that the layout broke, with the words of the document as evidence."""

    def __init__(self, words: Counter[str]) -> None:
        self._words = words

    def __call__(self, lines: Sequence[tuple[str, bool]]) -> str:
        joined = ""
        is_soft = False
        for text, soft in lines:
            text = text.strip()
            if not text:
                continue
            joined = self._join(joined, text, is_soft) if joined else text
            is_soft = soft
        return clean(joined.replace("\u00ad", ""))

    def _join(self, above: str, below: str, is_soft: bool) -> str:
        if above[-1] == "–" and above[-2:-1].isalnum() and below[0].isalnum() and is_soft:
            return above + below
        parted = _PARTED.search(above[-80:]) if above[-1] in HYPHENS else None
        if not parted or not below[0].isalnum() or not parted[1][-1].isalpha():
            return above + (" " if is_soft else "\n") + below
        if above[-1] == "\u00ad":
            return above[:-1] + below
        if _SUSPENDED.match(below):
            return f"{above} {below}"
        if not below[0].islower():
            return above + below
        first, rest = parted[1].lower(), (WORD.match(below) or [below])[0].lower()
        whole = re.search(r"[\w-]*$", above[-80:-1])
        head = whole[0].lower() if whole else first
        tokens = above[:-1].split()[-1:] + below.split()[:1]
        is_code = any(_CODE.search(one.strip(_PUNCTUATION)) for one in tokens)
        compounds, wholes = self._words[f"{head.lstrip('-')}-{rest}"], self._words[head + rest]
        if compounds > wholes or (is_code and compounds == wholes):
            return above + below
        return above[:-1] + below


class TableWriter:
    def __init__(self, writer: BlockWriter, join: Joiner) -> None:
        self._writer, self._join = writer, join
        self._head: list[list[SourceCell]] = []
        """Rows of the table before that name its columns."""

    def write(self, raw: RawTable) -> None:
        writer = self._writer
        rows: list[list[SourceCell]] = [[] for _ in range(raw.height)]
        for cell in sorted(raw.cells, key=lambda cell: (cell.row, cell.column)):
            rows[cell.row].append(_source_cell(cell, self._join))
        table, warnings = build_table(rows, placeholders=False, place=f"page {writer.page}")
        has_own_head = table.header_evidence in ("bold", "shaded") or _texts(rows[:1]) == _texts(
            self._head[:1]
        )
        if raw.goes_on and self._head and not has_own_head:
            rows = self._head + rows
            table, _ = build_table(rows, placeholders=False, marked_rows=len(self._head))
        self._head = rows[: table.header_rows]
        for warning in warnings:
            writer.warn(f"a table on page {writer.page}: {warning}")
        writer.add("table", outline(table), "", table=table)


def _texts(rows: list[list[SourceCell]]) -> list[list[str]]:
    return [[cell.text for cell in row] for row in rows]


def _source_cell(cell: RawCell, join: Joiner) -> SourceCell:
    text = join(cell.lines)
    return SourceCell(
        text=text,
        markdown=escape(text).replace("\n", "<br>"),
        row_span=cell.row_span,
        column_span=cell.column_span,
        bold=cell.bold,
        shade=cell.shade,
    )
