"""HTML lists: markers as shown, and depth."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bs4 import Tag

from loaders.files.html_inline import attribute
from loaders.numbering import number

_EXPORTED_LEVEL = re.compile(r"(?<!\S)lst-\S+-(\d)\b")
_STYLES = {
    "lower-alpha": "a", "lower-latin": "a", "upper-alpha": "A", "upper-latin": "A",
    "lower-roman": "i", "upper-roman": "I",
}  # fmt: skip


def item_markers(element: Tag) -> Iterator[tuple[Tag, str]]:
    """Each `<li>` with `-` or its number."""
    value = _integer(attribute(element, "start"), 1)
    kind = _kind(element)
    for item in element.find_all("li", recursive=False):
        if element.name == "ul":
            yield item, "-"
            continue
        value = _integer(attribute(item, "value"), value)
        yield item, f"{number(value, kind)}."
        value += 1


def list_level(element: Tag) -> int:
    """Depth from 0. Google exports each level as a list of its own, with the level in its class."""
    exported = _EXPORTED_LEVEL.search(attribute(element, "class"))
    if exported:
        return int(exported[1])
    level = 0
    for parent in element.parents:
        if parent.name in ("td", "th"):
            break
        level += parent.name in ("ul", "ol")
    return level


def _kind(element: Tag) -> str:
    style = attribute(element, "style").lower()
    for name, kind in _STYLES.items():
        if name in style:
            return kind
    declared = attribute(element, "type")
    return declared if declared in ("a", "A", "i", "I") else "1"


def _integer(value: str, default: int) -> int:
    return int(value) if re.fullmatch(r"-?\d{1,9}", value.strip()) else default
