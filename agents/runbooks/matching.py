"""Finds the runbook entry for an alert, or the entries that its labels do not exclude."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Literal

from agents.alerts.alert import SEVERITY_KEYS, SHORT_NAME, Alert, as_words, is_identifier
from agents.alerts.amounts import range_in
from agents.runbooks.entries import RunbookCell, RunbookEntry
from agents.runbooks.labels import AlertFacts, Verdict
from agents.runbooks.sections import introduction_entry, section_entries
from agents.runbooks.tables import is_name, table_entries
from enrichment.chunk import is_out_of_force
from index.search import SearchQuery, Snapshot

MAX_HITS = 40
MAX_DOCUMENTS = 12
MAX_ENTRIES = 6
_NEUTRAL_ROLES = {"name", "step", "escalation", "meaning", "link", "beside"}
"""Roles of columns that do not distinguish rows of one name."""
_DEFINITION = re.compile(r"(?<![\w-])([A-Za-z][\w-]{0,19}) ?= ?([^.;=|\n]{1,200})")
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


def match(alert: Alert, snapshot: Snapshot, glossary: Mapping[str, Sequence[str]]) -> RunbookMatch:
    """Matches an alert within the documents that the snapshot's reader may read."""
    outdated: list[RunbookEntry] = []
    in_full = (full for name in alert.names for full in _full_names(name, snapshot))
    for name in chain(_by_preference(alert), in_full):
        everything, introducing = _entries(name, snapshot)
        outdated += [one for one in everything if not one.in_force]
        entries = [one for one in everything if one.in_force]
        introductions = [one for one in introducing if one.in_force]
        if entries or introductions:
            facts = AlertFacts(
                labels=_labels(alert),
                amounts=alert.amounts,
                name=as_words(name),
                defined=_definitions_near(entries, snapshot),
                glossary=glossary,
                in_one_column=_column_lookup(snapshot, glossary),
            )
            return _decide(alert, entries, introductions, facts)
    return RunbookMatch(alert=alert, outcome="none", entries=tuple(outdated[:MAX_ENTRIES]))


def _full_names(name: str, snapshot: Snapshot) -> Iterator[str]:
    """Full names of a short name, from tables of two columns."""
    if not SHORT_NAME.fullmatch(name) and not is_identifier(name):
        return
    query = SearchQuery(variants=(name,), keywords=(name,), strategy="keyword", limit=10)
    for table in (hit.chunk.table for hit in snapshot.search(query)):
        for row in table.rows if table else ():
            if len(row) == 2 and name in row and all(map(is_name, row)):
                yield from (cell.strip(" `") for cell in row if is_identifier(cell.strip(" `")))


def _by_preference(alert: Alert) -> list[str]:
    """The names in order of preference: as given after an identifier, else longest first."""
    if is_identifier(alert.name):
        return list(alert.names)
    return sorted(alert.names, key=len, reverse=True)


def _entries(name: str, snapshot: Snapshot) -> tuple[list[RunbookEntry], list[RunbookEntry]]:
    spelled = as_words(name)
    apart = re.sub(r"(?<=[A-Za-z])(?=\d)", " ", name)
    variants = tuple(dict.fromkeys((name, spelled, spelled.replace(" ", "-"), apart)))
    hits = snapshot.search(
        SearchQuery(variants=variants, keywords=(name,), strategy="keyword", limit=MAX_HITS)
    )
    documents = dict.fromkeys(hit.chunk.document_id for hit in hits)
    entries: list[RunbookEntry] = []
    introductions: list[RunbookEntry] = []
    for document in list(documents)[:MAX_DOCUMENTS]:
        card = next(iter(snapshot.cards([document])), None)
        if card is None:
            continue
        chunks, in_force = snapshot.chunks(document), not is_out_of_force(card)
        here = [*table_entries(chunks, [name]), *section_entries(chunks, [name])]
        entries += [_with_force(one, in_force) for one in here]
        if runbook := introduction_entry(card, chunks, [name]):
            introductions.append(_with_force(runbook, in_force))
    if any(one.exact for one in entries):
        entries = [one for one in entries if one.exact]
    return entries, introductions


def _definitions_near(
    entries: Sequence[RunbookEntry], snapshot: Snapshot
) -> dict[str, tuple[str, ...]]:
    """Definitions in the text around the rows: `Tiers: A = AMS, WAW. B = the rest.`"""
    places = {(one.chunk.document_id, one.chunk.heading_path) for one in entries}
    texts = (
        chunk.text for document, path in sorted(places)
        for chunk in snapshot.chunks(document) if chunk.heading_path == path
    )  # fmt: skip
    definitions: dict[str, tuple[str, ...]] = {}
    for text in texts:
        for definition in _DEFINITION.finditer(text):
            definitions[definition[1]] = tuple(
                part.strip(" `*") for part in definition[2].split(",")
            )
    return definitions


def _column_lookup(
    snapshot: Snapshot, glossary: Mapping[str, Sequence[str]]
) -> Callable[[str, Iterable[str], Iterable[str]], bool]:
    facts = AlertFacts(labels=(), glossary=glossary)

    def in_one_column(key: str, own: Iterable[str], other: Iterable[str]) -> bool:
        own, other = set(own), set(other)
        words = (*sorted(own), *sorted(other), key)
        query = SearchQuery(variants=(" ".join(words),), strategy="keyword", limit=10)
        for table in (hit.chunk.table for hit in snapshot.search(query)):
            for at, label in enumerate(table.header if table else ()):
                if not facts.names(key) & facts.names(label.split("›")[-1].replace(" ", ",")):
                    continue
                cell_names = [facts.names(row[at]) for row in (table.rows if table else ())]
                if any(own & one for one in cell_names) and any(other & one for one in cell_names):
                    return True
        return False

    return in_one_column


def _with_force(entry: RunbookEntry, in_force: bool) -> RunbookEntry:
    return entry if in_force else replace(entry, in_force=False)


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


def _decide(
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


def _labels(alert: Alert) -> list[tuple[str, str]]:
    rated = (
        [] if any(key.casefold() in SEVERITY_KEYS for key, _ in alert.labels) else [alert.severity]
    )
    return [*alert.labels, *(("severity", one) for one in rated if one)]


def _narrow(rows: Sequence[RunbookEntry], facts: AlertFacts) -> _Group:
    """Keeps the rows of one name that the labels do not exclude."""
    open_rows = [one for one in rows if not _is_excluded(one, facts)]
    other_scope = tuple(one for one in rows if one not in open_rows)
    if len(rows) == 1 or not open_rows:
        scopes = {_scope(one, facts) for one in open_rows}
        positive = bool(scopes & {"equal", "holds"})
        return _Group(tuple(open_rows), other_scope, positive=positive, sure="open" not in scopes)
    # Severity and owner are no scope, unless rows differ in nothing else.
    columns = _differing_columns(rows, but=_NEUTRAL_ROLES | _SECONDARY_ROLES) or _differing_columns(
        rows, but=_NEUTRAL_ROLES
    )
    remaining, positive = (
        _rows_for_labels(open_rows, columns, facts) if columns else (open_rows, False)
    )
    other_scope = tuple(one for one in rows if one not in remaining)
    on = _labels_of(
        remaining, [at for at in columns if len({_cell(one, at).text for one in remaining}) > 1]
    )
    return _Group(tuple(remaining), other_scope, on, positive, sure=len(remaining) < len(open_rows))


def _rows_for_labels(
    rows: Sequence[RunbookEntry], columns: Sequence[int], facts: AlertFacts
) -> tuple[list[RunbookEntry], bool]:
    """(rows, whether labels confirm them): the rows with the strongest and most confirmations; else
    the rows that the labels do not exclude."""
    named_columns = [at for at in columns if not any(range_in(_cell(one, at).text) for one in rows)]
    rows = [
        one for one in rows
        if "not" not in _verdicts(
            one, named_columns, facts,
            [*_values(rows, named_columns), *_whole_columns(one, named_columns)],
        )
    ]  # fmt: skip
    verdicts = [
        _verdicts(one, columns, facts, _comparison_columns(one, rows, columns, named_columns))
        for one in rows
    ]
    possible = [
        (row, row_verdicts) for row, row_verdicts in zip(rows, verdicts, strict=True)
        if "not" not in row_verdicts
    ]  # fmt: skip
    for strong in ("equal", "holds"):
        speaking_for = [
            (row, row_verdicts) for row, row_verdicts in possible if strong in row_verdicts
        ]
        if speaking_for:
            max_count = max(
                sum(one in {"equal", "holds"} for one in row_verdicts)
                for _, row_verdicts in speaking_for
            )
            best = [
                r
                for r, f in speaking_for
                if sum(one in {"equal", "holds"} for one in f) == max_count
            ]
            level = [row for row, row_verdicts in possible if row not in best and any(
                _is_undecided(each, row, columns, facts) for each in best
            )]  # fmt: skip
            return [*best, *level], not level
    sure = [row for row, row_verdicts in possible if "open" not in row_verdicts]
    if len(possible) == 1 or (sure and len(sure) == len(possible)):
        return _without_rest([row for row, _ in possible], columns, facts), False
    return [row for row, _ in possible], False


def _comparison_columns(
    row: RunbookEntry,
    rows: Sequence[RunbookEntry],
    columns: Sequence[int],
    named_columns: Sequence[int],
) -> list[list[str]]:
    """Column values to compare with. Amounts are compared only between rows with the same other
    values: 93 % may be high in one row and low in another."""
    alike_rows = [
        one for one in rows
        if all(_cell(one, at).text == _cell(row, at).text for at in named_columns)
    ]  # fmt: skip
    amounts = [at for at in columns if at not in named_columns]
    return [*_values(rows, named_columns), *_values(alike_rows, amounts)]


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
    whole = [
        row for row in rows
        if "else" not in _verdicts(row, columns, facts, [])
    ]  # fmt: skip
    return whole or rows


def _verdicts(
    row: RunbookEntry,
    columns: Sequence[int],
    facts: AlertFacts,
    table_columns: Sequence[Sequence[str]],
) -> list[Verdict]:
    return [
        facts.verdict(row.cells[at].text, label=row.cells[at].label, columns=table_columns)
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


def _labels_of(rows: Sequence[RunbookEntry], columns: Sequence[int]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_cell(one, at).label for one in rows[:1] for at in columns
                               if _cell(one, at).label))  # fmt: skip


def _is_excluded(entry: RunbookEntry, facts: AlertFacts) -> bool:
    """Whether its own scope excludes the alert."""
    return _scope(entry, facts) == "not"


def _scope(entry: RunbookEntry, facts: AlertFacts) -> Verdict:
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
