"""Which questions the documents failed to answer, and the states of a gap.

Outages, courtesy, questions back, and passages that satisfied the asker don't count. Alerts without
a runbook have one gap for each name: their text is mostly numbers and a form that all alerts of a
product share."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from agents.alerts.reader import alerts_in
from agents.answer import UNSURE, Answer
from enrichment.names import name_key

_PREFIX = "alert-"


def alert_name(text: str, by_bot: Callable[[], bool]) -> str:
    """The name of the first alert in a message; empty where there is none. A person's message
    counts only where it is certainly an alert, see `agents.runbooks.matching.worth_answering`."""
    certain = [one for one in alerts_in(text) if one.certain]
    alerts = certain or (alerts_in(text, by_bot=True) if by_bot() else ())
    return alerts[0].name if alerts else ""


def alert_gap(domain: str, name: str) -> str:
    """Id of the gap of this kind."""
    seed = f"{domain}\0{name_key(name)}".encode()
    return f"{_PREFIX}{hashlib.sha256(seed).hexdigest()[:16]}"


def is_of_alerts(gap: str) -> bool:
    return gap.startswith(_PREFIX)


WhyFailed = Literal["refused", "unsupported", "unhelpful", "handed_off", "alert"]
DOCUMENT_REASONS = frozenset(("wrong", "outdated", "incomplete", "no_answer"))
"""Reasons of *Not helpful* that another document would fix; see `REASONS` of the feedback."""
FAILED_PATHS = ("no_answer_found", "company_specific_rag_failure")
ANSWERED_PATHS = ("company_specific_rag_success", "cached")
NO_SEARCH_PATHS = ("", "small_talk", "ambiguous_query")
"""Paths of messages for which no document was searched."""
ANSWERED_STATES = ("posted", "silent")
"""States of a question with an answer: neither deleted, failed nor limited."""


@dataclass(frozen=True, kw_only=True)
class FailureSignals:
    """A question's stored data, without its text."""

    question_id: str
    event_id: str
    domain: str
    asker: str
    path: str
    state: str
    asked_at: datetime
    handed_off: bool = False
    reasons: frozenset[str] = frozenset()
    """The reasons of all users who marked it not helpful; '' for no reason."""
    words: int = 0
    """People who gave the right answer."""

    @property
    def marks(self) -> str:
        """Changes whenever one of the signals does."""
        reasons = ",".join(sorted(one or "unsaid" for one in self.reasons))
        return f"{self.event_id} {self.path} {self.handed_off:d} {reasons} {self.words}"


def why_failed(signals: FailureSignals, answer: Answer, *, is_alert: bool) -> WhyFailed | None:
    """None: no gap in the documents."""
    if signals.path in NO_SEARCH_PATHS or (signals.state == "silent" and not is_alert):
        return None
    if signals.handed_off:
        return "handed_off"
    if signals.reasons & DOCUMENT_REASONS or ("" in signals.reasons and signals.path in UNSURE):
        return "unhelpful"
    # The model was unavailable, and might have found an answer in documents that it did not read.
    was_outage = answer.degraded and answer.refusal != "not_in_documents"
    if signals.path not in FAILED_PATHS or was_outage:
        return None
    if signals.path == "company_specific_rag_failure":
        return "unsupported"
    return "alert" if is_alert else "refused"


GapState = Literal["open", "proposed", "accepted", "closed", "dismissed", "reopened"]
"""`open`: unanswered; `proposed`: an owner has a draft for it; `accepted`: an owner accepted the
draft, and the document doesn't say so yet; `closed`: the document answers; `dismissed`: an owner
decided that it won't; `reopened`: it was closed, and isn't answered any more."""

UNANSWERED: frozenset[GapState] = frozenset(("open", "proposed", "accepted", "reopened"))

STATE_LABELS: dict[GapState, str] = {
    "open": "open",
    "proposed": "a draft is with the owner",
    "accepted": "accepted, not in the document yet",
    "closed": "answered",
    "dismissed": "dismissed by the owner",
    "reopened": "open again",
}


def state_after(decision: str, before: GapState, outcomes: Collection[str]) -> GapState:
    """`outcomes`: of all drafts of the gap, this one included; '' for those that wait."""
    if before == "closed":
        return before
    if decision == "accepted":
        return "accepted"
    if before == "accepted" and "accepted" in outcomes:
        return before
    if "" in outcomes:
        return before
    if "accepted" in outcomes:
        return "reopened"  # an earlier draft no longer answers, and no other will
    return "dismissed" if set(outcomes) == {"dismissed"} else "open"
