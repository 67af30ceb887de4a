"""Proposed golden questions: from corrections, human resolutions and accepted drafts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import yaml
from sqlalchemy import Engine, select

from bot.features.owner_drafts.store import OwnerDraftRow, create_draft_tables
from bot.questions.store import decode_answer
from bot.questions.tables import FORGOTTEN, FeedbackRow, HandoffRow, QuestionRow, create_tables


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """A question that the copilot got wrong or couldn't answer, with a person's answer to it."""

    id: str
    domain: str
    question: str
    reference: str
    """The right answer, in the person's words."""
    source: str
    """Where the answer is, in the person's words; may be empty."""
    by: str
    """Slack user id."""
    origin: str
    """`correction`, `handoff`, or `accepted` by the document's owner."""
    answered: str
    """The copilot's answer."""
    path: str
    document: str = ""
    """Id, by its owner's decision."""
    heading: str = ""


def propose(engine: Engine, domain: str | None = None) -> list[Proposal]:
    """One per question, by question id: an accepted draft, else a correction, else a resolution.
    None for a dismissed draft."""
    create_tables(engine)
    create_draft_tables(engine)
    proposals: dict[str, Proposal] = {}
    for proposal in (*_handoffs(engine), *_corrections(engine)):
        proposals[proposal.id] = proposal
    for question_id in _dismissed(engine):
        proposals.pop(question_id, None)
    for proposal in _accepted(engine):
        proposals[proposal.id] = proposal
    matching = (one for one in proposals.values() if domain in (None, one.domain))
    return sorted(matching, key=lambda proposal: proposal.id)


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
            "evidence": _evidence(p),
            "proposed": {k: v for k, v in asdict(p).items() if k in {"by", "origin", "source"}},
        }
        for p in proposals
    ]
    return str(yaml.safe_dump(entries, sort_keys=False, allow_unicode=True, width=100))


def _evidence(p: Proposal) -> list[dict[str, str]]:
    """The place that the owner named. The heading is the quote until an expert picks a better one:
    the accepted words may not be in the document yet."""
    if not (p.document and p.heading):
        return []
    return [{"document": p.document, "heading": p.heading, "quote": p.heading}]


def _corrections(engine: Engine) -> Iterator[Proposal]:
    query = (
        select(QuestionRow, FeedbackRow.correction, FeedbackRow.source, FeedbackRow.user)
        .join(FeedbackRow, FeedbackRow.question_id == QuestionRow.id)
        .where(FeedbackRow.correction != "", QuestionRow.state != FORGOTTEN)
        .order_by(FeedbackRow.given_at)
    )
    with engine.connect() as connection:
        for row in connection.execute(query).mappings():
            yield _proposal(row, row["correction"], row["source"], row["user"], "correction")


def _handoffs(engine: Engine) -> Iterator[Proposal]:
    query = (
        select(QuestionRow, HandoffRow.resolution, HandoffRow.resolved_by.label("human"))
        .join(HandoffRow, HandoffRow.question_id == QuestionRow.id)
        .where(HandoffRow.resolution != "", QuestionRow.state != FORGOTTEN)
    )
    with engine.connect() as connection:
        for row in connection.execute(query).mappings():
            yield _proposal(row, row["resolution"], "", row["human"], "handoff")


def _accepted(engine: Engine) -> Iterator[Proposal]:
    """Proposals from accepted drafts with answers: other kinds of drafts answer no question."""
    query = (
        select(OwnerDraftRow, QuestionRow.text, QuestionRow.answer, QuestionRow.path)
        .outerjoin(QuestionRow, QuestionRow.id == OwnerDraftRow.question_id)
        .where(OwnerDraftRow.kind == "answer", OwnerDraftRow.state == "accepted")
        .where(OwnerDraftRow.final_words != "")
        .order_by(OwnerDraftRow.decided_at)
    )
    with engine.connect() as connection:
        for row in connection.execute(query).mappings():
            answer = decode_answer(row["answer"]) if row["answer"] else None
            standalone = answer.standalone_question if answer else ""
            question = standalone or row["question"] or row["text"] or ""
            place = " › ".join(filter(None, (row["title"], row["final_heading"])))
            if question:
                yield Proposal(
                    id=row["question_id"] or row["key"],
                    domain=row["domain"],
                    question=question,
                    reference=row["final_words"],
                    source=place,
                    by=row["final_by"],
                    origin="accepted",
                    answered=answer.text if answer else "",
                    path=row["path"] or "",
                    document=row["document"],
                    heading=row["final_heading"],
                )


def _dismissed(engine: Engine) -> list[str]:
    query = select(OwnerDraftRow.question_id).where(
        OwnerDraftRow.kind == "answer",
        OwnerDraftRow.state == "dismissed",
        OwnerDraftRow.question_id != "",
    )
    with engine.connect() as connection:
        return list(connection.scalars(query))


def _proposal(row: Any, reference: str, source: str, by: str, origin: str) -> Proposal:
    answer = decode_answer(row["answer"]) if row["answer"] else None
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
