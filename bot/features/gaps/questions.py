"""Which questions on record the documents failed.

An outage of ours is none, nor is courtesy, a question back, or one whose asker was shown passages
and left content.

Alerts without a runbook: a gap for each kind. What one says is mostly numbers and a form that
all of its product share, so neither its words nor its figures tell kinds apart: its name does.

What a gap goes through, from the first question to the document that answers it."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import Engine, or_, select

from agents.alerts.alert import name_key
from agents.alerts.parser import alerts_in
from agents.answer import UNSURE, Answer
from bot.db import batches
from bot.questions.tables import FeedbackRow, HandoffRow, QuestionRow

_PREFIX = "alert-"


def alert_name(text: str, by_bot: Callable[[], bool]) -> str:
    """Of the first alert in a message, '' where there is none: that of a person may be words that
    are meant otherwise, see `agents.runbooks.lookup.worth_answering`."""
    found = alerts_in(text)
    if any(one.certain or one.labels for one in found):
        return found[0].name
    told = alerts_in(text, by_bot=True) if by_bot() else ()
    return told[0].name if told else ""


def alert_gap(domain: str, name: str) -> str:
    """Id of the gap of this kind."""
    seed = f"{domain}\0{name_key(name)}".encode()
    return f"{_PREFIX}{hashlib.sha256(seed).hexdigest()[:16]}"


def is_of_alerts(gap: str) -> bool:
    """By its id."""
    return gap.startswith(_PREFIX)


def called(name: str) -> str:
    """What is missing, as the heading of what should be there."""
    return f"Runbook for {name}"[:80]


WhyFailed = Literal["refused", "unsupported", "unhelpful", "handed_off", "alert"]
OF_THE_DOCUMENTS = frozenset(("wrong", "outdated", "incomplete", "no_answer"))
"""Reasons of *Not helpful* that another document would mend; see `REASONS` of the feedback."""
FAILED_PATHS = ("no_answer_found", "company_specific_rag_failure")
ANSWERED_PATHS = ("company_specific_rag_success", "cached")
NEVER = ("", "small_talk", "ambiguous_query")
"""Paths of what asked the documents nothing."""
SEEN_THROUGH = ("posted", "silent")
"""States of a question whose answer stands: none that was taken back, failed or was limited."""


@dataclass(frozen=True, kw_only=True)
class FailureSignals:
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


def why_failed(signs: FailureSignals, answer: Answer, *, is_alert: bool) -> WhyFailed | None:
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


def failing(engine: Engine) -> dict[str, FailureSignals]:
    """By question id, in the order in which they were asked."""
    disliked = select(FeedbackRow.question_id).where(FeedbackRow.verdict == "unhelpful")
    query = (
        select(
            QuestionRow.id, QuestionRow.event_id, QuestionRow.domain, QuestionRow.asker,
            QuestionRow.path, QuestionRow.state, QuestionRow.asked_at,
        )
        .where(QuestionRow.state.in_(SEEN_THROUGH), QuestionRow.path.not_in(NEVER))
        .where(
            or_(
                QuestionRow.path.in_(FAILED_PATHS),
                QuestionRow.id.in_(disliked),
                QuestionRow.id.in_(select(HandoffRow.question_id)),
            )
        )
        .order_by(QuestionRow.asked_at, QuestionRow.id)
    )  # fmt: skip
    with engine.connect() as connection:
        rows = connection.execute(query).all()
        verdicts = connection.execute(
            select(FeedbackRow.question_id, FeedbackRow.reason, FeedbackRow.correction).where(
                FeedbackRow.verdict == "unhelpful"
            )
        ).all()
        called = connection.execute(select(HandoffRow.question_id, HandoffRow.resolution)).all()
    reasons: dict[str, set[str]] = defaultdict(set)
    for verdict in verdicts:
        reasons[verdict.question_id].add(verdict.reason)
    words = Counter(one.question_id for one in verdicts if one.correction)
    words.update(one.question_id for one in called if one.resolution)
    handed_off = {one.question_id for one in called}
    return {
        row.id: FailureSignals(
            question_id=row.id,
            event_id=row.event_id,
            domain=row.domain,
            asker=row.asker,
            path=row.path,
            state=row.state,
            asked_at=row.asked_at,
            handed_off=row.id in handed_off,
            reasons=frozenset(reasons[row.id]) if row.id in reasons else frozenset(),
            words=words[row.id],
        )
        for row in rows
    }


def words_asked(engine: Engine, ids: Collection[str]) -> dict[str, str]:
    """Question id → the question, self-contained; without those whose words are gone."""
    found: dict[str, str] = {}
    with engine.connect() as connection:
        for batch in batches(ids):
            query = select(QuestionRow.id, QuestionRow.text, QuestionRow.answer)
            query = query.where(QuestionRow.id.in_(batch), QuestionRow.state.in_(SEEN_THROUGH))
            for row in connection.execute(query):
                if text := _standalone(row.answer) or row.text.strip():
                    found[row.id] = text
    return found


def unanswered(engine: Engine, ids: Collection[str]) -> set[str]:
    """Those that were answered from the documents all the same."""
    found: set[str] = set()
    with engine.connect() as connection:
        for batch in batches(ids):
            query = select(QuestionRow.id).where(QuestionRow.path.in_(ANSWERED_PATHS))
            found |= set(connection.scalars(query.where(QuestionRow.id.in_(batch))))
    return found


def _was_outage(answer: Answer) -> bool:
    """The model was away, which had perhaps found it; unless it had read them and said no."""
    return bool(answer.degraded) and answer.refusal != "not_in_documents"


def _standalone(answer: str | None) -> str:
    kept: Mapping[str, Any] = json.loads(answer) if answer else {}
    return str(kept.get("standalone_question") or "").strip()


GapState = Literal["open", "proposed", "accepted", "closed", "dismissed", "reopened"]
"""`open`: asked in vain; `proposed`: an owner has somebody's words for it; `accepted`: an owner
took them, and the document doesn't say so yet; `closed`: the document answers; `dismissed`: an
owner decided that it won't; `reopened`: it was closed, and isn't answered any more."""

UNANSWERED: frozenset[GapState] = frozenset(("open", "proposed", "accepted", "reopened"))

SAID: dict[GapState, str] = {
    "open": "open",
    "proposed": "a draft is with the owner",
    "accepted": "accepted, not in the document yet",
    "closed": "answered",
    "dismissed": "dismissed by the owner",
    "reopened": "open again",
}


def state_after(decided: str, before: GapState, outcomes: Collection[str]) -> GapState:
    """Of a gap about one of whose drafts was decided. `outcomes`: of all its drafts, this one among
    them, '' for those that wait."""
    if before == "closed":
        return before
    if decided == "accepted":
        return "accepted"
    if before == "accepted" and "accepted" in outcomes:
        return before
    if "" in outcomes:
        return before
    if "accepted" in outcomes:
        return "reopened"  # what was accepted once no longer answers, and nothing else will
    return "dismissed" if set(outcomes) == {"dismissed"} else "open"
