from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from config.errors import LoadError
from loaders.docs.response import parse_document
from loaders.document import MAX_NESTING, MAX_TABS, Block, Document
from loaders.output import document_to_json, document_to_markdown
from loaders.tables.headers import header_paths
from tests.loaders.google.documents import (
    BULLET,
    Json,
    cell,
    heading,
    item,
    legacy,
    linked,
    list_of,
    mono,
    note,
    ordered,
    paragraph,
    picture,
    rich_document,
    run,
    tab,
    tabbed,
    table,
)

BASE = "https://docs.google.com/document/d/doc-1/edit"


def read(*content: Json, **parts: Any) -> Document:
    return parse_document(legacy(*content, **parts))


def kinds(document: Document) -> list[str]:
    return [block.kind for block in document.blocks]


def only(document: Document) -> Block:
    assert len(document.blocks) == 1
    return document.blocks[0]


def grid(document: Document) -> list[list[str]]:
    found = next(block.table for block in document.blocks if block.table)
    return [[c.text for c in row] for row in found.rows]


def test_blocks_know_heading_path_and_the_url_that_opens_them() -> None:
    document = parse_document(
        tabbed(
            tab(
                "Plan",
                paragraph("Before"),
                heading(1, "Scope", "h.a"),
                heading(2, "Keys", "h.b"),
                paragraph("Text"),
                heading(3, "No id"),
                paragraph("Deep"),
                heading(2, "Next, without id"),
                paragraph("Other"),
            ),
            tab("More", paragraph("Elsewhere")),
        )
    )
    places = {b.text: (b.heading_path, b.url) for b in document.blocks if b.kind == "paragraph"}
    plan = f"{BASE}?tab=t.plan"
    assert places == {
        "Before": ((), plan),
        "Text": (("Scope", "Keys"), f"{plan}#heading=h.b"),
        "Deep": (("Scope", "Keys", "No id"), f"{plan}#heading=h.b"),
        "Other": (("Scope", "Next, without id"), f"{plan}#heading=h.a"),
        "Elsewhere": ((), f"{BASE}?tab=t.more"),
    }


def test_child_tabs_come_after_their_parent_with_the_path_of_titles() -> None:
    document = parse_document(rich_document())
    assert [t.path for t in document.tabs] == [("Plan",), ("Plan", "Details"), ("Empty",)]
    shown = document_to_markdown(document)
    assert "<!-- tab: Plan › Details -->\n\n# Details" in shown
    assert shown.endswith("# Empty\n")


def test_a_single_unnamed_tab_is_no_tab_but_is_opened() -> None:
    only_tab = {**tab("x", paragraph("Hi")), "tabProperties": {"tabId": "t.0", "title": "Tab 1"}}
    block = only(parse_document(tabbed(only_tab), url="https://docs.test/e?usp=share#old"))
    assert (block.tab, block.url) == (None, "https://docs.test/e?usp=share&tab=t.0")


def test_numbers_of_nested_lists_are_those_that_the_document_shows() -> None:
    lists = {
        "list": list_of(ordered(), ordered("ALPHA", "%0.%1)"), ordered("ROMAN", "%2.")),
        "late": list_of(ordered("UPPER_ROMAN", "(%0)", start=4)),
        "dots": list_of(BULLET),
    }
    document = read(
        item("a"),
        item("b"),
        item("b1", level=1),
        item("b2", level=1),
        item("b2i", level=2),
        paragraph("between"),
        item("c"),
        item("c1", level=1),
        item("x", "late"),
        item("y", "late"),
        item("z", "dots"),
        lists=lists,
    )
    items = [(b.marker, b.level) for b in document.blocks if b.kind == "list_item"]
    assert items == [
        *[("1.", 0), ("2.", 0), ("2.a)", 1), ("2.b)", 1), ("i.", 2), ("3.", 0), ("3.a)", 1)],
        *[("(IV)", 0), ("(V)", 0), ("-", 0)],
    ]
    assert "2. b\n    - 2.a) b1\n" in document_to_markdown(document)


def test_four_kinds_of_links() -> None:
    document = parse_document(
        tabbed(
            tab(
                "Plan",
                paragraph(
                    linked("site", url="https://example.test/a_(b)"),
                    " ",
                    linked("head", heading={"id": "h.x", "tabId": "t.more"}),
                    " ",
                    linked("old head", headingId="h.y"),
                    " ",
                    linked("mark", bookmarkId="id.z"),
                    " ",
                    linked("tab", tabId="t.more"),
                ),
            ),
            tab("More", heading(1, linked("in a heading", url="https://example.test/h"))),
        )
    )
    first, second = document.blocks
    assert first.markdown == (
        "[site](https://example.test/a_(b)) "
        f"[head]({BASE}?tab=t.more#heading=h.x) "
        f"[old head]({BASE}?tab=t.plan#heading=h.y) "
        f"[mark]({BASE}?tab=t.plan#bookmark=id.z) "
        f"[tab]({BASE}?tab=t.more)"
    )
    assert second.markdown == "[in a heading](https://example.test/h)"
    assert second.text == "in a heading"


def test_chips_are_words_with_their_links() -> None:
    def chip(kind: str, **properties: str) -> Json:
        return {kind: {f"{kind}Properties": properties}}

    options = {"options": [{"optionId": "o.1", "displayValue": "Blocked"}]}
    document = read(
        paragraph(
            chip("person", name="Ana Lima", email="ana@example.test"),
            ", ",
            chip("person", email="bo@example.test"),
            ", ",
            chip("dateElement", displayText="Mar 14, 2026"),
            ", ",
            chip("dateElement", timestamp="2026-03-14T12:00:00Z"),
            ", ",
            chip("richLink", title="Runbook", uri="https://example.test/r"),
            ", ",
            chip("richLink", uri="https://example.test/untitled"),
            ", ",
            chip("dropdown", displayValue="In review"),
            ", ",
            chip("dropdown", dropdownDefinitionId="kix.d", selectedOptionId="o.1"),
        ),
        dropdownDefinitions={"kix.d": {"dropdownDefinitionProperties": options}},
    )
    block = only(document)
    assert block.text == (
        "Ana Lima, bo@example.test, Mar 14, 2026, 2026-03-14, Runbook, "
        "https://example.test/untitled, In review, Blocked"
    )
    assert "[Ana Lima](mailto:ana@example.test)" in block.markdown
    assert "[Runbook](https://example.test/r)" in block.markdown
    assert not document.warnings


def test_footnotes_stand_in_the_section_that_refers_to_them() -> None:
    document = parse_document(rich_document())
    notes = [b for b in document.blocks if b.kind == "footnote"]
    assert [(b.marker, b.text, b.heading_path) for b in notes] == [
        ("1", "First note.", ("Scope",)),
        ("2", "Second.", ("Scope",)),
    ]
    shown = document_to_markdown(document)
    assert "Mar 14, 2026[^1] [see this](" in shown
    assert "| once[^2] |" in shown
    assert "\n[^1]: First note.\n[^2]: Second.\n" in shown


def test_footnotes_of_two_tabs_do_not_collide() -> None:
    ref = {"footnoteReference": {"footnoteId": "f", "footnoteNumber": "1"}}
    document = parse_document(
        tabbed(
            tab("A", paragraph("a", ref), footnotes={"f": note(paragraph("note a"))}),
            tab("B", paragraph("b", ref), footnotes={"f": note(paragraph("note b"))}),
        )
    )
    notes = {b.text: b.marker for b in document.blocks if b.kind == "footnote"}
    assert notes == {"note a": "1", "note b": "1-2"}
    assert [b.markdown for b in document.blocks if b.kind == "paragraph"] == ["a[^1]", "b[^1-2]"]


def test_a_heading_is_one_line_of_words() -> None:
    document = read(
        paragraph(
            "Limits",
            {"footnoteReference": {"footnoteId": "f"}},
            {"equation": {}},
            {"horizontalRule": {}},
            style="HEADING_2",
        ),
        footnotes={"f": note(paragraph("A note."))},
    )
    assert [(b.kind, b.markdown) for b in document.blocks] == [
        ("heading", "Limits"),
        ("rule", ""),
        ("paragraph", "[^1][equation]"),
        ("footnote", "A note."),
    ]


def test_code_quotes_rules_equations_and_breaks() -> None:
    document = read(
        paragraph(mono("if x:")),
        paragraph(mono("    y()\x0b    z()")),
        paragraph(),
        paragraph(mono("end")),
        paragraph("Run ", mono("a `b`"), " now"),
        paragraph("said", look={"borderLeft": {"width": {"magnitude": 3, "unit": "PT"}}}),
        paragraph("above", {"horizontalRule": {}}, "below"),
        paragraph({"equation": {}}),
        paragraph("two\x0blines"),
        {"sectionBreak": {}},
        {"tableOfContents": {"content": [paragraph("Scope 1")]}},
    )
    assert [(b.kind, b.markdown) for b in document.blocks] == [
        ("code", "if x:\n    y()\n    z()\n\nend"),
        ("paragraph", "Run `` a `b` `` now"),
        ("quote", "said"),
        ("paragraph", "above"),
        ("rule", ""),
        ("paragraph", "below"),
        ("equation", "[equation]"),
        ("paragraph", "two\nlines"),
    ]


def test_a_box_is_a_quote_or_code_and_keeps_lists() -> None:
    document = read(
        table([cell(paragraph("Note"), item("first"))]),
        table([cell(paragraph(mono("ls")), paragraph(mono("cd /")))]),
        lists={"list": list_of(BULLET)},
    )
    assert [(b.kind, b.text) for b in document.blocks] == [
        ("quote", "Note"),
        ("list_item", "first"),
        ("code", "ls\ncd /"),
    ]


def test_pictures_keep_alt_text_title_and_address_apart_from_the_hash() -> None:
    def document(uri: str) -> Document:
        return read(
            paragraph("See ", {"inlineObjectElement": {"inlineObjectId": "p"}}),
            paragraph("Float", positionedObjectIds=["q"]),
            table(["a", cell(paragraph({"inlineObjectElement": {"inlineObjectId": "p"}}))]),
            inlineObjects={
                "p": picture(
                    title="Flow", description="Request flow", imageProperties={"contentUri": uri}
                )
            },
            positionedObjects={
                "q": {"positionedObjectProperties": {"embeddedObject": {"title": "Logo"}}}
            },
        )

    first, second = document("https://lh7.test/1"), document("https://lh7.test/2")
    assert kinds(first) == ["paragraph", "image", "paragraph", "image", "table"]
    image = first.blocks[1].image
    assert image
    assert (image.alt, image.title, image.uri) == ("Request flow", "Flow", "https://lh7.test/1")
    assert first.content_hash == second.content_hash
    assert "lh7.test" not in repr(first)
    assert '![Request flow](https://lh7.test/1 "Flow")' in document_to_markdown(first)
    held = first.blocks[4].table
    assert held
    assert held.rows[0][1].images[0].uri == "https://lh7.test/1"


def test_merged_cells_headers_and_nested_tables() -> None:
    document = parse_document(rich_document())
    found = next(b.table for b in document.blocks if b.table)
    assert found
    assert (found.header_rows, found.header_evidence) == (2, "tableHeader")
    assert header_paths(found) == ("Key", "Age › EU", "Age › US")
    body = [[c.text for c in row] for row in found.rows[2:]]
    assert body == [
        ["API key", "90 days", "90 days"],
        ["3. warn\n4. rotate", "Field: Shown\nCard: last four", "once"],
    ]
    assert found.rows[3][0].markdown == '<ol start="3"><li>warn</li><li>rotate</li></ol>'
    nested = found.rows[3][1].tables[0]
    assert [[c.text for c in row] for row in nested.rows] == [
        ["Field", "Shown"],
        ["Card", "last four"],
    ]
    shown = document_to_markdown(document)
    assert "| Key | Age › EU | Age › US |" in shown
    assert "\n| Field | Shown |\n| Card | last four |\n" in shown


def test_empty_cells_differ_from_merged_ones() -> None:
    document = read(table(["Name", "Value"], ["a", ""], [cell("b", columnSpan=2), ""]))
    assert grid(document) == [["Name", "Value"], ["a", ""], ["b", "b"]]


def test_only_accepted_text_is_read() -> None:
    added = run("new ")
    added["textRun"]["suggestedInsertionIds"] = ["s.1"]
    removed = run("old ")
    removed["textRun"]["suggestedDeletionIds"] = ["s.2"]
    row = {"suggestedInsertionIds": ["s.3"], "tableCells": [cell(), cell()]}
    tables = table(["Name", "Limit"], ["a", "1"])
    tables["table"]["tableRows"].append(row)
    chip = {"person": {"personProperties": {"name": "Zed"}, "suggestedInsertionIds": ["s.4"]}}
    document = read(paragraph("keep ", added, removed, chip), tables)
    assert document.blocks[0].text == "keep old"
    assert grid(document) == [["Name", "Limit"], ["a", "1"]]


def test_page_headers_and_footers_once() -> None:
    footer = note(paragraph("Page ", {"autoText": {"type": "PAGE_NUMBER"}}))
    document = read(
        heading(1, "Scope"),
        headers={"a": note(paragraph("Secret")), "b": note(paragraph("Secret"))},
        footers={"c": footer},
    )
    assert [(b.text, b.heading_path) for b in document.blocks] == [
        ("Secret", ()),
        ("Scope", ("Scope",)),
        ("Page", ()),
    ]


def test_explicit_nulls_are_absent_values() -> None:
    def with_nulls(value: Any) -> Any:
        if isinstance(value, dict):
            extra = {"bullet": None, "table": None, "person": None, "link": None, "tabs": None}
            kept = {key: with_nulls(item) for key, item in value.items()}
            named = {"inlineObjects", "lists", "footnotes", "headers"}
            return kept if named & value.keys() else {**extra, **kept}
        return [with_nulls(v) for v in value] if isinstance(value, list) else value

    plain = rich_document()
    with_and_without = [parse_document(with_nulls(plain)), parse_document(plain)]
    assert len(set(map(document_to_markdown, with_and_without))) == 1


def test_right_to_left_text_and_emoji_stay_in_order() -> None:
    text = "מדיניות סיבוב מפתחות 🔑👩‍🚒 العربية"
    document = read(paragraph(text, look={"direction": "RIGHT_TO_LEFT"}), table([text, "x"]))
    assert document.blocks[0].text == text
    assert grid(document)[0][0] == text


@pytest.mark.parametrize(
    ("broken", "warning"),
    [
        ({"paragraph": 5}, "body.content[0].paragraph: expected an object, found a number"),
        ({"paragraph": {"elements": "x"}}, "elements: expected a list, found a text"),
        ({"paragraph": {"elements": [{"hologram": {}}]}}, "unknown element hologram"),
        ({"paragraph": {"elements": [{"textRun": {}}]}}, "a text run without text"),
        ({"video": {}}, "an unknown element"),
        (item("x", "gone"), "its list 'gone' is not in the document"),
        (
            paragraph({"inlineObjectElement": {"inlineObjectId": "gone"}}),
            "its picture 'gone' is not in the document",
        ),
        (
            paragraph({"footnoteReference": {"footnoteId": "gone"}}),
            "footnote 'gone' is not in the document",
        ),
        (
            {"table": {"rows": 3, "tableRows": [{"tableCells": [cell("a"), cell("b")]}]}},
            "says 3 rows, but 1",
        ),
        (table(["a", cell("b", rowSpan="many")]), "rowSpan: expected a number, found a text"),
    ],
)
def test_what_cannot_be_read_is_a_warning_with_its_place(broken: Json, warning: str) -> None:
    document = read(broken, paragraph("The rest"))
    assert document.blocks[-1].text == "The rest"
    assert any(warning in found for found in document.warnings), document.warnings


def test_missing_text_shows_in_the_indexes() -> None:
    elements = [
        {"startIndex": 1, "endIndex": 5, "textRun": {"content": "one "}},
        {"startIndex": 9, "endIndex": 15, "textRun": {"content": "three\n"}},
    ]
    document = read({"paragraph": {"elements": elements}})
    assert "characters 5 to 9 are missing" in document.warnings[0]


@pytest.mark.parametrize(
    "response", [{}, {"title": "x"}, {"body": None}, {"body": []}, {"tabs": 3}]
)
def test_a_response_without_content_is_refused(response: Json) -> None:
    with pytest.raises(LoadError, match="neither tabs nor a body"):
        parse_document({"documentId": "doc-1", **response})


def test_ten_thousand_nested_tables_are_refused() -> None:
    inner: Json = paragraph("x")
    for _ in range(10_000):
        inner = {"table": {"tableRows": [{"tableCells": [{"content": [inner]}, {"content": []}]}]}}
    with pytest.raises(LoadError, match=f"deeper than {MAX_NESTING} levels"):
        read(inner)


def test_merges_in_merges_are_refused_before_they_explode() -> None:
    inner: Json = paragraph("x")
    for _ in range(30):
        inner = table([cell(inner, rowSpan=2, columnSpan=2), ""], ["", ""])
    with pytest.raises(LoadError, match="more than the 200,000 that are read"):
        read(inner)


def test_boxes_in_boxes_are_refused_beyond_the_limit() -> None:
    inner: Json = paragraph("x")
    for _ in range(10_000):
        inner = table([{"content": [inner]}])
    with pytest.raises(LoadError, match=f"deeper than {MAX_NESTING} levels"):
        read(inner)


def test_tabs_that_contain_themselves_are_refused() -> None:
    loop = tab("Loop", paragraph("x"))
    loop["childTabs"] += [loop, loop]
    with pytest.raises(LoadError, match="tabs"):
        parse_document(tabbed(loop))


def test_too_many_tabs_are_refused() -> None:
    with pytest.raises(LoadError, match="more than the 1,000"):
        parse_document(tabbed(*[tab("T")] * (MAX_TABS + 1)))


def test_a_table_that_is_too_big_is_refused_before_it_is_built() -> None:
    wide = {"tableCells": [cell("x")] * 2_000}
    with pytest.raises(LoadError, match="table cells"):
        read({"table": {"tableRows": [wide] * 200}})


def test_too_much_text_is_refused() -> None:
    with pytest.raises(LoadError, match="more than 10,000,000 characters"):
        read(*[paragraph("x" * 1_000_000)] * 11)


def test_json_of_a_document_is_whole() -> None:
    document = parse_document(rich_document())
    shown = json.loads(json.dumps(document_to_json(document)))
    assert [b["text"] for b in shown["blocks"]] == [b.text for b in document.blocks]
    assert shown["blocks"][7]["table"]["rows"][2][1]["column_span"] == 2


def test_captured_documents_lose_no_words(shared: Path) -> None:
    for path in sorted((shared / "fixtures" / "google_docs").rglob("*.json")):
        response = json.loads(path.read_text())
        shown = document_to_markdown(parse_document(response))
        for text in _runs(response.get("tabs") or response.get("body")):
            for word in text.split():
                if word.isalnum():
                    assert word in shown, (path.name, word)


def _runs(value: Any) -> list[str]:
    if isinstance(value, list):
        return [text for part in value for text in _runs(part)]
    if not isinstance(value, dict) or value.get("suggestedInsertionIds"):
        return []
    if isinstance(value.get("content"), str):
        return [value["content"]]
    return [t for key, part in value.items() if key != "tableOfContents" for t in _runs(part)]
