"""A demo document as its author wrote it: front matter, tabs, footnotes, Markdown and HTML."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import yaml
from bs4 import BeautifulSoup, Tag
from markdown_it import MarkdownIt

FRONT_MATTER = re.compile(r"\A---\n(.*?)\n---\n", re.DOTALL)
TAB = re.compile(r"^<!-- tab: (.+?) -->[ \t]*$", re.MULTILINE)
NOTE = re.compile(r"^\[\^([^\]\s]+)\]:[ \t]*(.+(?:\n[ \t]+\S.*)*)\n?", re.MULTILINE)
ONLY_A_TITLE = re.compile(r"\A\s*(# [^\n]+\s*)?\Z")
UNTITLED_TAB = "Tab 1"

_MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


@dataclass(frozen=True, kw_only=True)
class SourceTab:
    title: str
    body: Tag


@dataclass(frozen=True, kw_only=True)
class DemoSource:
    tabs: tuple[SourceTab, ...]
    notes: Mapping[str, Tag] = field(default_factory=dict)
    """Footnotes by their label in the text."""


def split_front_matter(text: str) -> tuple[dict[str, str], str]:
    """The keys above the text, all as strings, and the text."""
    text = text.replace("\r\n", "\n")
    match = FRONT_MATTER.match(text)
    if not match:
        return {}, text
    keys = yaml.safe_load(match[1]) or {}
    return {str(key): str(value) for key, value in keys.items()}, text[match.end() :]


def read_source(markdown: str) -> DemoSource:
    """Markdown without front matter → one HTML tree per tab, and the footnotes."""
    notes = {label: _tree(" ".join(note.split())) for label, note in NOTE.findall(markdown)}
    pieces = TAB.split(NOTE.sub("", markdown))
    tabs = list(zip(pieces[1::2], pieces[2::2], strict=True))
    if tabs and ONLY_A_TITLE.match(pieces[0]):
        tabs[0] = (tabs[0][0], pieces[0] + tabs[0][1])
    else:
        tabs.insert(0, (UNTITLED_TAB, pieces[0]))
    return DemoSource(
        tabs=tuple(SourceTab(title=title, body=_tree(text)) for title, text in tabs), notes=notes
    )


def _tree(markdown: str) -> Tag:
    page = BeautifulSoup(f"<body>{_MARKDOWN.render(markdown)}</body>", "lxml")
    body = page.body
    assert isinstance(body, Tag)  # noqa: S101 - lxml always makes a body
    return body
