"""Styles of a Word file: what a paragraph is, and how its text looks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from loaders.text.markdown import is_monospace
from loaders.word.package import Element, W, child, is_on, number, value

Look = Mapping[str, bool]
"""Flags that are stated: bold, italic, strike, code, hidden, raised."""
_FLAGS = {
    "b": "bold", "i": "italic", "strike": "strike", "dstrike": "double", "vanish": "hidden",
}  # fmt: skip
_QUOTES = ("quote", "intense quote")
_MAX_CHAIN = 50
_HEADING = re.compile(r"heading(?: (\d))?|title")


@dataclass(frozen=True)
class ParagraphStyle:
    name: str
    """Its id in the file."""
    kind: Literal["", "heading", "quote", "code"]
    level: int
    """Heading: 1 to 6."""
    list_id: str
    """`w:numId` of the nearest style that states one."""
    list_levels: tuple[tuple[str, str], ...]
    """Id and `w:ilvl` of it and of the styles that it is based on, the nearest first."""
    look: Look


PLAIN = ParagraphStyle(name="", kind="", level=0, list_id="", list_levels=(), look={})


class Styles:
    """Word's names of built-in styles are English in every language; only ids are localized."""

    def __init__(self, root: Element | None) -> None:
        self._styles: dict[str, Element] = {}
        self._defaults: dict[str, str] = {}
        for style in () if root is None else root.iterchildren(f"{W}style"):
            name, kind = style.get(f"{W}styleId", ""), style.get(f"{W}type", "paragraph")
            self._styles.setdefault(name, style)
            if style.get(f"{W}default") in ("1", "true", "on"):
                self._defaults.setdefault(kind, name)
        self._paragraphs: dict[str, ParagraphStyle] = {}
        self._looks: dict[str, Look] = {}
        self._read: dict[str, _Style] = {}
        base = self._look_of(self._defaults.get("paragraph", ""))
        defaults = look(child(root, "docDefaults/rPrDefault/rPr"))
        self._typewritten = bool({**defaults, **base}.get("code"))
        """Whether all plain text is monospaced, so that it marks nothing."""

    def paragraph(self, properties: Element | None) -> ParagraphStyle:
        name = value(properties, "pStyle") or self._defaults.get("paragraph", "")
        if name not in self._paragraphs:
            self._paragraphs[name] = self._paragraph(name)
        return self._paragraphs[name]

    def text(self, style: ParagraphStyle, properties: Element | None) -> Look:
        """How a run looks: by its paragraph's style, its own style, and itself."""
        if properties is None:
            whole = style.look
        else:
            own = self._look_of(value(properties, "rStyle"))
            whole = {**style.look, **own, **look(properties)}
        return {**whole, "code": False} if self._typewritten and whole.get("code") else whole

    def list_of(self, name: str) -> str:
        """The `w:numId` of a list style."""
        return value(self._styles.get(name), "pPr/numPr/numId")

    def first_row(self, name: str) -> bool:
        """Whether a table style makes its first row stand out."""
        for style in self._chain(name):
            for special in self._styles[style.name].iterchildren(f"{W}tblStylePr"):
                if special.get(f"{W}type") == "firstRow":
                    bold = is_on(child(special, "rPr/b"))
                    return bold or child(special, "tcPr/shd") is not None
        return False

    def _chain(self, name: str) -> list[_Style]:
        """The style and those it is based on, the nearest first. A circle ends, and so does a chain
        longer than any of Word's."""
        chain: dict[str, _Style] = {}
        while name in self._styles and name not in chain and len(chain) < _MAX_CHAIN:
            if name not in self._read:
                self._read[name] = _Style.read(name, self._styles[name])
            chain[name] = self._read[name]
            name = chain[name].based_on
        return list(chain.values())

    def _paragraph(self, name: str) -> ParagraphStyle:
        chain = self._chain(name)
        kind: Literal["", "heading", "quote", "code"] = ""
        level = 0
        for style in chain:
            if style.outline:
                kind, level = as_heading(style.outline)
                break
            if match := _HEADING.fullmatch(style.title):
                kind, level = "heading", min(int(match[1] or 1), 6)
                break
            if style.title in _QUOTES or style.title == "html preformatted":
                kind = "quote" if style.title in _QUOTES else "code"
                break
        return ParagraphStyle(
            name=name,
            kind=kind,
            level=level,
            list_id=next((style.list_id for style in chain if style.list_id), ""),
            list_levels=tuple((style.name, style.list_level) for style in chain),
            look=self._look_of(name),
        )

    def _look_of(self, name: str) -> Look:
        if name not in self._looks:
            merged: dict[str, bool] = {}
            for style in reversed(self._chain(name)):
                merged |= style.look
            self._looks[name] = merged
        return self._looks[name]


@dataclass(frozen=True)
class _Style:
    """What one style states itself."""

    name: str
    title: str
    based_on: str
    outline: str
    list_id: str
    list_level: str
    look: Look

    @staticmethod
    def read(name: str, style: Element) -> _Style:
        return _Style(
            name=name,
            title=value(style, "name").lower(),
            based_on=value(style, "basedOn"),
            outline=value(style, "pPr/outlineLvl"),
            list_id=value(style, "pPr/numPr/numId"),
            list_level=value(style, "pPr/numPr/ilvl"),
            look=look(child(style, "rPr")),
        )


def as_heading(outline: str) -> tuple[Literal["", "heading"], int]:
    """An outline level, 0 to 8, or 9 for body text."""
    level = number(outline, 9)
    return ("heading", min(level + 1, 6)) if 0 <= level < 9 else ("", 0)


def look(properties: Element | None) -> Look:
    """What a `w:rPr` states itself."""
    flags: dict[str, bool] = {}
    for one in () if properties is None else properties:
        name = one.tag.rpartition("}")[2]
        if name in _FLAGS:
            flags[_FLAGS[name]] = is_on(one)
        elif name == "rFonts":
            font = one.get(f"{W}ascii") or one.get(f"{W}hAnsi")
            if font:
                flags["code"] = is_monospace(font)
        elif name == "vertAlign":
            flags["raised"] = one.get(f"{W}val") == "superscript"
    return flags
