"""The one place in a domain's documents that is for an alert; or those that its labels leave."""

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
from agents.runbooks.labels import AlertFacts, Holds
from agents.runbooks.sections import introduced, section_entries
from agents.runbooks.tables import is_name, table_entries
from enrichment.chunk import is_out_of_force
from index.search import SearchQuery, Snapshot

MOST_FOUND = 40
MOST_DOCUMENTS = 12
MOST_SHOWN = 6
_SPEAKS = {"name", "step", "escalation", "meaning", "link", "beside"}
"""Roles of columns by which rows of one name are not told apart."""
_DEFINED = re.compile(r"(?<![\w-])([A-Za-z][\w-]{0,19}) ?= ?([^.;=|\n]{1,200})")
_SECOND = {"severity", "owner"}
"""Columns that tell rows apart only where the others don't."""


@dataclass(frozen=True, kw_only=True)
class RunbookMatch:
    alert: Alert
    outcome: Literal["found", "several", "other_scope", "none"]
    """One place; more than one that the labels leave; none but for other labels; none."""
    entries: tuple[RunbookEntry, ...] = ()
    """Of `other_scope`: those that are for others; of `none`: those that hold no more."""
    on: tuple[str, ...] = ()
    """Of `several`: the columns that would tell."""
    sure: bool = False
    """Labels speak for it, or there is nothing to decide."""
    steps: RunbookEntry | None = None
    """A runbook whose introduction names the alert."""
    also: RunbookEntry | None = None
    """Another place that tells more of it."""

    @property
    def key(self) -> str:
        """The same for every alert that is told the same."""
        return "&".join(sorted(one.key for one in self.entries)) or self.outcome


def match(alert: Alert, snapshot: Snapshot, glossary: Mapping[str, Sequence[str]]) -> RunbookMatch:
    """In what the reader of the snapshot may read."""
    outdated: list[RunbookEntry] = []
    in_full = (full for name in alert.names for full in _in_full(name, snapshot))
    for name in chain(_in_order(alert), in_full):
        everything, named = _entries(name, snapshot)
        outdated += [one for one in everything if not one.in_force]
        entries = [one for one in everything if one.in_force]
        introductions = [one for one in named if one.in_force]
        if entries or introductions:
            told = AlertFacts(
                labels=_labels(alert),
                amounts=alert.amounts,
                name=as_words(name),
                defined=_defined_beside(entries, snapshot),
                glossary=glossary,
                in_one_column=_listed_in(snapshot, glossary),
            )
            return _decided(alert, entries, introductions, told)
    return RunbookMatch(alert=alert, outcome="none", entries=tuple(outdated[:MOST_SHOWN]))


def _in_full(name: str, snapshot: Snapshot) -> Iterator[str]:
    """What a table of short names says that it stands for."""
    if not SHORT_NAME.fullmatch(name) and not is_identifier(name):
        return
    query = SearchQuery(variants=(name,), keywords=(name,), strategy="keyword", limit=10)
    for table in (hit.chunk.table for hit in snapshot.search(query)):
        for row in table.rows if table else ():
            if len(row) == 2 and name in row and all(map(is_name, row)):
                yield from (cell.strip(" `") for cell in row if is_identifier(cell.strip(" `")))


def _in_order(alert: Alert) -> list[str]:
    """An identifier first; of titles in words the whole before its parts."""
    if is_identifier(alert.name):
        return list(alert.names)
    return sorted(alert.names, key=len, reverse=True)


def _entries(name: str, snapshot: Snapshot) -> tuple[list[RunbookEntry], list[RunbookEntry]]:
    spelled = as_words(name)
    apart = re.sub(r"(?<=[A-Za-z])(?=\d)", " ", name)
    variants = tuple(dict.fromkeys((name, spelled, spelled.replace(" ", "-"), apart)))
    hits = snapshot.search(
        SearchQuery(variants=variants, keywords=(name,), strategy="keyword", limit=MOST_FOUND)
    )
    documents = dict.fromkeys(hit.chunk.document_id for hit in hits)
    found: list[RunbookEntry] = []
    named: list[RunbookEntry] = []
    for document in list(documents)[:MOST_DOCUMENTS]:
        card = next(iter(snapshot.cards([document])), None)
        if card is None:
            continue
        chunks, in_force = snapshot.chunks(document), not is_out_of_force(card)
        here = [*table_entries(chunks, [name]), *section_entries(chunks, [name])]
        found += [_standing(one, in_force) for one in here]
        if runbook := introduced(card, chunks, [name]):
            named.append(_standing(runbook, in_force))
    if any(one.exact for one in found):
        found = [one for one in found if one.exact]
    return found, named


def _defined_beside(
    entries: Sequence[RunbookEntry], snapshot: Snapshot
) -> dict[str, tuple[str, ...]]:
    """`Tiers: A = AMS, WAW. B = the rest.`, as the text around the rows says it."""
    places = {(one.chunk.document_id, one.chunk.heading_path) for one in entries}
    texts = (
        chunk.text for document, path in sorted(places)
        for chunk in snapshot.chunks(document) if chunk.heading_path == path
    )  # fmt: skip
    found: dict[str, tuple[str, ...]] = {}
    for text in texts:
        for said in _DEFINED.finditer(text):
            found[said[1]] = tuple(part.strip(" `*") for part in said[2].split(","))
    return found


def _listed_in(
    snapshot: Snapshot, glossary: Mapping[str, Sequence[str]]
) -> Callable[[str, Iterable[str], Iterable[str]], bool]:
    plain = AlertFacts(labels=(), glossary=glossary)

    def listed(key: str, mine: Iterable[str], theirs: Iterable[str]) -> bool:
        mine, theirs = set(mine), set(theirs)
        words = (*sorted(mine), *sorted(theirs), key)
        query = SearchQuery(variants=(" ".join(words),), strategy="keyword", limit=10)
        for table in (hit.chunk.table for hit in snapshot.search(query)):
            for at, label in enumerate(table.header if table else ()):
                if not plain.names(key) & plain.names(label.split("›")[-1].replace(" ", ",")):
                    continue
                named = [plain.names(row[at]) for row in (table.rows if table else ())]
                if any(mine & one for one in named) and any(theirs & one for one in named):
                    return True
        return False

    return listed


def _standing(entry: RunbookEntry, in_force: bool) -> RunbookEntry:
    return entry if in_force else replace(entry, in_force=False)


@dataclass(frozen=True)
class _Group:
    """What one table, or one document's sections, say of the alert."""

    entries: tuple[RunbookEntry, ...]
    """Left by the labels; empty where all are for others."""
    others: tuple[RunbookEntry, ...]
    on: tuple[str, ...] = ()
    positive: bool = False
    """Labels speak for it."""
    sure: bool = False
    """They do, or it is for all."""

    @property
    def rank(self) -> tuple[bool, bool, int, int]:
        return max(one.rank for one in (self.entries or self.others))

    @property
    def tells(self) -> int:
        return self.rank[3]


def _decided(
    alert: Alert,
    entries: Sequence[RunbookEntry],
    introductions: Sequence[RunbookEntry],
    told: AlertFacts,
) -> RunbookMatch:
    of_group: dict[str, list[RunbookEntry]] = defaultdict(list)
    for one in entries:
        of_group[one.group].append(one)
    groups = sorted((_narrowed(one, told) for one in of_group.values()),
                    key=lambda one: one.rank, reverse=True)  # fmt: skip
    steps = introductions[0] if len(introductions) == 1 else None
    if not groups:
        outcome: Literal["found", "several"] = "found" if len(introductions) == 1 else "several"
        return RunbookMatch(
            alert=alert, outcome=outcome, entries=tuple(introductions[:MOST_SHOWN]), steps=steps
        )
    best = next((one for one in groups if one.entries and _stands(one, groups[0])), None)
    if best is None:
        others = tuple(entry for one in groups for entry in one.others)
        return RunbookMatch(alert=alert, outcome="other_scope", entries=others[:MOST_SHOWN])
    rivals = [one for one in groups if one is not best and _rivals(one, best)]
    left = (*best.entries, *(entry for one in rivals for entry in one.entries))
    beside = [one for one in groups if one is not best and one not in rivals]
    also = next((one.entries[0] for one in beside if len(one.entries) == 1), None)
    if len(left) > 1:
        return RunbookMatch(
            alert=alert, outcome="several", entries=left[:MOST_SHOWN], on=best.on, steps=steps
        )
    return RunbookMatch(
        alert=alert, outcome="found", entries=left, sure=best.sure, steps=steps, also=also
    )


def _stands(group: _Group, first: _Group) -> bool:
    """Where the best table is for others, another one has to be for this one in so many words, or
    to tell as much."""
    return bool(first.entries) or group is first or group.positive or group.tells >= 2


def _rivals(group: _Group, best: _Group) -> bool:
    """Another place that tells as much, and something else."""
    if not group.entries or group.rank != best.rank or group.tells < 2 or best.positive:
        return False
    said = {one.first("step").casefold() for one in best.entries}
    return not {one.first("step").casefold() for one in group.entries} <= said


def _labels(alert: Alert) -> list[tuple[str, str]]:
    rated = (
        [] if any(key.casefold() in SEVERITY_KEYS for key, _ in alert.labels) else [alert.severity]
    )
    return [*alert.labels, *(("severity", one) for one in rated if one)]


def _narrowed(rows: Sequence[RunbookEntry], told: AlertFacts) -> _Group:
    """The rows of one name that the labels leave."""
    open_rows = [one for one in rows if not _excluded(one, told)]
    others = tuple(one for one in rows if one not in open_rows)
    if len(rows) == 1 or not open_rows:
        scopes = {_scope(one, told) for one in open_rows}
        positive = bool(scopes & {"equal", "holds"})
        return _Group(tuple(open_rows), others, positive=positive, sure="open" not in scopes)
    # How bad an alert calls itself is no scope, unless rows differ in nothing else.
    columns = _differing(rows, but=_SPEAKS | _SECOND) or _differing(rows, but=_SPEAKS)
    left, positive = _left(open_rows, columns, told) if columns else (open_rows, False)
    others = tuple(one for one in rows if one not in left)
    on = _labels_of(left, [at for at in columns if len({_cell(one, at).text for one in left}) > 1])
    return _Group(tuple(left), others, on, positive, sure=len(left) < len(open_rows))


def _left(
    rows: Sequence[RunbookEntry], columns: Sequence[int], told: AlertFacts
) -> tuple[list[RunbookEntry], bool]:
    """Rows that the labels speak for, the plainer the better; else those that they don't speak
    against, as long as somebody could tell."""
    named = [at for at in columns if not any(range_in(_cell(one, at).text) for one in rows)]
    rows = [
        one for one in rows
        if "not" not in _verdicts(one, named, told, [*_values(rows, named), *_whole(one, named)])
    ]  # fmt: skip
    verdicts = [_verdicts(one, columns, told, _beside(one, rows, columns, named)) for one in rows]
    possible = [
        (row, found) for row, found in zip(rows, verdicts, strict=True) if "not" not in found
    ]  # fmt: skip
    for strong in ("equal", "holds"):
        plain = [(row, found) for row, found in possible if strong in found]
        if plain:
            most = max(sum(one in {"equal", "holds"} for one in found) for _, found in plain)
            best = [r for r, f in plain if sum(one in {"equal", "holds"} for one in f) == most]
            level = [row for row, found in possible if row not in best and any(
                _undecided(each, row, columns, told) for each in best
            )]  # fmt: skip
            return [*best, *level], not level
    sure = [row for row, found in possible if "open" not in found]
    if len(possible) == 1 or (sure and len(sure) == len(possible)):
        return _without_rest([row for row, _ in possible], columns, told), False
    return [row for row, _ in possible], False


def _beside(
    row: RunbookEntry, rows: Sequence[RunbookEntry], columns: Sequence[int], named: Sequence[int]
) -> list[list[str]]:
    """Amounts are held against those of rows for the same: 93 % may be much here and little
    there."""
    alike = [
        one for one in rows
        if all(_cell(one, at).text == _cell(row, at).text for at in named)
    ]  # fmt: skip
    amounts = [at for at in columns if at not in named]
    return [*_values(rows, named), *_values(alike, amounts)]


def _undecided(
    best: RunbookEntry, other: RunbookEntry, columns: Sequence[int], told: AlertFacts
) -> bool:
    """Whether a scope by which the two differ is one that the alert doesn't speak of."""
    scopes = [
        at for at in columns
        if _cell(best, at).role == "scope" and _cell(best, at).text != _cell(other, at).text
    ]  # fmt: skip
    return "open" in _verdicts(best, scopes, told, [])


def _values(rows: Sequence[RunbookEntry], columns: Sequence[int]) -> list[list[str]]:
    return [[_cell(one, at).text for one in rows] for at in columns]


def _whole(row: RunbookEntry, columns: Sequence[int]) -> list[Sequence[str]]:
    """What the whole table lists in these columns, for other alerts, too."""
    return [row.beside[at] for at in columns if at < len(row.beside)]


def _without_rest(
    rows: list[RunbookEntry], columns: Sequence[int], told: AlertFacts
) -> list[RunbookEntry]:
    """`All` and `Others` beside each other: the one for all holds."""
    whole = [
        row for row in rows
        if "else" not in _verdicts(row, columns, told, [])
    ]  # fmt: skip
    return whole or rows


def _verdicts(
    row: RunbookEntry, columns: Sequence[int], told: AlertFacts, beside: Sequence[Sequence[str]]
) -> list[Holds]:
    return [
        told.holds(row.cells[at].text, label=row.cells[at].label, beside=beside)
        for at in columns
        if at < len(row.cells)
    ]


def _differing(rows: Sequence[RunbookEntry], *, but: set[str]) -> list[int]:
    """Places of the cells in which rows of one name differ."""
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


def _excluded(entry: RunbookEntry, told: AlertFacts) -> bool:
    """Its scope is for others, whatever other rows say."""
    return _scope(entry, told) == "not"


def _scope(entry: RunbookEntry, told: AlertFacts) -> Holds:
    found = [
        told.holds(cell.text, label=cell.label, beside=_other_columns(entry, at))
        for at, cell in enumerate(entry.cells)
        if cell.role == "scope" or (not cell.role and told.speaks_of(cell.label))
    ]
    for one in ("not", "equal", "holds"):
        if one in found:
            return one
    if any(_is_of_another(one, entry, at, told) for at, one in enumerate(entry.cells)):
        return "not"
    return "open" if "open" in found else "any"


def _is_of_another(cell: RunbookCell, entry: RunbookEntry, at: int, told: AlertFacts) -> bool:
    """Its system is one, and the alert names another that the table has; unless the alert's own
    name says which."""
    if cell.role or not cell.label or at >= len(entry.beside):
        return False
    if told.names(cell.text) & set(told.name.casefold().split()):
        return False
    return told.holds(cell.text, label=cell.label, beside=[entry.beside[at]]) == "not"


def _other_columns(entry: RunbookEntry, at: int) -> list[Sequence[str]]:
    """Values of the table's other columns of the same kind: a scope that names a system is for
    another one where a column lists both."""
    return [
        column for place, column in enumerate(entry.beside)
        if place != at and place < len(entry.cells)
        and entry.cells[place].role not in {"name", "step", "escalation", "meaning", "severity"}
    ]  # fmt: skip
