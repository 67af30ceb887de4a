"""A `documents.get` response → Document, without loss.

Reads responses with tabs and older ones with a `body`. Requests need both parameters:
`includeTabsContent=True` and `suggestionsViewMode=PREVIEW_WITHOUT_SUGGESTIONS`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Unpack

from config.errors import LoadError
from loaders.assemble import BlockWriter, Metadata, make_document
from loaders.docs.body import TabReader
from loaders.docs.node import Node
from loaders.document import MAX_NESTING, MAX_TABS, Document, Tab, too_deep, too_many

MIME_TYPE = "application/vnd.google-apps.document"
_MAX_WARNINGS = 200
_DEFAULT_TITLE = re.compile(r"Tab \d+")


def parse_document(
    response: Mapping[str, Any], *, url: str = "", **metadata: Unpack[Metadata]
) -> Document:
    """`url` opens the document; anchors add `?tab=…#heading=…` to it.

    Unreadable parts are listed in `warnings`, with their place in the response. Raises LoadError
    when there is nothing to read or a limit is exceeded."""
    if not isinstance(response, dict):
        raise LoadError(metadata.get("id") or "document", "the response is not a JSON object")
    writer = BlockWriter()
    root = Node(response, _limited(writer))
    metadata["id"] = metadata.get("id") or root.text("documentId")
    metadata["title"] = metadata.get("title") or root.text("title")
    metadata["version"] = metadata.get("version") or root.text("revisionId")
    metadata.setdefault("mime_type", MIME_TYPE)
    metadata.setdefault("source", "google_drive")
    name = metadata["id"] or metadata["title"] or "Google document"
    if metadata["id"] and not url and metadata["source"] == "google_drive":
        url = f"https://docs.google.com/document/d/{metadata['id']}/edit"
    writer.url = url = url.partition("#")[0]
    tabs = list(_tabs(root, name))
    if not tabs and root.child("body") is None:
        raise LoadError(
            name, "the response has neither tabs nor a body", remedy="read it from Google again"
        )
    if not tabs:
        TabReader(writer, root, name, partial(_anchor, url)).read()
    only = len(tabs) == 1 and _DEFAULT_TITLE.fullmatch(tabs[0][1].title or "Tab 1")
    for node, tab in tabs:
        tab_url = _anchor(url, tab.id, "")
        writer.start_tab(None if only else tab, tab_url)
        content = node.child("documentTab")
        if content is None:
            node.skipped("a tab without content")
            continue
        TabReader(writer, content, name, partial(_link_from, url, tab.id)).read()
    return make_document(writer, url=url, **metadata)


def _tabs(root: Node, name: str) -> Iterator[tuple[Node, Tab]]:
    """Yields tabs in reading order, each before its children."""
    stack: list[tuple[Node, tuple[str, ...], int]]
    stack = [(node, (), 1) for node in reversed(list(root.children("tabs")))]
    count = 0
    while stack:
        node, above, depth = stack.pop()
        count += 1
        if count > MAX_TABS:
            raise too_many(name, "tabs", count, MAX_TABS, "tabs")
        if depth > MAX_NESTING:
            raise too_deep(name, node.place[:80] + "…", MAX_NESTING, "tabs")
        properties = node.section("tabProperties")
        title = properties.text("title").strip()
        path = (*above, title)
        yield node, Tab(id=properties.text("tabId"), title=title, path=path)
        stack += [(child, path, depth + 1) for child in reversed(list(node.children("childTabs")))]


def _link_from(url: str, here: str, tab: str, fragment: str) -> str:
    return _anchor(url, tab or here, fragment)


def _anchor(url: str, tab: str, fragment: str) -> str:
    query = f"{'&' if '?' in url else '?'}tab={tab}" if tab else ""
    return url + query + (f"#{fragment}" if fragment else "")


def _limited(writer: BlockWriter) -> Any:
    def warn(warning: str) -> None:
        if len(writer.warnings) < _MAX_WARNINGS:
            writer.warn(warning)
        elif len(writer.warnings) == _MAX_WARNINGS:
            writer.warn("… and more of the kind")

    return warn
