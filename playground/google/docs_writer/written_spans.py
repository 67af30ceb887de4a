"""What stands inside a paragraph: styled runs of text, chips, footnote marks, pictures."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from bs4 import Comment, Tag
from bs4.element import NavigableString, PageElement

Style = Mapping[str, Any]

LINE_BREAK = "\v"
"""Google Docs keeps a soft line break as a vertical tab."""
MENTIONS = re.compile(
    r"(?<![\w@])@(?P<date>\d{4}-\d\d-\d\d)\b"
    r"|(?<![\w@])@(?P<person>[A-ZÀ-Þ][\w’'-]+ [A-ZÀ-Þ][\w’'-]+)"
    r"|\[\^(?P<note>[^\]\s]+)\]"
)
CODE_STYLE: Style = {
    "weightedFontFamily": {"fontFamily": "Roboto Mono", "weight": 400},
    "foregroundColor": {
        "color": {"rgbColor": {"red": 0.09411765, "green": 0.5019608, "blue": 0.21960784}}
    },
}
LINK_COLOR = {"color": {"rgbColor": {"red": 0.06666667, "green": 0.33333334, "blue": 0.8}}}
STYLES: Mapping[str, Style] = {
    "strong": {"bold": True},
    "b": {"bold": True},
    "em": {"italic": True},
    "i": {"italic": True},
    "s": {"strikethrough": True},
    "u": {"underline": True},
    "sup": {"baselineOffset": "SUPERSCRIPT"},
    "sub": {"baselineOffset": "SUBSCRIPT"},
    "code": CODE_STYLE,
}
SUGGESTIONS = {"ins": "suggestedInsertionIds", "del": "suggestedDeletionIds"}


@dataclass(frozen=True)
class Run:
    text: str
    style: Style = field(default_factory=dict)
    suggestion: str = ""
    """`suggestedInsertionIds`, `suggestedDeletionIds`, or empty."""


@dataclass(frozen=True)
class PersonChip:
    name: str


@dataclass(frozen=True)
class DateChip:
    date: str
    """ISO 8601."""


@dataclass(frozen=True)
class NoteMark:
    label: str


@dataclass(frozen=True)
class Picture:
    uri: str
    alt: str
    title: str


Inline = Run | PersonChip | DateChip | NoteMark | Picture


@dataclass(frozen=True, kw_only=True)
class Setting:
    """How the text around a paragraph is read."""

    base_url: str
    style: Style = field(default_factory=dict)
    notes: Container[str] = ()
    """Labels of footnotes that exist; a mark of any other one is just text."""
    newline: str = " "
    """What a line break in the source becomes: a space, or LINE_BREAK in a quoted mail."""


def read_inlines(nodes: Iterable[PageElement], setting: Setting) -> list[Inline]:
    """Inline content of a paragraph: white space collapsed, ends trimmed, equal runs joined."""
    pieces = [piece for node in nodes for piece in _read(node, setting, setting.style, "")]
    return _trim(_join(pieces))


def _read(node: PageElement, setting: Setting, style: Style, suggestion: str) -> Iterator[Inline]:
    if isinstance(node, Comment):
        return
    if isinstance(node, NavigableString):
        text = re.sub(r"[ \t]*\r?\n[ \t]*", setting.newline, str(node))
        yield from _read_text(re.sub(r"[ \t]+", " ", text), setting, style, suggestion)
        return
    if not isinstance(node, Tag):
        return
    if node.name == "br":
        yield Run(LINE_BREAK, style, suggestion)
    elif node.name == "img":
        yield Picture(_text(node, "src"), _text(node, "alt"), _text(node, "title"))
    else:
        inner = {**style, **STYLES.get(node.name, {}), **_link(node, setting.base_url)}
        mark = SUGGESTIONS.get(node.name, suggestion)
        for child in node.children:
            yield from _read(child, setting, inner, mark)


def _read_text(text: str, setting: Setting, style: Style, suggestion: str) -> Iterator[Inline]:
    if "weightedFontFamily" in style:
        yield Run(text, style, suggestion)
        return
    end = 0
    for match in MENTIONS.finditer(text):
        if match["note"] and match["note"] not in setting.notes:
            continue
        yield Run(text[end : match.start()], style, suggestion)
        end = match.end()
        if match["date"]:
            yield DateChip(match["date"])
        elif match["person"]:
            yield PersonChip(match["person"])
        else:
            yield NoteMark(match["note"])
    yield Run(text[end:], style, suggestion)


def _link(node: Tag, base_url: str) -> Style:
    target = _text(node, "href") if node.name == "a" else ""
    if not target:
        return {}
    if target.startswith("doc:"):
        target = f"{base_url}/document/d/{target.removeprefix('doc:')}/edit"
    return {"link": {"url": target}, "underline": True, "foregroundColor": LINK_COLOR}


def _text(node: Tag, attribute: str) -> str:
    value = node.get(attribute)
    return value if isinstance(value, str) else ""


def _join(pieces: Iterable[Inline]) -> list[Inline]:
    joined: list[Inline] = []
    for piece in pieces:
        if not isinstance(piece, Run):
            joined.append(piece)
            continue
        text, last = piece.text, joined[-1] if joined else None
        if isinstance(last, Run) and last.text.endswith((" ", LINE_BREAK)):
            text = text.removeprefix(" ")
        if not text:
            continue
        if isinstance(last, Run) and (last.style, last.suggestion) == (
            piece.style,
            piece.suggestion,
        ):
            joined[-1] = replace(last, text=last.text + text)
        else:
            joined.append(replace(piece, text=text))
    return joined


def _trim(pieces: list[Inline]) -> list[Inline]:
    space = " " + LINE_BREAK
    while pieces and isinstance(first := pieces[0], Run):
        if text := first.text.lstrip(space):
            pieces[0] = replace(first, text=text)
            break
        pieces.pop(0)
    while pieces and isinstance(last := pieces[-1], Run):
        if text := last.text.rstrip(space):
            pieces[-1] = replace(last, text=text)
            break
        pieces.pop()
    return pieces
