"""Simplifies Google's HTML export: converts styles of CSS classes to elements."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

from bs4 import BeautifulSoup, Tag

from loaders.files.html_inline import attribute
from loaders.text.markdown import is_monospace

_RULE = re.compile(r"\.(c\d{1,9}+|title|subtitle)\s{0,9}+\{([^{}]{0,1000}+)\}")
_LIST_RULE = re.compile(
    r"\.(lst-[\w-]{1,60}+)\s{0,9}+>\s{0,9}+li:before\s{0,9}+"
    r"\{[^{}]{0,200}?counter\([^,(){}]{1,100}+,\s{0,9}+([\w-]{1,40}+)"
)
_MAX_CLASSES = 10
"""Classes of one element. Google's exports have two or three."""
_SOURCE_INDENT = re.compile(r"[ \t\r]*\n[ \t\r\n]*")
_HARD_BREAK = "\x1f"


def simplify_export(soup: BeautifulSoup) -> None:
    """Simplifies an export in place. In other pages it only resolves Google's link redirects."""
    for link in soup.find_all("a", href=re.compile(r"^https://www\.google\.com/url\?")):
        target = parse_qs(urlsplit(attribute(link, "href")).query).get("q")
        if target:
            link["href"] = target[0]
    sheet = "\n".join(style.get_text() for style in soup.find_all("style"))
    rules = {name: body.lower() for name, body in _RULE.findall(sheet)}
    if not rules:
        return
    for span in soup.find_all("span"):
        _tag_looks(soup, span, _style_of(span, rules))
    for cell in soup.find_all(["td", "th"]):
        background = re.search(r"background-color:[^;]+", _style_of(cell, rules))
        if background and not cell.get("style"):
            cell["style"] = background.group()
    for name, kind in _LIST_RULE.findall(sheet):
        for element in soup.find_all("ol", class_=name):
            element["style"] = f"list-style-type:{kind}"
    for paragraph in soup.find_all("p", class_="title"):
        paragraph.name = "h1"
    _join_code(soup)


def _style_of(element: Tag, rules: dict[str, str]) -> str:
    names = attribute(element, "class").split()[:_MAX_CLASSES]
    return ";".join([*(rules.get(name, "") for name in names), attribute(element, "style").lower()])


def _tag_looks(soup: BeautifulSoup, span: Tag, style: str) -> None:
    in_heading = span.find_parent(re.compile(r"^h[1-6]$")) is not None
    families = re.findall(r"font-family:([^;]*)", style)
    looks = [
        ("code", bool(families) and is_monospace(families[-1])),
        ("b", bool(re.search(r"font-weight:\s*(?:[7-9]00|bold)", style)) and not in_heading),
        ("i", bool(re.search(r"font-style:\s*italic", style))),
        ("s", "line-through" in style),
    ]
    for name, applies in looks:
        if applies and span.get_text().strip():
            span.wrap(soup.new_tag(name))


def _join_code(soup: BeautifulSoup) -> None:
    """Joins neighboring monospace paragraphs into one code block."""
    for paragraph in soup.find_all("p"):
        if paragraph.parent is None or not _all_code(paragraph):
            continue
        run = [paragraph]
        while True:
            following = run[-1].find_next_sibling()
            if not isinstance(following, Tag) or following.name != "p":
                break
            if not _all_code(following) and not _blank_in_code(following):
                break
            run.append(following)
        while not _all_code(run[-1]):
            run.pop()
        block = soup.new_tag("pre")
        block.string = "\n".join(_code_text(line) for line in run)
        paragraph.insert_before(block)
        for line in run:
            line.extract()


def _all_code(paragraph: Tag) -> bool:
    texts = [node for node in paragraph.find_all(string=True) if node.strip()]
    return bool(texts) and all(node.find_parent("code") for node in texts)


def _blank_in_code(paragraph: Tag) -> bool:
    following = paragraph.find_next_sibling()
    blank = not paragraph.get_text().strip()
    return blank and isinstance(following, Tag) and following.name == "p" and _all_code(following)


def _code_text(paragraph: Tag) -> str:
    for line_break in paragraph.find_all("br"):
        line_break.replace_with(_HARD_BREAK)
    text = _SOURCE_INDENT.sub("", paragraph.get_text()).replace(_HARD_BREAK, "\n")
    return text.replace("\xa0", " ").strip("\n")
