"""A model finds a table's header; every cell of its reply is checked against the loaded grid.

Only the structure comes from the model: published cells are the loader's."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from pydantic import BaseModel

from config.errors import ModelError
from config.models import ChatModel, Prompt
from config.prompts import Foreign, harmless
from enrichment.llm.budget import Budget, RunReport
from enrichment.llm.prompts import render
from enrichment.llm.reply_cache import ReplyCache, cache_key
from loaders.document import Document, Table
from loaders.tables.headers import structure_doubt
from loaders.tables.markdown import table_to_markdown

_MAX_CELLS = 2_000


class TableReply(BaseModel):
    markdown: str
    header_rows: int
    header_columns: int
    is_form: bool
    """The left column names what the right one says, and no row names columns."""


class TableRejected(Exception):
    """The model's table differs from the grid, so the loader's table is used.

    `kind`: lost, invented, moved, changed, cut, shape or header."""

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(reason)
        self.kind = kind


@dataclass
class TableReport(RunReport):
    """Counts of one run."""

    tables: int = 0
    asked: int = 0
    accepted: int = 0
    failed: int = 0
    """The model did not answer."""
    rejected: Counter[str] = field(default_factory=Counter)
    """Number of rejections by `TableRejected.kind`."""
    reasons: list[str] = field(default_factory=list)
    """One line per rejection or failure: the table and the reason."""


def with_verified_tables(
    document: Document, *, model: ChatModel, cache: ReplyCache, budget: Budget
) -> tuple[Document, TableReport]:
    """The document with the headers that the model found and the check confirmed."""
    report = TableReport()
    blocks = list(document.blocks)
    for index, block in enumerate(blocks):
        if block.table is None:
            continue
        report.tables += 1
        if not unclear(block.table):
            continue
        place = f"{document.id}: table under {block.heading_path[-1:] or (document.title,)}"
        report.asked += 1
        try:
            table = verified(block.table, _ask(block.table, model, cache, budget))
        except ModelError as error:
            report.failed += 1
            report.reasons.append(f"{place}: {error}")
        except TableRejected as rejection:
            report.rejected[rejection.kind] += 1
            report.reasons.append(f"{place}: {rejection}")
        else:
            report.accepted += 1
            blocks[index] = replace(block, table=table, markdown=table_to_markdown(table))
    return replace(document, blocks=tuple(blocks)), report


def unclear(table: Table) -> str:
    """Why the table's structure is unclear, or ''. '' also for tables that are too large to ask."""
    cells = sum(len(row) for row in table.rows)
    return structure_doubt(table) if cells <= _MAX_CELLS else ""


def verified(table: Table, reply: TableReply) -> Table:
    """The table with the reply's header. Raises TableRejected at the first difference."""
    reply_rows = _parse(reply.markdown)
    if len(reply_rows) < 1:
        raise TableRejected("shape", "no table in the reply")
    if not 0 <= reply.header_rows < len(table.rows):
        raise TableRejected("header", f"{reply.header_rows} header rows of {len(table.rows)} rows")
    if not 0 <= reply.header_columns < len(table.rows[0]):
        raise TableRejected("header", f"{reply.header_columns} header columns")
    if reply.is_form and (len(table.rows[0]), reply.header_rows, reply.header_columns) != (2, 0, 1):
        reason = "a form has two columns, of which the left one names the rows"
        raise TableRejected("header", reason)
    grid = [[_same(cell.text) for cell in row] for row in table.rows]
    body = grid[reply.header_rows :]
    _check_shape(reply_rows[1:], body)
    for number, (reply_row, expected) in enumerate(zip(reply_rows[1:], body, strict=True), start=1):
        _check_row(number, [_same(cell) for cell in reply_row], expected)
    _check_header([_same(cell) for cell in reply_rows[0]], grid[: reply.header_rows], body)
    return replace(
        table,
        header_rows=reply.header_rows,
        header_columns=reply.header_columns,
        header_evidence="model, verified",
    )


def _ask(table: Table, model: ChatModel, cache: ReplyCache, budget: Budget) -> TableReply:
    prompt = _prompt(table)
    key = cache_key(prompt, model.name)
    if (cached := cache.find(key, TableReply)) is not None:
        return cached
    reply = budget.ask(model, prompt, TableReply)
    cache.save(key, prompt, model.name, reply)
    return reply


def _prompt(table: Table) -> Prompt:
    lines = [
        "  ".join(f"[{r},{c}] " + cell.text.replace("\n", " <br> ") for c, cell in enumerate(row))
        for r, row in enumerate(table.rows)
    ]
    return render("convert_table", table=Foreign("table", "\n".join(lines)))


def _check_shape(reply_rows: Sequence[Sequence[str]], body: Sequence[Sequence[str]]) -> None:
    if len(reply_rows) < len(body):
        raise TableRejected("cut", f"{len(reply_rows)} of {len(body)} rows")
    if len(reply_rows) > len(body):
        raise TableRejected("invented", f"{len(reply_rows)} rows, the grid has {len(body)}")
    for number, row in enumerate(reply_rows, start=1):
        if len(row) != len(body[number - 1]):
            raise TableRejected(
                "lost" if len(row) < len(body[number - 1]) else "invented",
                f"row {number} has {len(row)} cells, not {len(body[number - 1])}",
            )


def _check_row(number: int, row: Sequence[str], expected: Sequence[str]) -> None:
    for column, (cell, true) in enumerate(zip(row, expected, strict=True)):
        if cell == true:
            continue
        place = f"row {number}, column {column + 1}"
        if not cell:
            raise TableRejected("lost", f"{place}: {true!r} is missing")
        if cell in expected and true in row:
            raise TableRejected("moved", f"{place}: {cell!r} belongs elsewhere in the row")
        if not true:
            raise TableRejected("invented", f"{place}: {cell!r} in an empty cell")
        raise TableRejected("changed", f"{place}: {cell!r} instead of {true!r}")


def _check_header(
    names: Sequence[str], header: Sequence[Sequence[str]], body: Sequence[Sequence[str]]
) -> None:
    if len(names) != len(body[0]):
        raise TableRejected("header", f"{len(names)} column names for {len(body[0])} columns")
    for column, name in enumerate(names):
        levels = dict.fromkeys(row[column] for row in header if row[column])
        if [level.strip() for level in name.split("›") if level.strip()] != list(levels):
            true = " › ".join(levels)
            raise TableRejected("header", f"column {column + 1}: {name!r} instead of {true!r}")


def _parse(markdown: str) -> list[list[str]]:
    # By hand: a Markdown parser fills short rows and cuts long ones, which would hide the losses
    # and inventions that this module looks for.
    lines = [line.strip() for line in markdown.strip().splitlines()]
    rows = [_cells(line) for line in lines if line.startswith("|")]
    is_rule = [all(re.fullmatch(r":?-+:?", cell) for cell in row) for row in rows]
    return [row for row, rule in zip(rows, is_rule, strict=True) if not rule]


def _cells(line: str) -> list[str]:
    inside = re.sub(r"(?<!\\)\|$", "", line[1:])
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", inside)]


def _same(text: str) -> str:
    """The text for comparison, without white space, line breaks and emphasis.

    One side is plain text, the other markdown: `5*3*2` is the same in both, and `[1]` becomes
    `(1)`, which is how the prompt shows it to the model."""
    plain = re.sub(r"<br\s*/?>", " ", harmless(text)).replace("\\|", "|")
    plain = re.sub(r"\*\*|`|(?<!\w)[*_](?=\S)|(?<=\S)[*_](?!\w)", "", plain)
    return " ".join(harmless(plain).split())  # again: backticks had kept an index as it is
