"""Numbers of Google Docs list items, as the document shows them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from loaders.docs.docs_node import Node
from loaders.numbering import number

MAX_LEVEL = 8
"""Google Docs has nine levels, 0 to 8."""
_KINDS = {
    "DECIMAL": "1", "ZERO_DECIMAL": "01", "UPPER_ALPHA": "A", "ALPHA": "a",
    "UPPER_ROMAN": "I", "ROMAN": "i",
}  # fmt: skip
_PLACEHOLDER = re.compile(r"%(\d)")


@dataclass
class ListNumbers:
    """Counts the items of each list; lists go on across other content, as in Docs."""

    lists: Mapping[str, Node]
    _counts: dict[str, dict[int, int]] = field(default_factory=dict)
    _levels: dict[str, list[Node]] = field(default_factory=dict)

    def next(self, bullet: Node) -> tuple[str, int]:
        """(marker, nesting level) of the next item: `-`, or its number, e.g. `2.` or `b)`."""
        level = bullet.number("nestingLevel", 0)
        if not 0 <= level <= MAX_LEVEL:
            bullet.warn(f"{bullet.place}.nestingLevel: {level} is not between 0 and {MAX_LEVEL}")
            level = min(max(level, 0), MAX_LEVEL)
        name = bullet.text("listId")
        if name not in self.lists:
            bullet.warn(f"{bullet.place}: its list {name!r} is not in the document")
            return "-", level
        counts = self._counts.setdefault(name, {})
        for deeper in [known for known in counts if known > level]:
            del counts[deeper]
        counts[level] = counts[level] + 1 if level in counts else self._start(name, level)
        return self._marker(name, level, counts), level

    def _marker(self, name: str, level: int, counts: Mapping[int, int]) -> str:
        node = self._level(name, level)
        kind = _KINDS.get(node.text("glyphType")) if node else None
        if node is None or kind is None:
            return "-"

        def shown(found: re.Match[str]) -> str:
            other = int(found[1])
            return self._number(name, other, counts.get(other, self._start(name, other)))

        marker = _PLACEHOLDER.sub(shown, node.text("glyphFormat") or f"%{level}.").strip()
        return marker if any(letter.isalnum() for letter in marker) else "-"

    def _number(self, name: str, level: int, value: int) -> str:
        node = self._level(name, level)
        kind = _KINDS.get(node.text("glyphType"), "") if node else ""
        if not kind:
            return ""
        return f"{value:02d}" if kind == "01" else number(value, kind)

    def _start(self, name: str, level: int) -> int:
        node = self._level(name, level)
        return node.number("startNumber", 1) if node else 1

    def _level(self, name: str, level: int) -> Node | None:
        if name not in self._levels:
            properties = self.lists[name].child("listProperties")
            self._levels[name] = list(properties.children("nestingLevels")) if properties else []
        levels = self._levels[name]
        return levels[level] if level < len(levels) else None
