"""Finds the runbook entry for an alert and answers with it; other questions go to the agents."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from agents.alerts.alert import SEVERITY_KEYS, SHORT_NAME, Alert, as_words, is_identifier, name_key
from agents.alerts.lines import MAX_LABELS
from agents.alerts.parser import alerts_in
from agents.alerts.titles import documented_names, values_around
from agents.answer import Answer, Ask, AskWrapper, Question
from agents.runbooks.answer import runbook_answer
from agents.runbooks.entries import RunbookEntry
from agents.runbooks.labels import AlertFacts
from agents.runbooks.narrowing import MAX_ENTRIES, RunbookMatch, decide
from agents.runbooks.sections import introduction_entry, section_entries
from agents.runbooks.tables import is_name, table_entries
from agents.steps import Progress
from config.domain import Domain
from enrichment.chunk import is_out_of_force
from index.permissions.rules import visible_to
from index.search import SearchQuery, Snapshot

MAX_HITS = 40
MAX_DOCUMENTS = 12
_DEFINITION = re.compile(r"(?<![\w-])([A-Za-z][\w-]{0,19}) ?= ?([^.;=|\n]{1,200})")


def with_runbook_lookup(domain: Domain, snapshot: Callable[[], Snapshot]) -> AskWrapper:
    """`snapshot` as in `agents.graph.build_ask`; its errors are raised."""

    def wrap(ask: Ask) -> Ask:
        def run(question: Question, progress: Progress | None = None) -> Answer:
            alerts = alerts_in(question.text, by_bot=question.by_bot)
            if not alerts:
                return ask(question, progress)
            started = time.perf_counter()
            visible = visible_to(snapshot(), question.readers)
            matches = match_alerts(alerts, visible, domain)
            if not worth_answering(matches):
                return ask(question, progress)
            answer = runbook_answer(matches, visible, [domain.title])
            total = {"total": (time.perf_counter() - started) * 1000}
            return replace(answer, timings_ms=total)

        return run

    return wrap


def match_alerts(alerts: Sequence[Alert], visible: Snapshot, domain: Domain) -> list[RunbookMatch]:
    """The match of each alert, in order, by its documented name. Equal alerts are matched once."""
    by_alert: dict[tuple[object, ...], RunbookMatch] = {}
    matches: list[RunbookMatch] = []
    for alert in alerts:
        key = (alert.title, alert.names, alert.severity, alert.labels, alert.amounts)
        if key not in by_alert:
            by_alert[key] = _look_up(alert, visible, domain)
        renamed = by_alert[key].alert
        as_documented = replace(alert, names=renamed.names, labels=renamed.labels)
        matches.append(replace(by_alert[key], alert=as_documented))
    return matches


def _look_up(alert: Alert, visible: Snapshot, domain: Domain) -> RunbookMatch:
    """Matches by documented names in the title, longest first, else by the guessed names."""
    outdated: RunbookMatch | None = None
    for name in documented_names(alert.title, visible) if alert.title else ():
        result = match(_with_name(alert, name), visible, domain.glossary)
        if result.outcome != "none":
            return result
        outdated = outdated or (result if result.entries else None)
    by_guess = match(alert, visible, domain.glossary)
    is_match = by_guess.outcome != "none" or by_guess.entries
    return by_guess if is_match or outdated is None else outdated


def _with_name(alert: Alert, name: str) -> Alert:
    """The alert under this name: the rest of its title becomes labels, parts of the name do not."""
    parts = {name_key(name), *map(name_key, name.split())}
    labels = [one for one in alert.labels if one[0] or name_key(one[1]) not in parts]
    all_labels = dict.fromkeys((*labels, *values_around(alert.title, name)))
    return replace(alert, names=(name,), labels=tuple(all_labels)[:MAX_LABELS])


def worth_answering(matches: Sequence[RunbookMatch]) -> bool:
    """Whether the matches answer the message. Words that may not be an alert, and that no document
    names as one, are a question for the agents."""
    return any(
        one.outcome != "none"
        or one.entries
        or (not one.alert.only_if_known and (one.alert.certain or one.alert.labels))
        for one in matches
    )


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
            return decide(alert, entries, introductions, facts)
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


def _labels(alert: Alert) -> list[tuple[str, str]]:
    if not alert.severity or any(key.casefold() in SEVERITY_KEYS for key, _ in alert.labels):
        return list(alert.labels)
    return [*alert.labels, ("severity", alert.severity)]
