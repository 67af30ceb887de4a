"""Footnotes of markdown-it, mammoth and Google's export: references marked, notes taken out."""

from __future__ import annotations

import re

from bs4 import BeautifulSoup, Tag

from loaders.files.html_inline import attribute, inline

_TARGET = re.compile(r"#(?:fn|ftnt|footnote-|endnote-)(?!_?ref)(\w+)")
_BACK = re.compile(r"#(?:fnref|ftnt_ref|footnote-ref-|endnote-ref-)")


def take_footnotes(soup: BeautifulSoup) -> dict[str, tuple[str, str]]:
    """Label → (text, markdown). References become `<footnote-ref label>`."""
    notes: dict[str, tuple[str, str]] = {}
    targets: dict[str, Tag] = {}
    for element in soup.find_all(id=True):
        targets.setdefault(attribute(element, "id"), element)
    for link in soup.find_all("a", href=_TARGET):
        found = None if link.decomposed else _TARGET.fullmatch(attribute(link, "href"))
        if not found:
            continue
        target = targets.get(attribute(link, "href")[1:])
        label = re.sub(r"[\[\]\s:]", "", link.get_text()) or found[1]
        if target is None or target.decomposed or target is link or not link.get("id"):
            continue
        reference = soup.new_tag("footnote-ref", attrs={"label": label})
        around = link.parent
        alone = around is not None and around.name == "sup" and len(around.contents) == 1
        (around if alone and around is not None else link).replace_with(reference)
        note = _note_of(target)
        if label not in notes and note is not None:
            notes[label] = _take(note)
    for back in soup.find_all("a", href=_BACK):  # of notes that nobody refers to
        back.decompose()
    for section in soup.find_all(["section", "ol"]):
        if section.name == "section" and "footnotes" not in attribute(section, "class"):
            continue
        if not section.get_text().strip() and not section.find("img"):
            section.decompose()
    for rule in soup.find_all("hr", class_="footnotes-sep"):
        rule.decompose()
    return notes


def _note_of(target: Tag) -> Tag | None:
    """The element that holds the note: the target itself, or the block around a target link."""
    if target.name != "a":
        return target
    return target.find_parent(["p", "div", "li"])


def _take(note: Tag) -> tuple[str, str]:
    for back in note.find_all("a", href=_BACK):
        back.decompose()
    parts = note.find_all("p") or [note]
    texts = [inline(list(part.children)) for part in parts]
    note.decompose()
    return (
        "\n".join(text.strip("\xa0 ") for text, _ in texts if text),
        "\n".join(markdown.strip("\xa0 ") for _, markdown in texts if markdown),
    )
