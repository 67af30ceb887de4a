"""A place in the documents that says what to do about one alert."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from agents.alerts.runbook_roles import Role
from enrichment.chunk import Chunk

_LINKED = re.compile(r"\[([^\[\]]*)\]\([^()\s]*\)")

EntryKind = Literal["row", "section", "introduction"]


@dataclass(frozen=True, kw_only=True)
class RunbookCell:
    label: str
    """Of its column or field; '' where it has none."""
    text: str
    role: Role = ""
    marked: str = ""
    """The text with its code marked; '' where nothing is."""

    @property
    def shown(self) -> str:
        return self.marked or self.text


@dataclass(frozen=True, kw_only=True)
class RunbookEntry:
    kind: EntryKind
    name: str
    """Of the alert, as the document writes it."""
    exact: bool
    """Spelled as in the alert, case aside."""
    chunk: Chunk
    group: str
    """The same for rows of one table, and for sections of one document."""
    cells: tuple[RunbookCell, ...]
    quote: str
    links: tuple[str, ...] = ()
    """Where it links to: addresses, and ids of documents."""
    in_force: bool = True
    beside: tuple[tuple[str, ...], ...] = ()
    """The values of each column of the table, for telling what are alternatives."""

    def first(self, role: Role) -> str:
        """The text of the first cell that has this role."""
        return next((cell.shown for cell in self.cells if cell.role == role and cell.text), "")

    @property
    def rank(self) -> tuple[bool, bool, int, int]:
        """The higher the better: current, spelled alike, a row before a heading, and how much of
        what somebody on call needs first it tells."""
        tells = sum(bool(self.first(role)) for role in ("step", "severity", "escalation"))
        kinds = {"row": 2, "section": 2, "introduction": 0}
        return self.in_force, self.exact, kinds[self.kind], tells

    @property
    def key(self) -> str:
        """The same after the documents were read again, as long as its conditions are."""
        told = "|".join(cell.text for cell in self.cells if cell.role in {"scope", "name", ""})
        return f"{self.chunk.document_id}|{self.kind}|{self.chunk.heading}|{told}"


def unlinked(markdown: str) -> str:
    """With the words of its links alone."""
    return _LINKED.sub(r"\1", markdown)
