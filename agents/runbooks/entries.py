"""A runbook entry for one alert, and the role of each of its cells.

Roles come from general on-call words in a column's header or field's name, else from the values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from enrichment.chunk import Chunk

Role = Literal[
    "name", "severity", "step", "escalation", "owner", "link", "meaning", "scope", "related", ""
]

_WORDS: tuple[tuple[Role, str], ...] = (
    # Names of other alerts: a row that mentions one there is not about it.
    ("related", r"related|suppress|silenc|inhibit|see also|similar|depends|replace[sd]|supersede"
               r"|caused by|parent|correlat|duplicate|formerly|renamed|old name|instead of"),
    ("escalation", r"escalat|if (?:not|still|it|no|un|that|this)|unresolved"
                   r"|not (?:cleared|resolved|fixed)"
                   r"|then call|call next|after that|second step|next step|still firing"),
    ("step", r"first|step|what to do|do (?:this|now|first)|action|response|respond|remed|mitigat"
             r"|\bfix|procedure|handling|how to|instruction|playbook steps|immediate|resolution"
             r"|resolve|recover|runbook steps|what you do|to do|treatment|reaction"),
    ("severity", r"severity|\bsev\b|priority|\bprio\b|urgency|starts as|opens as|criticality"
                 r"|\blevel\b|\bclass of incident|paging level|\bgrade"),
    ("owner", r"owner|owned by|owning|team|responsible|on-?call|\brota\b"
              r"|who (?:acts|is|gets|to|owns|we)|paged|squad|contact"
              r"|maintain|assignee|\bdri\b|crew|desk"),
    ("scope", r"scope|appl(?:y|ies)|region|environment|\benv\b|\bfor\b|where|population|tier"
              r"|segment|audience|cluster|location|site|except|unless|tenant|market|country|stage"
              r"|zone|data class|platform|customer|who\b"),
    ("link", r"runbook|playbook|\blinks?\b|\burl\b|document|wiki|details|reference|more"),
    ("meaning", r"fires when|when|condition|meaning|means|description|trigger|cause|threshold"
                r"|expression|what it|summary|symptom|explanation|impact|why|what happens"),
    ("name", r"alert|alarm|monitor|check|\brule|signal|notification|\bname\b|event|trap|detector"
             r"|pager|incident"),
)  # fmt: skip
_ROLE_PATTERNS = tuple((role, re.compile(words, re.IGNORECASE)) for role, words in _WORDS)
_NAME_ONLY = re.compile(
    r"(?:the )?(?:alert|alarm|monitor|check|rule|signal|detector|event|notification|trap)s?"
    r"(?:[ _-]?(?:name|id|rule|code|key))?|alertname|name|identifier|id",
    re.IGNORECASE,
)
_RATING = re.compile(
    r"(?:sev(?:erity)?[ -]?\d|p[0-5]|s[1-5]|critical|major|minor|warning|warn|info|informational"
    r"|high|medium|low|page|ticket|none|urgent|blocker|emergency|notice|error)\b.{0,20}",
    re.IGNORECASE,
)
_STRONG_RATING = re.compile(r"(?:sev(?:erity)?[ -]?\d|p[0-5]|s[1-5])\b.{0,20}", re.IGNORECASE)


@lru_cache(maxsize=10_000)  # the same headers are read again for each alert
def role_of(label: str) -> Role:
    """The role that a column header or field name implies; '' for an unknown one."""
    label = label.split("›")[-1].strip(" :*`?")
    if _NAME_ONLY.fullmatch(label):
        return "name"
    return next((role for role, words in _ROLE_PATTERNS if words.search(label)), "")


def roles_of(header: Sequence[str], columns: Sequence[Sequence[str]]) -> tuple[Role, ...]:
    """The roles of a table's columns; severity and first step occur at most once.

    `columns`: cells of each column. Without a fitting header, ratings are recognized by their
    values, and the first step by its length."""
    roles: list[Role] = [role_of(label) for label in header]
    for place, cells in enumerate(columns):
        if roles[place] not in {"name", "severity"} and _share(_STRONG_RATING, cells) >= 0.6:
            roles[place] = "severity"
    if "severity" not in roles:
        rated = [
            place for place, cells in enumerate(columns)
            if roles[place] in {"", "meaning"} and _share(_RATING, cells) >= 0.8
        ]  # fmt: skip
        for place in rated[:1]:
            roles[place] = "severity"
    if "step" not in roles:
        wordy = [
            (_length(cells), place) for place, cells in enumerate(columns)
            if roles[place] in {"", "meaning", "link"}
        ]  # fmt: skip
        if wordy and max(wordy)[0] >= _WORDY:
            roles[max(wordy)[1]] = "step"
    _keep_one(roles, "name", header, prefer=_NAME_ONLY)
    _keep_one(roles, "severity", header, prefer=_ROLE_PATTERNS[3][1])
    return tuple(roles)


_WORDY = 12.0
"""Minimum average characters per cell of a column that may hold the first step."""


def rating_in(text: str) -> str:
    """The first `SEV2` or `P1` of a text."""
    match = re.search(r"\b(?:(?i:sev(?:erity)?)[ -]?\d|P[0-5])\b", text)
    return match[0] if match else ""


def _keep_one(
    roles: list[Role], role: Role, header: Sequence[str], prefer: re.Pattern[str]
) -> None:
    places = [place for place, one in enumerate(roles) if one == role]
    if len(places) > 1:
        exact = [place for place in places if prefer.fullmatch(header[place].strip(" :*`"))]
        # An alert may be named twice: by a name and by an id.
        chosen = exact if role == "name" and exact else (exact or places)[:1]
        for place in places:
            if place not in chosen:
                roles[place] = "" if role == "severity" else "meaning"


def _share(pattern: re.Pattern[str], cells: Sequence[str]) -> float:
    filled = [cell.strip() for cell in cells if cell.strip()]
    return sum(bool(pattern.fullmatch(cell)) for cell in filled) / len(filled) if filled else 0.0


def _length(cells: Sequence[str]) -> float:
    return sum(map(len, cells)) / len(cells) if cells else 0.0


_LINK = re.compile(r"\[([^\[\]]*)\]\([^()\s]*\)")

EntryKind = Literal["row", "section", "introduction"]


@dataclass(frozen=True, kw_only=True)
class RunbookCell:
    label: str
    """Label of its column or field; '' without one."""
    text: str
    role: Role = ""
    markdown: str = ""
    """The text with code marks; '' where it has no code."""

    @property
    def display_text(self) -> str:
        return self.markdown or self.text


@dataclass(frozen=True, kw_only=True)
class RunbookEntry:
    kind: EntryKind
    name: str
    """Name of the alert as the document writes it."""
    exact: bool
    """The spelling equals the alert's, except for case."""
    chunk: Chunk
    group: str
    """Equal for rows of one table, and for sections of one document."""
    cells: tuple[RunbookCell, ...]
    quote: str
    links: tuple[str, ...] = ()
    """Link targets: URLs and document ids."""
    in_force: bool = True
    columns: tuple[tuple[str, ...], ...] = ()
    """Values of each column of the table: they show which values are alternatives."""

    def first(self, role: Role) -> str:
        """The text of the first cell that has this role."""
        return next(
            (cell.display_text for cell in self.cells if cell.role == role and cell.text), ""
        )

    @property
    def rank(self) -> tuple[bool, bool, int, int]:
        """Higher is better: in force, exact spelling, kind of entry, then how many of first step,
        severity and escalation it has."""
        tells = sum(bool(self.first(role)) for role in ("step", "severity", "escalation"))
        kinds = {"row": 2, "section": 2, "introduction": 0}
        return self.in_force, self.exact, kinds[self.kind], tells

    @property
    def key(self) -> str:
        """Stable across reindexing as long as the entry's conditions do not change."""
        conditions = "|".join(
            cell.text for cell in self.cells if cell.role in {"scope", "name", ""}
        )
        return f"{self.chunk.document_id}|{self.kind}|{self.chunk.heading}|{conditions}"


def without_links(markdown: str) -> str:
    """Replaces each link with its text."""
    return _LINK.sub(r"\1", markdown)
