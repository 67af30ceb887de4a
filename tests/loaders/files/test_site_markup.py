"""Markdown as site generators write it."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loaders.document import Document
from loaders.files.local import load_bytes
from loaders.output import document_to_markdown
from tests.loaders.reading import plain


def page(text: str) -> Document:
    return load_bytes(text.encode(), suffix=".md", url="https://wiki.test/page.md", id="page")


def words(text: str) -> str:
    return plain(document_to_markdown(page(text)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('!!! tip inline "Ask *first*"\n    Then press.\n', "Ask first Then press."),
        ("??? question\n\n    Is it on?\n\nThen wait.\n", "Question Is it on? Then wait."),
        ('!!! note ""\n    Bare.\n', "Bare."),
        ("- tight\n  !!! tip\n      In it.\n- next\n", "- tight Tip In it. - next"),
        ('=== "A"\n\n    === "B"\n\n        inner\n', "A B inner"),
        ("/// note | Slashes\nBody\n///\n", "Slashes Body"),
        ("::: details Open *me*\ninside\n:::\n", "Open me inside"),
        (":::note[Bracketed]\ninside\n:::\n", "Bracketed inside"),
        ('::: {.callout-warning title="Hot"}\ninside\n:::\n', "Hot inside"),
        ('::: zone pivot="on-linux"\ninside\n::: zone-end\n', "on-linux inside"),
        ("::: tabs\n@tab Linux\none\n@tab Mac\ntwo\n:::\n", "Linux one Mac two"),
        (":::{deprecated} 1.2\nGone.\n:::\n", "Deprecated 1.2 Gone."),
        ("```{versionadded} 1.2\nIt is here.\n```\n", "Versionadded 1.2 It is here."),
        ('Since {% include b.html version="4.1" %}.\n', "Since 4.1."),
        (":::tip A = B\n:tada: Great news\n:::\n", "A = B :tada: Great news"),
        (".. warning::\n   Left over.\n", "Warning Left over."),
        ('<Tabs>\n<Tab label="A">\n<Note>\nin\n</Note>\n</Tab>\n</Tabs>\n', "A Note in"),
        ('<div>\n<Card title="T">in</Card>\n{{< end >}}\n</div>\n', "T in"),
        ("> [!CAUTION]\n> Hot.\n", "> Caution > > Hot."),
        ("> [!faq]+ Is it *so*?\n> Yes.\n", "> Is it so? > > Yes."),
        ("{: .warning }\nHot.\n", "Warning Hot."),
        ("Text{: .x } and [a](b){: target='_blank'} and **c**{.y}.\n", "Text and [a](b) and c."),
        ("{% hint style=\"danger\" %}\nHot.\n{% endhint %}\n", "Danger Hot."),
        ('{% tab title="Node.js" %}\nRun.\n{% endtab %}\n', "Node.js Run."),
        ("{{% notice tip %}}\nMind.\n{{% /notice %}}\n", "Tip Mind."),
        ('Use {{< term id="x" text="a Pod" >}}, {{< param "v" >}}.\n', "Use a Pod, v."),
        ("{{< a >}}inside{{< /a >}}\n", "inside"),
        ('<Card title="Rotate" icon="key" href="/x">\n  Keys.\n</Card>\n', "Rotate Keys."),
        ('<X name="port" type="int" required>\n  Of it.\n</X>\n', "port (int, required) Of it."),
        ("<Note>Mind the <Kbd label=\"Enter\" /> key.</Note>\n", "Note: Mind the Enter key."),
        ("<>\n<my-box>\nInside {/* not this */} {\"text\"}.\n</my-box>\n</>\n", "Inside text."),
        ("A <Cluster> and a <node-name> stay.\n", "A <Cluster> and a <node-name> stay."),
        ("{{ .Values.x }}, {% if a %}on{% endif %}\n", "{{ .Values.x }}, {% if a %}on{% endif %}"),
        ("See {ref}`the steps <do-it>`, {kbd}`Esc`.\n", "See the steps, Esc."),
        ("See [[Page one]], [[Page two|this]], `[[ -f x ]]`, [[ -f y ]].\n",
         "See Page one, this, [[ -f x ]], [[ -f y ]]."),
        ("A ==marked *word*== if a == b; ++ctrl+c++ in C++ and g++.\n",
         "A marked word if a == b; ctrl+c in C++ and g++."),
        ("Term\n: Its meaning\n", "Term Its meaning"),
        ("[[_TOC_]]\n\n[TOC]\n\nText\n", "Text"),
        ("(label)=\n# Head\n\nimport it from 'here' now\n", "# Head import it from 'here' now"),
        ("#\xa0Head\n\n\u200b- item\n", "# Head - item"),
        ("<P>Old <B>words</B></P>\n<TABLE><TR><TD>a</TD></TR></TABLE>\n", "Old words > a"),
        ("Put it into a <script> tag.\n\nMore.\n", "Put it into a <script> tag. More."),
        ("<script>\nlet a = 1\n</script>\n\nMore.\n", "More."),
        ("<!-- a -->Seen<!-- b\n\nc --> too.\n\nMore.\n", "Seen too. More."),
        ("<div>in<!-- open\n\nMore.\n", "in<!-- open More."),
        ("- one <!-- not -->\n\n  <div>two</div>\n", "- one two"),
        ("++i and C++, vector<std::string>.\n", "++i and C++, vector<std::string>."),
        ("[c]({{ site.x }}{% link d.md %}) ![[e.png|300]]\n\n![a](/b.png =500x20)\n",
         "[c](d.md) e.png ![a](/b.png)"),
        ('!!!danger "Hot"\n    Mind.\n', "Hot Mind."),
        ("## Head {-}\n", "## Head"),
        ('::card{title="A"}\n::tip\nin :kbd[B]{.x}\n::\n::\n10:30\n', "A Tip in B 10:30"),
        ("::alert\n---\ntitle: Hot\n---\nMind.\n::\n", "Hot Mind."),
        ("C\n\n::\n\nD\n", "C :: D"),
        ("```{admonition} Take care\n:name: x\nDrain it.\n```\n", "Take care Drain it."),
        ('<Tabs syncKey="os">\n<TabItem label="A">\nin\n</TabItem>\n</Tabs>\n', "A in"),
        ("{% tab log php %}\nin\n{% endtab %}\n", "log php in"),
        ('<Param query="n" type="int" default="30">\nin\n</Param>\n', "n (int, default 30) in"),
        ("{% my-card %}\nin\n{% endmy-card %}\n", "in"),
        ('[block:callout]\n{"title": "Hot", "body": "Mind *it*."}\n[/block]\n', "Hot Mind it."),
        ("[block:callout]\n{\"title\":\n[/block]\n", "[block:callout] {\"title\": [/block]"),
    ],
)  # fmt: skip
def test_text_stays_and_markup_goes(text: str, expected: str) -> None:
    assert words(text) == expected


@pytest.mark.parametrize(
    ("text", "language", "code"),
    [
        ("```yaml\na: {{< b >}}\n{% raw %}\n```\n", "yaml", "a: {{< b >}}\n{% raw %}"),
        ("{{< highlight go >}}\n  x := 1\n{{< /highlight >}}\n", "go", "x := 1"),
        ("```{code-block} python\n:linenos:\nx = 1\n```\n", "python", "x = 1"),
        ("```{python}\nx = 1\n# A comment.\n```\n", "python", "x = 1\n# A comment."),
        ("::: mermaid\nA-->B\n:::\n", "", "A-->B"),
        (".. code-block:: sh\n\n   ls -l\n", "sh", "ls -l"),
        ("1. do\n\n    !!! tip\n        ```sh\n        ls\n        ```\n", "sh", "ls"),
        ("<Ab>\n    <Bc>\n        ```sh\n        ls\n        ```\n    </Bc>\n</Ab>\n", "sh", "ls"),
    ],
)
def test_code_stays_code(text: str, language: str, code: str) -> None:
    block = next(block for block in page(text).blocks if block.kind == "code")
    assert (block.language, block.text) == (language, code)


def test_tabs_are_named_before_their_code() -> None:
    fenced = (
        '```sh title="Linux"\npkg add\n```\n\n```sh [macOS]\nbrewer add\n```\n\n'
        "```js {1,3}\nx\n```\n"
    )
    assert [(b.kind, b.text) for b in page(fenced).blocks] == [
        ("paragraph", "Linux"),
        ("code", "pkg add"),
        ("paragraph", "macOS"),
        ("code", "brewer add"),
        ("code", "x"),
    ]
    nested = (
        "````{tab-set}\n```{tab-item} Linux\nUse **a**.\n```\n"
        "```{tab-item} Mac\nUse b.\n```\n````\n"
    )
    assert words(nested) == "Linux Use a. Mac Use b."
    group = (
        '{{< tabs "os" >}}\n{{< tab "A" >}}\none\n{{< /tab >}}'
        '{{< tab "B" >}}\ntwo\n{{< /tab >}}\n{{< /tabs >}}\n'
    )
    assert words(group) == "A one B two"


@pytest.mark.parametrize(
    "heading",
    [
        "## Do *it* {#x}", "## Do *it* {: .a #x }", "## Do *it* { #x .a } ##", "## Do *it*\n{: #x}",
        "## Do *it* {/* #x */}", "(x)=\n## Do *it*", 'Do *it* { id="x" }\n-----',
    ],
)  # fmt: skip
def test_a_heading_opens_by_its_own_id(heading: str) -> None:
    first = page(f"{heading}\n\nText\n").blocks[0]
    assert (first.text, first.url) == ("Do it", "https://wiki.test/page.md#x")


def test_a_site_fills_in_addresses() -> None:
    text = '[a]({{< ref "b.md" >}}#c) [d]({% link e.md %}) [f]({{ site.url }}/g)'
    assert document_to_markdown(page(text)).strip() == "[a](b.md#c) [d](e.md) [f](/g)"


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("\n{{< include \"a.md\" >}}\n", 'line 2: `include "a.md"` is filled in by the site'),
        ("<Partial />\n", "line 1: `Partial` is filled in by the site"),
        ('--8<-- "a.md"\n', 'line 1: `--8<-- "a.md"` is filled in by the site'),
        ("See ![[a]].\n", "`![[a]]` is filled in by the site"),
        ("A [!INCLUDE [b](c.md)].\n", "`[!INCLUDE [b](c.md)]` is filled in by the site"),
        ("{% if a %}\nx\n{% else %}\ny\n{% endif %}\n", "line 1: conditions and loops of the site"),
        ("export const a = {\n  b: 'c',\n}\n\nx\n", "line 1: code of the site (`export`)"),
        ("a\n\n<!-- b\n\nc\n", "line 3: `<!--` is never closed"),
        ("a\n\n<![CDATA[ b\n\nc\n", "line 3: `<![CDATA[` is never closed"),
        ("a\n\n```\nb\n", "line 3: a code block is never closed"),
        ("---\nid: a\n---\n| a |\n|---|\n| 1 | 2 |\n", "line 6: a table row has more cells"),
    ],
)  # fmt: skip
def test_what_is_not_read_is_a_warning(text: str, warning: str) -> None:
    document = page(text)
    assert document.warnings[0].startswith(warning)
    assert document.warnings[1:] in ((), ("no text is left of the file",))


@pytest.mark.parametrize(
    "text",
    [
        "```{list-table} Ports\n:header-rows: 1\n\n* - Name\n  - Port\n* - api\n  - 8443\n```\n",
        ":::{list-table} Ports\n\n* - Name\n  - Port\n* - api\n  - 8443\n:::\n",
        ".. list-table::\n   :header-rows: 1\n\n   * - Name\n     - Port\n   * - api\n     - 8443",
        '[block:parameters]\n{"data": {"h-0": "Name", "h-1": "Port",\n"0-0": "api", "0-1": "8443"}}'
        "\n[/block]\n",
    ],
    ids=["myst", "colons", "rst", "readme"],
)
def test_tables_of_other_notations_are_tables(text: str) -> None:
    table = next(block.table for block in page(text).blocks if block.table)
    assert [[cell.text for cell in row] for row in table.rows] == [
        ["Name", "Port"],
        ["api", "8443"],
    ]


@pytest.mark.parametrize(
    "lines",
    [
        ["| Name | Port |", "| api | 8443 |"],
        ["+------+------+", "| Name | Port |", "+======+======+"],
        ["$ uptime", "$ df -h"],
        ["a. Stop it", "b. Start it"],
        ["(@) Stop it", "(@) Start it"],
        ["Owner: Ops", "Last change: today"],
    ],
)
def test_rows_items_and_properties_are_lines(lines: list[str]) -> None:
    (block,) = page("\n".join(lines) + "\n").blocks
    assert block.text.split("\n") == lines


def test_a_paragraph_is_one_line() -> None:
    (block,) = page("Note: the lag\ngrows. A\nstep `x\n| y` is\n").blocks
    assert block.text == "Note: the lag grows. A step x | y is"


def test_a_group_of_code_names_each_block() -> None:
    text = "```bash npm\na\n```\n"
    assert words(f"<CodeGroup>\n\n{text}\n</CodeGroup>\n").startswith("npm")
    assert "npm" not in words(text)


def test_a_note_has_one_mark_everywhere() -> None:
    assert words("A[^n], B[^n].\n\n[^n]: Once.\n") == "A[^1], B[^1]. [^1]: Once."


def test_no_cell_of_a_table_is_cut_away_or_torn() -> None:
    text = "| a | b |\n|---|---|\n| `x || y` | 1 |\n| 2 | 3 | 4 | |\n| 5 |\n"
    table = next(block.table for block in page(text).blocks if block.table)
    assert [[cell.text for cell in row] for row in table.rows] == [
        ["a", "b", ""],
        ["x || y", "1", ""],
        ["2", "3", "4"],
        ["5", "", ""],
    ]


def test_a_note_keeps_its_lists_code_and_tables() -> None:
    text = (
        "A[^n].\n\n[^n]: First *part*.\n\n    1. one\n    2. two\n        - deep\n\n    ```sh\n"
        "    ls -l\n    ```\n\n    | k | v |\n    |---|---|\n    | p | 1 |\n\n    Last.\n"
    )
    note = next(block for block in page(text).blocks if block.kind == "footnote")
    assert note.text.split("\n") == [
        "First part.", "1. one", "2. two", "  ◦ deep", "ls -l", "k: v", "p: 1", "Last.",
    ]  # fmt: skip
    assert "*part*" in note.markdown
    assert "`ls -l`" in note.markdown


@pytest.mark.parametrize(
    "piece", ["{% ", "{{< a \"", "<A b={", "<A>\n\n", "[[a ", "==a ", "{.a} ", "{/*", "<!--\n\n",
              "!!! a\n\n", "{% a %}\n", "{a}`b ", "# {#a} ", "`` | "],
)  # fmt: skip
def test_tags_that_never_end_take_no_long_time(piece: str) -> None:
    began = time.process_time()
    page(piece * (6_000 // len(piece)))
    assert time.process_time() - began < 3


@settings(max_examples=100)
@given(st.text(st.sampled_from("<>{}%/[]!=:?'\"`|\n\n    aA-#.()*~^$"), max_size=120))
def test_no_markup_makes_a_page_unreadable(text: str) -> None:
    document_to_markdown(page(text)).encode()
