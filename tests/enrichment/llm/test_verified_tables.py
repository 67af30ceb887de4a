"""A model may not lose, invent, move or improve a single cell."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlalchemy import create_engine

from config.errors import ModelUnavailable
from config.models import Prompt, Reply, Usage
from enrichment.llm.budget import Budget
from enrichment.llm.reply_cache import ReplyCache
from enrichment.llm.tables import (
    TableRejected,
    TableReply,
    unclear,
    verified,
    with_verified_tables,
)
from loaders.document import Table
from tests.enrichment.writing import Writer, count_words, table

GRID = table(
    ("1.5 region", "2 days", "3 approver"),
    ("EU", "1,200 days", "Ines Okafor"),
    ("US", "14 days", "Marek Vos"),
    ("SG", "", "Dana | Lee"),
    header_rows=0,
)
RIGHT = r"""
| 1.5 region | 2 days | 3 approver |
|---|---|---|
| EU | 1,200 days | **Ines Okafor** |
| US | 14 days | Marek Vos |
| SG |  | Dana \| Lee |
"""


def reply(
    markdown: str, header_rows: int = 1, header_columns: int = 1, is_form: bool = False
) -> TableReply:
    return TableReply(
        markdown=markdown, header_rows=header_rows, header_columns=header_columns, is_form=is_form
    )


def test_a_faithful_table_gives_the_grid_its_header() -> None:
    found = verified(GRID, reply(RIGHT))
    assert (found.header_rows, found.header_columns) == (1, 1)
    assert found.header_evidence == "model, verified"
    assert found.rows == GRID.rows


def test_a_footnote_mark_comes_back_as_the_model_was_shown_it() -> None:
    grid = table(("Region", "Days"), ("EU", "30 [1]"), header_rows=0)
    found = verified(grid, reply("| Region | Days |\n|---|---|\n| EU | 30 (1) |"))
    assert found.rows == grid.rows


def edited(old: str, new: str) -> str:
    assert old in RIGHT
    return RIGHT.replace(old, new)


@pytest.mark.parametrize(
    ("kind", "markdown"),
    [
        ("lost", edited("| US | 14 days | Marek Vos |", "| US | 14 days |  |")),
        ("lost", edited("| US | 14 days | Marek Vos |", "| US | 14 days |")),
        ("moved", edited("| US | 14 days | Marek Vos |", "| US | Marek Vos | 14 days |")),
        ("invented", RIGHT + "| BR | 9 days | Nobody |\n"),
        ("invented", edited("| SG |  |", "| SG | 30 days |")),
        ("changed", edited("1,200 days", "1,250 days")),
        ("changed", edited("14 days", "14.0 days")),
        ("changed", edited("14 days", "two weeks")),
        ("cut", edited("| SG |  | Dana \\| Lee |\n", "")),
        ("header", edited("| 1.5 region | 2 days |", "| Region | 2 days |")),
        ("header", edited("| 1.5 region | 2 days |", "| 2 days | 1.5 region |")),
        ("shape", "I could not read this table."),
    ],
)
def test_a_table_that_differs_is_rejected(kind: str, markdown: str) -> None:
    with pytest.raises(TableRejected) as rejection:
        verified(GRID, reply(markdown))
    assert rejection.value.kind == kind


def test_swapped_rows_are_rejected() -> None:
    lines = RIGHT.strip().splitlines()
    swapped = "\n".join([*lines[:2], lines[3], lines[2], lines[4]])
    with pytest.raises(TableRejected):
        verified(GRID, reply(swapped))


@pytest.mark.parametrize(("rows", "columns"), [(-1, 0), (4, 0), (1, 3), (1, -1)])
def test_an_impossible_header_is_rejected(rows: int, columns: int) -> None:
    with pytest.raises(TableRejected):
        verified(GRID, reply(RIGHT, rows, columns))


def test_only_unclear_tables_are_asked_for() -> None:
    assert unclear(GRID)
    assert not unclear(table(("Region", "Days"), ("EU", "1")))


class Scripted:
    """A chat model that says one thing."""

    name = "scripted"

    def __init__(self, say: Callable[[], str]) -> None:
        self._say = say
        self.calls = 0

    def structured(self, prompt: Prompt, shape: type[Reply]) -> tuple[Reply, Usage]:
        self.calls += 1
        return shape.model_validate(reply(self._say()).model_dump()), Usage(calls=1)

    def stream(self, prompt: Prompt) -> None:  # type: ignore[override]  # never asked here
        raise NotImplementedError


def down() -> str:
    raise ModelUnavailable("down")


@pytest.mark.parametrize(
    ("say", "accepted", "rejected", "failed"),
    [(lambda: RIGHT, 1, 0, 0), (lambda: edited("14", "15"), 0, 1, 0), (down, 0, 0, 1)],
)
def test_the_report_counts_what_became_of_each_table(
    say: Callable[[], str], accepted: int, rejected: int, failed: int
) -> None:
    writer = Writer().heading("Ages").add("table", table=GRID)
    document = writer.table(("Region", "Days"), ("EU", "1")).document()
    model = Scripted(say)
    checked, report = with_verified_tables(
        document,
        model=model,  # type: ignore[arg-type]  # it can't stream
        cache=ReplyCache(create_engine("sqlite://")),
        budget=Budget(attempts=1),
    )
    assert (report.tables, report.asked) == (2, 1)
    assert (report.accepted, report.rejected.total(), report.failed) == (
        accepted,
        rejected,
        failed,
    )
    assert len(report.reasons) == rejected + failed
    assert all("rotation" in reason for reason in report.reasons)
    table_found = checked.blocks[1].table
    assert isinstance(table_found, Table)
    assert table_found.header_rows == accepted
    assert model.calls == 1


def test_an_accepted_header_names_the_columns_of_the_chunk() -> None:
    writer = Writer().heading("Ages").add("table", table=verified(GRID, reply(RIGHT)))
    (chunk,) = writer.chunks()
    assert chunk.table is not None
    assert chunk.table.header == ("1.5 region", "2 days", "3 approver")
    assert count_words(chunk.text) == chunk.tokens
