"""Answers alerts with their runbook entry; other questions go to the agents."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from agents.alerts.alert import Alert, name_key
from agents.alerts.lines import MAX_LABELS
from agents.alerts.parser import alerts_in
from agents.alerts.titles import documented_names, values_around
from agents.answer import Answer, Ask, AskWrapper, Question
from agents.runbooks.answer import runbook_answer
from agents.runbooks.matching import RunbookMatch, match
from agents.steps import Progress
from config.domain import Domain
from index.permissions.rules import visible_to
from index.search import Snapshot


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
