from __future__ import annotations

import codecs
import io
import json
import random
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from config.errors import ConfigError, LoadError
from loaders.document import Document
from loaders.files.local import find_files, load_bytes, load_file
from loaders.output import document_to_markdown
from loaders.tables.headers import header_paths
from tests.loaders.google.documents import rich_document
from tests.loaders.thoroughly import THOROUGH, examples

DEMO = Path(__file__).parents[3] / "playground" / "demo"


def markdown(text: str) -> Document:
    return load_bytes(text.encode(), suffix=".md", url="https://wiki.test/page.md", id="page")


def html(text: str) -> Document:
    return load_bytes(text.encode(), suffix=".html", url="https://wiki.test/page", id="page")


def grid(document: Document, number: int = 0) -> list[list[str]]:
    tables = [block.table for block in document.blocks if block.table]
    return [[cell.text for cell in row] for row in tables[number].rows]


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("ops/Restart a node.pdf", "Restart a node"),
        ("ops/README.md", "ops"),
        ("ops/db/_index.markdown", "db"),
        ("Index.html", "Index"),
        ("release-1.2", "release-1.2"),
        (".profile", ".profile"),
        ("a/v1.2 notes.xlsx", "v1.2 notes"),
    ],
)
def test_a_document_without_a_title_is_called_by_its_file(name: str, title: str) -> None:
    suffix = ".txt"  # has no title of its own
    assert load_bytes(b"Rotate keys.", suffix=suffix, id=name).title == title


def test_front_matter_names_the_document() -> None:
    document = markdown(
        "---\nid: keys\ntitle: Key Rotation\nowner: Ana\nstatus: superseded\nmodified: 2026-03-14\n"
        "---\n\n# Keys\n"
    )
    assert (document.id, document.title, document.owner) == ("keys", "Key Rotation", "Ana")
    assert document.status == "superseded"
    assert document.modified_at == datetime(2026, 3, 14, tzinfo=UTC)


def test_markdown_becomes_blocks_in_their_sections() -> None:
    document = markdown(
        "# Guide\n\n[TOC]\n\n## Ask *now*\n\nAsk @Ana Lima by @2026-03-14.[^1]\nSee "
        "[keys](doc:keys).\n\n1. one\n   1. deep\n2. two `x_<id>`\n\n> quoted\n\n"
        "```sh\nls <id>\n```\n\n"
        "---\n\n[^1]: A **note**.\n"
    )
    assert [(b.kind, b.markdown, b.marker, b.level) for b in document.blocks] == [
        ("heading", "Guide", "", 1),
        ("heading", "Ask *now*", "", 2),
        ("paragraph", "Ask @Ana Lima by @2026-03-14.[^1] See [keys](doc:keys).", "", 0),
        ("list_item", "one", "1.", 0),
        ("list_item", "deep", "1.", 1),
        ("list_item", "two `x_<id>`", "2.", 0),
        ("quote", "quoted", "", 0),
        ("code", "ls <id>", "", 0),
        ("rule", "", "", 0),
        ("footnote", "A **note**.", "1", 0),
    ]
    assert {b.url for b in document.blocks[1:]} == {"https://wiki.test/page.md#ask-now"}
    assert document.blocks[-1].heading_path == ("Guide", "Ask now")
    assert document.blocks[7].language == "sh"


def test_repeated_headings_have_their_own_anchors() -> None:
    document = markdown("# A\n## Notes\n# B\n## Notes\n")
    assert [b.url.partition("#")[2] for b in document.blocks] == ["a", "notes", "b", "notes-1"]


def test_comments_start_tabs() -> None:
    document = markdown("<!-- tab: Duties -->\n\n## Rota\n\n<!-- tab: Pay -->\n\nMoney\n")
    assert [(b.text, b.tab.title if b.tab else "") for b in document.blocks] == [
        ("Rota", "Duties"),
        ("Money", "Pay"),
    ]


def test_html_tables_in_markdown_become_true_grids() -> None:
    document = markdown(
        '<table>\n<thead><tr><th rowspan="2">Key</th><th colspan="2">Age</th></tr>\n'
        "<tr><th>EU</th><th>US</th></tr></thead>\n\n<tbody>\n"
        '<tr><td>API<br><code>k|1</code></td><td colspan="2">90 days</td></tr>\n\n'
        "<tr><td><ul><li>a</li><li>b</li></ul></td><td>\n\n<table><tr><th>F</th><th>S</th></tr>"
        "<tr><td>Card</td><td>last four</td></tr></table></td>"
        '<td><a href="doc:x">see</a></td></tr>\n'
        "</tbody></table>\n\nAfter\n"
    )
    table = document.blocks[0].table
    assert table
    assert header_paths(table) == ("Key", "Age › EU", "Age › US")
    assert grid(document)[2:] == [
        ["API\nk|1", "90 days", "90 days"],
        ["• a\n• b", "F: S\nCard: last four", "see"],
    ]
    assert [c.markdown for c in table.rows[3]] == [
        "• a<br>• b",
        "F: S<br>Card: last four",
        "[see](doc:x)",
    ]
    assert table.rows[3][1].tables[0].header_rows == 1
    assert document.blocks[1].text == "After"


def test_no_footnote_is_lost_in_an_html_table_or_without_a_reference() -> None:
    document = markdown(
        "# Times\n\n<table><tr><th>Level</th></tr><tr><td>Ten minutes[^a]</td></tr></table>\n\n"
        "Text[^b] and [^none].\n\n[^a]: Five in Singapore.\n[^b]: Second.\n[^c]: On its own.\n"
    )
    notes = {block.marker: block.text for block in document.blocks if block.kind == "footnote"}
    assert sorted(notes.values()) == ["Five in Singapore.", "Second."]
    mark = next(marker for marker, text in notes.items() if text == "Five in Singapore.")
    assert f"Ten minutes[^{mark}]" in document_to_markdown(document)
    assert "On its own." in document_to_markdown(document)
    assert "↩" not in document_to_markdown(document)


def test_pipe_tables_keep_lists_pipes_and_footnotes() -> None:
    document = markdown(
        "| Level | Cases |\n|---|---|\n| SEV1 | <ul><li>one</li><li>two</li></ul> |\n"
        "| `a\\|b` | x<br>y[^1] |\n\n[^1]: Note.\n"
    )
    assert grid(document) == [["Level", "Cases"], ["SEV1", "• one\n• two"], ["a|b", "x\ny"]]
    assert [b.kind for b in document.blocks] == ["table", "footnote"]


def test_a_pipe_table_with_an_empty_header_has_none() -> None:
    document = markdown("|  |  |\n|---|---|\n| Ana | Austin |\n| Bo | Rotterdam |\n")
    assert grid(document) == [["Ana", "Austin"], ["Bo", "Rotterdam"]]


def test_a_row_without_its_first_cell_below_a_header_without_a_pipe_in_front() -> None:
    document = markdown("Check | Host | Step\n--- | --- | ---\nA | `a|b` | x\n | b | y\n| c | z\n")
    assert grid(document)[2:] == [["", "b", "y"], ["", "c", "z"]]
    document = markdown("| Check | Host |\n|---|---|\n| a | b\n| c\n")
    assert grid(document)[1:] == [["a", "b"], ["c", ""]]


def test_placeholders_in_angle_brackets_are_words() -> None:
    document = markdown("Run lockbox show <id> for <Team Name>.\n\n<service> goes first\n")
    assert document.blocks[0].text == "Run lockbox show <id> for <Team Name>."
    assert document.blocks[1].text == "<service> goes first"


def test_demo_documents_survive_their_own_markdown() -> None:
    """What is written from a document is read back as the same words and cells."""
    for path in sorted(DEMO.glob("[sp]*/*.md"))[:: 1 if THOROUGH else 6]:
        first = load_file(path)
        assert not first.warnings, path
        shown = document_to_markdown(first)
        tables = [b.table for b in first.blocks if b.table]
        again = load_bytes(shown.encode(), suffix=".md", id=first.id)
        assert _words(again) >= _words(first), path
        kept = {cell.text for b in again.blocks if b.table for row in b.table.rows for cell in row}
        for table in tables:
            body = table.rows[table.header_rows :]
            assert {c.text for row in body for c in row} <= kept, path


def _words(document: Document) -> set[str]:
    return {word for block in document.blocks for word in block.text.split()}


def test_html_of_any_kind() -> None:
    document = html(
        "<html><head><title>Page</title><style>p{}</style></head><body><div>Loose <b>text</b>"
        "<h2 id=ask>Ask</h2><p>One<br>two <img src='a.png' alt='Logo'></p>"
        "<ol start=3><li>three<p>more</p><ul><li>deep</li></ul></li></ol>"
        "<table><tr><td>Only a box</td></tr></table><script>x()</script><iframe></iframe>"
        "</div></body></html>"
    )
    assert document.title == "Page"
    assert [(b.kind, b.text, b.marker) for b in document.blocks] == [
        ("paragraph", "Loose text", ""),
        ("heading", "Ask", ""),
        ("paragraph", "One\ntwo", ""),
        ("image", "Logo", ""),
        ("list_item", "three\nmore", "3."),
        ("list_item", "deep", "-"),
        ("quote", "Only a box", ""),
    ]
    assert document.blocks[1].url == "https://wiki.test/page#ask"
    assert document.warnings == ("skipped an embedded <iframe>",)


def test_google_exports_lose_their_dress() -> None:
    document = html(
        "<style>.c1{font-weight:700}.c2{font-family:'Roboto Mono'}"
        "ol.lst-kix_a-1>x{}"
        ".lst-kix_a-1>li:before{content:'' counter(lst-ctn-kix_a-1,lower-latin) '. '}"
        "</style><p class=title><span>Plan</span></p><h2 id=h.x1>Scope</h2>"
        "<p>A <span class=c1>bold</span> "
        "<a href='https://www.google.com/url?q=https://a.test/x&amp;sa=D'>link</a>"
        "<sup><a href='#ftnt1' id='ftnt_ref1'>[1]</a></sup></p>"
        "<p><span class=c2>ls</span></p><p><span class=c2>cd /</span></p>"
        "<ol class='lst-kix_a-1 start' start=2><li>item</li></ol>"
        "<hr style='page-break-before:always;display:none;'>"
        "<div><p><a href='#ftnt_ref1' id='ftnt1'>[1]</a> The note.</p></div>"
    )
    assert [(b.kind, b.markdown, b.marker, b.level) for b in document.blocks] == [
        ("heading", "Plan", "", 1),
        ("heading", "Scope", "", 2),
        ("paragraph", "A **bold** [link](https://a.test/x)[^1]", "", 0),
        ("code", "ls\ncd /", "", 0),
        ("list_item", "item", "b.", 1),
        ("footnote", "The note.", "1", 0),
    ]
    assert document.blocks[1].url == "https://wiki.test/page#heading=h.x1"


def test_csv_rows_have_their_header() -> None:
    data = 'Name;Limit\n"Alpha; Beta";"10\n20"\nShort\n'.encode("utf-8-sig")
    document = load_bytes(data, suffix=".csv", id="limits")
    table = document.blocks[0].table
    assert table
    assert (table.header_rows, header_paths(table)) == (1, ("Name", "Limit"))
    assert grid(document)[1:] == [["Alpha; Beta", "10\n20"], ["Short", ""]]
    assert "shorter than the longest" in document.warnings[0]


def test_plain_text_has_paragraphs_and_items() -> None:
    document = load_bytes(
        b"One *star*\nline\n\n- first\n- second\n  2. deep\n", suffix=".txt", id="x"
    )
    assert [(b.kind, b.text, b.marker, b.level) for b in document.blocks] == [
        ("paragraph", "One *star*\nline", "", 0),
        ("list_item", "first", "-", 0),
        ("list_item", "second", "-", 0),
        ("list_item", "deep", "2.", 1),
    ]


def test_other_encodings_are_read_with_a_warning() -> None:
    document = load_bytes("Café".encode("cp1252"), suffix=".txt", id="x")
    assert document.blocks[0].text == "Café"
    assert "Windows-1252" in document.warnings[0]


PROSE = "The kettle is descaled every Friday by the kitchen team (see the list). "
NO_TEXT = {
    "a picture": b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40,
    "a program": b"\x7fELF" + bytes(400) + b"main printf " * 50,
    "an old Word file": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600) + b"Kettle" * 50,
    "a PDF": b"%PDF-1.7\n1 0 obj\nstream\n" + bytes(range(256)) * 40,
    "one letter": b"a" * 100_000,
    "base64": b"\n".join([b"TGlrZSBhIHBpY3R1cmUgaW4gYW4gZS1tYWlsLCB3cmFwcGVkLiAg" * 2] * 400),
    "a minified script": b"function a(b,c){return b+c};var x=[1,2,3];" * 1_000,
    "minified JSON": b'{"name":"kettle","day":5,"team":["a b","c d"]},' * 1_000,
    "half a pair of bytes": codecs.BOM_UTF16_LE + b"\x00\xd8\x01\x00" * 500,
}
TEXT = {
    "addresses": b"".join(b"https://code.example/%032x/%032x\n" % (n, n * n) for n in range(400)),
    "digests": b"".join(b"| kettle-%d.bin | %064x |\n" % (n, n**9) for n in range(300)),
    "signs of all kinds": "✅ done 🚀 go ┌──┐ ".encode() * 1_000,
    "lines of JSON": b'{"team": "kitchen", "text": "the kettle is on", "n": 1}\n' * 900,
    "one line": PROSE.encode() * 1_000,
    "Chinese without spaces": "茶壶每周五由厨房团队除垢。".encode() * 4_000,
    "Thai without spaces": "กาน้ำชาถูกล้างทุกวันศุกร์".encode() * 2_000,
    "Japanese of an old system": "急須は毎週金曜日に洗われる。\n".encode("shift_jis") * 50,
    "Russian of an old system": "Чайник очищают по пятницам.\n".encode("koi8-r") * 50,
    "UTF-16 without a mark": f"# Kettle\r\n{PROSE}".encode("utf-16-le"),
    "UTF-16, the other way": f"# Kettle\r\n{PROSE}".encode("utf-16-be"),
    "UTF-32": f"# Kettle\r\n{PROSE}".encode("utf-32"),
    "a minified reply in a code block": b"# API\n```json\n" + b'{"k":[1,2]},' * 5_000 + b"\n```\n",
    "a picture within": b"# Kettle\n![it](data:image/png;base64," + b"QUJD" * 9_000 + b")\nText.\n",
    "a manual page": b"N\bNA\bAM\bME\bE\n  kettle - boils water\n\x1b[1mSEE\x1b[0m\n\x0c" * 90,
    "YAML": b"```yaml\n" + b"- name: kettle-1\n  url: https://a.b/c?d=e\n" * 900 + b"```\n",
}


@pytest.mark.parametrize("suffix", [".md", ".txt", ".html"])
@pytest.mark.parametrize("kind", NO_TEXT)
def test_what_is_no_text_is_refused_whatever_its_name(kind: str, suffix: str) -> None:
    with pytest.raises(LoadError, match=r"it is no text|are no words in lines"):
        load_bytes(NO_TEXT[kind], suffix=suffix, id="x")


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"%PDF-1.4\n%%EOF\n", r"application/pdf; name it \*\.pdf"),
        (b"{\\rtf1 Kettle}", r"application/rtf; name it \*\.rtf"),
        (b"PK\x03\x04" + bytes(26) + b"kettle" * 9, r"zip; name it \*\.zip"),
        (b"SQLite format 3\0" + bytes(84), "sqlite3; take it out of the source"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504), "Office file of before 2007"),
    ],
)
def test_a_file_by_another_name_is_told_its_kind(data: bytes, told: str) -> None:
    with pytest.raises(LoadError, match=told):
        load_bytes(data, suffix=".csv", id="x")


def test_a_file_of_nothing_to_read_is_told() -> None:
    document = load_bytes(b"<svg><path d='M0 0'/></svg>", suffix=".html", id="x")
    assert "no text is left of the file" in document.warnings


@pytest.mark.parametrize("kind", TEXT)
def test_text_is_read_in_any_script_and_encoding(kind: str) -> None:
    document = load_bytes(TEXT[kind], suffix=".md", id="x")
    text = "".join(block.text for block in document.blocks)
    assert text
    assert "\0" not in text
    if kind.startswith("UTF"):
        assert text.startswith("Kettle")
        assert PROSE.strip() in text


def test_word_files_keep_merged_cells_lists_and_headings(tmp_path: Path) -> None:
    docx = pytest.importorskip("docx")
    source = docx.Document()
    source.add_heading("Limits", 1)
    source.add_paragraph("first", style="List Number")
    table = source.add_table(rows=2, cols=3)
    table.cell(0, 0).merge(table.cell(0, 1)).text = "wide"
    table.cell(0, 2).text = "c"
    for column, text in enumerate("xyz"):
        table.cell(1, column).text = text
    source.save(str(tmp_path / "limits.docx"))
    document = load_file(tmp_path / "limits.docx", base_url="https://files.test")
    assert [b.kind for b in document.blocks] == ["heading", "list_item", "table"]
    assert grid(document) == [["wide", "wide", "c"], ["x", "y", "z"]]
    assert document.blocks[0].url == "https://files.test/limits.docx#limits"


def test_pdf_text_knows_its_page() -> None:
    document = load_bytes(_pdf("Rotate keys", "every 90 days."), suffix=".pdf", url="f.pdf", id="f")
    assert [(b.text, b.page, b.url) for b in document.blocks] == [
        ("Rotate keys", 1, "f.pdf#page=1"),
        ("every 90 days.", 2, "f.pdf#page=2"),
    ]


def test_a_file_is_a_file_whatever_it_says_of_itself(tmp_path: Path) -> None:
    """It has its own source and address, so that nothing is cited as a document in Drive."""
    texts = {
        "md": "---\nsource: google_drive\nurl: https://x.example\nmime_type: x/y\n---\n# Keys",
        "html": '<link rel="canonical" href="https://docs.google.com/document/d/doc-1"><p>Keys',
        "json": json.dumps(rich_document()),
    }
    for suffix, text in texts.items():
        path = tmp_path / f"saved.{suffix}"
        path.write_text(text)
        document = load_file(path)
        assert (document.source, document.url) == ("file", f"file:saved.{suffix}")
        places = {block.url.partition("#")[0].partition("?")[0] for block in document.blocks}
        assert places == {f"file:saved.{suffix}"}


@pytest.mark.parametrize(
    ("suffix", "data", "problem"),
    [
        (".json", b'{"body": {"content": [', "x at line 1, column 23: not JSON"),
        (".json", b"[" * 100_000, "not JSON that can be read"),
        (".json", b"[1]", "not a Google Docs document"),
        (".json", b'{"body": {"content": ' + b'[{"table": ' * 50_000, "not JSON"),
        (".docx", b"PK nonsense", "not a Word file"),
        (".pdf", b"%PDF-1.7 nonsense", "not a readable PDF"),
        (".xyz", b"", "there is no loader for `.xyz` files; supported: .csv"),
        (".html", b"<div>" * 10_000 + b"x", "nested deeper than 120 levels"),
        (".html", b"<table><tr><td>" * 10_000 + b"x", "nested deeper than"),
        (".md", b"> " * 10_000 + b"x", "nested deeper than 120 levels"),
        (
            ".md",
            b"\n".join(b"  " * n + b"- x" for n in range(500)),
            "nested deeper than 120 levels",
        ),
        (".html", b"<table><tr>" + b"<td colspan=1000 rowspan=1000>x" * 400, "table cells"),
        (".csv", b"a," * 2_000 + b"\n" + b"x,\n" * 200, "table cells"),
    ],
)
def test_bad_files_are_refused_with_the_reason(suffix: str, data: bytes, problem: str) -> None:
    with pytest.raises(LoadError) as refused:
        load_bytes(data, suffix=suffix, id="x")
    assert problem in str(refused.value)


def test_a_word_file_that_unpacks_to_too_much_is_refused() -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", b"\0" * 70_000_000)
    with pytest.raises(LoadError, match="it unpacks to 70,000,000 bytes"):
        load_bytes(packed.getvalue(), suffix=".docx", id="bomb")


def test_a_missing_file_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match=r"nowhere\.md: No such file"):
        load_file(tmp_path / "nowhere.md")


SOURCES = [
    (".md", (DEMO / "security" / "data-class-security-controls.md").read_bytes()),
    (
        ".html",
        b"<h1>A</h1><p>x<sup><a href='#fn1' id=r>1</a></sup><table><tr><td rowspan=2>a<td>b<tr>"
        b"<td><ul><li>c</ul></table><ol><li id=fn1>note</ol><pre>code</pre><blockquote><p>q",
    ),
    (".csv", b'a,b\n"1","2"\n3;4\n'),
]


@settings(max_examples=examples(quick=100, thorough=2_000), deadline=None)
@given(source=st.sampled_from(SOURCES), seed=st.integers(0, 2**32), edits=st.integers(1, 8))
def test_damaged_files_are_refused_or_read(
    source: tuple[str, bytes], seed: int, edits: int
) -> None:
    suffix, data = source
    rng, damaged = random.Random(seed), bytearray(data)
    for _ in range(edits):
        if not damaged:
            break
        at = rng.randrange(len(damaged))
        size = rng.randrange(40)
        if rng.random() < 0.5:
            del damaged[at : at + size]
        else:
            piece = rng.choice(
                [b"<td colspan=0>", b"|", b"\xff\x00", b"`", b"<table>", b"]]>", b"\n> - "]
            )
            damaged[at:at] = piece
    try:
        document = load_bytes(bytes(damaged), suffix=suffix, id="damaged")
    except LoadError:
        return
    document_to_markdown(document).encode()


def test_an_id_of_digits_stays_as_written() -> None:
    text = b"---\nid: 0042\ntitle: 1.10\nmodified: 2026-03-04\n---\n# Keys\n"
    document = load_bytes(text, suffix=".md")
    assert (document.id, document.title) == ("0042", "1.10")
    assert document.modified_at == datetime(2026, 3, 4, tzinfo=UTC)


def test_files_folders_and_globs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "docs" / "deep").mkdir(parents=True)
    for name in ("docs/a.md", "docs/deep/b.html", "docs/c.png", "docs/.hidden.md", "d.txt"):
        (tmp_path / name).write_text("x")
    monkeypatch.chdir(tmp_path)
    base = tmp_path / "docs"

    def names(*patterns: str) -> list[str]:
        return [path.name for path in find_files(patterns, base).paths]

    assert names("../docs") == ["a.md", "b.html"]
    assert names("*.md", "a.md") == ["a.md"]
    assert names("**/*.html") == ["b.html"]
    assert names("d.txt") == ["d.txt"]
    with pytest.raises(ConfigError, match=r"no files match 'x\*'"):
        names("x*")


def _pdf(*pages: str) -> bytes:
    """A minimal PDF with one line of text on each page."""
    kids = " ".join(f"{3 + 2 * n} 0 R" for n in range(len(pages)))
    font = "<< /Font << /F << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >>"
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
    ]
    for number, text in enumerate(pages):
        drawn = f"BT /F 12 Tf 72 700 Td ({text}) Tj ET"
        objects += [
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources {font} "
            f"/Contents {4 + 2 * number} 0 R >>",
            f"<< /Length {len(drawn)} >>\nstream\n{drawn}\nendstream",
        ]
    data, places = "%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(data))
        data += f"{number} 0 obj\n{body}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    size = len(objects) + 1
    data += f"xref\n0 {size}\n0000000000 65535 f \n{table}"
    data += f"trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{data.index('xref')}\n%%EOF"
    return data.encode()
