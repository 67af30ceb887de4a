"""CSV as programs and people write it: each text, and what a reader sees in it."""

from __future__ import annotations

import pytest

from loaders.document import Document
from loaders.files.local import load_bytes
from loaders.tables.headers import header_paths

TEXTS: dict[str, tuple[str, list[object]]] = {
    "a title, a line of two cells and a header": (
        "Disaster plan,,,\nValid from:,2025-01-01,,\nSite,Lead,Deputy,Phone\n"
        "Oslo,Ann,Bo,555 01\nRome,Cy,Di,555 02\n",
        ["Disaster plan", "Valid from: · 2025-01-01", ("Site", "Lead", "Deputy", "Phone"), 2],
    ),
    "a table of records only": (
        "Oslo;59,9;2024\nRome;41,9;2025\nLima;12,0;2025\n",
        [("", "", ""), 3],
    ),
    "years name columns": (
        "Site,2023,2024,2025\nOslo,12,14,11\nRome,9,8,20\n",
        [("Site", "2023", "2024", "2025"), 2],
    ),
    "months name columns": (
        "Site,2025-01,2025-02\nOslo,12,14\nRome,9,8\n",
        [("Site", "2025-01", "2025-02"), 2],
    ),
    "numbers of two kinds": ("New beds,250\nShare of all,92%\n", [("", ""), 2]),
    "a header that begins like a comment": (
        "# made by hand, twice\n#ID,Site\n17,Oslo\n18,Rome\n",
        ["made by hand, twice", ("#ID", "Site"), 2],
    ),
    "a number sign as the name of a column": (
        "#,Site,Lead\n1,Oslo,Ann\n2,Rome,Cy\n",
        [("#", "Site", "Lead"), 2],
    ),
    "groups between blank lines are one table": (
        "Site,Beds\nOslo,12\nRome,9\n\nLima,4\nQuito,7\n\nTotal,32\n",
        [("Site", "Beds"), 5],
    ),
    "two tables with titles, and a note": (
        "Beds\nSite,Beds\nOslo,12\nRome,9\n\nLeads\nLead,Mail\nAnn,ann@a.test\nBo,bo@a.test\n\n"
        "Times are UTC.\n",
        ["Beds", ("Site", "Beds"), 2, "Leads", ("Lead", "Mail"), 2, "Times are UTC."],
    ),
    "tables beside each other": (
        "Site,Beds,,Lead,Mail\nOslo,12,,Ann,ann@a.test\nRome,9,,Bo,bo@a.test\nLima,4,,,\n",
        [("Site", "Beds"), 3, ("Lead", "Mail"), 2],
    ),
    "a blank column inside a table": (
        "Site,Beds,,2023,2024\nOslo,12,,3.5,4.5\nRome,9,,2.5,9.5\n",
        [("Site", "Beds", "2023", "2024"), 2],
    ),
    "a header of two rows": (
        "Site,Reply,,Lead\n,Day,Night,\nOslo,5 min,9 min,Ann\nRome,1 h,2 h,Bo\n",
        [("Site", "Reply › Day", "Night", "Lead"), 2],
    ),
    "quotes that a backslash keeps": (
        'id,text\n1,"say \\"now\\", then go"\n2,"wait, then go"\n',
        [("id", "text"), 2],
    ),
    "spaces before quotes": (
        'Site, Note, Beds\nOslo, "closed, until May", 12\nRome, "open, by day", 9\n',
        [("Site", "Note", "Beds"), 2],
    ),
    "a command whose quotes a backslash keeps": (
        '"id","command"\n"1","echo \\"now\\" | tee log"\n"2","ls"\n',
        [("id", "command"), 2],
    ),
    "paths that end in a backslash": (
        'Site,Path\nOslo,"C:\\in\\"\nRome,"D:\\out\\"\n',
        [("Site", "Path"), 2],
    ),
    "numbers with commas between tabs": (
        "Site\tPeople\nOslo, NO\t3,600,000\nRome, IT\t2,100,000\n",
        [("Site", "People"), 2],
    ),
    "a title with more commas than the table": (
        "Beds, leads, and phones\nSite;Beds\nOslo;12\nRome;9\n",
        ["Beds, leads, and phones", ("Site", "Beds"), 2],
    ),
    "a tab that Excel states": ("sep=\t\r\nSite\tBeds\r\nOslo\t1,5\r\n", [("Site", "Beds"), 1]),
    "sentences in one column": (
        "Step\nStop the pump, then wait\nStart it\nTell Oslo\n",
        [("Step",), 3],
    ),
    "names and texts without another sign": (
        "site,lead\noslo,ann\nrome,bo\n",
        [("site", "lead"), 2],
    ),
    "names and values of one thing": (
        "Site,Oslo\nLead,Ann\nBeds,12\nOpened,2019-05-01\n",
        [("", ""), 4],
    ),
    "rows of all lengths": ("a,b,c\n1,2\n3,4,5,6\n", [("a", "b", "c", ""), 2]),
    "one row": ("Oslo,12,Ann\n", [("", "", ""), 1]),
}


def seen(document: Document) -> list[object]:
    """Texts, and the names and the number of rows of each table."""
    result: list[object] = []
    for block in document.blocks:
        if block.table:
            table = block.table
            result += [header_paths(table), len(table.rows) - table.header_rows]
        else:
            result.append(block.text)
    return result


@pytest.mark.parametrize("name", TEXTS)
def test_csv_is_read_as_people_see_it(name: str) -> None:
    text, expected = TEXTS[name]
    document = load_bytes(text.encode(), suffix=".csv", id="x")
    assert seen(document) == expected


def test_cells_hold_what_quotes_and_separators_leave() -> None:
    cells = {
        "quotes that a backslash keeps": ["1", 'say "now", then go'],
        "spaces before quotes": ["Oslo", "closed, until May", "12"],
        "a command whose quotes a backslash keeps": ["1", 'echo "now" | tee log'],
        "paths that end in a backslash": ["Oslo", "C:\\in\\"],
        "numbers with commas between tabs": ["Oslo, NO", "3,600,000"],
        "a table of records only": ["Rome", "41,9", "2025"],
    }
    for name, expected in cells.items():
        table = load_bytes(TEXTS[name][0].encode(), suffix=".csv", id="x").blocks[0].table
        assert table
        assert expected in [[cell.text for cell in row] for row in table.rows]


def test_short_rows_are_filled_up_with_a_warning() -> None:
    document = load_bytes(b"Beds\n\na,b,c\n1,2\n3,4,5\n", suffix=".csv", id="x")
    assert document.warnings == ("1 of 3 rows are shorter than the longest: filled up",)


def test_a_quote_that_is_never_closed_is_told() -> None:
    document = load_bytes(b'Site,Note\nOslo,"closed\nRome,open\n', suffix=".csv", id="x")
    warning = "a quote in line 2 is never closed: all that follows is one cell"
    assert document.warnings == (warning,)
    assert "Rome,open" in document.blocks[0].text


@pytest.mark.parametrize("suffix", [".csv", ".md", ".txt"])
def test_a_page_by_another_name_is_a_page(suffix: str) -> None:
    page = b"<!DOCTYPE html>\n<html><table><tr><th>Site</th></tr><tr><td>Oslo</td></tr></table>"
    assert seen(load_bytes(page, suffix=suffix, id="x")) == [("Site",), 1]
