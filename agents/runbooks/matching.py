"""Finds the runbook entries of alerts by their names, and chooses among them by their labels."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from agents.alerts.alert import Alert
from agents.runbooks.alert_names import JOINT, names_of
from agents.runbooks.amounts import amounts_in
from agents.runbooks.entries import RunbookCell, RunbookEntry
from agents.runbooks.labels import AlertFacts, labels_in, values_in
from agents.runbooks.lookup import RunbookDocument, read_document
from agents.runbooks.scopes import (
    Reading,
    Values,
    goes_beyond,
    has_amounts,
    read,
    together,
)
from agents.runbooks.words import is_key, normal_key, spelled
from config.domain import Domain
from enrichment.language.words import stems
from enrichment.names import (
    SHORT_NAME,
    as_words,
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
_MAX_SPACES = 3
_SCOPES, _RATINGS = ("scope", ""), ("severity", "owner")
_KINDS = ("item", "page", "section", "row")


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
        self._glossary = glossary
        self._named = dict(visible.named({key for each in names for key in _keys(*each)}))
        self._searches = 0

    def match(self, alert: Alert, names: Sequence[str]) -> RunbookMatch:
        retired: list[RunbookEntry] = []
        for name in names:
            entries = list(self._entries(name))
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
            entries = list(document.entries(name))
            yield from entries
            long_names = document.long_names(name_key(name)) if is_short and not entries else ()
            for long_name in (one.strip(" `") for one in long_names):
                if is_telling(long_name):
                    self._named |= self._visible.named(_keys(long_name))
                    yield from self._entries(long_name, is_short=False)

    def _documents(
        self, named: Mapping[str, Sequence[str]], keys: Collection[str]
    ) -> Iterator[RunbookDocument]:
        ids = dict.fromkeys(one for key in sorted(keys) for one in named.get(key, ()))
        return _read_documents(list(ids), self._visible)

    def _facts(self, alert: Alert, name: str) -> AlertFacts:
        """`name`: the one that is documented; other parts of the alert's name are labels."""
        rest = re.sub(
            rf"([\w./-]*){re.escape(name)}([\w./-]*)",
            lambda match: " | ".join(("", *JOINT.split(f"{match[1]}-{match[2]}"), "")),
            f"{alert.title} | {alert.name}", flags=re.IGNORECASE,
        )  # fmt: skip
        # A key of many words is the beginning of a sentence.
        labels = [(key, value) for key, value in alert.labels if key.count(" ") < _MAX_SPACES]
        sentences = (f"{key}: {value}" for key, value in alert.labels if (key, value) not in labels)
        lines = "\n".join((rest, *alert.lines, *sentences))
        severity = [("severity", alert.severity)] if alert.severity else []
        # A recovered alert states the amounts of now, not those that raised it.
        stated = "\n".join((lines, *(f"{key}={value}" for key, value in labels)))
        amounts = () if alert.status == "resolved" else amounts_in(stated)
        return AlertFacts(
            labels=tuple(dict.fromkeys((*labels, *values_in(rest), *severity, *labels_in(lines)))),
            text="\n".join((lines, *(value for _, value in labels))), amounts=amounts,
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


def introducing(name: str, visible: Snapshot, *, but: str) -> str:
    """The id of the one document, except `but`, whose introduction mentions the name; else ''."""
    key = name_key(name)
    ids = visible.named({key}, mentions=True).get(key, ())
    others = (one for one in _read_documents(ids, visible) if one.card.id != but)
    found_in = [one.card.id for one in others if one.introduces(key)]
    return found_in[0] if len(found_in) == 1 else ""


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
    readings: tuple[tuple[RunbookCell, Reading], ...]

    @property
    def is_for_others(self) -> bool:
        return any(one.verdict == "no" for cell, one in self.readings if cell.role in _SCOPES)

    @property
    def unknown(self) -> list[RunbookCell]:
        cells = [cell for cell, one in self.readings if one.verdict == "unknown" and cell.scope]
        return [cell for cell in cells if cell.role in _SCOPES or has_amounts(cell.scope)]

    def values(self, *roles: str) -> Values:
        """Of the alert's values, those in cells of these roles; without roles, in all others."""
        cells = ((cell.role in (roles or _RATINGS), one.values) for cell, one in self.readings)
        return together(values for is_of, values in cells if is_of == bool(roles))

    def beats(self, other: _Rated, *roles: str, strictly: bool) -> bool:
        """Whether it has values of the alert that the other lacks, and not the other way around.
        `strictly`: what it leaves open in a column of a known key has to be the other's, too."""
        texts = {cell.text for cell, _ in other.readings}
        is_open = any(is_key(cell.label) and cell.text not in texts for cell in self.unknown)
        ahead, behind = self.contradicts(other), other.contradicts(self)
        if roles or ahead == behind:
            ahead = goes_beyond(self.values(*roles), other.values(*roles))
            behind = goes_beyond(other.values(*roles), self.values(*roles))
        return ahead and not behind and not (is_open and strictly)

    def contradicts(self, other: _Rated) -> bool:
        """Whether the alert has its value in a column, and not the other's."""
        labels = {cell.label for cell, one in self.readings if one.verdict == "yes"}
        return any(cell.label in labels for cell in other.unknown)


def _choose(alert: Alert, entries: Sequence[RunbookEntry], facts: AlertFacts) -> RunbookMatch:
    possible = [one for one in _rated(entries, facts) if not one.is_for_others]
    preferred = _preferred(entries)
    left = [one for one in possible if one.entry in preferred]
    if not left:
        others = tuple(entries[:MAX_ENTRIES])
        return RunbookMatch(alert=alert, outcome="other_scope", entries=others)
    # A value alone may be one of no row: severity is no reason to think otherwise.
    alone = bool(facts.alone("service"))
    for roles, strictly in ((), True), (_RATINGS, alone):
        left = [
            one for one in left
            if not any(other.beats(one, *roles, strictly=strictly) for other in left)
        ]  # fmt: skip
    best = left[0]
    steps = {one.entry.first("step").casefold().rstrip(".") for one in left}
    if len(left) > 1 and (len(steps) > 1 or not best.entry.first("step")):
        several = tuple(one.entry for one in left[:MAX_ENTRIES])
        return RunbookMatch(alert=alert, outcome="several", entries=several, on=_deciding(left))
    also = next((one.entry for one in possible if one.entry not in preferred), None)
    unknown = (cell.label for cell in best.unknown if cell.role == "scope" and len(left) == 1)
    return RunbookMatch(
        alert=alert, outcome="found", entries=(best.entry,), also=also,
        unknown=tuple(dict.fromkeys(unknown)),
    )  # fmt: skip


def _preferred(entries: Sequence[RunbookEntry]) -> list[RunbookEntry]:
    """The best of each document, a row before a section before its page, and of these the rows if
    there are any. Entries that say what to do come before all others."""
    best: dict[str, tuple[bool, int]] = {}
    for one in entries:
        document = one.chunk.document_id
        best[document] = max(_rank(one), best.get(document, _rank(one)))
    has_step, kind = max(best.values())
    lowest = (has_step, kind if _KINDS[kind] == "row" else min(kind, 1))
    return [one for one in entries if _rank(one) >= max(lowest, best[one.chunk.document_id])]


def _rank(entry: RunbookEntry) -> tuple[bool, int]:
    return bool(entry.first("step")), _KINDS.index(entry.kind)


def _rated(entries: Sequence[RunbookEntry], facts: AlertFacts) -> Iterator[_Rated]:
    columns = defaultdict[str, Values](frozenset)
    for cell in (cell for entry in entries for cell in entry.cells):
        columns[cell.label] |= together(one.values for one in cell.scope or ())
    labels = {spelled(one.value) for one in facts.elsewhere}
    for entry in entries:
        words = (one for one in re.findall(r"[\w-]+", entry.place) if spelled(one) in labels)
        place = RunbookCell(label="", text=entry.place), Reading("any", frozenset(words))
        cells = (
            (cell, columns[cell.label]) for cell in entry.cells
            if cell.role not in _RATINGS or entry.kind == "row" or cell.text in entry.chunk.heading
        )  # fmt: skip
        readings = [(cell, read(cell.scope, facts, cell.column | own, own)) for cell, own in cells]
        yield _Rated(entry, (*readings, place))


def _deciding(left: Sequence[_Rated]) -> tuple[str, ...]:
    """Labels of the columns in which they differ and that an alert can decide."""
    texts = defaultdict[str, set[str]](set)
    for cell in (cell for one in left for cell, _ in one.readings if cell.scope or not cell.text):
        is_scope = cell.role in _SCOPES and normal_key(cell.label)
        if is_scope or (cell.label and has_amounts(cell.scope)):
            texts[cell.label].add(cell.text.casefold())
    return tuple(label for label, cells in texts.items() if len(cells) > 1)
