"""PDF files come out as people see them, and no cell is guessed."""

from __future__ import annotations

import pytest

from config.errors import LoadError
from loaders.document import Document, Table
from loaders.files.local import load_bytes
from loaders.pdf.probe import is_bounded
from loaders.time_limit import time_limit
from tests.loaders.pdf.pages import PdfPage, write_pdf

XS = (60, 160, 300, 420)
HEAD = ("Pump", "Pressure", "Call")


def read(*pages: PdfPage, **parts: object) -> Document:
    return load_bytes(write_pdf(*pages, **parts), suffix=".pdf", url="f.pdf", id="f")  # type: ignore[arg-type]


def tables(document: Document) -> list[Table]:
    return [block.table for block in document.blocks if block.table]


def rows(document: Document) -> list[list[str]]:
    return [[cell.text for cell in row] for table in tables(document) for row in table.rows]


def texts(document: Document) -> list[str]:
    return [block.text for block in document.blocks]


def test_a_ruled_table_keeps_empty_and_merged_cells() -> None:
    page = PdfPage()
    page.grid(XS, (100, 120))
    page.grid((60, 420), (120, 140))
    page.grid(XS, (140, 160, 180))
    page.cells(XS, (100,), [HEAD])
    page.cells((60,), (120,), [("North hall",)])
    page.cells(XS, (140, 160), [("P1", "", "Ada"), ("P2", "4 bar", "")])
    document = read(page)
    assert rows(document) == [[*HEAD], ["North hall"] * 3, ["P1", "", "Ada"], ["P2", "4 bar", ""]]
    assert not document.warnings


def test_borders_with_cut_corners_are_ruling_lines() -> None:
    page = PdfPage()
    for y in (100, 120, 160):
        page.rule(60, y, 300, y)
    for x in (60, 160, 300):
        for y0, y1 in ((100, 120), (120, 160)):
            corners = (x, 842 - y0), (x, 842 - y1), (x + 1, 843 - y1), (x + 1, 842 - y0)
            path = " l ".join(f"{a} {b}" for a, b in corners)
            page.content.append(path.replace(" l ", " m ", 1) + " l f")
    page.cells((60, 160), (100, 133), [("Pump", "Steps"), ("P1",)])
    page.lines(164, 133, [f"{i}. Ring the bell of the lock" for i in range(3)])
    assert rows(read(page)) == [
        ["Pump", "Steps"],
        ["P1", "\n".join(f"{i}. Ring the bell of the lock" for i in range(3))],
    ]


def test_text_across_a_ruling_line_makes_no_table() -> None:
    page = PdfPage()
    page.grid(XS, (100, 120, 140, 160))
    page.cells(XS, (100, 120), [HEAD, ("P1 with a very long name", "4 bar", "Ada")])
    document = read(page)
    assert not tables(document)
    assert "page 1 has a table that could not be rebuilt" in document.warnings[0]
    assert "P1 with a very long name" in " ".join(texts(document))


def test_rows_without_a_ruling_line_between_them_are_rows_where_they_are_aligned() -> None:
    page = PdfPage()
    page.grid(XS, (100, 120, 180))
    page.cells(XS, (100,), [HEAD])
    page.cells(XS, (120, 133, 146, 159), [(f"P{i}", f"{i} bar", "Ada") for i in range(4)])
    document = read(page)
    assert rows(document)[2] == ["P1", "1 bar", "Ada"]
    assert not document.warnings


def test_values_one_below_the_other_in_a_ruled_cell_make_no_table() -> None:
    page = PdfPage()
    page.grid(XS, (100, 120, 150, 180))
    page.cells(XS, (100, 126, 156), [HEAD, ("P1", "4.5", "12"), ("P2", "5.5", "13")])
    page.cells(XS, (138, 168), [("", "4.9", "17"), ("", "5.9", "18")])
    document = read(page)
    assert not tables(document)
    assert "could not be rebuilt" in document.warnings[0]


def test_an_aligned_table_is_a_table_and_one_that_reads_in_two_ways_is_not() -> None:
    clear, unclear = PdfPage(), PdfPage()
    clear.cells(XS, range(100, 180, 14), [HEAD, *((f"P{i}", "", f"{i} bar") for i in range(2))])
    clear.cells(XS, (142,), [("P8", "8 bar", "Ada")])
    unclear.cells(
        XS,
        range(100, 180, 12),
        [("Pump", "Bar", "Call"), ("P1", "4000", "Ada"), ("", "9000", ""), ("P2", "5", "")],
    )
    document = read(clear)
    assert rows(document) == [
        [*HEAD],
        ["P0", "", "0 bar"],
        ["P1", "", "1 bar"],
        ["P8", "8 bar", "Ada"],
    ]
    assert not tables(read(unclear))
    assert "more than one way" in read(unclear).warnings[0]


def test_a_table_on_the_next_page_keeps_its_head() -> None:
    first, second = PdfPage(), PdfPage()
    for page, head in ((first, [HEAD]), (second, [])):
        ys = [60 + 20 * i for i in range(4)]
        page.grid(XS, ys)
        page.cells(XS, ys, [*head, *((f"{len(head)}{i}", "4 bar", "Ada") for i in range(3))][:3])
    document = read(first, second)
    assert [[c.text for c in t.rows[0]] for t in tables(document)] == [[*HEAD]] * 2
    assert [block.page for block in document.blocks] == [1, 2]


def test_columns_are_read_one_after_the_other() -> None:
    page = PdfPage()
    page.text(60, 60, "Two things that the keeper does", 16, "B")
    left = [
        "The keeper opens the lower",
        "gate before the upper one,",
        "and closes both at night",
        "when nobody is in the lock.",
    ]
    right = [
        "Whoever finds ice on the",
        "gates rings the bell two",
        "times and waits until the",
        "keeper has seen it.",
    ]
    page.lines(60, 100, left)
    page.lines(320, 100, right)
    assert texts(read(page))[1:] == [" ".join(left), " ".join(right)]


def test_steps_beside_steps_are_columns_and_no_cells() -> None:
    page = PdfPage()
    page.text(60, 60, "Open", font="B")
    page.text(320, 60, "Shut it all by the bell", font="B")
    page.lines(60, 75, ["1. Ring the bell", "2. Lift the bar", "3. Turn on the lamp"])
    page.lines(320, 75, ["1. Turn off the lamp", "2. Drop the bar now", "3. Ring twice"])
    assert texts(read(page)) == [
        *("Open", "Ring the bell", "Lift the bar", "Turn on the lamp"),
        *("Shut it all by the bell", "Turn off the lamp", "Drop the bar now", "Ring twice"),
    ]


def test_labels_and_their_values_are_no_columns() -> None:
    page = PdfPage()
    page.text(60, 86, "Name of the lock:")
    page.lines(
        60, 100, ["Name of the upper gate:", "Name of the keeper:", "Name of the bell here:"]
    )
    page.lines(
        190, 100, ["North gate at the mill", "Ada of the mill house", "Old Tom of the tower"]
    )
    text = " ".join(texts(read(page)))
    assert "Name of the keeper: Ada of the mill house" in text


def test_columns_above_and_below_a_short_heading_are_apart() -> None:
    page = PdfPage()
    lines = ["the keeper of {} opens", "the lower gate before", "the upper one, always."]
    for x, y, name in ((60, 104, "A"), (320, 100, "B"), (60, 220, "C"), (320, 220, "D")):
        page.lines(x, y, [line.format(name) for line in lines])
    page.text(60, 190, "In winter", 14, "B")
    text = " ".join(texts(read(page)))
    places = [text.index(one) for one in ("of A", "of B", "In winter", "of C", "of D")]
    assert places == sorted(places)


def test_a_table_above_a_footer_with_other_gaps_is_a_table() -> None:
    page = PdfPage()
    page.cells(XS, (100, 124), [HEAD, ("P1", "", "Ada")])
    page.cells(XS, (148, 172), [("P2", "4 bar", ""), ("P3", "5 bar", "Bo")])
    page.text(60, 210, "Or ask Bo.")
    page.text(24, 810, "gates.example.com/pumps/list-of-all")
    page.text(575, 810, "1/1")
    assert rows(read(page))[1:3] == [["P1", "", "Ada"], ["P2", "4 bar", ""]]


def test_lines_that_their_author_broke_stay_lines() -> None:
    page = PdfPage()
    page.lines(60, 100, ["valvectl close 7", "valvectl drain 7 --all", "valvectl open 8"])
    page.lines(60, 180, ["A) Ring the bell", "B) Close the gate", "• Lamp off"])
    document = read(page)
    assert document.blocks[0].text.split("\n")[1] == "valvectl drain 7 --all"
    assert [(b.marker, b.text) for b in document.blocks[1:]] == [
        ("A)", "Ring the bell"),
        ("B)", "Close the gate"),
        ("-", "Lamp off"),
    ]


@pytest.mark.parametrize("x", [60, 63, 67])
def test_commands_in_a_font_of_fixed_pitch_are_code(x: float) -> None:
    page = PdfPage()
    page.text(60, 60, "Stop", 14, "B")
    page.lines(60, 80, ["Use these two:"])
    page.text(x, 100, "valvectl close 7 --reason 'the bell rang'", font="M")
    page.text(x + 12, 112, "--note 'a: b' --now", font="M")
    page.text(x, 124, "valvectl open 8 --reason 'the bell is silent'", font="M")
    page.lines(60, 150, ["Look at it."])
    blocks = read(page).blocks
    assert [block.kind for block in blocks] == ["heading", "paragraph", "code", "paragraph"]
    assert blocks[2].text.split("\n")[:2] == [
        "valvectl close 7 --reason 'the bell rang'",
        "  --note 'a: b' --now",
    ]


@pytest.mark.parametrize(
    ("above", "below", "text"),
    [
        ("The pres-", "sure falls.", "The pressure falls."),
        ("Vor-", "und Nachteile der Pumpe.", "Vor- und Nachteile der Pumpe."),
        ("Die E-", "Mail geht an alle.", "Die E-Mail geht an alle."),
        ("valvectl drain --dry-", "run is safe.", "valvectl drain --dry-run is safe."),
        ("See gates.example.com/lock-", "rules first.", "See gates.example.com/lock-rules first."),
        ("Six ben-", "zol3 lamps.", "Six benzol3 lamps."),
        ("A two-step start. Then a two-", "step stop.", "A two-step start. Then a two-step stop."),
    ],
)
def test_hyphens_at_line_ends(above: str, below: str, text: str) -> None:
    page = PdfPage()
    page.lines(60, 100, [above, below])
    assert texts(read(page)) == [text]


def test_headers_and_page_numbers_are_read_once_and_repeated_steps_are_not_lost() -> None:
    pages = [PdfPage() for _ in range(3)]
    for number, page in enumerate(pages, 1):
        page.text(60, 40, "Lock rules, second edition")
        page.text(60, 90, "Ring the bell before each passage.")
        page.text(60, 104, f"Gate {number} is opened by its keeper.")
        page.text(280, 810, f"{number} / 3")
    document = read(*pages)
    assert texts(document).count("Lock rules, second edition") == 1
    assert " ".join(texts(document)).count("Ring the bell before each passage.") == 3
    assert "/ 3" not in " ".join(texts(document))


def test_values_of_a_form_stand_where_they_are_seen() -> None:
    page = PdfPage(annotations=["500 0 R", "501 0 R", "502 0 R", "503 0 R"])
    page.lines(60, 100, ["Keeper:", "Lamp on", "Lock:", "Secret:"], pitch=20)
    widget = "/Type/Annot/Subtype/Widget/P 11 0 R"
    document = read(
        page,
        catalog="/AcroForm<</Fields[500 0 R 501 0 R 502 0 R 503 0 R]>>",
        objects={
            500: f"<</FT/Tx/T(a)/V(Ada Bell)/Rect[130 736 300 750]{widget}>>",
            501: f"<</FT/Btn/T(b)/V/Yes/AS/Yes/Rect[130 716 144 730]{widget}"
            "/AP<</N<</Yes 504 0 R/Off 504 0 R>>>>>>",
            502: f"<</FT/Ch/Ff 131072/T(c)/V(upper)/Opt[(upper)(lower)]{widget}"
            "/Rect[130 696 300 710]>>",
            504: "<</Type/XObject/Subtype/Form/BBox[0 0 14 14]/Length 0>>stream\n\nendstream",
            503: f"<</FT/Tx/Ff 8192/T(d)/V(hidden)/Rect[130 676 300 690]{widget}>>",
        },
    )
    text = " ".join(texts(document))
    assert "Keeper: Ada Bell" in text
    assert "Lamp on [x]" in text
    assert "Lock: upper" in text
    assert "hidden" not in text


def test_bookmarks_are_headings_and_large_lines_are_not_when_there_are_any() -> None:
    page = PdfPage()
    page.text(60, 60, "Large", 18, "B")
    page.text(60, 100, "Gates")
    page.text(60, 130, "Gates are closed at night.")
    outline = {
        500: "<</Type/Outlines/First 501 0 R/Last 501 0 R>>",
        501: "<</Title(Gates)/Parent 500 0 R/Dest[11 0 R/Fit]/First 501 0 R/Next 501 0 R>>",
    }
    with_outline = read(page, objects=outline, catalog="/Outlines 500 0 R")
    assert [b.text for b in with_outline.blocks if b.kind == "heading"] == ["Gates"]
    assert [b.text for b in read(page).blocks if b.kind == "heading"] == ["Large"]


@pytest.mark.parametrize(
    ("title", "shown"),
    [
        ("Microsoft Word - Draft.docx", "f"),
        ("untitled", "f"),
        ("Untitled document - Google Docs", "f"),
        ("Kladde 2", "f"),
        ("Lock rules", "Lock rules"),
        ("Text 2", "Text 2"),
    ],
)
def test_a_title_that_a_program_wrote_is_none(title: str, shown: str) -> None:
    page = PdfPage()
    page.text(60, 60, "Text")
    assert read(page, info=f"/Title({title})").title == shown


def test_turned_pages_and_turned_text_are_read() -> None:
    page = PdfPage(more="/Rotate 90")
    page.content.append("BT /F 10 Tf 0 1 -1 0 100 100 Tm (Ring the bell, and) Tj ET")
    page.content.append("BT /F 10 Tf 0 1 -1 0 112 100 Tm (close the gate.) Tj ET")
    page.text(60, 60, "Draft")
    assert texts(read(page)) == ["Ring the bell, and\nclose the gate.", "Draft"]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "not a readable PDF"),
        (write_pdf(), "no pages"),
        (
            write_pdf(PdfPage(), objects={2: "<</Type/Pages/Count 9000/Kids[11 0 R]>>"}),
            "9,000 pages",
        ),
    ],
)
def test_files_that_are_no_documents_are_refused(data: bytes, reason: str) -> None:
    with pytest.raises(LoadError, match=reason):
        load_bytes(data, suffix=".pdf", id="f")


def test_a_damaged_file_and_a_page_full_of_lines_are_read_in_time() -> None:
    page = PdfPage()
    page.text(60, 60, "Ring the bell")
    data = write_pdf(page)
    assert texts(
        load_bytes(data.replace(b"startxref\n", b"startxref\n9"), suffix=".pdf", id="f")
    ) == ["Ring the bell"]
    page.content += [f"{i % 500} {i // 90} m {i % 500 + 3} {i // 90} l S" for i in range(16_000)]
    with time_limit("f", 10):
        document = read(page)
    assert texts(document) == ["Ring the bell"]
    assert "too many lines drawn" in document.warnings[0]


def test_a_word_in_a_locked_file_is_not_read() -> None:
    locked = write_pdf(PdfPage()).replace(
        b"/Info 9 0 R",
        b"/Info 9 0 R/ID[(a)(a)]/Encrypt<</Filter/Standard/V 1/R 2/P -4/Length 40"
        b"/O(" + b"x" * 32 + b")/U(" + b"y" * 32 + b")>>",
    )
    with pytest.raises(LoadError, match="locked"):
        load_bytes(locked, suffix=".pdf", id="f")


def test_pages_that_unfold_without_end_are_refused_before_they_are_opened() -> None:
    page = PdfPage(more="/Resources<</XObject<</X 500 0 R>>>>")
    page.content.append("/X Do")
    form = "<</Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X {} 0 R>>>>"
    form += "/Length 11>>stream\n/X Do /X Do\nendstream"
    endless = {500 + i: form.format(501 + i) for i in range(40)}
    assert not is_bounded(write_pdf(page, objects=endless), seconds=1)
    assert is_bounded(write_pdf(page, objects={500: form.format(501)}), seconds=1)
