"""What counts as a question that the documents failed. Pure.

An outage of ours is none, nor is courtesy, a question back, or one whose asker was shown passages
and left content."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from agents.answer import UNSURE, Answer

WhyFailed = Literal["refused", "unsupported", "unhelpful", "handed_off", "alert"]
OF_THE_DOCUMENTS = frozenset(("wrong", "outdated", "incomplete", "no_answer"))
"""Reasons of *Not helpful* that another document would mend; see `bot.feedback.REASONS`."""
FAILED_PATHS = ("no_answer_found", "company_specific_rag_failure")
ANSWERED_PATHS = ("company_specific_rag_success", "cached")
NEVER = ("", "small_talk", "ambiguous_query")
"""Paths of what asked the documents nothing."""


@dataclass(frozen=True, kw_only=True)
class Signs:
    """All that the record says of a question, but its words."""

    question_id: str
    event_id: str
    domain: str
    asker: str
    path: str
    state: str
    asked_at: datetime
    handed_off: bool = False
    reasons: frozenset[str] = frozenset()
    """Of everybody who found it not helpful; '' for who said no more."""
    words: int = 0
    """How many people said what would have been right."""

    @property
    def marks(self) -> str:
        """The same as long as nothing about it has changed."""
        said = ",".join(sorted(one or "unsaid" for one in self.reasons))
        return f"{self.event_id} {self.path} {self.handed_off:d} {said} {self.words}"


def why_failed(signs: Signs, answer: Answer, *, is_alert: bool) -> WhyFailed | None:
    """None: no gap in the documents. `is_alert`: an alert, whoever put it there."""
    if signs.path in NEVER or (signs.state == "silent" and not is_alert):
        return None
    if signs.handed_off:
        return "handed_off"
    if signs.reasons & OF_THE_DOCUMENTS or ("" in signs.reasons and signs.path in UNSURE):
        return "unhelpful"
    if signs.path not in FAILED_PATHS or _was_outage(answer):
        return None
    if signs.path == "company_specific_rag_failure":
        return "unsupported"
    return "alert" if is_alert else "refused"


def _was_outage(answer: Answer) -> bool:
    """The model was away, which had perhaps found it; unless it had read them and said no."""
    return bool(answer.degraded) and answer.refusal != "not_in_documents"
