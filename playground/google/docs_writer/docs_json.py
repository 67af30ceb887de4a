"""Markdown → the JSON that `documents.get` returns for such a document.

Titles, headings, lists, tables with merges, tabs, chips, footnotes and contents become what
Google Docs makes of them; `demo_source.py` tells how they are written."""

from __future__ import annotations

import copy
from typing import Any

from bs4 import Tag

from playground.google.docs_writer.demo_source import DemoSource, SourceTab, read_source
from playground.google.docs_writer.docs_style import (
    Json,
    document_style,
    named_styles,
    object_id,
    points,
)
from playground.google.docs_writer.written_blocks import HEADINGS, DocsBlockWriter, Place
from playground.google.docs_writer.written_segment import Segment
from playground.google.docs_writer.written_spans import Run, Setting
from playground.google.docs_writer.written_table import write_table

VIEWS = ("SUGGESTIONS_INLINE", "PREVIEW_WITHOUT_SUGGESTIONS", "PREVIEW_SUGGESTIONS_ACCEPTED")
FIRST_TAB = "t.0"


def render_document(
    document_id: str,
    title: str,
    markdown: str,
    *,
    base_url: str,
    view: str = "SUGGESTIONS_INLINE",
    with_tabs: bool = True,
) -> Json:
    """`with_tabs` is the request's `includeTabsContent`: without it only the first tab shows."""
    source = read_source(markdown)
    head = {"title": title, "documentId": document_id, "suggestionsViewMode": view}
    tabs = source.tabs if with_tabs else source.tabs[:1]
    written = [
        _write_tab(document_id, position, tab, source, base_url, view)
        for position, tab in enumerate(tabs)
    ]
    if with_tabs:
        return {**head, "tabs": written}
    return {**head, **_without_tab_ids(written[0]["documentTab"])}


def _write_tab(
    document_id: str, position: int, tab: SourceTab, source: DemoSource, base_url: str, view: str
) -> Json:
    tab_id = object_id(document_id, tab.title, prefix="t.") if position else FIRST_TAB
    scope = f"{document_id}/{tab_id}"
    pictures: Json = {}
    segment = Segment(scope, view, lambda label: object_id(scope, "note", label), pictures)
    writer = DocsBlockWriter(segment, tab_id, write_table, _headings(tab.body, scope))
    place = Place(setting=Setting(base_url=base_url, notes=source.notes))
    body = [_section_break(segment), *writer.container(tab.body, place)]
    footnotes = _write_notes(source, segment, writer, place)
    header_id = object_id(scope, "header")
    parts = {
        "body": {"content": body},
        "headers": {header_id: _empty_header(header_id)},
        "footnotes": footnotes,
        "documentStyle": document_style(header_id),
        "namedStyles": named_styles(),
        "lists": writer.lists_json(),
        "inlineObjects": pictures,
    }
    return {
        "tabProperties": {"tabId": tab_id, "title": tab.title, "index": position},
        "documentTab": {name: part for name, part in parts.items() if part},
    }


def _headings(body: Tag, scope: str) -> list[tuple[str, str, str]]:
    """Named style, heading id and text; the ids stay when other parts of the document change."""
    found: list[tuple[str, str, str]] = []
    seen: dict[str, int] = {}
    for node in body.find_all(list(HEADINGS)):
        text = " ".join(node.get_text().split())
        seen[text] = seen.get(text, 0) + 1
        heading_id = object_id(scope, text, seen[text], prefix="h.")
        found.append((HEADINGS[node.name], heading_id, text))
    return found


def _section_break(segment: Segment) -> Json:
    style = {
        "columnSeparatorStyle": "NONE",
        "contentDirection": "LEFT_TO_RIGHT",
        "sectionType": "CONTINUOUS",
    }
    return {**segment.advance(1), "sectionBreak": {"sectionStyle": style}}


def _write_notes(
    source: DemoSource, segment: Segment, writer: DocsBlockWriter, place: Place
) -> Json:
    """The notes that this tab refers to, each with indexes of its own, from 0."""
    labels = {segment.note_id(label): label for label in source.notes}
    notes: Json = {}
    for note_id in segment.numbers:
        own = Segment(segment.scope + note_id, segment.view, segment.note_id, segment.pictures)
        inner = DocsBlockWriter(own, writer.tab_id, write_table, (), writer.lists)
        content = inner.container(source.notes[labels[note_id]], place)
        notes[note_id] = {"footnoteId": note_id, "content": content}
    return notes


def _empty_header(header_id: str) -> Json:
    segment = Segment(header_id, "", lambda label: label, {})
    style = {"indentStart": points(), "indentFirstLine": points()}
    return {"headerId": header_id, "content": [segment.paragraph([Run("")], style)]}


def _without_tab_ids(part: Any) -> Any:
    """Links to headings as the API sends them when it leaves tabs out."""
    if isinstance(part, list):
        return [_without_tab_ids(item) for item in part]
    if not isinstance(part, dict):
        return part
    if isinstance(link := part.get("link"), dict) and "heading" in link:
        part = copy.copy(part) | {"link": {"headingId": link["heading"]["id"]}}
    return {name: _without_tab_ids(value) for name, value in part.items()}
