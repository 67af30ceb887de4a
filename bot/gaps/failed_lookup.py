"""Which questions on record may have failed for want of a document."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from typing import Any

from sqlalchemy import Engine, or_, select

from bot.gaps.failed_questions import FAILED_PATHS, NEVER, Signs
from bot.memory.alert_tables import alert_episodes
from bot.memory.state_tables import feedback, handoffs, questions
from bot.privacy.questions_gone import batches

SEEN_THROUGH = ("posted", "silent")
"""States of a question whose answer stands: none that was taken back, failed or was limited."""


def failing(engine: Engine) -> dict[str, Signs]:
    """By question id, in the order in which they were asked."""
    disliked = select(feedback.c.question_id).where(feedback.c.verdict == "unhelpful")
    query = (
        select(
            questions.c.id, questions.c.event_id, questions.c.domain, questions.c.asker,
            questions.c.path, questions.c.state, questions.c.asked_at,
        )
        .where(questions.c.state.in_(SEEN_THROUGH), questions.c.path.not_in(NEVER))
        .where(
            or_(
                questions.c.path.in_(FAILED_PATHS),
                questions.c.id.in_(disliked),
                questions.c.id.in_(select(handoffs.c.question_id)),
            )
        )
        .order_by(questions.c.asked_at, questions.c.id)
    )  # fmt: skip
    with engine.connect() as connection:
        rows = connection.execute(query).all()
        verdicts = connection.execute(
            select(feedback.c.question_id, feedback.c.reason, feedback.c.correction).where(
                feedback.c.verdict == "unhelpful"
            )
        ).all()
        called = connection.execute(select(handoffs.c.question_id, handoffs.c.resolution)).all()
    reasons: dict[str, set[str]] = defaultdict(set)
    for verdict in verdicts:
        reasons[verdict.question_id].add(verdict.reason)
    words = Counter(one.question_id for one in verdicts if one.correction)
    words.update(one.question_id for one in called if one.resolution)
    handed_off = {one.question_id for one in called}
    return {
        row.id: Signs(
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


def alert_names(engine: Engine, ids: Collection[str]) -> dict[str, str]:
    """Question id → the alert that a bot posted there and that no document tells of."""
    found: dict[str, str] = {}
    with engine.connect() as connection:
        for batch in batches(ids):
            query = select(alert_episodes.c.question_id, alert_episodes.c.name)
            query = query.where(
                alert_episodes.c.question_id.in_(batch),
                alert_episodes.c.outcome.in_(("none", "other_scope")),
            )
            for row in connection.execute(query.order_by(alert_episodes.c.name.desc())):
                found[row.question_id] = row.name
    return found


def words_asked(engine: Engine, ids: Collection[str]) -> dict[str, str]:
    """Question id → the question, self-contained; without those whose words are gone."""
    found: dict[str, str] = {}
    with engine.connect() as connection:
        for batch in batches(ids):
            query = select(questions.c.id, questions.c.text, questions.c.answer)
            query = query.where(questions.c.id.in_(batch), questions.c.state.in_(SEEN_THROUGH))
            for row in connection.execute(query):
                if text := _standalone(row.answer) or row.text.strip():
                    found[row.id] = text
    return found


def _standalone(answer: str | None) -> str:
    kept: Mapping[str, Any] = json.loads(answer) if answer else {}
    return str(kept.get("standalone_question") or "").strip()
