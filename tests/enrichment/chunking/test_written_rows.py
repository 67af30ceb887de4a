"""Forms are lines, merged values are written once, and every row is understood alone."""

from __future__ import annotations

import pytest

from enrichment.llm.tables import TableRejected, TableReply, verified
from loaders.document import Cell, Table
from tests.enrichment.writing import Writer, table

RULE = "Only with the written consent of the data owner"


def merged(*rows: tuple[str, ...], spans: dict[tuple[int, int], tuple[int, int]]) -> Table:
    """A grid whose cell at (row, column) covers (rows, columns)."""
    cells = {
        (i, j): Cell(text=text, markdown=text, row=i, column=j)
        for i, row in enumerate(rows)
        for j, text in enumerate(row)
    }
    for (row, column), (height, width) in spans.items():
        text = rows[row][column]
        cell = Cell(
            text=text, markdown=text, row=row, column=column, row_span=height, column_span=width
        )
        for i in range(row, row + height):
            for j in range(column, column + width):
                cells[i, j] = cell
    grid = tuple(tuple(cells[i, j] for j in range(len(rows[0]))) for i in range(len(rows)))
    return Table(rows=grid, header_rows=1, header_evidence="th")


def test_a_form_is_written_as_fields_and_values() -> None:
    writer = Writer().heading("Quay").paragraphs("Its sheet:")
    (chunk,) = writer.table(("Owner", "Harbor team"), ("Tier", "T1 | T2"), header_rows=0).chunks()
    assert chunk.text == "Its sheet:\n\nOwner: Harbor team\nTier: T1 \\| T2"
    assert [(unit.text, unit.index_text) for unit in chunk.units if unit.kind == "row"] == [
        ("Owner: Harbor team", "Quay: Owner: Harbor team"),
        ("Tier: T1 | T2", "Quay: Tier: T1 | T2"),
    ]
    assert chunk.table is not None
    assert chunk.table.rows == (("Owner", "Harbor team"), ("Tier", "T1 | T2"))


def test_two_columns_whose_left_one_repeats_are_no_form() -> None:
    writer = Writer().table(("EU", "Ines"), ("EU", "Marek"), header_rows=0)
    (chunk,) = writer.chunks()
    assert "| EU | Ines |" in chunk.text


def test_a_value_merged_across_columns_and_rows_is_written_once() -> None:
    grid = merged(
        ("Role", "EU", "US", "SG"),
        ("reader", RULE, "", ""),
        ("writer", "", "", ""),
        ("owner", "yes", "", "no"),
        spans={(1, 1): (2, 3), (3, 1): (1, 2)},
    )
    (chunk,) = Writer().heading("Grants").add("table", table=grid).chunks()
    assert chunk.text.split("\n")[2:] == [
        f"| reader | {RULE} | (as left) | (as left) |",
        "| writer | (as above) | (as left) | (as left) |",
        "| owner | yes | yes | no |",
    ]
    assert [unit.text for unit in chunk.units[:2]] == [f"reader | {RULE}", f"writer | {RULE}"]
    assert chunk.units[1].index_text == f"Grants: Role: writer; EU, US, SG: {RULE}"
    assert chunk.table is not None
    assert chunk.table.rows[1] == ("writer", RULE, RULE, RULE)


def test_each_group_of_rows_begins_with_the_merged_value_and_its_group_s_name() -> None:
    names = [f"system {n}" for n in range(20)]
    grid = merged(
        ("System", "Rule", "Days"),
        ("Europe", "", ""),
        *[(name, RULE, str(at)) for at, name in enumerate(names)],
        spans={(1, 0): (1, 3), (2, 1): (20, 1)},
    )
    chunks = Writer().heading("Ages").add("table", table=grid).chunks(table_size=60)
    assert len(chunks) > 3
    for chunk in chunks:
        rows = chunk.text.split("---|\n")[1].split("\n")
        assert rows[0] == "| Europe |  |  |"
        assert RULE in rows[1]
        assert all("(as above)" in row for row in rows[2:])


def test_a_label_stands_in_every_row() -> None:
    grid = merged(
        ("System", "Role", "Days"),
        ("The ledger database", "reader", "1"),
        ("", "writer", "2"),
        spans={(1, 0): (2, 1)},
    )
    (chunk,) = Writer().add("table", table=grid).chunks()
    assert "| The ledger database | writer | 2 |" in chunk.text


def test_a_model_may_say_that_a_table_is_a_form() -> None:
    grid = table(("Owner", "Harbor"), ("Owner", "Quay"), header_rows=0)
    markdown = "|  |  |\n|---|---|\n| Owner | Harbor |\n| Owner | Quay |"
    reply = TableReply(markdown=markdown, header_rows=0, header_columns=1, is_form=True)
    (chunk,) = Writer().add("table", table=verified(grid, reply)).chunks()
    assert chunk.text == "Owner: Harbor\nOwner: Quay"
    reply = reply.model_copy(update={"header_columns": 0, "is_form": False})
    (chunk,) = Writer().add("table", table=verified(grid, reply)).chunks()
    assert "| Owner | Harbor |" in chunk.text


def test_a_form_with_a_header_is_rejected() -> None:
    grid = table(("Owner", "Harbor"), ("Tier", "T1"), header_rows=0)
    markdown = "| Owner | Harbor |\n|---|---|\n| Tier | T1 |"
    reply = TableReply(markdown=markdown, header_rows=1, header_columns=1, is_form=True)
    with pytest.raises(TableRejected, match="a form has two columns"):
        verified(grid, reply)
