"""Presentations as teams write them, and what a reader sees in each."""

from __future__ import annotations

import pytest

from config.errors import LoadError
from loaders.document import Document
from loaders.files.local import load_bytes
from loaders.tables.headers import header_paths
from tests.loaders.sheets.books import archive, relations

NAMES = (
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
    'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" '
    'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
)


def shape(paragraphs: str, placeholder: str = "") -> str:
    mark = f"<p:ph {placeholder}/>" if placeholder else ""
    return (
        f"<p:sp><p:nvSpPr><p:nvPr>{mark}</p:nvPr></p:nvSpPr>"
        f"<p:txBody>{paragraphs}</p:txBody></p:sp>"
    )


def line(text: str, properties: str = "", run: str = "") -> str:
    return f"<a:p>{properties}<a:r><a:rPr>{run}</a:rPr><a:t>{text}</a:t></a:r></a:p>"


def tree(content: str, name: str = "sld", more: str = "", attributes: str = "") -> str:
    return (
        f"<p:{name} {NAMES} {attributes}><p:cSld><p:spTree>{content}</p:spTree></p:cSld>"
        f"{more}</p:{name}>"
    )


def deck(*slides: str, links: str = "", notes: str = "") -> bytes:
    files = {
        "_rels/.rels": relations(r="officeDocument ppt/presentation.xml"),
        "ppt/presentation.xml": f"<p:presentation {NAMES}><p:sldIdLst>"
        + "".join(f'<p:sldId id="{i}" r:id="r{i}"/>' for i in range(len(slides)))
        + "</p:sldIdLst></p:presentation>",
        "ppt/_rels/presentation.xml.rels": relations(
            **{f"r{i}": f"slide slides/slide{i}.xml" for i in range(len(slides))}
        ),
        "ppt/slideLayouts/one.xml": tree("", "sldLayout"),
        "ppt/slideLayouts/_rels/one.xml.rels": relations(m="slideMaster ../master.xml"),
        "ppt/master.xml": tree(
            "",
            "sldMaster",
            '<p:txStyles><p:bodyStyle><a:lvl1pPr><a:buChar char="•"/></a:lvl1pPr>'
            '<a:lvl2pPr><a:buChar char="–"/></a:lvl2pPr></p:bodyStyle></p:txStyles>',
        ),
        "ppt/notes.xml": tree(shape(notes, 'type="body"') if notes else "", "notes"),
    }
    for i, slide in enumerate(slides):
        files[f"ppt/slides/slide{i}.xml"] = slide
        targets = {"l": "slideLayout ../slideLayouts/one.xml"}
        if i == 0:
            targets |= {"n": "notesSlide ../notes.xml", "h": links or "hyperlink https://a.test/p"}
        files[f"ppt/slides/_rels/slide{i}.xml.rels"] = relations(**targets)
    return archive(files)


def load(data: bytes) -> Document:
    return load_bytes(data, suffix=".pptx", id="drill")


def test_titles_lists_groups_and_notes_stand_in_order() -> None:
    number = '<a:pPr><a:buAutoNum type="alphaLcParenR"/></a:pPr>'
    body = (
        line("Call Ann") + line("by phone", '<a:pPr lvl="1"/>')
        + line("stop", number) + line("start", number) + line("end", '<a:pPr><a:buNone/></a:pPr>')
    )  # fmt: skip
    link = line("the page", run='<a:hlinkClick r:id="h"/>')
    group = f"<p:grpSp>{shape(line('in a group'))}<p:grpSp>{shape(link)}</p:grpSp></p:grpSp>"
    document = load(
        deck(
            tree(shape(body, 'idx="1"') + shape(line("The drill"), 'type="title"') + group),
            tree(shape(line("HIDDEN-1"), 'type="title"'), attributes='show="0"'),
            tree(shape(line("no title here")) + shape(line("7"), 'type="sldNum"')),
            notes=line("Wait for Bo."),
        )
    )
    assert [(b.kind, b.marker, b.level, b.text, b.page) for b in document.blocks] == [
        ("heading", "", 1, "The drill", 1),
        ("list_item", "-", 0, "Call Ann", 1),
        ("list_item", "-", 1, "by phone", 1),
        ("list_item", "a)", 0, "stop", 1),
        ("list_item", "b)", 0, "start", 1),
        ("paragraph", "", 0, "end", 1),
        ("paragraph", "", 0, "in a group", 1),
        ("paragraph", "", 0, "the page", 1),
        ("paragraph", "", 0, "Speaker notes:", 1),
        ("paragraph", "", 0, "Wait for Bo.", 1),
        ("paragraph", "", 0, "no title here", 3),
    ]
    assert document.blocks[7].markdown == "[the page](https://a.test/p)"
    assert document.blocks[-1].heading_path == ()
    assert document.warnings == ("slide 2 is hidden: it is left out",)


def test_a_raised_number_is_an_exponent() -> None:
    raised = '<a:r><a:rPr baseline="30000"/><a:t>6</a:t></a:r>'
    power = line("At most 10").replace("</a:p>", f"{raised}</a:p>")
    lowered = power.replace("30000", "-25000")
    assert [b.text for b in load(deck(tree(shape(power + lowered)))).blocks] == [
        "At most 10^6", "At most 106"
    ]  # fmt: skip


@pytest.mark.parametrize("suffix", [".ppsx", ".potx"])
def test_shows_and_templates_are_presentations(suffix: str) -> None:
    document = load_bytes(deck(tree(shape(line("stop")))), suffix=suffix, id="drill")
    assert document.blocks[0].text == "stop"


def test_tables_pictures_and_charts() -> None:
    def row(*cells: str) -> str:
        return "<a:tr>" + "".join(cells) + "</a:tr>"

    def cell(text: str, attributes: str = "") -> str:
        return f"<a:tc {attributes}><a:txBody>{line(text)}</a:txBody></a:tc>"

    covered = '<a:tc hMerge="1"><a:txBody/></a:tc>'
    rows = (
        row(cell("Site"), cell("Reply", 'gridSpan="2"'), covered)
        + row(cell("Oslo"), cell("5 min"), cell("9 min"))
    )  # fmt: skip
    data = "http://schemas.openxmlformats.org/drawingml/2006"
    frame = (
        "<p:graphicFrame><a:graphic><a:graphicData uri='{}'>{}</a:graphicData></a:graphic>"
        "</p:graphicFrame>"
    )
    picture = '<p:pic><p:nvPicPr><p:cNvPr descr="{}"/></p:nvPicPr></p:pic>'
    document = load(
        deck(
            tree(
                frame.format(f"{data}/table", f'<a:tbl><a:tblPr firstRow="1"/>{rows}</a:tbl>')
                + frame.format(f"{data}/chart", "")
                + picture.format("A map of Oslo")
                + picture.format("")
            )
        )
    )
    table = document.blocks[0].table
    assert table
    assert header_paths(table) == ("Site", "Reply", "Reply")
    assert [cell.text for cell in table.rows[1]] == ["Oslo", "5 min", "9 min"]
    assert document.blocks[1].text == "A map of Oslo"
    assert document.warnings == (
        "slide 1: a chart is left out", "slide 1: a picture is left out"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"PK nonsense", "not a PowerPoint file (.pptx)"),
        (archive({"a.txt": "b"}), "it holds no presentation"),
        (deck("<p:sld"), "not a readable PowerPoint file"),
        (deck(tree("<p:grpSp>" * 300 + "</p:grpSp>" * 300)), "XMLSyntaxError"),
    ],
)
def test_what_is_no_presentation_is_refused_with_the_reason(data: bytes, reason: str) -> None:
    with pytest.raises(LoadError) as refused:
        load(data)
    assert reason in str(refused.value)
