from __future__ import annotations

import re
from datetime import UTC, date, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loaders.document import Document
from loaders.files.local import load_bytes
from tests.loaders.reading import plain


def page(header: str, body: str = "# Keys\n\nTurn the key.\n") -> Document:
    return load_bytes((header + body).encode(), suffix=".md", id="keys")


def words(document: Document) -> str:
    return " ".join(block.text for block in document.blocks)


@pytest.mark.parametrize(
    "header",
    [
        '+++\ntitle = "Disk: full"\nowner = ["storage", "ops"]\nmodified = 2025-03-01\n'
        'status = "superseded"\n[params]\ntitle = "other"\n+++\n',
        '{\n  "title": "Disk: full", "owner": ["storage", "ops"],\n  "modified": "2025-03-01",'
        '\n  "status": "superseded"\n}\n\n',
        ';;;\n{"title": "Disk: full", "owner": "storage, ops", "modified": "2025-03-01",'
        ' "status": "superseded"}\n;;;\n',
        "---\ntitle: Disk: full\nowner: [storage, ops]\nmodified: 1 March 2025\n"
        "status: superseded\n---\n",
        '\ufeff\n---\r\ntitle: "Disk: full"\r\nowner:\r\n\t- storage\r\n\t- ops\r\n'
        "modified: March 1st, 2025\r\nstatus: [superseded]\r\n...\r\n",
        "---toml\ntitle = 'Disk: full'\nowner = 'storage, ops'\nmodified = 2025-03-01T00:00:00Z\n"
        "status = 'superseded'\n---\n",
        "---\ntitle: Disk: full\nowner: storage, ops\nstatus: superseded\nmodified: 2025-03-01\n\n",
        "<!-- lint off -->\n---\ntitle: Disk: full\nowner: storage, ops\nstatus: superseded\n"
        "modified: 2025-03-01\n---\n",
    ],
    ids=["toml", "braces", "semicolons", "colon", "tabs", "named", "unclosed", "comment"],
)
def test_a_header_of_any_notation_is_read(header: str) -> None:
    document = page(header)
    assert (document.title, document.owner) == ("Disk: full", "storage, ops")
    assert (document.status, document.modified_at) == (
        "superseded",
        datetime(2025, 3, 1, tzinfo=UTC),
    )
    assert words(document) == "Keys Turn the key."


@pytest.mark.parametrize(
    "beginning", ['{"status": "ok", "nodes": 3}\n\n', "---\n\nIntro: between rules.\n\n---\n\n"]
)
def test_a_page_may_begin_like_a_header(beginning: str) -> None:
    document = page(beginning)
    assert (document.title, document.status) == ("Keys", "")
    assert plain(beginning).strip("- ") in words(document)


@pytest.mark.parametrize(
    ("front", "field", "value", "warning"),
    [
        ("title: [", "title", "[", "line 3: the front matter is not YAML"),
        ("title: [Draft] Keys", "title", "[Draft] Keys", "line 2: the front matter is not YAML"),
        ("title: No", "title", "No", ""),
        ("note: @x\ntitle: A\nmodified: soon", "title", "A", "line 4: `modified:` is not a date"),
        ("modified: [a]", "modified_at", None, "line 2: `modified:` is not a date"),
        ("modified: 0001-01-01T00:00:00+05:00", "modified_at", None, "is not a date"),
        ("title: {{ page.name }} keys", "title", "Keys", "line 2: `title:` holds a template"),
        ("owner: @ops", "owner", "@ops", "character '@' that cannot start any token"),
        ("owner: {name: Ana, mail: a@b.test}", "owner", "Ana", "line 2: `owner:` has keys"),
        ("owner: {a: x, b: [y]}", "owner", "x", "entries that are no text"),
        ("owner:\n  - a\n  -b: [", "owner", "", "line 2: `owner:` can't be read"),
        ("id: [a, b]", "id", "keys", "line 2: `id:` is a list"),
        ("id: " + "9" * 6_000, "id", "keys", "6,000 characters"),
        ("title: " + "a" * 301, "title", "a" * 299 + "…", ""),
        ("title: A\nnote: " + "a" * 17_000, "title", "A", "17,016 characters, more than 16,000"),
        ("a: &a [x]\ntitle: *a", "title", "*a", "line 3: .* an alias"),
        ("title: A\n\x07: b", "title", "A", "not YAML"),
    ],
)
def test_what_is_unreadable_in_a_header_is_a_warning(
    front: str, field: str, value: object, warning: str
) -> None:
    document = page(f"---\n{front}\n---\n")
    assert getattr(document, field) == value
    assert words(document) == "Keys Turn the key."
    warnings = "; ".join(document.warnings)
    assert re.search(warning, warnings) if warning else not warnings


@pytest.mark.parametrize(
    "text",
    [
        "---\n\nA first line.\n\n---\n\nMore.",
        "---\nNote: read this first.\n\nThen go on.\n\n---\n\nMore.",
        "+++\nA block\n+++\n",
        "{{ .Values.x }} is set.",
        '{"a": 1}',
    ],
)
def test_text_between_rules_and_braces_stays_text(text: str) -> None:
    document = page("", text)
    stripped = text.replace("---", "").replace("\n", " ")
    assert " ".join(words(document).split()) == " ".join(stripped.split())
    assert not document.warnings


def test_a_rule_further_down_does_not_end_an_unclosed_header() -> None:
    document = page("---\ntitle: Keys\nowner: Ana\n\nTurn the key.\n\n---\n\nMore.\n", "")
    assert (document.title, document.owner) == ("Keys", "Ana")
    assert words(document) == "Turn the key.  More."
    assert document.warnings == ("line 1: the front matter has no closing `---`",)


def test_a_list_of_statuses_keeps_their_meaning() -> None:
    assert page("---\nstatus: [public, superseded]\n---\n").status == "public, superseded"
    assert page("---\nreview_by: 2026-12-01\n---\n").review_by == date(2026, 12, 1)


@settings(max_examples=60)
@given(
    st.sampled_from(["---", "+++", ";;;", "{"]), st.text("ab:=-[]{}\"'\n\t #@*&!|>", max_size=60)
)
def test_no_header_makes_a_page_unreadable(fence: str, header: str) -> None:
    page(f"{fence}\n{header}\n{fence}\n")
