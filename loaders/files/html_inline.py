"""Inline HTML → Markdown, with markdownify and this project's escapes, links and footnotes.

Also reads footnotes of markdown-it and Google's export, and list markers and levels."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import takewhile
from typing import Any

from bs4 import BeautifulSoup, Tag
from bs4.element import PageElement
from markdownify import MarkdownConverter

from loaders.tables.cells import Line, lines_to_text
from loaders.text.markdown import clean, code_span, destination, escape
from loaders.text.plain import number, plain_text

_EMPHASIS = ["b", "strong", "i", "em", "del", "s", "strike"]
_NO_ADDRESS = re.compile(r"\s*(?:(?:javascript|data|vbscript|about):|$)", re.IGNORECASE)
_PERMALINK = "¶"
"""Shown for a link to the place itself."""
UNSEEN = dict.fromkeys(map(ord, "\xad\u200b\u2060"))
"""Soft hyphens, and places where a line may or may not break: a search stumbles on them, and a
command fails."""
_EXPONENT = re.compile(r"[-−]?\d+")


class _Inline(MarkdownConverter):
    """Converts inline elements only. Other modules read blocks, lists and tables."""

    class Options:
        autolinks = False
        wrap = True  # line breaks in the source are white space
        wrap_width = None

    def escape(self, text: str, parent_tags: set[str]) -> str:
        return escape(clean(text))

    def convert_a(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        href, core = str(el.get("href") or ""), text.strip()
        if core == _PERMALINK and href.startswith("#"):
            return ""
        if not core or _NO_ADDRESS.match(href) or "_noformat" in parent_tags:
            return text
        start, end = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
        return f"{start}[{core}]({destination(href)}){end}"

    def convert_br(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        return "\n"

    def convert_code(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        if "_noformat" in parent_tags:
            return text
        return "\n".join(map(code_span, text.split("\n")))

    convert_kbd = convert_samp = convert_tt = convert_code

    def convert_img(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        source = str(el.get("src") or "")
        alt = escape(str(el.get("alt") or el.get("title") or ""))
        return f"![{alt}]({'' if source.startswith('data:') else destination(source)})"

    def convert_input(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        if el.get("type") == "checkbox":
            return "[x] " if el.has_attr("checked") else "[ ] "
        is_seen = el.get("type") not in ("hidden", "password", "radio")
        return f" {el.get('value') or ''} " if is_seen else " "

    def convert_select(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        return f" {text} "

    def convert_sup(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        before = el.previous_sibling
        base = before.get_text() if before else ""
        power = _EXPONENT.fullmatch(text) and base[-1:].isdigit()
        return f"^{text}" if power else text

    def convert_footnote_ref(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        return f"[^{el.get('label')}]"

    def convert_q(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        return f"“{text}”"


_RICH: Any = _Inline()
_PLAIN: Any = _Inline(strip=_EMPHASIS)


def inline(nodes: Iterable[PageElement]) -> tuple[str, str]:
    """Neighboring nodes → (plain text, inline markdown). A line break is `\\n` in both."""
    nodes = list(nodes)
    if not any(isinstance(node, Tag) for node in nodes):
        text = _tidy(clean("".join(map(str, nodes))).replace("\n", " "))
        return text, escape(text)
    markdown = _tidy("".join(_RICH.process_element(node, set()) for node in nodes))
    text = plain_text(markdown)
    if text.count("*") != sum(node.get_text().count("*") for node in nodes):
        # Markdown reads emphasis without white space around it, e.g. `**a***b*`, as stars.
        markdown = _tidy("".join(_PLAIN.process_element(node, set()) for node in nodes))
        text = plain_text(markdown)
    return text, markdown


def _tidy(markdown: str) -> str:
    """White space as a browser shows it."""
    spaced = re.sub(r"[ \t]+", " ", markdown.translate(UNSEEN))
    return re.sub(r"[ \t]*\n[ \t]*", "\n", spaced).strip()


def attribute(element: Tag, name: str) -> str:
    value: Any = element.get(name)
    return " ".join(value) if isinstance(value, list) else str(value or "")


_TARGET = re.compile(r"#(?:fn|ftnt|footnote-|endnote-)(?!_?ref)(\w+)")
_BACK = re.compile(r"#(?:fnref|ftnt_ref|footnote-ref-|endnote-ref-)")


def take_footnotes(
    soup: BeautifulSoup, read_lines: Callable[[Tag], list[Line]]
) -> dict[str, tuple[str, str]]:
    """Removes footnotes and returns label → (text, markdown).

    References become `<footnote-ref label>`."""
    addresses = [attribute(link, "href") for link in soup.find_all("a", href=True)]
    if not any(_TARGET.search(one) or _BACK.search(one) for one in addresses):
        return {}
    notes: dict[str, tuple[str, str]] = {}
    targets: dict[str, Tag] = {}
    labels: dict[str, str] = {}
    for element in soup.find_all(id=True):
        targets.setdefault(attribute(element, "id"), element)
    for link in soup.find_all("a", href=_TARGET):
        match = None if link.decomposed else _TARGET.fullmatch(attribute(link, "href"))
        if not match:
            continue
        target = targets.get(attribute(link, "href")[1:])
        label = labels.get(match[1]) or re.sub(r"[\[\]\s:]", "", link.get_text()) or match[1]
        is_read = match[1] in labels
        if target is None or target.decomposed > is_read or target is link or not link.get("id"):
            continue
        labels[match[1]] = label
        reference = soup.new_tag("footnote-ref", attrs={"label": label})
        around = link.parent
        alone = around is not None and around.name == "sup" and len(around.contents) == 1
        (around if alone and around is not None else link).replace_with(reference)
        # Where the target is a link inside the note, the note is the block around it.
        note = target.find_parent(["p", "div", "li"]) if target.name == "a" else target
        if label not in notes and note is not None:
            notes[label] = _take(note, read_lines)
    for back in soup.find_all("a", href=_BACK):  # in notes without a reference
        back.decompose()
    for section in soup.find_all(["section", "ol"]):
        if section.name == "section" and "footnotes" not in attribute(section, "class"):
            continue
        if not section.get_text().strip() and not section.find("img"):
            section.decompose()
    for rule in soup.find_all("hr", class_="footnotes-sep"):
        rule.decompose()
    return notes


def _take(note: Tag, read_lines: Callable[[Tag], list[Line]]) -> tuple[str, str]:
    """(text, markdown) of its paragraphs, list items and lines of code, one a line."""
    for back in note.find_all("a", href=_BACK):
        back.decompose()
    lines = read_lines(note)
    note.decompose()
    # The list of the notes themselves is no level of theirs.
    outer = min((line.level for line in lines if line.marker), default=0)
    lines = [replace(line, level=max(line.level - outer, 0)) for line in lines]
    markdown = [replace(line, text=line.markdown) for line in lines]
    return lines_to_text(lines).strip("\xa0 "), lines_to_text(markdown).strip("\xa0 ")


_EXPORTED_LEVEL = re.compile(r"(?<!\S)lst-\S+-(\d)\b")
_STYLES = {
    "lower-alpha": "a", "lower-latin": "a", "upper-alpha": "A", "upper-latin": "A",
    "lower-roman": "i", "upper-roman": "I",
}  # fmt: skip


def item_markers(element: Tag) -> Iterator[tuple[Tag, str]]:
    """Yields each `<li>` with its marker, `-` or its number."""
    items = element.find_all("li", recursive=False)
    step = -1 if element.has_attr("reversed") else 1
    value = _integer(attribute(element, "start"), 1 if step > 0 else len(items))
    kind = _kind(element)
    for item in items:
        if element.name == "ul":
            yield item, "-"
            continue
        value = _integer(attribute(item, "value"), value)
        yield item, f"{number(value, kind)}."
        value += step


def list_level(element: Tag) -> int:
    """Nesting level from 0.

    Google exports each level as a separate list, with the level in its class."""
    exported = _EXPORTED_LEVEL.search(attribute(element, "class"))
    if exported:
        return int(exported[1])
    inside_cell = takewhile(lambda parent: parent.name not in ("td", "th"), element.parents)
    return sum(parent.name in ("ul", "ol") for parent in inside_cell)


def _kind(element: Tag) -> str:
    style = attribute(element, "style").lower()
    for name, kind in _STYLES.items():
        if name in style:
            return kind
    declared = attribute(element, "type")
    return declared if declared in ("a", "A", "i", "I") else "1"


def _integer(value: str, default: int) -> int:
    return int(value) if re.fullmatch(r"-?\d{1,9}", value.strip()) else default
