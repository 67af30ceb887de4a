"""Decides from an alert's labels which of its runbook entries apply."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from agents.alerts.alert import Alert, range_in
from agents.runbooks.entries import RunbookCell, RunbookEntry
from agents.runbooks.labels import AlertFacts, Verdict

MAX_ENTRIES = 6
_NEUTRAL_ROLES = {"name", "step", "escalation", "meaning", "link", "related"}
"""Roles of columns that do not distinguish rows of one name."""
_SECONDARY_ROLES = {"severity", "owner"}
"""Roles of columns that distinguish rows only where no other column does."""


@dataclass(frozen=True, kw_only=True)
class RunbookMatch:
    alert: Alert
    outcome: Literal["found", "several", "other_scope", "none"]
    """One entry; several that the labels leave; entries only for other labels; no entry."""
    entries: tuple[RunbookEntry, ...] = ()
    """For `other_scope`: the entries for others; for `none`: the entries out of force."""
    on: tuple[str, ...] = ()
    """For `several`: labels of the columns that would decide."""
    sure: bool = False
    """Labels confirm the entry, or there is nothing to decide."""
    steps: RunbookEntry | None = None
    """A runbook whose introduction names the alert."""
    also: RunbookEntry | None = None
    """Another entry with more about the alert."""

    @property
    def key(self) -> str:
        """Equal for alerts with the same entries."""
        return "&".join(sorted(one.key for one in self.entries)) or self.outcome


@dataclass(frozen=True)
class _Group:
    """Entries for the alert from one table, or from one document's sections."""

    entries: tuple[RunbookEntry, ...]
    """Entries that the labels do not exclude."""
    other_scope: tuple[RunbookEntry, ...]
    on: tuple[str, ...] = ()
    positive: bool = False
    """Labels confirm the entries."""
    sure: bool = False
    """Labels confirm the entries, or the entries cover all."""

    @property
    def rank(self) -> tuple[bool, bool, int, int]:
        return max(one.rank for one in (self.entries or self.other_scope))

    @property
    def role_count(self) -> int:
        return self.rank[3]


def decide(
    alert: Alert,
    entries: Sequence[RunbookEntry],
    introductions: Sequence[RunbookEntry],
    facts: AlertFacts,
) -> RunbookMatch:
    of_group: dict[str, list[RunbookEntry]] = defaultdict(list)
    for one in entries:
        of_group[one.group].append(one)
    groups = sorted((_narrow(one, facts) for one in of_group.values()),
                    key=lambda one: one.rank, reverse=True)  # fmt: skip
    steps = introductions[0] if len(introductions) == 1 else None
    if not groups:
        outcome: Literal["found", "several"] = "found" if len(introductions) == 1 else "several"
        return RunbookMatch(
            alert=alert, outcome=outcome, entries=tuple(introductions[:MAX_ENTRIES]), steps=steps
        )
    best = next((one for one in groups if one.entries and _can_answer(one, groups[0])), None)
    if best is None:
        other_scope = tuple(entry for one in groups for entry in one.other_scope)
        return RunbookMatch(alert=alert, outcome="other_scope", entries=other_scope[:MAX_ENTRIES])
    rivals = [one for one in groups if one is not best and _is_rival(one, best)]
    remaining = (*best.entries, *(entry for one in rivals for entry in one.entries))
    further = [one for one in groups if one is not best and one not in rivals]
    also = next((one.entries[0] for one in further if len(one.entries) == 1), None)
    if len(remaining) > 1:
        return RunbookMatch(
            alert=alert, outcome="several", entries=remaining[:MAX_ENTRIES], on=best.on, steps=steps
        )
    return RunbookMatch(
        alert=alert, outcome="found", entries=remaining, sure=best.sure, steps=steps, also=also
    )


def _can_answer(group: _Group, first: _Group) -> bool:
    """Whether the group may answer. Where the best group is for others, another one needs labels
    that confirm it, or two of first step, severity and escalation."""
    return bool(first.entries) or group is first or group.positive or group.role_count >= 2


def _is_rival(group: _Group, best: _Group) -> bool:
    """Whether the group is as complete as the best one and has a different first step."""
    if not group.entries or group.rank != best.rank or group.role_count < 2 or best.positive:
        return False
    best_steps = {one.first("step").casefold() for one in best.entries}
    return not {one.first("step").casefold() for one in group.entries} <= best_steps


def _narrow(rows: Sequence[RunbookEntry], facts: AlertFacts) -> _Group:
    """Keeps the rows of one name that the labels do not exclude."""
    open_rows = [one for one in rows if _scope(one, facts) != "not"]
    excluded = tuple(one for one in rows if one not in open_rows)
    if len(rows) == 1 or not open_rows:
        scopes = {_scope(one, facts) for one in open_rows}
        positive = bool(scopes & {"equal", "holds"})
        return _Group(tuple(open_rows), excluded, positive=positive, sure="open" not in scopes)
    # Severity and owner are no scope, unless rows differ in nothing else.
    columns = _differing_columns(rows, but=_NEUTRAL_ROLES | _SECONDARY_ROLES) or _differing_columns(
        rows, but=_NEUTRAL_ROLES
    )
    left_rows, positive = (
        _rows_for_labels(open_rows, columns, facts) if columns else (open_rows, False)
    )
    excluded = tuple(one for one in rows if one not in left_rows)
    differing = [at for at in columns if len({_cell(one, at).text for one in left_rows}) > 1]
    on = dict.fromkeys(filter(None, (_cell(left_rows[0], at).label for at in differing)))
    sure = len(left_rows) < len(open_rows)
    return _Group(tuple(left_rows), excluded, tuple(on), positive, sure)


def _rows_for_labels(
    rows: Sequence[RunbookEntry], columns: Sequence[int], facts: AlertFacts
) -> tuple[list[RunbookEntry], bool]:
    """(rows, whether labels confirm them): the rows with the strongest and most confirmations; else
    the rows that the labels do not exclude."""
    text_at = [at for at in columns if not any(range_in(_cell(one, at).text) for one in rows)]
    values = _values(rows, text_at)
    rows = [
        one for one in rows
        if "not" not in _verdicts(one, text_at, facts, [*values, *_whole_columns(one, text_at)])
    ]  # fmt: skip
    verdicts = (
        _verdicts(one, columns, facts, _comparison_columns(one, rows, columns, text_at))
        for one in rows
    )
    possible = [pair for pair in zip(rows, verdicts, strict=True) if "not" not in pair[1]]
    for strong in ("equal", "holds"):
        confirmed = [(row, votes) for row, votes in possible if strong in votes]
        if confirmed:
            top = max(sum(one in {"equal", "holds"} for one in votes) for _, votes in confirmed)
            best = [r for r, f in confirmed if sum(one in {"equal", "holds"} for one in f) == top]
            others = [row for row, _ in possible if row not in best]
            level = [row for row in others
                     if any(_is_undecided(each, row, columns, facts) for each in best)]  # fmt: skip
            return [*best, *level], not level
    sure = [row for row, votes in possible if "open" not in votes]
    if len(possible) == 1 or (sure and len(sure) == len(possible)):
        return _without_rest([row for row, _ in possible], columns, facts), False
    return [row for row, _ in possible], False


def _comparison_columns(
    row: RunbookEntry, rows: Sequence[RunbookEntry], columns: Sequence[int], text_at: Sequence[int]
) -> list[list[str]]:
    """Column values to compare with. Amounts are compared only between rows with the same other
    values: 93 % may be high in one row and low in another."""
    own = _values([row], text_at)
    alike_rows = [one for one in rows if _values([one], text_at) == own]
    amounts = [at for at in columns if at not in text_at]
    return [*_values(rows, text_at), *_values(alike_rows, amounts)]


def _is_undecided(
    best: RunbookEntry, other: RunbookEntry, columns: Sequence[int], facts: AlertFacts
) -> bool:
    """Whether the two differ in a scope that the alert's labels do not decide."""
    scopes = [
        at for at in columns
        if _cell(best, at).role == "scope" and _cell(best, at).text != _cell(other, at).text
    ]  # fmt: skip
    return "open" in _verdicts(best, scopes, facts, [])


def _values(rows: Sequence[RunbookEntry], columns: Sequence[int]) -> list[list[str]]:
    return [[_cell(one, at).text for one in rows] for at in columns]


def _whole_columns(row: RunbookEntry, columns: Sequence[int]) -> list[Sequence[str]]:
    """Values of these columns in the whole table, rows of other alerts included."""
    return [row.columns[at] for at in columns if at < len(row.columns)]


def _without_rest(
    rows: list[RunbookEntry], columns: Sequence[int], facts: AlertFacts
) -> list[RunbookEntry]:
    """Drops rows for the rest where another row is for all."""
    return [row for row in rows if "else" not in _verdicts(row, columns, facts, [])] or rows


def _verdicts(
    row: RunbookEntry, columns: Sequence[int], facts: AlertFacts, values: Sequence[Sequence[str]]
) -> list[Verdict]:
    return [
        facts.verdict(row.cells[at].text, label=row.cells[at].label, columns=values)
        for at in columns
        if at < len(row.cells)
    ]


def _differing_columns(rows: Sequence[RunbookEntry], *, but: set[str]) -> list[int]:
    """Indexes of the columns in which rows of one name differ."""
    width = max(len(one.cells) for one in rows)
    return [
        at for at in range(width)
        if len({_cell(one, at).text.casefold() for one in rows}) > 1
        and (
            not any(_cell(one, at).role in but for one in rows)
            or any(range_in(_cell(one, at).text) for one in rows)
        )
    ]  # fmt: skip


def _cell(entry: RunbookEntry, at: int) -> RunbookCell:
    return entry.cells[at] if at < len(entry.cells) else RunbookCell(label="", text="")


def _scope(entry: RunbookEntry, facts: AlertFacts) -> Verdict:
    """The verdict of the entry's own scope."""
    verdicts = [
        facts.verdict(cell.text, label=cell.label, columns=_other_columns(entry, at))
        for at, cell in enumerate(entry.cells)
        if cell.role == "scope" or (not cell.role and facts.has_label(cell.label))
    ]
    for one in ("not", "equal", "holds"):
        if one in verdicts:
            return one
    if any(_is_of_another(one, entry, at, facts) for at, one in enumerate(entry.cells)):
        return "not"
    return "open" if "open" in verdicts else "any"


def _is_of_another(cell: RunbookCell, entry: RunbookEntry, at: int, facts: AlertFacts) -> bool:
    """Whether the row is for one system and the alert's labels name another of the column, unless
    the alert's own name says which."""
    if cell.role or not cell.label or at >= len(entry.columns):
        return False
    if facts.names(cell.text) & set(facts.name.casefold().split()):
        return False
    return facts.verdict(cell.text, label=cell.label, columns=[entry.columns[at]]) == "not"


def _other_columns(entry: RunbookEntry, at: int) -> list[Sequence[str]]:
    """Values of the table's other scope columns: a column that lists two values shows that one
    excludes the other."""
    return [
        column for place, column in enumerate(entry.columns)
        if place != at and place < len(entry.cells)
        and entry.cells[place].role not in {"name", "step", "escalation", "meaning", "severity"}
    ]  # fmt: skip
