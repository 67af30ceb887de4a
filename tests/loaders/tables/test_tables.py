from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from config.errors import LoadError
from loaders.document import MAX_CELLS, Table
from loaders.tables.cells import SourceCell
from loaders.tables.grid import build_table
from loaders.tables.headers import header_paths, structure_doubt
from loaders.tables.markdown import markdown_to_table, table_to_markdown
from loaders.text.markdown import clean, escape
from loaders.text.plain import plain_text
from tests.loaders.thoroughly import examples

TEXT = st.text(alphabet="ab1 |\\*_`›<>&[]()\n🤷é", max_size=14)


def cell(text: str, rows: int = 1, columns: int = 1, **looks: object) -> SourceCell:
    text = clean(text).strip()
    markdown = escape(text).replace("\n", "<br>")
    spans = {"row_span": rows, "column_span": columns}
    return SourceCell(text=text, markdown=markdown, **{**spans, **looks})  # type: ignore[arg-type]


def html(*rows: Sequence[SourceCell | str], marked: int = 0) -> Table:
    """A table as HTML writes it: covered cells left out."""
    cells = [[c if isinstance(c, SourceCell) else cell(c) for c in row] for row in rows]
    return build_table(cells, placeholders=False, marked_rows=marked)[0]


def texts(table: Table) -> list[list[str]]:
    return [[c.text for c in row] for row in table.rows]


@st.composite
def merged_grids(draw: st.DrawFn) -> tuple[list[list[SourceCell]], list[list[str]], int]:
    """Rows with placeholders as Google has them, the true grid, and marked header rows."""
    height, width = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    truth: list[list[str | None]] = [[None] * width for _ in range(height)]
    rows: list[list[SourceCell]] = [[] for _ in range(height)]
    for i in range(height):
        for j in range(width):
            if truth[i][j] is not None:
                rows[i].append(SourceCell())
                continue
            text = clean(draw(TEXT)).strip()
            down, across = draw(st.integers(1, height - i)), draw(st.integers(1, width - j))
            fits = [[truth[a][b] is None for b in range(j, j + across)] for a in range(i, i + down)]
            if not all(map(all, fits)):
                down = across = 1
            for a in range(i, i + down):
                for b in range(j, j + across):
                    truth[a][b] = text
            rows[i].append(cell(text, down, across))
    return rows, [[text or "" for text in row] for row in truth], draw(st.integers(0, height - 1))


@settings(max_examples=examples(quick=200, thorough=2_000), deadline=None)
@given(merged_grids())
def test_round_trip_through_markdown_keeps_every_cell_in_its_place(
    grid: tuple[list[list[SourceCell]], list[list[str]], int],
) -> None:
    rows, truth, marked = grid
    table, warnings = build_table(rows, placeholders=True, marked_rows=marked)
    assert texts(table) == truth
    assert not warnings

    read = markdown_to_table(table_to_markdown(table))
    body, read_body = table.rows[table.header_rows :], read.rows[read.header_rows :]
    assert [[c.markdown for c in row] for row in read_body] == [
        [c.markdown for c in row] for row in body
    ]
    assert [_seen(c.text) for row in read_body for c in row] == [
        _seen(c.text) for row in body for c in row
    ]
    assert [_seen(path) for path in header_paths(read)] == [
        _seen(path) for path in header_paths(table)
    ]
    again = markdown_to_table(table_to_markdown(read))
    assert again == read


def _seen(text: str) -> list[str]:
    return text.split()


def test_merged_values_stand_in_every_position_they_cover() -> None:
    table = html(
        [cell("Key", 2), cell("Age", 1, 2)], ["EU", "US"], ["API", cell("90 d", 1, 2)], marked=2
    )
    assert texts(table) == [["Key", "Age", "Age"], ["Key", "EU", "US"], ["API", "90 d", "90 d"]]
    assert header_paths(table) == ("Key", "Age › EU", "Age › US")
    assert table_to_markdown(table) == (
        "| Key | Age › EU | Age › US |\n| --- | --- | --- |\n| API | 90 d | 90 d |"
    )


def test_header_reaches_as_far_down_as_its_merges() -> None:
    head = [cell("Key", 2, bold=True), cell("Age", 1, 2, bold=True)]
    table = html(head, ["EU", "US"], ["API", "90 d", "60 d"])
    assert (table.header_rows, table.header_evidence) == (2, "bold")


@pytest.mark.parametrize(
    ("looks", "evidence"), [({"bold": True}, "bold"), ({"shade": "#eee"}, "shaded")]
)
def test_header_by_its_look(looks: dict[str, object], evidence: str) -> None:
    table = html([cell("Owner", **looks), cell("Since", **looks)], ["Ana", "Bo"], ["Cy", "Di"])
    assert (table.header_rows, table.header_evidence) == (1, evidence)


def test_two_rows_of_bold_names_that_fill_each_others_gaps() -> None:
    def bold(*names: str) -> list[SourceCell | str]:
        return [cell(name, bold=True) if name else "" for name in names]

    head = [bold("Key", "Age", ""), bold("", "EU", "US")]
    table = html(*head, ["API", "90 d", "60 d"], ["Web", "30 d", "9 d"])
    assert (table.header_rows, header_paths(table)) == (2, ("Key", "Age › EU", "US"))
    section = html(bold("", "EU", "US"), bold("Daily", "", ""), ["API", "90 d", "60 d"])
    assert section.header_rows == 1


def test_header_by_its_words() -> None:
    table = html(["Name", "Limit"], ["alpha", "100"], ["beta", "200"])
    assert (table.header_rows, table.header_evidence) == (1, "short first row")


def test_no_evidence_no_header() -> None:
    table = html(["Ana", "Rotterdam"], ["Bo", "Austin"])
    assert table.header_rows == 0
    assert structure_doubt(table) == "no header"
    assert table_to_markdown(table).startswith("|  |  |\n| --- | --- |\n| Ana | Rotterdam |")


def test_numbers_in_the_first_row_are_no_header() -> None:
    assert html(["2024", "17%"], ["2025", "19%"], ["2026", "23%"]).header_rows == 0


def test_bold_first_column_names_the_rows() -> None:
    table = html([cell("Owner", bold=True), "Ana"], [cell("Pager", bold=True), "Bo, from Monday"])
    assert (table.header_rows, table.header_columns) == (0, 1)


def test_merged_labels_need_as_many_columns_as_tell_rows_apart() -> None:
    table = html(
        ["Type", "Class", "Age"],
        [cell("API key", 2), "Open", "90 d"],
        ["Closed", "60 d"],
        marked=1,
    )
    assert table.header_columns == 2


def test_a_column_of_numbers_is_no_label_though_it_tells_rows_apart() -> None:
    table = html(["Year", "Team", "Goals"], ["2024", "A", "3"], ["2024", "B", "5"], marked=1)
    assert table.header_columns == 2
    table = html(["Team", "Goals", "Games"], ["A", "3", "9"], ["A", "5", "8"], marked=1)
    assert table.header_columns == 0


def test_title_over_all_columns_belongs_to_the_header() -> None:
    table = html(
        [cell("Limits", 1, 2)], [cell("Name", bold=True), cell("Value", bold=True)], ["a", "1"]
    )
    assert header_paths(table) == ("Limits › Name", "Limits › Value")


def test_side_by_side_tables_are_doubtful() -> None:
    table = html(["Name", "Age", "", "Name", "Age"], ["a", "1", "", "b", "2"])
    assert structure_doubt(table) == "side-by-side tables"


def test_content_under_a_merge_is_kept() -> None:
    rows = [[cell("wide", 1, 2), cell("hidden")], [cell("a"), cell("b")]]
    table, warnings = build_table(rows, placeholders=True)
    assert texts(table) == [["wide", "hidden"], ["a", "b"]]
    assert table.rows[0][0].column_span == 1
    assert not warnings


def test_overlapping_merges_become_single_cells_with_a_warning() -> None:
    rows = [
        [cell("a", 2, 2), cell(""), cell("c")],
        [cell(""), cell("x", 1, 2), cell("")],
    ]
    table, warnings = build_table(rows, placeholders=True)
    assert texts(table) == [["a", "a", "c"], ["a", "x", "x"]]
    assert warnings == ["overlapping merges were split into single cells"]


def test_ragged_rows_are_filled_up_with_a_warning() -> None:
    table, warnings = build_table([[cell("a"), cell("b")], [cell("c")]], placeholders=True)
    assert texts(table) == [["a", "b"], ["c", ""]]
    assert warnings == ["rows of different length were filled up with empty cells"]


def test_rows_that_leave_covered_cells_out_are_placed_in_the_gaps() -> None:
    table, _ = build_table([[cell("a", 2), cell("b")], [cell("c")]], placeholders=True)
    assert texts(table) == [["a", "b"], ["a", "c"]]


def test_spans_beyond_the_table_are_clipped() -> None:
    table = html([cell("a", 999, 999), "b"], ["c"])
    assert len(table.rows) == 2


def test_too_many_cells_are_refused() -> None:
    rows = [[cell("x", 1, 1_000)] * 10] * (MAX_CELLS // 10_000 + 1)
    with pytest.raises(LoadError, match="more than the 200,000 that are read"):
        build_table(rows, placeholders=False, document="big.html", place="a table")


def test_pipes_line_ends_and_backslashes_survive() -> None:
    table = html(["Name", "Text"], ["a|b", "c\\|d\u2028e"], ["\\", "`x|y`"], marked=1)
    read = markdown_to_table(table_to_markdown(table))
    assert [[c.text for c in row] for row in read.rows[1:]] == [
        ["a|b", "c\\|d\ne"],
        ["\\", "`x|y`"],
    ]


def test_longer_rows_widen_the_table() -> None:
    read = markdown_to_table("| a |\n|---|\n| 1 | 2 |")
    assert texts(read) == [["a", ""], ["1", "2"]]


def test_text_without_a_table_is_refused() -> None:
    with pytest.raises(ValueError, match="no pipe table"):
        markdown_to_table("just | words")


def test_numbered_items_in_cells_keep_their_numbers() -> None:
    assert (
        plain_text('Do:<ol start="2"><li>warn</li><li>rotate</li></ol>')
        == "Do:\n2. warn\n3. rotate"
    )
