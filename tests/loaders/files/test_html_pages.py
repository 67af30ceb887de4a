# ruff: noqa: E501
"""HTML of other tools: pages with roles, code with line numbers, layout tables, wikis, Word."""

from __future__ import annotations

import base64
from contextlib import suppress

import pytest

from config.errors import LoadError
from loaders.document import Block, Document
from loaders.files.local import load_bytes


def read(html: str) -> Document:
    return load_bytes(html.encode(), suffix=".html", id="x")


def shape(html: str) -> list[tuple[str, str]]:
    return [(block.kind, block.text) for block in read(html).blocks]


def grid(block: Block) -> list[list[str]]:
    assert block.table
    return [[cell.text for cell in row] for row in block.table.rows]


TREE_GRID = """
<div role="treegrid"><h4>Pumps</h4>
 <div class="head"><div role="row"><b role="columnheader">Pump</b><b role="columnheader">Bar</b></div></div>
 <div class="body">
  <div role="row"><span role="rowheader">P-1</span><span role="gridcell">4</span></div>
  <div role="row"><span role="gridcell" aria-colspan="2"><p>closed</p><ul><li>until May</li></ul></span></div>
 </div></div>"""
STYLED = """
<div style="display: table"><div style="display:table-row"><p style="display:table-cell">P-1</p>
<p style="display:table-cell">4 bar</p></div><div style="display:table-row">
<p style="display:table-cell">P-2</p><p style="display:table-cell">6 bar</p></div></div>"""
BARE_ROWS = """
<p>Today:</p><div role="row"><span>P-1</span><span>4 bar</span></div>
<div role="row"><span>P-2</span><span>6 bar</span></div><p>End</p>"""


def test_roles_and_styles_make_tables() -> None:
    heading, table = read(TREE_GRID).blocks
    assert (heading.kind, heading.text) == ("heading", "Pumps")
    assert grid(table) == [["Pump", "Bar"], ["P-1", "4"], ["closed\n• until May"] * 2]
    assert table.table
    assert table.table.header_rows == 1
    assert grid(read(STYLED).blocks[0]) == [["P-1", "4 bar"], ["P-2", "6 bar"]]
    start, rows, end = read(BARE_ROWS).blocks
    assert (start.text, end.text) == ("Today:", "End")
    assert grid(rows) == [["P-1", "4 bar"], ["P-2", "6 bar"]]


CUSTOM = """
<ul role="table"><li role="row"><x-cell role="cell">P-1</x-cell><x-cell role="cell">4</x-cell></li>
<li role="row"><x-cell role="cell">P-2</x-cell><button role="cell">6</button></li></ul>"""


def test_any_element_may_have_a_role() -> None:
    assert grid(read(CUSTOM).blocks[0]) == [["P-1", "4"], ["P-2", "6"]]


def test_code_may_stand_under_its_name() -> None:
    html = "<table><tr><th colspan=2>open.sh</th></tr><tr><td>1.</td><td><pre>a</pre></td></tr>"
    assert shape(html + "<tr><td>2.</td><td><pre>b</pre></td></tr></table>") == [
        ("paragraph", "open.sh"),
        ("code", "a\nb"),
    ]


def test_code_and_lists_in_a_single_column_are_blocks() -> None:
    html = "<table><tr><td>Run:</td></tr><tr><td><pre>a\n  b</pre></td></tr></table>"
    assert shape(html) == [("paragraph", "Run:"), ("code", "a\n  b")]


def test_roles_make_headings_and_lists() -> None:
    html = (
        "<div role='heading' aria-level='3'>Valves</div>"
        "<div role='list'><div role='listitem'>one</div><div role='listitem'>two</div></div>"
        "<ul>stray <li>three</li><div><a href='/x'>four</a></div></ul>"
    )
    document = read(html)
    assert [(b.kind, b.text) for b in document.blocks] == [
        ("heading", "Valves"),
        ("list_item", "one"),
        ("list_item", "two"),
        ("paragraph", "stray"),
        ("list_item", "three"),
        ("paragraph", "four"),
    ]
    assert document.blocks[0].level == 3


CODE = "valve --open P-1\n  # wait\nvalve --close P-1"
LINES = CODE.split("\n")
NUMBERED = {
    "two columns of <pre>": "<table class='rouge-table'><tr><td><pre>1\n2\n3\n</pre></td><td><pre>"
    + CODE
    + "\n</pre></td></tr></table>",
    "breaks": "<figure><table><tr><td><pre><span>1</span><br><span>2</span><br><span>3</span><br>"
    "</pre></td><td><pre>"
    + "".join(f"<span>{x}</span><br>" for x in LINES)
    + "</pre></td></tr></table></figure>",
    "boxes": "<table><tr><td>"
    + "".join(f"<div>{n}</div>" for n in (7, 8, 9))
    + "</td><td><div>"
    + "".join(f"<div><code>{x}</code></div>" for x in LINES)
    + "</div></td></tr></table>",
    "rows": "<table>"
    + "".join(
        f"<tr><td data-line-number={n}></td><td>{x}</td></tr>" for n, x in enumerate(LINES, 40)
    )
    + "</table>",
    "rows of <pre>": "<table>"
    + "".join(f"<tr><td>{n}</td><td><pre>{x}</pre></td></tr>" for n, x in enumerate(LINES, 1))
    + "</table>",
    "a diff": "<table>"
    + "".join(
        f"<tr><td>{a}</td><td>{b}</td><td class='blob-code'>{x}</td></tr>"
        for a, b, x in zip(["1", "2", ""], ["1", "", "2"], LINES, strict=True)
    )
    + "</table>",
    "spans in <pre>": "<pre>"
    + "\n".join(f"<span><a>{n}</a></span>{x}" for n, x in enumerate(LINES, 1))
    + "</pre>",
    "a list in <pre>": "<pre><ol>" + "".join(f"<li>{x}</li>" for x in LINES) + "</ol></pre>",
}


@pytest.mark.parametrize("form", NUMBERED)
def test_line_numbers_are_no_code(form: str) -> None:
    assert shape(f"<h1>Valves</h1>{NUMBERED[form]}<p>End</p>") == [
        ("heading", "Valves"),
        ("code", CODE),
        ("paragraph", "End"),
    ]


@pytest.mark.parametrize(
    "rows",
    [
        [("1", "Open the valve"), ("2", "Close it")],
        [("1", "<code>open</code>"), ("2", "<code>close</code>")],
        [("<pre>1</pre>", "Bar"), ("<pre>x</pre>", "<pre>open</pre>")],
        [("5", "<pre>open</pre>"), ("9", "<pre>close</pre>")],
    ],
)
def test_numbers_beside_values_stay_a_table(rows: list[tuple[str, str]]) -> None:
    html = "".join(f"<tr><td>{a}</td><td>{b}</td></tr>" for a, b in rows)
    assert [kind for kind, _ in shape(f"<table>{html}</table>")] == ["table"]


def test_code_has_the_language_of_its_highlighter() -> None:
    boxes = [
        "<div class='highlight-console notranslate'><div><pre>x</pre></div></div>",
        "<pre><code class='hljs yaml'>x</code></pre>",
        "<pre class='x' data-syntaxhighlighter-params='brush: sql; gutter: false'>x</pre>",
        "<div class='highlight-none'><pre>x</pre></div>",
    ]
    assert [b.language for b in read("".join(boxes)).blocks] == ["console", "yaml", "sql", ""]


DATA = "<table><tr><th>Pump</th><th>Steps</th></tr><tr><td>P-1</td><td>{}</td></tr></table>"
LAYOUTS = {
    "rows of one cell": "<table><tr><td>Home</td></tr><tr><td><h2>Valves</h2></td></tr><tr><td>Open them."
    "</td></tr><tr><td>" + DATA.format("one") + "</td></tr><tr><td>Ads</td></tr></table>",
    "headings at the side": "<table><tr><td>Home</td></tr><tr><td><h2>Valves</h2></td><td>Open them."
    + DATA.format("one")
    + "</td></tr><tr><td></td><td>Ads</td></tr></table>",
    "three columns": "<table><tr><td><ul><li>Home</li></ul></td><td><h2>Valves</h2><p>Open them.</p>"
    + DATA.format("one")
    + "</td><td>Ads</td></tr></table>",
    "banner and body": "<table><tr><td colspan=2>Home</td></tr><tr><td><h2>Valves</h2>Open them."
    + DATA.format("one")
    + "</td><td>Ads</td></tr></table>",
    "by its role": "<table role='presentation'><tr><td>Home</td></tr><tr><td><h2>Valves</h2></td>"
    "<td>Open them.</td></tr><tr><td>" + DATA.format("one") + "</td></tr><tr><td>Ads</td></tr></table>",
    "nested": "<table><tr><td>Home<table><tr><td><table><tr><td><h2>Valves</h2></td></tr><tr><td>"
    "<p>Open them.</p>" + DATA.format("one") + "</td></tr></table></td></tr></table>Ads</td></tr></table>",
}  # fmt: skip


@pytest.mark.parametrize("form", LAYOUTS)
def test_layout_tables_are_read_in_order_and_their_data_stays(form: str) -> None:
    blocks = read(LAYOUTS[form]).blocks
    assert [block.text for block in blocks if block.kind != "table"] == [
        "Home",
        "Valves",
        "Open them.",
        "Ads",
    ]
    (table,) = (block for block in blocks if block.kind == "table")
    assert grid(table) == [["Pump", "Steps"], ["P-1", "one"]]
    assert table.heading_path == ("Valves",)


@pytest.mark.parametrize(
    "cell",
    [
        "<h4>Open</h4><p>Slowly.</p>",
        "<ol><li>Open</li><li>Close</li></ol><pre>valve</pre>",
        "<p>a</p><p>b</p><table><tr><td>1</td><td>2</td></tr></table>",
    ],
)
def test_cells_of_data_keep_what_is_in_them(cell: str) -> None:
    bold = "<tr><td><b>Pump</b></td><td><b>Steps</b></td></tr>"
    for html in (DATA.format(cell), f"<table>{bold}<tr><td>P-1</td><td>{cell}</td></tr></table>"):
        assert [kind for kind, _ in shape(html)] == ["table"]


def test_what_stands_in_a_table_outside_its_cells_is_above_it() -> None:
    html = (
        "<table>Note<form><tr><td>a</td><td>b</td></tr><tr><td>1</td><td>2</td></tr></form></table>"
    )
    note, table = read(html).blocks
    assert (note.text, grid(table)) == ("Note", [["a", "b"], ["1", "2"]])


STORAGE = """
<h1>Pumps</h1><ac:structured-macro ac:name="toc"/><p>See <ac:link><ri:page ri:content-title="Valves"/>
</ac:link> by <time datetime="2026-05-04"/> <ac:emoticon ac:name="tick"/> of
<ac:link><ri:page ri:content-title="Home"/><ac:plain-text-link-body><![CDATA[the start]]>
</ac:plain-text-link-body></ac:link>
<ac:structured-macro ac:name="status"><ac:parameter ac:name="colour">Red</ac:parameter>
<ac:parameter ac:name="title">OPEN</ac:parameter></ac:structured-macro></p>
<ac:structured-macro ac:name="code"><ac:parameter ac:name="language">bash</ac:parameter>
<ac:parameter ac:name="title">open.sh</ac:parameter><ac:parameter ac:name="linenumbers">true</ac:parameter>
<ac:plain-text-body><![CDATA[if [ 1 -gt 0 ] && true; then
  echo "<b>" > /dev/null
fi]]></ac:plain-text-body></ac:structured-macro>
<ac:structured-macro ac:name="tip"><ac:rich-text-body><p>Slowly.</p></ac:rich-text-body></ac:structured-macro>
<ac:structured-macro ac:name="expand"><ac:parameter ac:name="title">More</ac:parameter>
<ac:rich-text-body><p>Long.</p></ac:rich-text-body></ac:structured-macro>
<ac:task-list><ac:task><ac:task-id>7</ac:task-id><ac:task-status>complete</ac:task-status>
<ac:task-body>Open it</ac:task-body></ac:task><ac:task><ac:task-id>8</ac:task-id>
<ac:task-status>incomplete</ac:task-status><ac:task-body>Close it</ac:task-body></ac:task></ac:task-list>
<ac:image ac:alt="a valve"><ri:attachment ri:filename="v.png"/></ac:image><p>End</p>"""


def test_confluence_pages_keep_code_macros_tasks_and_links() -> None:
    document = read(STORAGE)
    assert [(b.kind, b.text) for b in document.blocks] == [
        ("heading", "Pumps"),
        ("paragraph", "See Valves by 2026-05-04 ✓ of the start OPEN"),
        ("paragraph", "open.sh"),
        ("code", 'if [ 1 -gt 0 ] && true; then\n  echo "<b>" > /dev/null\nfi'),
        ("quote", "Tip"),
        ("quote", "Slowly."),
        ("paragraph", "More"),
        ("paragraph", "Long."),
        ("list_item", "[x] Open it"),
        ("list_item", "[ ] Close it"),
        ("image", "a valve"),
        ("paragraph", "End"),
    ]
    assert document.blocks[3].language == "bash"


TABS = {
    "roles": "<ul role='tablist'><li role='tab' aria-controls='a'>Linux</li><li role='tab' aria-controls='b'>"
    "macOS</li></ul><div role='tabpanel' id='a'><pre>apt x</pre></div>"
    "<div role='tabpanel' id='b' hidden><pre>brew x</pre></div>",
    "targets": "<a role='tab' data-toggle='tab' href='#a'>Linux</a><a role='tab' href='#b'>macOS</a>"
    "<div id='a' role='tabpanel'><pre>apt x</pre></div>"
    "<div id='b' role='tabpanel' style='display: none'><pre>brew x</pre></div>",
    "in order": "<div><button role='tab'>Linux</button><button role='tab'>macOS</button></div>"
    "<div role='tabpanel'><pre>apt x</pre></div><div role='tabpanel' hidden><pre>brew x</pre></div>",
    "switches": "<div><input type='radio' id='a' name='t'><input type='radio' id='b' name='t'><div>"
    "<label for='a'>Linux</label><label for='b'>macOS</label></div><div><div><pre>apt x</pre></div>"
    "<div><pre>brew x</pre></div></div></div>",
}


@pytest.mark.parametrize("form", TABS)
def test_each_tab_is_named_over_its_panel(form: str) -> None:
    assert [text for _, text in shape(TABS[form])] == ["Linux", "apt x", "macOS", "brew x"]


def test_hidden_text_is_left_out_and_told() -> None:
    document = read(
        "<body style='visibility:hidden'><p>Open it.</p><p hidden>Old one.</p>"
        "<div style='color:red; display : none'>Older</div><template>No</template>"
        "<h2>Steps<span aria-hidden='true'>#</span></h2><main aria-hidden='true'><p>Slowly.</p></main>"
        "<button aria-controls='m'>More</button><div id='m' hidden><p>Long.</p></div></body>"
    )
    texts = [block.text for block in document.blocks]
    assert texts == ["Open it.", "Steps", "Slowly.", "More", "Long."]
    assert document.warnings == ("left out 4 words that the page hides",)


def test_menus_are_left_out_unless_there_is_nothing_else() -> None:
    menu = "<nav role='navigation'><ul><li><a href='/'>Start</a></li></ul></nav>"
    assert shape(f"{menu}<p>Open the valve.</p>") == [("paragraph", "Open the valve.")]
    assert shape(menu) == [("list_item", "Start")]


def test_headings_have_the_anchor_of_their_page() -> None:
    html = (
        "<h2>One<a class='headerlink' href='#one-1'>¶</a></h2>"
        "<p><a name='two-2'></a></p><h2>Two</h2>"
        "<section id='three-3'><h2>Three</h2></section>"
        "<h2><span id='four-4'>Four</span><span class='mw-editsection'>[<a href='/e'>edit</a>]</span></h2>"
    )
    blocks = read(html).blocks
    assert [(b.text, b.url) for b in blocks] == [
        ("One", "#one-1"),
        ("Two", "#two-2"),
        ("Three", "#three-3"),
        ("Four", "#four-4"),
    ]


WORD = """<html xmlns:o="urn:schemas-microsoft-com:office:office"><head><!--[if gte mso 9]><xml><o:x>junk</o:x>
</xml><![endif]--></head><body><p class=MsoNormal>Open<!-- x --> it.<o:p></o:p></p>
<p class=MsoListParagraph style='mso-list:l0 level1 lfo1'><![if !supportLists]><span style='mso-list:Ignore'>
2.<span>&nbsp;&nbsp; </span></span><![endif]>Slowly<o:p></o:p></p><p class=MsoListParagraph
 style='mso-list:l0 level2 lfo1'><![if !supportLists]><span style='mso-list:Ignore'>·<span>&nbsp;</span>
</span><![endif]>By hand<o:p/></p></body></html>"""


def test_pages_that_word_saved_keep_their_lists() -> None:
    blocks = read(WORD).blocks
    assert [(b.kind, b.text, b.marker, b.level) for b in blocks] == [
        ("paragraph", "Open it.", "", 0),
        ("list_item", "Slowly", "2.", 0),
        ("list_item", "By hand", "-", 1),
    ]


def test_small_signs_of_html() -> None:
    html = (
        "<base href='https://docs.example/pumps/'><p>Ver&shy;bin<wbr>dung <b>10</b><sup>3</sup> "
        "<a href='../valves'>valves</a> <a href='javascript:void(0)'>print</a><a href='#x'>top</a>"
        "<input type=hidden value=secret></p>one<br> <br>two<br>three"
        "<select><option>Red<option>Blue</select><p>E<math><mi>x</mi><annotation encoding='application/x-tex'>"
        "x^2</annotation></math></p>"
    )
    blocks = read(html).blocks
    assert [block.text for block in blocks] == [
        "Verbindung 10^3 valves print top",
        "one",
        "two\nthree Red Blue",
        "Ex^2",
    ]
    assert "[valves](https://docs.example/valves)" in blocks[0].markdown
    assert "javascript" not in blocks[0].markdown


def test_code_in_a_sentence_may_have_several_lines() -> None:
    (block,) = read("<p>Run <code>open,<br>close</code> now</p>").blocks
    assert (block.text, block.markdown) == ("Run open,\nclose now", "Run `open,`\n`close` now")


def test_web_archives_hold_their_page() -> None:
    page = "<title>Насос</title><p>Закройте вентиль.</p>".encode("koi8-r")
    archive = (
        b"From: <Saved by a browser>\r\nSubject: x\r\nMIME-Version: 1.0\r\n"
        b'Content-Type: multipart/related; boundary="b"\r\n\r\n--b\r\n'
        b"Content-Type: text/html; charset=koi8-r\r\nContent-Transfer-Encoding: base64\r\n\r\n"
        + base64.encodebytes(page)
        + b"\r\n--b\r\nContent-Type: image/png\r\n\r\nAAAA\r\n--b--\r\n"
    )
    for suffix in (".mhtml", ".html"):
        document = load_bytes(archive, suffix=suffix, id="x")
        assert (document.title, document.warnings) == ("Насос", ())
        assert [block.text for block in document.blocks] == ["Закройте вентиль."]


def test_frames_are_told() -> None:
    document = read("<frameset><frame src='a.html'></frameset>")
    assert "its frames are pages of their own, and not read" in document.warnings


@pytest.mark.parametrize(
    "html",
    [
        "<div role='row'>" * 60,
        "<div role='table'><div role='row'>" * 50 + "x",
        "<table><tr><td><h2>a</h2>b" * 41,
        "<![CDATA[" * 20_000,
        "<a:b" * 50_000,
        "<ac:structured-macro>" * 100,
        "<input type=radio><label>a</label>" * 500,
        "<p hidden><p hidden>" * 500,
        "<nav><nav>" * 40,
    ],
)
def test_hostile_pages_end_soon(html: str) -> None:
    with suppress(LoadError):
        read(html)


def test_items_keep_their_numbers_whatever_box_their_text_is_in() -> None:
    items = (
        "<li><div>Stop</div><div>the pump</div></li><li><section><div><p>Wait</p></div></section></li>"
        "<li><div><p>Start</p><ul><li>slowly</li></ul></div></li><li><p>Tell</p>Oslo</li>"
    )
    blocks = read(f"<ol>{items}</ol>").blocks
    assert [(block.marker, block.text) for block in blocks] == [
        ("1.", "Stop\nthe pump"), ("2.", "Wait"), ("3.", "Start"), ("-", "slowly"),
        ("4.", "Tell\nOslo"),
    ]  # fmt: skip


def test_a_list_may_count_down() -> None:
    blocks = read("<ol reversed><li>three<li>two<li>one</ol>").blocks
    assert [block.marker for block in blocks] == ["3.", "2.", "1."]


def test_an_empty_corner_is_part_of_the_header() -> None:
    row = "<tr><th scope='row'>P-1</th><td>Ann</td><td>Bo</td></tr>"
    (block,) = read(f"<table><tr><td></td><th>Day</th><th>Night</th></tr>{row}</table>").blocks
    assert block.table
    assert block.table.header_rows == 1


def test_spaces_between_tokens_stay_where_line_numbers_go() -> None:
    lines = "".join(
        f'<div class="line"><span class="lineno">{number}</span><b>pump</b> <b>{word}</b></div>'
        for number, word in enumerate(("stop", "start"), 1)
    )
    for box in ("<pre>{}</pre>", '<div class="fragment">{}</div>'):
        assert shape(box.format(lines)) == [("code", "pump stop\npump start")]


def test_signs_that_nobody_sees_are_left_out() -> None:
    text = "pump\u200bctl<wbr> st\u00adop"
    page = f'<dl><dt>Pump<a href="#pump">¶</a></dt></dl><p>{text}</p><pre>{text}</pre><tt>x</tt>'
    texts = [block.text for block in read(page).blocks]
    assert texts == ["Pump", "pumpctl stop", "pumpctl stop", "x"]
