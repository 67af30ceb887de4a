"""Workbooks as teams write them, and what a reader sees in each."""

from __future__ import annotations

import re

import pytest

from config.errors import LoadError
from loaders.document import Document
from loaders.files.local import load_bytes
from loaders.sheets.formats import show_number
from loaders.tables.headers import header_paths
from tests.loaders.sheets.books import (
    BOLD,
    DATE,
    EURO,
    HOURS,
    PERCENT,
    STRUCK,
    archive,
    book,
    cell,
    cells,
    relations,
    sheet,
)

BEDS = sheet([cells("Site", "Beds"), cells("Oslo", 12), cells("Rome", 9)])


def load(data: bytes) -> Document:
    return load_bytes(data, suffix=".xlsx", id="beds")


def seen(document: Document) -> list[object]:
    """Texts, and of each table its names and rows."""
    result: list[object] = []
    for block in document.blocks:
        if block.table:
            rows = block.table.rows[block.table.header_rows :]
            result += [header_paths(block.table), *([cell.text for cell in row] for row in rows)]
        else:
            result.append(block.text)
    return result


def test_every_visible_sheet_stands_below_its_name() -> None:
    document = load(
        book(
            {"Beds": BEDS, "Lists": BEDS, "Old": BEDS, "Empty": sheet([]), "Leads": BEDS},
            states={"Lists": "hidden", "Old": "veryHidden"},
        )
    )
    headings = [block.text for block in document.blocks if block.kind == "heading"]
    assert headings == ["Beds", "Leads"]
    assert [warning.split(":")[0] for warning in document.warnings] == [
        "sheet 'Lists' is hidden", "sheet 'Old' is hidden"
    ]  # fmt: skip


def test_values_are_what_the_sheet_shows() -> None:
    row = (
        cell("drill") + cell(45725, style=DATE) + cell(0.125, style=PERCENT)
        + cell(1234.5, style=EURO) + cell(1.5, style=HOURS) + '<c t="b"><v>1</v></c>'
        + cell(10, formula="SUM(A1:A2)") + cell(None, formula="NOW()") + cell(12345678901234567)
    )  # fmt: skip
    header = cells("What", "Day", "Share", "Cost", "Time", "Done", "Sum", "Open", "Account")
    document = load(book({"Plan": sheet([header, row])}))
    assert seen(document)[2] == [
        "drill", "2025-03-09", "13%", "€ 1,234.50", "36:00:00", "TRUE", "10", "",
        "12345678901234567",
    ]  # fmt: skip
    assert document.warnings == (
        "sheet 'Plan': 1 formula without a stored value is left empty, the first in column 8",
    )


def test_merged_names_stand_above_each_column_and_merged_values_in_each_row() -> None:
    rows = [
        cells("Site", "Reply", None, "Lead"),
        cells(None, "Day", "Night", None),
        cells("Oslo", "5 min", "9 min", "Ann"),
        cells("Rome", "1 h", "2 h", None),
    ]
    merges = "".join(f'<mergeCell ref="{ref}"/>' for ref in ("A1:A2", "B1:C1", "D1:D2", "D3:D4"))
    document = load(book({"Reply": sheet(rows, after=f"<mergeCells>{merges}</mergeCells>")}))
    assert seen(document)[1:] == [
        ("Site", "Reply › Day", "Reply › Night", "Lead"),
        ["Oslo", "5 min", "9 min", "Ann"],
        ["Rome", "1 h", "2 h", "Ann"],
    ]


def test_a_first_row_of_words_above_words_names_columns() -> None:
    rows = [cells("Site", "Lead"), cells("Oslo", "Ann"), cells("Rome", "Bo")]
    assert seen(load(book({"Leads": sheet(rows)})))[1] == ("Site", "Lead")


def test_hidden_rows_and_columns_are_left_out_with_a_warning() -> None:
    rows = [
        cells("Site", "Key", "Beds"),
        cells("Oslo", "SECRET-1", 12),
        f'<row r="3" hidden="1">{cells("SECRET-2", "x", 9)}</row>',
        f'<row r="4">{cells("Lima", "SECRET-3", 4)}</row>',
    ]
    columns = '<cols><col min="2" max="2" hidden="1"/></cols>'
    document = load(book({"Beds": sheet(rows, before=columns)}))
    assert seen(document)[1:] == [("Site", "Beds"), ["Oslo", "12"], ["Lima", "4"]]
    assert document.warnings == (
        "sheet 'Beds': 1 hidden row is left out",
        "sheet 'Beds': 1 hidden column is left out",
    )


def test_rows_that_a_filter_hides_do_not_part_a_table() -> None:
    hidden = [f'<row r="{at}" hidden="1">{cells(f"No {at}", "x")}</row>' for at in (2, 3, 5, 6)]
    shown = [f'<row r="{at}">{cells(*row)}</row>' for at, row in ((4, ("Oslo", "Ann")),
             (7, ("Rome", "Bo")))]  # fmt: skip
    rows = [cells("Site", "Lead"), *hidden[:2], shown[0], *hidden[2:], shown[1]]
    document = load(book({"Beds": sheet(rows, after='<autoFilter ref="A1:B7"/>')}))
    assert seen(document)[1:] == [("Site", "Lead"), ["Oslo", "Ann"], ["Rome", "Bo"]]


def test_tables_far_from_the_corner_and_beside_each_other_are_read_apart() -> None:
    def at(row: int, column: str, *values: str | float) -> str:
        letters = "ABCDEFGHIJKLMNOP"
        start = letters.index(column)
        return "".join(
            cell(value).replace("<c ", f'<c r="{letters[start + i]}{row}" ')
            for i, value in enumerate(values)
        )

    rows = [
        f'<row r="40">{at(40, "C", "Site", "Beds")}{at(40, "H", "Lead", "Mail")}</row>',
        f'<row r="41">{at(41, "C", "Oslo", 12)}{at(41, "H", "Ann", "ann@a.test")}</row>',
        f'<row r="42">{at(42, "C", "Rome", 9)}{at(42, "H", "Bo", "bo@a.test")}</row>',
        f'<row r="900000">{at(900_000, "A", "Closed on Sundays")}</row>',
        '<row r="1048576"><c r="A1048576" s="1"/></row>',
    ]
    assert seen(load(book({"Far": sheet(rows)})))[1:] == [
        ("Site", "Beds"), ["Oslo", "12"], ["Rome", "9"],
        ("Lead", "Mail"), ["Ann", "ann@a.test"], ["Bo", "bo@a.test"],
        "Closed on Sundays",
    ]  # fmt: skip


def test_tables_that_the_file_names_are_apart_also_without_a_blank_row() -> None:
    rows = [
        cells("Fire drills"), cells("Site", "Lead"), cells("Oslo", "Ann"), cells("Rome", "Bo"),
        cells("Room", "Key"), cells("Attic", "Cy"), cells("Cellar", "Di"),
    ]  # fmt: skip
    parts = "".join(f'<tablePart r:id="t{i}"/>' for i in (1, 2))
    document = load(
        book(
            {"Drill": sheet(rows, after=f"<tableParts>{parts}</tableParts>")},
            **{
                "worksheets___rels__sheet0.xml.rels": relations(
                    t1="table ../one.xml", t2="table ../two.xml"
                ),
                "one.xml": '<table ref="A2:B4"/>',
                "two.xml": '<table ref="A5:B7"/>',
            },
        )
    )
    assert seen(document)[1:] == [
        "Fire drills", ("Site", "Lead"), ["Oslo", "Ann"], ["Rome", "Bo"],
        ("Room", "Key"), ["Attic", "Cy"], ["Cellar", "Di"],
    ]  # fmt: skip


def test_a_raised_number_is_an_exponent() -> None:
    raised = "<r><rPr><vertAlign val='superscript'/></rPr><t>{}</t></r>"
    runs = f"<r><t>10</t></r>{raised.format(6)}<r><t> rows</t></r>{raised.format(2)}"
    rows = [cells("Site", "Most"), cells("Oslo") + f'<c t="inlineStr"><is>{runs}</is></c>']
    assert seen(load(book({"Beds": sheet(rows)})))[-1] == ["Oslo", "10^6 rows2"]


def test_links_notes_runs_and_boxes_are_kept() -> None:
    rows = [
        cells("Site", "Page", style=BOLD),
        '<c r="A2" t="s"><v>0</v></c>' + cell("the page"),
        cells("Rome") + cell("more", formula='HYPERLINK("https://a.test/x","more")'),
        cells("Lima") + cell("gone", style=STRUCK),
    ]
    after = '<hyperlinks><hyperlink ref="B2" r:id="h"/></hyperlinks><drawing r:id="d"/>'
    box = "<p><r><t>Call Ann</t></r></p><p><r><t>first</t></r></p>"
    document = load(
        book(
            {"Beds": sheet(rows, after=after)},
            **{
                "sharedStrings.xml": "<sst><si><r><rPr><b/></rPr><t>Os</t></r>"
                "<r><t>lo</t></r></si></sst>",
                "worksheets___rels__sheet0.xml.rels": relations(
                    h="hyperlink https://a.test/p",
                    d="drawing ../drawings/one.xml",
                    c="comments ../notes.xml",
                ),
                "notes.xml": '<comments><commentList><comment ref="A3"><text><t>closed</t></text>'
                "</comment></commentList></comments>",
                "drawings__one.xml": f"<wsDr><anchor><sp><txBody>{box}</txBody></sp></anchor>"
                '<anchor><grpSp><pic><cNvPr descr="A map of Oslo"/></pic></grpSp></anchor>'
                "<anchor><graphicFrame/></anchor></wsDr>",
            },
        )
    )
    table = document.blocks[1].table
    assert table
    markdown = [[cell.markdown for cell in row] for row in table.rows[1:]]
    assert markdown[0][0].replace("*", "") == "Oslo"
    assert [row[1] for row in markdown] == [
        "[the page](https://a.test/p)", "[more](https://a.test/x)", "~~gone~~"
    ]  # fmt: skip
    assert [block.text for block in document.blocks[2:]] == [
        "Call Ann\nfirst", "A map of Oslo", "Note at A3 (Rome): closed"
    ]  # fmt: skip
    assert document.warnings == ("sheet 'Beds': 1 chart is left out, not the cells",)


def test_what_is_too_big_is_left_out_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loaders.sheets.sheet.MAX_CELLS", 600)
    rows = [cells("Site", "Beds"), *(cells(f"site {i}", i) for i in range(2_000))]
    long = sheet(rows, before='<dimension ref="A1:B2001"/>')
    document = load(book({"Beds": long, "More": BEDS}))
    assert document.warnings == (
        "sheet 'Beds': the rows from 302 to 2,001 are left out: the sheet is too big",
    )
    assert seen(document)[-3:] == [("Site", "Beds"), ["Oslo", "12"], ["Rome", "9"]]


def test_a_text_that_many_cells_share_does_not_multiply(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loaders.sheets.sheet.MAX_TEXT", 100_000)
    strings = f"<sst><si><t>{'ha ' * 1_000}</t></si></sst>"
    rows = ['<c t="s"><v>0</v></c>' * 10] * 300
    document = load(book({"Joke": sheet(rows)}, **{"sharedStrings.xml": strings}))
    assert sum(len(block.text) for block in document.blocks) < 130_000
    assert "left out: the sheet is too big" in document.warnings[0]


OLE = bytes.fromhex("d0cf11e0a1b11ae1") + bytes(600)
ENTITY = '<!DOCTYPE a [<!ENTITY x "xxxxxxxxxx">]><workbook><sheets>&x;</sheets></workbook>'
BAD: dict[str, tuple[bytes, str]] = {
    "a protected file": (OLE + "EncryptedPackage".encode("utf-16-le"), "protected by a password"),
    "an old file by a new name": (OLE, r"not an Excel file of 2007 or later \(\.xlsx\)"),
    "no archive": (b"PK nonsense", r"not an Excel file \(\.xlsx\)"),
    "another archive": (archive({"readme.txt": "hi"}), "it holds no workbook"),
    "entities": (archive({"xl/workbook.xml": ENTITY}), "document type"),
    "a sheet cut off": (book({"Beds": BEDS[:-60]}), "XMLSyntaxError"),
    "too much beside the sheets": (
        book({"Beds": BEDS}, **{"styles.xml": "<styleSheet>" + "<a/>" * 1_000_100}), "XML elements"
    ),
    "a row without an end": (book({"Beds": sheet(["<c/>" * 300_000])}), "ValueError"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_workbook_is_refused_with_the_reason(name: str) -> None:
    data, reason = BAD[name]
    with pytest.raises(LoadError) as refused:
        load(data)
    assert re.search(reason, str(refused.value))


@pytest.mark.parametrize(
    ("value", "code", "shown"),
    [
        (-3, "#,##0_);(#,##0)", "(3)"),
        (45991.6041666, "d/m/yy h:mm", "2025-11-30 14:30"),
        (1234.5, '#,##0.00\\ "€"', "1,234.50 €"),
        (0, '_(* "-"??_)', "-"),
        (0.5, "h:mm AM/PM", "12:00"),
        (5550123, "000-0000", "555-0123"),
        (12345678, '0.0,,"M"', "12.3M"),
        (0.000123, "0.00E+00", "1.23E-04"),
        (2.5, "# ?/?", "2 1/2"),
        (0.1 + 0.2, "", "0.3"),
        (45725, "mmm-yy", "2025-03"),
        (5, '[<10]"low";"high"', "low"),
        (-1234.5, '"$"#,##0.00', "-$1,234.50"),
        (0, '"Yes";"Yes";"No"', "No"),
        (-7, "yyyy-mm-dd", "-7"),
    ],
)
def test_numbers_are_shown_by_their_format(value: float, code: str, shown: str) -> None:
    assert show_number(value, code) == shown
