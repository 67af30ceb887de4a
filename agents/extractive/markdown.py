"""Excerpts as markdown: sentences, lists, rows and code as they stand in the document."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby, takewhile
from textwrap import dedent

from agents.answer import Passage
from agents.extractive.quotable import is_code
from agents.extractive.relevance import Aspect, ScoredUnit
from agents.extractive.table import cell_at, header_at, row_label, says_nothing, together
from agents.extractive.value_types import column_kinds, fits, requested_kinds
from enrichment.chunk import CODE, CODE_WORD, FENCE, Chunk, ChunkTable, Unit, unit_prefixes
from enrichment.language.words import TOKEN, naming_words, stems
from enrichment.safety.injection import redacted

MAX_STATEMENT_CHARS, MAX_ROW_CHARS = 400, 340
"""Maximum length of a quoted sentence, item or row, and of a row's cells."""


def unit_text(chunk: Chunk, unit: Unit, aspect: Aspect | None = None) -> str:
    """The sentence or item verbatim; a row as `label — header: cell; header: cell`, the columns of
    a long one in which the aspect finds least are left out."""
    text = redacted(unit.text)
    if unit.row is not None and chunk.table is not None:
        cells = list(_cells(chunk.table, unit.row))
        cells = cells if aspect is None else _fitting(cells, aspect)
        row = "; ".join(redacted(": ".join(filter(None, cell))) for cell in cells)
        text = " — ".join(filter(None, (redacted(row_label(chunk.table, unit.row)), row)))
    if len(text) <= MAX_STATEMENT_CHARS:
        return text
    return text[:MAX_STATEMENT_CHARS].rsplit(" ", 1)[0].rstrip(",;:") + " …"


def _cells(table: ChunkTable, row: int) -> Iterator[tuple[str, str]]:
    """(header, cell) of each value column; neighbors with the same cell are merged."""
    value_columns = range(table.label_columns, len(table.rows[row]))
    for cell, columns in groupby(value_columns, key=lambda column: cell_at(table, row, column)):
        if not says_nothing(cell):
            yield together([header_at(table, column) for column in columns]), cell


def _fitting(cells: Sequence[tuple[str, str]], aspect: Aspect) -> list[tuple[str, str]]:
    """In their order, the cells that fit a line, those that the question asks for first."""
    kinds = [request.kind for request in requested_kinds(aspect.text)]

    def worth(cell: tuple[str, str]) -> float:
        named = aspect.coverage(stems(cell[0])) + aspect.coverage(stems(" ".join(cell)))
        return named + any(fits(kind, column_kinds(cell[0], cell[1:])) for kind in kinds)

    ranked = sorted(cells, key=worth, reverse=True)
    sizes = accumulate(len(header) + len(cell) + 4 for header, cell in ranked)
    count = max(1, sum(size <= MAX_ROW_CHARS for size in sizes))
    return [cell for cell in cells if cell in ranked[:count]]


GAP = "…"
PICTURED = " _(a picture, as a model described it)_"
_WORD = re.compile(rf"`[^`]*`|\S*(?:://|@|\*)\S*|(?P<word>{TOKEN.pattern})", TOKEN.flags)
"""A word; code, addresses and marks stay as they are."""


def excerpt(statements: Sequence[ScoredUnit], aspects: Sequence[Aspect]) -> str:
    """Markdown of one section's statements in this order: sentences as running text, items and
    rows as a list, code as code; … marks a gap."""
    groups = [list(units) for _, units in groupby(statements, key=shape)]
    lines: list[str] = []
    for units in groups:
        is_end = units is groups[-1] or units[0].unit.kind == "row"
        if lines and shape(units[0]) == "sentences":
            lines.append("")  # or it would belong to the last item above
        lines += [_block(units, aspects), *(_left_out(units) if is_end else ())]
    return "\n".join(lines)


def _block(units: Sequence[ScoredUnit], aspects: Sequence[Aspect]) -> str:
    kind = shape(units[0])
    if kind == "code":
        return "\n".join([CODE, *_code_lines(units), CODE])
    texts = [with_bold_words(unit_text(one.chunk, one.unit, aspects[0]), aspects) for one in units]
    if kind != "sentences":
        texts = [f"{prefix_of(one) or '- '}{text}" for one, text in zip(units, texts, strict=True)]
    for place in reversed(range(1, len(texts) if kind != "rows" else 0)):
        if not _follows(units[place], units[place - 1]):
            texts.insert(place, GAP if kind == "sentences" else f"- {GAP}")
    return (" " if kind == "sentences" else "\n").join(texts)


def _code_lines(units: Sequence[ScoredUnit]) -> list[str]:
    """Lines of code as they stand in the document, with its indentation and the lines between that
    hold no word; … marks a gap."""
    lines: list[str] = []
    before: ScoredUnit | None = None
    end, own = 0, [""]
    for unit in units:
        if before is None or unit.chunk is not before.chunk:
            end, own = 0, unit.chunk.text.split("\n")
        start, rest = end, own[end:]
        line = next((one for one in rest if one.strip() == unit.unit.text), unit.unit.text)
        end += rest.index(line) + 1 if line in rest else 0
        if before and not _follows(unit, before):
            lines.append(GAP)
        elif before and unit.chunk is before.chunk:
            lines += (one for one in own[start : end - 1] if not FENCE.match(one))
        lines.append(line)
        before = unit
    closing = takewhile(lambda one: not FENCE.match(one) and not CODE_WORD.search(one), own[end:])
    return dedent("\n".join([*lines, *closing])).split("\n")


def shape(unit: ScoredUnit) -> str:
    """`sentences`, `items`, `rows` or `code`: what it is written with."""
    return "code" if is_code(unit) else f"{unit.unit.kind}s"


def _left_out(units: Sequence[ScoredUnit]) -> Iterator[str]:
    """Says how many rows of the last table or items of the last list come on top."""
    chunk, last = units[-1].chunk, units[-1].unit
    if chunk.table and last.row is not None:
        tables = [
            one.chunk.table.id for one in units if one.chunk.table and one.unit.row is not None
        ]
        count, total = tables.count(chunk.table.id), chunk.table.total_rows
        if count < max(total, len(chunk.table.rows)):
            yield f"\n_{count} of the table's {total or len(chunk.table.rows)} rows_"
    elif last.kind == "item":
        rest = list(zip(chunk.units, unit_prefixes(chunk), strict=True))[units[-1].index + 1 :]
        items = takewhile(lambda one: one[0].kind == "item", rest)
        more = sum(not prefix.startswith(" ") for _, prefix in items)
        if more := more + sum(run.total - run.first - run.count for run in chunk.runs[:1]):
            yield f"\n_{more} more in the document_"


def _follows(unit: ScoredUnit, before: ScoredUnit) -> bool:
    if unit.chunk.id == before.chunk.id:
        return unit.index == before.index + 1
    last = before.index == len(before.chunk.units) - 1
    return last and unit.index == 0 and unit.chunk.position == before.chunk.position + 1


def with_bold_words(text: str, aspects: Sequence[Aspect]) -> str:
    """Sets the question's words in bold; neighbors share one pair of marks."""
    question_words = aspects[0].named_in(naming_words(text).keys())
    ways = (way for word in question_words for way in aspects[0].same.get(word, ()))
    bold = question_words.union(*ways)

    def marked(match: re.Match[str]) -> str:
        is_bold = match["word"] and naming_words(match["word"]).keys() & bold
        return f"**{match[0]}**" if is_bold else match[0]

    return re.sub(r"\*\*(\s+)\*\*", r"\1", _WORD.sub(marked, text))


def passages_text(lead: str, passages: Sequence[Passage]) -> str:
    """Markdown of the lead, then of each passage under its title, and the document's path where no
    link opens it: `Expenses` alone may be another team's."""
    parts = [lead]
    for one in passages:
        place = " › ".join(dict.fromkeys((one.citation.title, one.citation.heading)))
        quoted = "\n".join(f"> {line}" for line in one.text.split("\n"))
        pictured = PICTURED if one.citation.from_picture else ""
        path = "" if one.citation.url else f" · {one.citation.document}"
        parts.append(f"**{place}** [{one.citation.number}]{path}{pictured}\n{quoted}")
    return "\n\n".join(parts)


def prefix_of(unit: ScoredUnit) -> str:
    """See `enrichment.chunk.unit_prefixes`."""
    return unit_prefixes(unit.chunk)[unit.index]
