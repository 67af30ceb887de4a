"""An alert belongs to the domain whose documents hold its row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agents.alerts.alert_text import alerts_in
from agents.alerts.by_runbook import matched, worth_answering
from agents.alerts.runbook_match import RunbookMatch
from agents.answer import Question
from config.domain import Domain
from config.errors import IndexUnavailable, PermissionsUnknown
from index.permissions.rules import as_read_by
from index.search import Snapshot


@dataclass(frozen=True, kw_only=True)
class AlertAmong:
    """What several domains know of the alerts of one message."""

    names: tuple[str, ...]
    domains: tuple[Domain, ...]
    """Those that have a row for one of them; of several, those for whose row its labels speak."""
    nearly: tuple[Domain, ...]
    """Those that have a row for other labels."""
    failed: PermissionsUnknown | None
    """Why one could not be looked into."""


def alert_among(
    text: str,
    domains: Sequence[Domain],
    question_in: Callable[[Domain], Question],
    snapshot: Callable[[str], Snapshot],
) -> AlertAmong | None:
    """None where it is no alert, or may be none and nobody knows it."""
    alerts = alerts_in(text)
    if not alerts:
        return None
    found: list[tuple[Domain, list[RunbookMatch]]] = []
    failed: PermissionsUnknown | None = None
    for domain in domains:
        try:
            seen = as_read_by(snapshot(domain.domain), question_in(domain).readers)
            found.append((domain, matched(alerts, seen, domain)))
        except IndexUnavailable:
            continue
        except PermissionsUnknown as error:
            failed = error
    if not any(worth_answering(matches) for _, matches in found):
        return None
    have = [(one, matches) for one, matches in found if _best(matches)]
    most = max((_best(matches) for _, matches in have), default=0)
    return AlertAmong(
        names=tuple(dict.fromkeys(one.name for one in alerts)),
        domains=tuple(one for one, matches in have if _best(matches) == most),
        nearly=tuple(
            one for one, matches in found if any(m.outcome == "other_scope" for m in matches)
        ),
        failed=failed,
    )


def _best(matches: Sequence[RunbookMatch]) -> int:
    """0: nothing; more for a row than for a mention, and for one that is sure to be meant."""
    ranks = {"found": 2, "several": 1}
    return max(
        (
            2 * ranks[one.outcome] + one.sure - (one.entries[0].kind == "introduction")
            for one in matches
            if one.outcome in ranks
        ),
        default=0,
    )
