"""Corrections and human resolutions as proposed golden questions, for an owner to accept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import yaml
from sqlalchemy import Engine, select

from bot.memory.record import decoded
from bot.memory.state_tables import FORGOTTEN, create_tables, feedback, handoffs, questions


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """A question that the copilot got wrong or couldn't answer, with a person's answer to it."""

    id: str
    domain: str
    question: str
    reference: str
    """The right answer, in the person's words."""
    source: str
    """Where it says so, as the person put it; may be empty."""
    by: str
    """Slack user id."""
    origin: str
    """`correction` or `handoff`."""
    answered: str
    """What the copilot had said."""
    path: str


def propose(engine: Engine, domain: str | None = None) -> list[Proposal]:
    """All proposals, oldest first, one per question; a correction counts over a hand-off."""
    create_tables(engine)
    found: dict[str, Proposal] = {}
    for proposal in (*_handoffs(engine), *_corrections(engine)):
        if domain in (None, proposal.domain):
            found[proposal.id] = proposal
    return sorted(found.values(), key=lambda proposal: proposal.id)


def to_yaml(proposals: list[Proposal]) -> str:
    """Golden-set YAML; what only an owner can add (evidence, rubric) is left empty."""
    entries = [
        {
            "id": f"{p.domain or 'proposed'}-{p.id.replace(':', '-').replace('.', '-').lower()}",
            "kind": "proposed",
            "question": p.question,
            "history": [],
            "reference": p.reference,
            "must_include": [],
            "rubric": [],
            "evidence": [],
            "proposed": {k: v for k, v in asdict(p).items() if k in {"by", "origin", "source"}},
        }
        for p in proposals
    ]
    return str(yaml.safe_dump(entries, sort_keys=False, allow_unicode=True, width=100))


def _corrections(engine: Engine) -> Iterator[Proposal]:
    query = (
        select(questions, feedback.c.correction, feedback.c.source, feedback.c.user)
        .join(feedback, feedback.c.question_id == questions.c.id)
        .where(feedback.c.correction != "", questions.c.state != FORGOTTEN)
        .order_by(feedback.c.given_at)
    )
    with engine.connect() as connection:
        for row in connection.execute(query).mappings():
            yield _proposal(row, row["correction"], row["source"], row["user"], "correction")


def _handoffs(engine: Engine) -> Iterator[Proposal]:
    query = (
        select(questions, handoffs.c.resolution, handoffs.c.resolved_by.label("human"))
        .join(handoffs, handoffs.c.question_id == questions.c.id)
        .where(handoffs.c.resolution != "", questions.c.state != FORGOTTEN)
    )
    with engine.connect() as connection:
        for row in connection.execute(query).mappings():
            yield _proposal(row, row["resolution"], "", row["human"], "handoff")


def _proposal(row: Any, reference: str, source: str, by: str, origin: str) -> Proposal:
    answer = decoded(row["answer"]) if row["answer"] else None
    standalone = answer.standalone_question if answer else ""
    return Proposal(
        id=row["id"],
        domain=row["domain"],
        question=standalone or row["text"],
        reference=reference,
        source=source,
        by=by,
        origin=origin,
        answered=answer.text if answer else "",
        path=row["path"],
    )
