"""A runbook entry for one alert: where it stands, and the role of each of its cells."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from typing import Literal

from agents.runbooks.scopes import Scope, read_scope
from agents.runbooks.words import WORDS, is_key
from enrichment.chunk import Chunk
from enrichment.names import LINK, RATING, is_naming, says_alert

Role = Literal[
    "name", "severity", "step", "escalation", "owner", "link", "meaning", "scope", "related", ""
]
EntryKind = Literal["row", "section", "page", "item"]
TELLING = frozenset[Role](("severity", "step", "escalation", "owner", "scope", "link"))
"""Roles that no table of other things has."""
MAX_CELL_CHARS = 600
_WORDY = 12
"""Minimum average characters per cell of a column that may hold the first step."""


def _any_of(words: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(words), re.IGNORECASE)


_ROLES: tuple[tuple[Role, re.Pattern[str]], ...] = tuple(
    (role, _any_of(chain.from_iterable(words.values()))) for role, words in WORDS["roles"].items()
)
IS_DIAGNOSIS, IS_OF_ALERTS = (_any_of(WORDS[key]) for key in ("diagnosis", "alert_documents"))


@lru_cache(maxsize=10_000)  # the same headers are read again for each alert
def role_of(label: str) -> Role:
    """The role that a column header, heading or field's name implies; '' for an unknown one."""
    label = label.rpartition("›")[2].strip(" :*`?")
    if is_naming(label):
        return "name"
    roles = (role for role, words in _ROLES if words.search(label))
    return next(roles, "scope" if is_key(label) else "")


def role_of_heading(heading: str) -> Role:
    """As `role_of`; *Symptoms* names an alert above a column, and explains one as a heading."""
    explains = is_naming(heading) and not says_alert(heading)
    return "meaning" if explains else role_of(heading)


def roles_of(header: Sequence[str], columns: Sequence[Collection[str]]) -> tuple[Role, ...]:
    """The roles of a table's columns by their headers. Where none is the first step, the wordiest
    that may be is. `columns`: cells of each column."""
    roles: list[Role] = [role_of(label) for label in header]
    for possible in (("", "escalation", "link"), ("meaning",)):
        lengths = {
            at: sum(map(len, columns[at])) / max(1, len(columns[at]))
            for at, role in enumerate(roles) if role in possible
        }  # fmt: skip
        if "step" not in roles and max(lengths.values(), default=0) >= _WORDY:
            roles[max(lengths, key=lambda at: (lengths[at], at))] = "step"
    return tuple(roles)


@dataclass(frozen=True, kw_only=True)
class RunbookCell:
    label: str
    """Label of its column or field; '' without one."""
    text: str
    """Without links; code stays marked."""
    role: Role = ""
    scope: Scope | None = None
    """For which alerts; None where it doesn't say so in the language of `scopes`."""
    column: tuple[Scope, ...] = field(default=(), compare=False)
    """Those of all cells of its column."""

    @property
    def keys(self) -> set[str]:
        """Its label, and the keys of its scope."""
        return {self.label, *(key for one in self.scope or () for key in one.keys)}


@dataclass(frozen=True, kw_only=True)
class RunbookEntry:
    kind: EntryKind
    name: str
    """Name of the alert as the document writes it."""
    chunk: Chunk
    """Holds the first step."""
    place: str
    """`Title › Heading` of the table or of the alert's own heading."""
    cells: tuple[RunbookCell, ...]
    quote: str
    """Where it has no first step: the beginning of what it says."""
    links: tuple[str, ...] = ()
    """Link targets: URLs and document ids."""
    retired: bool = False
    """It, or its document, no longer holds."""

    def first(self, role: Role) -> str:
        """The text of the first cell that has this role."""
        texts = (cell.text for cell in self.cells if cell.role == role and cell.text)
        return next(texts, "")

    @property
    def key(self) -> str:
        """Stable across reindexing as long as the entry's conditions do not change."""
        deciding = {"scope", "name", "", *(("meaning", "severity") if self.kind == "row" else ())}
        conditions = "|".join(cell.text for cell in self.cells if cell.role in deciding)
        return f"{self.chunk.document_id}|{self.kind}|{self.place}|{conditions}"


def name_cells(name: str, remark: str) -> list[RunbookCell]:
    """The cells of a heading's or cell's name, and of what stands beside it."""
    role: Role = "severity" if RATING.fullmatch(remark) else "scope"
    label = "Severity" if role == "severity" else ""
    scope = RunbookCell(label=label, text=plain(remark), role=role, scope=read_scope(remark, label))
    return [RunbookCell(label="", text=name, role="name"), *([scope] if remark else [])]


def without_links(markdown: str) -> str:
    """Replaces each link with its text."""
    return LINK.sub(r"\1", markdown)


def plain(markdown: str) -> str:
    """Without links and marks of bold and strike; code stays marked."""
    return without_links(markdown).replace("**", "").replace("~~", "").strip()


def link_targets(markdown: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(target for _, target in LINK.findall(markdown)))
