"""An alert, asked of a domain, is answered by its row; everything else goes to the agents."""

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
            begun = time.perf_counter()
            seen = visible_to(snapshot(), question.readers)
            found = matched(alerts, seen, domain)
            if not worth_answering(found):
                return ask(question, progress)
            answer = runbook_answer(found, seen, [domain.title])
            total = {"total": (time.perf_counter() - begun) * 1000}
            return replace(answer, timings_ms=total)

        return run

    return wrap


def matched(alerts: Sequence[Alert], seen: Snapshot, domain: Domain) -> list[RunbookMatch]:
    """Each alert's, in order, called as documents call it; those that are alike are looked up
    once."""
    known: dict[tuple[object, ...], RunbookMatch] = {}
    found: list[RunbookMatch] = []
    for alert in alerts:
        asked = (alert.title, alert.names, alert.severity, alert.labels, alert.amounts)
        if asked not in known:
            known[asked] = _looked_up(alert, seen, domain)
        named = known[asked].alert
        told = replace(alert, names=named.names, labels=named.labels)
        found.append(replace(known[asked], alert=told))
    return found


def _looked_up(alert: Alert, seen: Snapshot, domain: Domain) -> RunbookMatch:
    """By a documented name in its title, the longest first; else by what its name seems to be."""
    no_more: RunbookMatch | None = None
    for name in documented_names(alert.title, seen) if alert.title else ():
        found = match(_called(alert, name), seen, domain.glossary)
        if found.outcome != "none":
            return found
        no_more = no_more or (found if found.entries else None)
    guessed = match(alert, seen, domain.glossary)
    known = guessed.outcome != "none" or guessed.entries
    return guessed if known or no_more is None else no_more


def _called(alert: Alert, name: str) -> Alert:
    """All that its title says beside this name are labels, and no part of the name is one."""
    parts = {name_key(name), *map(name_key, name.split())}
    labels = [one for one in alert.labels if one[0] or name_key(one[1]) not in parts]
    told = dict.fromkeys((*labels, *values_around(alert.title, name)))
    return replace(alert, names=(name,), labels=tuple(told)[:MAX_LABELS])


def worth_answering(found: Sequence[RunbookMatch]) -> bool:
    """Words that may be meant otherwise, and that no document knows as an alert, are a question."""
    return any(
        one.outcome != "none"
        or one.entries
        or (not one.alert.only_if_known and (one.alert.certain or one.alert.labels))
        for one in found
    )
