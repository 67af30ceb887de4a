"""Inline HTML → markdown, by markdownify, with this project's escapes, links and notes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from bs4 import Tag
from bs4.element import PageElement
from markdownify import MarkdownConverter

from loaders.inline import clean, destination, escape
from loaders.plain import plain_text

_EMPHASIS = ["b", "strong", "i", "em", "del", "s", "strike"]
_EXPONENT = re.compile(r"[-−]?\d+")


class _Inline(MarkdownConverter):
    """Only inline elements reach it: blocks, lists and tables are read by their own modules."""

    class Options:
        autolinks = False
        wrap = True  # white space in the source is only white space
        wrap_width = None

    def escape(self, text: str, parent_tags: set[str]) -> str:
        return escape(clean(text))

    def convert_a(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        href, core = str(el.get("href") or ""), text.strip()
        if not core or not href or "_noformat" in parent_tags:
            return text
        start, end = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
        return f"{start}[{core}]({destination(href)}){end}"

    def convert_br(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        return "\n"

    def convert_img(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        source = str(el.get("src") or "")
        alt = escape(str(el.get("alt") or el.get("title") or ""))
        return f"![{alt}]({'' if source.startswith('data:') else destination(source)})"

    def convert_input(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        if el.get("type") == "checkbox":
            return "[x] " if el.has_attr("checked") else "[ ] "
        return str(el.get("value") or "")

    def convert_sup(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        before = el.previous_sibling
        power = _EXPONENT.fullmatch(text) and str(before or "")[-1:].isdigit()
        return f"^{text}" if power else text

    def convert_footnote_ref(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        return f"[^{el.get('label')}]"

    def convert_q(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        return f"“{text}”"


_RICH: Any = _Inline()
_PLAIN: Any = _Inline(strip=_EMPHASIS)


def inline(nodes: Iterable[PageElement]) -> tuple[str, str]:
    """(plain text, inline markdown) of neighbouring nodes; a line break is `\\n` in both."""
    nodes = list(nodes)
    if not any(isinstance(node, Tag) for node in nodes):
        text = _tidy(clean("".join(map(str, nodes))).replace("\n", " "))
        return text, escape(text)
    markdown = _tidy("".join(_RICH.process_element(node, set()) for node in nodes))
    text = plain_text(markdown)
    if text.count("*") != sum(node.get_text().count("*") for node in nodes):
        # Emphasis without white space around it, e.g. `**a***b*`, is read as stars.
        markdown = _tidy("".join(_PLAIN.process_element(node, set()) for node in nodes))
        text = plain_text(markdown)
    return text, markdown


def _tidy(markdown: str) -> str:
    return re.sub(r"[ \t]*\n[ \t]*", "\n", re.sub(r"[ \t]+", " ", markdown)).strip()


def attribute(element: Tag, name: str) -> str:
    value: Any = element.get(name)
    return " ".join(value) if isinstance(value, list) else str(value or "")
