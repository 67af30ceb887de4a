"""The stand-in's documents have the shape that Google documents, and lose no word."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import googleapiclient
import pytest

from playground.google.docs_writer.demo_source import split_front_matter
from playground.google.docs_writer.docs_json import render_document

DEMO = Path(__file__).parents[2] / "playground" / "demo"
DOCUMENTS = sorted(DEMO.glob("*/*.md"))
PLAIN_TYPES = {"string": str, "boolean": bool, "integer": int, "number": (int, float)}


@cache
def schemas(api: str) -> dict[str, Any]:
    folder = Path(googleapiclient.__file__).parent / "discovery_cache" / "documents"
    found = json.loads((folder / f"{api}.json").read_text())["schemas"]
    assert isinstance(found, dict)
    return found


def misfits(value: Any, schema: dict[str, Any], api: str, path: str = "") -> Iterator[str]:
    """Every field that the schema does not know, and every value of another type."""
    schema = schemas(api)[schema["$ref"]] if "$ref" in schema else schema
    kind = schema["type"]
    if kind == "array":
        if not isinstance(value, list):
            yield f"{path}: {value!r} is no list"
            return
        for position, item in enumerate(value):
            yield from misfits(item, schema["items"], api, f"{path}[{position}]")
    elif kind == "object":
        for name, item in value.items():
            known = schema.get("properties", {}).get(name) or schema.get("additionalProperties")
            if known is None:
                yield f"{path}.{name} is unknown"
            else:
                yield from misfits(item, known, api, f"{path}.{name}")
    elif not isinstance(value, PLAIN_TYPES[kind]) or (kind != "boolean" and value is True):
        yield f"{path}: {value!r} is no {kind}"
    elif "enum" in schema and value not in schema["enum"]:
        yield f"{path}: {value!r} is not one of {schema['enum']}"


@cache
def rendered(path: Path) -> dict[str, Any]:
    keys, body = split_front_matter(path.read_text())
    return render_document(keys["id"], keys["title"], body, base_url="http://x")


def values(node: Any, name: str) -> Iterator[Any]:
    if isinstance(node, dict):
        for key, value in node.items():
            if key == name:
                yield value
            yield from values(value, name)
    elif isinstance(node, list):
        for item in node:
            yield from values(item, name)


def text_of(node: Any) -> str:
    """All text in reading order; a paragraph never runs into the next."""
    if isinstance(node, list):
        return "".join(text_of(item) for item in node)
    if not isinstance(node, dict):
        return ""
    if "elements" in node:
        return "".join(text_of(element) for element in node["elements"]) + " "
    for name, field in (("textRun", "content"), ("personProperties", "name")):
        if name in node:
            return str(node[name][field])
    if "dateElementProperties" in node:
        return str(node["dateElementProperties"]["displayText"])
    return "".join(text_of(value) for value in node.values())


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


def written_words(markdown: str) -> list[str]:
    """The words that a reader of the Markdown sees."""
    text = re.sub(r"<!--.*?-->", " ", markdown)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    text = re.sub(r"\[\^[^\]]+\]:?|\[TOC\]|^```\w*$", " ", text, flags=re.MULTILINE)
    text = re.sub(r"^(\s*)\d+\. ", r"\1", text, flags=re.MULTILINE)
    tags = r"</?(table|thead|tbody|tr|t[dh]|[uo]l|li|br|code|a|div|p|strong|em|b|i)( [^<>]*)?>"
    return words(html.unescape(re.sub(tags, " ", text)))


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.stem)
def test_a_document_fits_the_published_schema_and_keeps_every_word(path: Path) -> None:
    document = rendered(path)
    assert list(misfits(document, {"$ref": "Document"}, "docs.v1")) == []
    text = "".join(text_of(content) for content in segments(document))
    _, body = split_front_matter(path.read_text())
    assert sorted(words(text)) == sorted(written_words(body))


def segments(document: dict[str, Any], *, with_contents: bool = False) -> Iterator[list[Any]]:
    """Content of each tab's body and each footnote, by default without tables of contents."""
    for tab in document["tabs"]:
        parts = tab["documentTab"]
        body = parts["body"]["content"]
        yield [e for e in body if with_contents or "tableOfContents" not in e]
        yield from (note["content"] for note in parts.get("footnotes", {}).values())


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.stem)
def test_indexes_count_utf16_units_without_gaps(path: Path) -> None:
    for content in segments(rendered(path), with_contents=True):
        check_spans(content, 0)


def check_spans(content: list[dict[str, Any]], index: int) -> int:
    for element in content:
        assert element.get("startIndex", 0) == index
        if "table" in element:
            index += 1
            for row in element["table"]["tableRows"]:
                assert row["startIndex"] == index
                index += 1
                for cell in row["tableCells"]:
                    assert cell["startIndex"] == index
                    index = check_spans(cell["content"], index + 1)
                    assert cell["endIndex"] == index
                assert row["endIndex"] == index
            index += 1
        elif "tableOfContents" in element:
            index = check_spans(element["tableOfContents"]["content"], index + 1) + 1
        elif "paragraph" in element:
            for piece in element["paragraph"]["elements"]:
                assert piece.get("startIndex", 0) == index
                run = piece.get("textRun")
                index += len(run["content"].encode("utf-16-le")) // 2 if run else 1
                assert piece["endIndex"] == index
        else:
            index += 1
        assert element["endIndex"] == index
    return index


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.stem)
def test_every_table_is_a_full_grid_and_every_heading_has_its_own_id(path: Path) -> None:
    document = rendered(path)
    for table in values(document, "table"):
        assert [len(row["tableCells"]) for row in table["tableRows"]] == [table["columns"]] * len(
            table["tableRows"]
        )
        assert len(table["tableRows"]) == table["rows"]
        assert area(table) == table["rows"] * table["columns"]
    ids = [i for i in values(document, "headingId") if i]
    assert len(ids) == len(set(ids))
    assert all(re.fullmatch(r"h\.[a-z0-9]{12}", i) for i in ids)


def area(table: dict[str, Any]) -> int:
    """Positions that the merges cover, counted once each, as their own cell or by a merge."""
    covered = set()
    for y, row in enumerate(table["tableRows"]):
        for x, cell in enumerate(row["tableCells"]):
            style = cell["tableCellStyle"]
            if (y, x) in covered:
                assert (style["rowSpan"], style["columnSpan"]) == (1, 1)
                assert text_of(cell["content"]).strip() == ""
                continue
            for dy in range(style["rowSpan"]):
                for dx in range(style["columnSpan"]):
                    assert (y + dy, x + dx) not in covered
                    covered.add((y + dy, x + dx))
    return len(covered)


SMALL = """
# Rota 🚒

[TOC]

Ask @Ines Okafor before @2026-03-14, see [rules](doc:other), `keep this`.[^a]

> From: somebody
> Subject: hello

## Steps

3. First
   - inner bullet
   1. numbered instead
4. Second

   more of the second

```
line one
  line two
```

<table><tr><th rowspan="2">A</th><td>1<br>2<ul><li>x</li></ul></td></tr>
<tr><td><table><tr><td>in</td></tr></table></td></tr></table>

<!-- tab: Later -->

## Steps

Text with <ins>new</ins><del>old</del> words. [^missing]

<div dir="rtl">مرحبا</div>

---

[^a]: A note with [a link](https://example.org).
"""


def small(**options: Any) -> dict[str, Any]:
    return render_document("small", "Small", SMALL, base_url="http://x", **options)


def paragraphs(document: dict[str, Any], tab: int = 0) -> list[dict[str, Any]]:
    content = document["tabs"][tab]["documentTab"]["body"]["content"]
    return [element["paragraph"] for element in content if "paragraph" in element]


def test_chips_links_and_footnotes_become_googles_own_elements() -> None:
    document = small()
    assert list(misfits(document, {"$ref": "Document"}, "docs.v1")) == []
    (person,) = values(document, "personProperties")
    assert person == {"name": "Ines Okafor", "email": "ines.okafor@tidewater.example"}
    (date,) = values(document, "dateElementProperties")
    assert date["displayText"] == "2026-03-14"
    assert "http://x/document/d/other/edit" in list(values(document, "url"))
    (mark,) = values(document, "footnoteReference")
    notes = document["tabs"][0]["documentTab"]["footnotes"]
    assert text_of(notes[mark["footnoteId"]]).strip() == "A note with a link."
    assert "footnotes" not in document["tabs"][1]["documentTab"]
    assert "[^missing]" in text_of(document)


def test_lists_keep_depth_numbering_and_continuation() -> None:
    document = small()
    items = [p for p in paragraphs(document) if "bullet" in p]
    assert [text_of(item).strip() for item in items] == [
        "First",
        "inner bullet",
        "numbered instead",
        "Second",
    ]
    assert [item["bullet"].get("nestingLevel", 0) for item in items] == [0, 1, 1, 0]
    lists = document["tabs"][0]["documentTab"]["lists"]
    levels = [
        lists[item["bullet"]["listId"]]["listProperties"]["nestingLevels"][
            item["bullet"].get("nestingLevel", 0)
        ]
        for item in items
    ]
    assert [level.get("glyphType") for level in levels] == ["DECIMAL", None, "ALPHA", "DECIMAL"]
    assert levels[0]["startNumber"] == 3
    more = next(p for p in paragraphs(document) if "more of the second" in text_of(p))
    assert more["paragraphStyle"]["indentStart"]["magnitude"] == 36


def test_tabs_have_ids_and_equal_headings_stay_apart() -> None:
    document = small()
    assert [tab["tabProperties"]["title"] for tab in document["tabs"]] == ["Tab 1", "Later"]
    steps = [p for tab in (0, 1) for p in paragraphs(document, tab) if text_of(p) == "Steps\n "]
    assert len({p["paragraphStyle"]["headingId"] for p in steps}) == 2
    links = [link["heading"] for link in values(document, "link") if "heading" in link]
    assert links == [{"id": steps[0]["paragraphStyle"]["headingId"], "tabId": "t.0"}]


def test_without_tabs_only_the_first_tab_is_there_at_the_top() -> None:
    document = small(with_tabs=False)
    assert list(misfits(document, {"$ref": "Document"}, "docs.v1")) == []
    assert "tabs" not in document
    assert "Later" not in text_of(document["body"])
    assert [link for link in values(document, "link") if "headingId" in link]


def test_suggestions_show_as_the_view_asks() -> None:
    assert "new" in text_of(small())
    assert list(values(small(), "suggestedInsertionIds"))
    without = small(view="PREVIEW_WITHOUT_SUGGESTIONS")
    assert "Text with old words" in text_of(without)
    accepted = small(view="PREVIEW_SUGGESTIONS_ACCEPTED")
    assert "Text with new words" in text_of(accepted)
    assert not list(values(accepted, "suggestedInsertionIds"))


def test_the_same_source_gives_the_same_json() -> None:
    assert small() == small()
