"""Finds the runbook entries of alerts by their names, and chooses among them by their labels."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Literal

from agents.alerts.alert import Alert
from agents.runbooks.alert_names import bare, names_of, runs
from agents.runbooks.amounts import amounts_in
from agents.runbooks.entries import RunbookCell, RunbookEntry
from agents.runbooks.labels import AlertFacts, bracketed, labels_in
from agents.runbooks.lookup import RunbookDocument, read_document
from agents.runbooks.scopes import Scope, has_amounts, is_coded, rates
from agents.runbooks.verdicts import Verdict, is_excepted, verdict
from agents.runbooks.words import spelled
from config.domain import Domain
from enrichment.language.words import stems
from enrichment.names import (
    SHORT_NAME,
    as_words,
    is_identifier,
    is_telling,
    link_names,
    name_key,
    range_key,
)
from index.search import SearchQuery, Snapshot

MAX_ENTRIES = 6
MAX_NEAREST = 8
_MAX_DOCUMENTS = 12
_MAX_SEARCHES = 5
MAX_WORDS = 200
"""Of a message, that scopes are compared with."""
_RANKS = {"row": 3, "section": 2, "page": 1, "item": 0}


@dataclass(frozen=True, kw_only=True)
class RunbookMatch:
    alert: Alert
    """Named as the documents name it."""
    outcome: Literal["found", "several", "other_scope", "none"]
    """One entry; several that the labels leave; entries only for other labels; no entry."""
    entries: tuple[RunbookEntry, ...] = ()
    """For `other_scope`: the entries for others; for `none`: the retired ones."""
    on: tuple[str, ...] = ()
    """For `several`: labels of the columns that would decide."""
    also: RunbookEntry | None = None
    """Another entry with more about the alert."""
    name: str = ""
    """By which its entries were looked up."""
    unknown: tuple[str, ...] = ()
    """For `found`: labels of the entry's scopes that the alert doesn't decide."""
    perhaps: tuple[RunbookEntry, ...] = ()
    """For `none`: entries that may be meant, nearest first."""
    chosen: bool = False
    """By a model."""

    @property
    def sure(self) -> bool:
        return not self.unknown

    @property
    def key(self) -> str:
        """Equal for alerts with the same entries."""
        return "&".join(sorted(one.key for one in self.entries)) or self.outcome


def match_alerts(alerts: Sequence[Alert], visible: Snapshot, domain: Domain) -> list[RunbookMatch]:
    """The match of each alert, in order. `visible`: what the asker may read."""
    names = {alert: names_of(alert, domain.glossary) for alert in alerts}
    lookup = _Lookup(visible, domain.glossary, names.values())
    matches = {alert: lookup.match(alert, its_names) for alert, its_names in names.items()}
    return [matches[alert] for alert in alerts]


def worth_answering(matches: Sequence[RunbookMatch]) -> bool:
    """Whether the matches answer the message. Words that may not be an alert, and that no document
    names as one, are a question for the agents."""
    return any(one.outcome != "none" or one.entries or one.alert.certain for one in matches)


class _Lookup:
    def __init__(
        self,
        visible: Snapshot,
        glossary: Mapping[str, Sequence[str]],
        names: Iterable[Sequence[str]],
    ) -> None:
        self._visible = visible
        self._glossary = dict(glossary)
        self._named = dict(visible.named({key for each in names for key in _keys(*each)}))
        self._searches = 0

    def match(self, alert: Alert, names: Sequence[str]) -> RunbookMatch:
        retired: list[RunbookEntry] = []
        own = (one for one in names if one == alert.name and is_identifier(one))
        introduced = ((one, self._introduced(one)) for one in own)
        for name, of_name in chain(((one, self._entries(one)) for one in names), introduced):
            entries = list(of_name)
            if not alert.named and SHORT_NAME.fullmatch(name):  # a heading *CPU* is no alert
                entries = [one for one in entries if one.kind == "row" or one.name != name]
            retired += [one for one in entries if one.retired]
            if current := [one for one in entries if not one.retired]:
                keeps_name = alert.named or _is_of_link(name, alert)
                renamed = alert if keeps_name else replace(alert, name=current[0].name)
                match = _choose(renamed, current, self._facts(alert, name))
                return replace(match, name=name)
        perhaps = {one.key: one for one in reversed(list(self._nearest(alert)))}
        return RunbookMatch(
            alert=alert, outcome="none", entries=tuple(retired[:MAX_ENTRIES]),
            perhaps=tuple(reversed(perhaps.values()))[:MAX_NEAREST],
        )  # fmt: skip

    def _entries(self, name: str, *, is_short: bool = True) -> Iterator[RunbookEntry]:
        """`is_short`: it may stand for a longer name."""
        for document in self._documents(self._named, _keys(name)):
            self._glossary |= document.definitions
            entries = list(document.entries(name))
            yield from entries
            long_names = document.long_names(name_key(name)) if is_short and not entries else ()
            for long_name in (one.strip(" `") for one in long_names):
                if is_telling(long_name):
                    self._named |= self._visible.named(_keys(long_name))
                    yield from self._entries(long_name, is_short=False)

    def _introduced(self, name: str) -> Iterator[RunbookEntry]:
        """Of the one page whose introduction or trigger mentions the name."""
        if document := introducing(name, self._visible):
            yield from document.page(name)

    def _documents(
        self, named: Mapping[str, Sequence[str]], keys: Collection[str]
    ) -> Iterator[RunbookDocument]:
        ids = dict.fromkeys(one for key in sorted(keys) for one in named.get(key, ()))
        return _read_documents(list(ids), self._visible)

    def _facts(self, alert: Alert, name: str) -> AlertFacts:
        """`name`: the one that is documented; other parts of the alert's name are words."""
        rest = re.sub(re.escape(name), "|", f"{alert.title} | {alert.name}", flags=re.IGNORECASE)
        around = (one for part in re.split(r"[|,;@()\[\]{}]", rest) for one in runs(part, 3))
        texts = (*alert.lines, *(value for _, value in alert.labels))
        lines = (*alert.lines, *(key for key, _ in alert.labels if key.count(" ") > 1))
        severity = [("severity", alert.severity)] if alert.severity else []
        own = (*alert.labels, *bracketed(f"{alert.title} {alert.name}"), *severity)
        labels = dict.fromkeys((*own, *labels_in("\n".join(texts))))
        words = dict.fromkeys((*around, *(bare(word) for line in lines for word in line.split())))
        # A recovered alert states the amounts of now, not those that raised it.
        values = (alert.title, *alert.lines, *(f"{key}={value}" for key, value in alert.labels))
        amounts = () if alert.status == "resolved" else amounts_in("\n".join(values))
        return AlertFacts(
            labels=tuple(labels), words=tuple(words)[:MAX_WORDS], amounts=amounts,
            glossary=self._glossary,
        )  # fmt: skip

    def _nearest(self, alert: Alert) -> Iterator[RunbookEntry]:
        """Entries that mention the name, then those that share telling words with it."""
        self._searches += 1
        if self._searches > _MAX_SEARCHES:
            return
        keys = _keys(alert.name)
        for mentioned in self._documents(self._visible.named(keys, mentions=True), keys):
            yield from _nearby(mentioned.mentioning(name_key(alert.name)))
        words = stems(as_words(f"{alert.name} {alert.title if not alert.named else ''}"))
        query = SearchQuery(variants=(" ".join(sorted(words)),), strategy="keyword", limit=20)
        nearest: list[tuple[float, RunbookEntry]] = []
        for hit in self._visible.search(query) if words else ():
            for document in _read_documents([hit.chunk.document_id], self._visible):
                for entry in _nearby(document.entries_of(hit.chunk)):
                    shared = words & stems(as_words(f"{entry.place} {entry.name}"))
                    nearest.append((sum(map(self._visible.rarity, shared)), entry))
        nearest.sort(key=lambda one: -one[0])
        yield from (entry for shared, entry in nearest if shared)


def introducing(name: str, visible: Snapshot, *, but: str = "") -> RunbookDocument | None:
    """The one document, except that of this id, whose introduction mentions the name."""
    key = name_key(name)
    ids = visible.named({key}, mentions=True).get(key, ())
    others = (one for one in _read_documents(ids, visible) if one.card.id != but)
    introduced = [one for one in others if one.introduces(key)]
    return introduced[0] if len(introduced) == 1 else None


def _read_documents(ids: Sequence[str], visible: Snapshot) -> Iterator[RunbookDocument]:
    for card in visible.cards(ids[:_MAX_DOCUMENTS]):
        yield read_document(visible.chunks(card.id), card)


def _nearby(entries: Iterable[RunbookEntry]) -> Iterator[RunbookEntry]:
    return (one for one in entries if not one.retired and (one.first("step") or one.kind != "row"))


def _is_of_link(name: str, alert: Alert) -> bool:
    """Whether only its runbook's link has the name, which several alerts may share."""
    return name_key(name) not in name_key(alert.title) and any(
        name in link_names(one) for one in alert.runbooks
    )


def _keys(*names: str) -> set[str]:
    return {key for name in names for key in (name_key(name), range_key(name)) if key}


@dataclass(frozen=True)
class _Rated:
    entry: RunbookEntry
    verdicts: Mapping[RunbookCell, Verdict]

    @property
    def yes(self) -> int:
        """How many of its scopes hold that are not for every alert."""
        confirmed = (cell for cell, answer in self.verdicts.items() if answer == "yes")
        return sum(any(one.holds_for != "all" for one in cell.scope or ()) for cell in confirmed)

    @property
    def unknown(self) -> list[RunbookCell]:
        """The cells that the alert doesn't decide."""
        return [one for one, own in self.verdicts.items() if own == "unknown"]

    @property
    def is_possible(self) -> bool:
        """Whether the alert doesn't exclude it."""
        return "no" not in self.verdicts.values()

    def keys_of(self, verdict: Verdict) -> set[str]:
        """Keys of its cells of this verdict that say something."""
        cells = (one for one, own in self.verdicts.items() if own == verdict and one.text)
        return {key for one in cells for key in one.keys}

    def beats(self, other: _Rated) -> bool:
        """Whether more of its scopes hold, and it leaves nothing open that the other decides."""
        texts = {(cell.label, cell.text) for cell in other.verdicts}
        return self.yes > other.yes and all((one.label, one.text) in texts for one in self.unknown)


def _choose(alert: Alert, entries: Sequence[RunbookEntry], facts: AlertFacts) -> RunbookMatch:
    preferred = _preferred(entries)
    rated = _rated(entries, facts, _is_scope)
    excepted = {
        key for one in rated for cell in one.verdicts if is_excepted(cell.scope, facts)
        for key in cell.keys
    }  # fmt: skip
    possible = [one for one in rated if one.is_possible]
    left = [one for one in possible if one.entry in preferred]
    # What says nothing of them is not for those that another entry excepts.
    left = _unbeaten([one for one in left if not excepted or one.keys_of("yes") & excepted])
    if not left:
        others = tuple(entries[:MAX_ENTRIES])
        return RunbookMatch(alert=alert, outcome="other_scope", entries=others)
    is_open = _differ([one.unknown for one in left])
    by_amount = _rated([one.entry for one in left], facts, _is_amount)
    by_amount = [one for one in by_amount if one.is_possible]
    left = (by_amount if is_open else _unbeaten(by_amount)) or left
    if not (is_open or _differ([one.unknown for one in left])):
        rated = _rated([one.entry for one in left], facts, _is_rating)
        left = [one for one in rated if one.yes] or left
    left = (_by_place(left, facts) if len(left) > 1 else left) or left
    best = left[0].entry
    steps = {one.entry.first("step").casefold().rstrip(".") for one in left}
    if len(left) > 1 and (len(steps) > 1 or not best.first("step")):
        several = tuple(one.entry for one in left[:MAX_ENTRIES])
        return RunbookMatch(alert=alert, outcome="several", entries=several, on=_deciding(several))
    also = (
        one.entry for one in possible
        if one.entry not in preferred and one.entry.chunk.document_id != best.chunk.document_id
    )  # fmt: skip
    limits = (
        cell.label for one in possible if one.entry is best and len(left) == 1
        for cell in one.unknown if cell.role == "scope"
    )  # fmt: skip
    return RunbookMatch(
        alert=alert, outcome="found", entries=(best,), also=next(also, None), unknown=tuple(limits)
    )


def _unbeaten(rated: Sequence[_Rated]) -> list[_Rated]:
    return [one for one in rated if not any(other.beats(one) for other in rated)]


def _is_scope(cell: RunbookCell) -> bool:
    is_told = cell.role in {"scope", ""} or (cell.role == "owner" and is_coded(cell.scope))
    return is_told and _is_read(cell)


def _is_read(cell: RunbookCell) -> bool:
    return bool(cell.scope) and not has_amounts(cell.scope) and not rates(cell.scope)


def _is_amount(cell: RunbookCell) -> bool:
    return cell.role in {"scope", "", "meaning"} and has_amounts(cell.scope)


def _is_rating(cell: RunbookCell) -> bool:
    return bool(cell.scope) and (cell.role in {"severity", "owner"} or rates(cell.scope))


def _differ(cells: Sequence[Sequence[RunbookCell]]) -> bool:
    """Whether entries ask for different values."""
    return len({tuple((one.label, one.text) for one in own) for own in cells}) > 1


def _rated(
    entries: Sequence[RunbookEntry], facts: AlertFacts, is_told: Callable[[RunbookCell], bool]
) -> list[_Rated]:
    """The entries with the verdicts of their cells that tell. Amounts are compared only between
    rows that differ in no other scope."""

    rows = list[tuple[RunbookEntry, list[RunbookCell], object]]()
    columns: dict[object, set[Scope]] = defaultdict(set)
    for entry in entries:
        cells = [cell for cell in entry.cells if is_told(cell)]
        others = (cell.text for cell in entry.cells if is_told == _is_amount and _is_scope(cell))
        rows.append((entry, cells, alike := tuple(others)))
        for cell in cells:
            columns[cell.label, alike].add(cell.scope or ())
    return [
        _Rated(entry, {
            cell: verdict(cell.scope, facts, columns[cell.label, alike], cell.column)
            for cell in cells
        })
        for entry, cells, alike in rows
    ]  # fmt: skip


def _preferred(entries: Sequence[RunbookEntry]) -> list[RunbookEntry]:
    """The best of each document, a row before a section before its page, and of these the rows if
    there are any. Entries that say what to do come before all others."""
    ranks = {id(one): (bool(one.first("step")), _RANKS[one.kind]) for one in entries}
    best: dict[str, tuple[bool, int]] = {}
    for one in entries:
        document = one.chunk.document_id
        best[document] = max(ranks[id(one)], best.get(document, ranks[id(one)]))
    top = max(best.values())
    lowest = (top[0], top[1] if top[1] == _RANKS["row"] else min(top[1], _RANKS["page"]))
    return [one for one in entries if lowest <= ranks[id(one)] == best[one.chunk.document_id]]


def _by_place(left: Sequence[_Rated], facts: AlertFacts) -> list[_Rated]:
    """Those whose title or heading has a value of the alert that the others' lack."""
    words = [{spelled(word) for word in re.findall(r"[\w-]+", one.entry.place)} for one in left]
    values = {spelled(one.text) for one in facts.values} - words[0].intersection(*words[1:])
    return [one for one, own in zip(left, words, strict=True) if values & own]


def _deciding(left: Sequence[RunbookEntry]) -> tuple[str, ...]:
    """Labels of the columns in which they differ and that an alert can decide."""
    texts: dict[str, set[str]] = {}
    for cell in (cell for one in left for cell in one.cells if cell.label):
        is_rating = cell.role not in {"owner", "severity"} and _is_rating(cell)
        if _is_scope(cell) or _is_amount(cell) or is_rating:
            texts.setdefault(cell.label, set()).add(cell.text.casefold())
    return tuple(label for label, cells in texts.items() if len(cells) > 1)
