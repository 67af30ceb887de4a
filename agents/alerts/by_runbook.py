"""An alert, asked of a domain, is answered by its row; everything else goes to the agents."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from agents.alerts.alert import Alert
from agents.alerts.alert_text import alerts_in
from agents.alerts.runbook_answer import runbook_answer
from agents.alerts.runbook_match import RunbookMatch, match
from agents.answer import Answer, Ask, Progress, Question
from config.domain import Domain
from index.readers import as_read_by
from index.search import Snapshot


def by_runbook(ask: Ask, *, snapshot: Callable[[], Snapshot], domain: Domain) -> Ask:
    """`snapshot` as in `agents.graph.build_ask`, and what it raises is raised."""

    def answered(question: Question, progress: Progress | None = None) -> Answer:
        alerts = alerts_in(question.text)
        if not alerts:
            return ask(question, progress)
        begun = time.perf_counter()
        seen = as_read_by(snapshot(), question.readers)
        found = matched(alerts, seen, domain)
        if not worth_answering(found):
            return ask(question, progress)
        answer = runbook_answer(found, seen, [domain.title])
        total = {"total": (time.perf_counter() - begun) * 1000}
        return replace(answer, timings_ms=total)

    return answered


def matched(alerts: Sequence[Alert], seen: Snapshot, domain: Domain) -> list[RunbookMatch]:
    """Each alert's, in order; those that are alike are looked up once."""
    known: dict[tuple[object, ...], RunbookMatch] = {}
    found: list[RunbookMatch] = []
    for alert in alerts:
        asked = (alert.names, alert.severity, alert.labels, alert.amounts)
        if asked not in known:
            known[asked] = match(alert, seen, domain.glossary)
        found.append(replace(known[asked], alert=alert))
    return found


def worth_answering(found: Sequence[RunbookMatch]) -> bool:
    """Words that may be meant otherwise, and that no document knows as an alert, are a question."""
    return any(one.outcome != "none" or one.alert.certain or one.alert.labels for one in found)
