"""Alerts made by hand, looked up in documents of an invented company."""

from __future__ import annotations

from agents.alerts.alert import Alert
from agents.runbooks.matching import RunbookMatch, match_alerts
from index.search import Snapshot
from tests.agents.corpus import domain


def alert(name: str, *labels: str, says: str = "", title: str = "", **fields: object) -> Alert:
    """`labels`: `key=value`, or a value alone. With a title the name is only guessed."""
    pairs = tuple((key, value) for key, _, value in (one.rpartition("=") for one in labels))
    made = Alert(
        name=name, named=not title, title=title, labels=pairs, lines=tuple(says.split("|"))
    )
    return Alert(**{**vars(made), **fields})


def matched(known: Snapshot, one: Alert) -> RunbookMatch:
    (match,) = match_alerts([one], known, domain())
    return match


def steps(match: RunbookMatch) -> list[str]:
    return [one.first("step").rstrip(".") for one in match.entries]
