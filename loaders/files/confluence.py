"""Confluence's storage format in HTML: macros, links to pages, tasks and dates → plain elements."""

from __future__ import annotations

import html
import re

from bs4 import BeautifulSoup, Tag

from loaders.files.html_inline import attribute

_CDATA = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.DOTALL)
_CLOSED = re.compile(r"<((?:[a-z]\w*:[\w-]+|time)\b[^<>]*)/>", re.IGNORECASE)
_DECLARATION = re.compile(r"\A\s*<\?xml\b[^<>]*>", re.IGNORECASE)
_CALLOUTS = frozenset(("info", "note", "tip", "warning"))
_SIGNS = {
    "tick": "✓", "cross": "✗", "warning": "⚠", "information": "ℹ", "plus": "+", "minus": "−",
    "question": "?", "yellow-star": "★",
}  # fmt: skip
_NOT_SHOWN = ["ac:adf-attribute", "ac:adf-fallback", "ac:placeholder", "ac:task-id", "ac:task-uuid"]
_RESOURCES = ["ri:attachment", "ri:blog-post", "ri:content-entity", "ri:page", "ri:space", "ri:url"]
_NAMES = ("ri:content-title", "ri:filename", "ri:value", "ri:space-key")


def as_html(source: str) -> str:
    """Writes CDATA sections as escaped text, and closes empty elements of other vocabularies.

    HTML knows neither: it takes code for a comment, and all that follows `<ri:page/>` for its
    content."""
    end = source.rfind("]]>") + 3
    if end > 2 and "<![CDATA[" in source:
        text = _CDATA.sub(lambda match: html.escape(match[1], quote=False), source[:end])
        source = text + source[end:]
    source = _CLOSED.sub(lambda match: f"<{match[1]}></{match[1].split()[0]}>", source)
    return _DECLARATION.sub("", source) + "\n"  # the parser warns of XML, and of what may be a path


def simplify_storage(soup: BeautifulSoup) -> None:
    """Simplifies in place."""
    for moment in soup.find_all("time", datetime=True):
        if not moment.get_text().strip():
            moment.string = attribute(moment, "datetime")
    if soup.find(re.compile("^ac:")) is None:
        return
    for element in soup.find_all(_NOT_SHOWN):
        element.decompose()
    for sign in soup.find_all("ac:emoticon"):
        name = attribute(sign, "ac:name")
        sign.replace_with(attribute(sign, "ac:emoji-fallback") or _SIGNS.get(name, f"({name})"))
    for picture in soup.find_all("ac:image"):
        _picture(soup, picture)
    for resource in soup.find_all(_RESOURCES):
        link = resource.find_parent("ac:link")
        name = next(filter(None, (attribute(resource, one) for one in _NAMES)), "")
        resource.replace_with("" if link and link.get_text().strip() else name)
    for task in soup.find_all("ac:task"):
        task.name = "li"
        if isinstance(status := task.find("ac:task-status"), Tag):
            status.string = "[x] " if status.get_text().strip() == "complete" else "[ ] "
    for tasks in soup.find_all("ac:task-list"):
        tasks.name = "ul"
    for macro in soup.find_all(["ac:structured-macro", "ac:macro"]):
        _macro(soup, macro)


def _picture(soup: BeautifulSoup, picture: Tag) -> None:
    resource = picture.find(_RESOURCES)
    file, address = (
        attribute(resource, name) if isinstance(resource, Tag) else ""
        for name in ("ri:filename", "ri:value")
    )
    alt = attribute(picture, "ac:alt") or attribute(picture, "ac:title") or file
    picture.insert_before(soup.new_tag("img", attrs={"alt": alt, "src": address}))
    for part in picture.find_all(_RESOURCES):
        part.decompose()
    picture.name = "span"  # it may hold a caption


def _macro(soup: BeautifulSoup, macro: Tag) -> None:
    """A macro with a body becomes a box under its title, one without its title alone."""
    settings: dict[str, str] = {}
    for parameter in macro.find_all("ac:parameter", recursive=False):
        settings[attribute(parameter, "ac:name")] = parameter.get_text(" ").strip()
        parameter.decompose()
    name, title = attribute(macro, "ac:name"), settings.get("title", "")
    plain = macro.find("ac:plain-text-body", recursive=False)
    rich = macro.find("ac:rich-text-body", recursive=False)
    if not isinstance(plain, Tag) and not isinstance(rich, Tag):
        macro.name = "span"
        macro.insert(
            0, title or settings.get("key") or settings.get("page") or settings.get("", "")
        )
        return
    macro.name = "div"
    if isinstance(plain, Tag):
        plain.name = "pre"
        plain["class"] = f"language-{settings.get('language', 'none')}"
    if isinstance(rich, Tag):
        rich.name = "div"
        macro.name = "blockquote" if name in _CALLOUTS or name == "panel" else "div"
        title = title or (name.capitalize() if name in _CALLOUTS else "")
    if title:
        line = soup.new_tag("p")
        line.append(soup.new_tag("strong", string=title))
        macro.insert(0, line)
