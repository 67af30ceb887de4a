"""Reads a JSON response safely.

Null counts as absent. A wrong type causes a warning that names its place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Warn = Callable[[str], None]
_TYPES: dict[type, str] = {
    dict: "an object", list: "a list", str: "a text", bool: "true or false", int: "a number",
    float: "a number", type(None): "null",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Node:
    """A JSON object and its path in the response."""

    value: Mapping[str, Any]
    warn: Warn
    key: str = ""
    parent: Node | None = None

    @property
    def place(self) -> str:
        """E.g. `tabs[0].documentTab.body.content[3].paragraph`."""
        steps: list[str] = []
        node: Node | None = self
        while node is not None:
            if node.key:
                steps.append(node.key)
            node = node.parent
        return ".".join(reversed(steps))

    def has(self, name: str) -> bool:
        return self.value.get(name) is not None

    def child(self, name: str) -> Node | None:
        value = self.value.get(name)
        if isinstance(value, dict):
            return Node(value, self.warn, name, self)
        if value is not None:
            self._unexpected(name, "an object", value)
        return None

    def section(self, name: str) -> Node:
        """Like `child`, but empty when it is missing."""
        return self.child(name) or Node({}, self.warn, name, self)

    def at(self, *names: str) -> Node | None:
        """The object at a path; None when a step is missing."""
        node: Node | None = self
        for name in names:
            node = node.child(name) if node else None
        return node

    def children(self, name: str) -> Iterator[Node]:
        value = self.value.get(name)
        if value is None:
            return
        if not isinstance(value, list | tuple):
            self._unexpected(name, "a list", value)
            return
        for index, item in enumerate(value):
            if isinstance(item, dict):
                yield Node(item, self.warn, f"{name}[{index}]", self)
            elif item is not None:
                self._unexpected(f"{name}[{index}]", "an object", item)

    def entries(self, name: str) -> dict[str, Node]:
        """A map's entries that are objects, by key."""
        holder = self.section(name)
        children = {key: holder.child(key) for key in holder.value}
        return {key: node for key, node in children.items() if node is not None}

    def text(self, name: str) -> str:
        value = self.value.get(name)
        if isinstance(value, str):
            return value
        if value is not None:
            self._unexpected(name, "a text", value)
        return ""

    def number(self, name: str, default: int) -> int:
        value = self.value.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            if value is not None:
                self._unexpected(name, "a number", value)
            return default
        if value != value or abs(value) > 2**53 or value != int(value):
            self._unexpected(name, "a whole number", value)
            return default
        return int(value)

    def flag(self, name: str) -> bool:
        value = self.value.get(name)
        if value is not None and not isinstance(value, bool):
            self._unexpected(name, "true or false", value)
        return value is True

    def suggested(self) -> bool:
        """Whether this is a suggested insertion that nobody has accepted yet."""
        return bool(self.value.get("suggestedInsertionIds"))

    def skipped(self, why: str) -> None:
        self.warn(f"skipped {self.place}: {why}")

    def _unexpected(self, name: str, expected: str, value: object) -> None:
        type_name = _TYPES.get(type(value), "something else")
        place = f"{self.place}.{name}" if self.place else name
        self.warn(f"skipped {place}: expected {expected}, found {type_name}")
