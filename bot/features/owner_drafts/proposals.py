"""Proposed golden questions: from corrections, human resolutions and accepted drafts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import yaml
from sqlalchemy import Engine, RowMapping

from bot.features.owner_drafts.store import DraftStore
from bot.questions.store import decode_answer
from bot.questions.tables import create_tables


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
    private: bool = False
    """The answer was written in a direct message, or below a private answer."""


EveryoneMayRead = Callable[[str, frozenset[str]], bool]
"""Domain name and document ids: whether all of them are open to everyone."""


def propose(
    engine: Engine, domain: str | None = None, may_read: EveryoneMayRead = lambda name, ids: False
) -> list[Proposal]:
    """One per question, by question id: an accepted draft, else a correction, else a resolution.
    None for a dismissed draft. A question has its asker's own words where its self-contained form
    repeats documents that not everyone may read: golden questions are for everyone."""
    create_tables(engine)
    store = DraftStore(engine)
    proposals = {row["id"]: _from_question(row, "handoff", may_read) for row in store.resolutions()}
    proposals |= {
        row["id"]: _from_question(row, "correction", may_read) for row in store.corrections()
    }
    for question_id in store.dismissed_questions():
        proposals.pop(question_id, None)
    for proposal in (_from_draft(row, may_read) for row in store.accepted_answers()):
        if proposal.question:
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
            "proposed": {"source": p.source, "by": p.by, "origin": p.origin}
            | ({"private": True} if p.private else {}),
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


def _from_question(row: RowMapping, origin: str, may_read: EveryoneMayRead) -> Proposal:
    standalone, answered = _answer_of(row, may_read)
    return Proposal(
        id=row["id"],
        domain=row["domain"],
        question=standalone or row["text"],
        reference=row["reference"],
        source=row["source"],
        by=row["by"],
        origin=origin,
        answered=answered,
        path=row["path"],
        private=bool(row["private"]),
    )


def _from_draft(row: RowMapping, may_read: EveryoneMayRead) -> Proposal:
    standalone, answered = _answer_of(row, may_read)
    return Proposal(
        id=row["question_id"] or row["key"],
        domain=row["domain"],
        question=standalone or row["text"] or row["question"] or "",
        reference=row["final_words"],
        source=" › ".join(filter(None, (row["title"], row["final_heading"]))),
        by=row["final_by"],
        origin="accepted",
        answered=answered,
        path=row["path"] or "",
        document=row["document"],
        heading=row["final_heading"],
    )


def _answer_of(row: RowMapping, may_read: EveryoneMayRead) -> tuple[str, str]:
    """The self-contained question, if everyone may read it, and the copilot's answer."""
    answer = decode_answer(row["answer"]) if row["answer"] else None
    if answer is None:
        return "", ""
    sources = answer.restated_from
    is_open = sources is not None and (not sources or may_read(row["domain"], sources))
    return answer.standalone_question if is_open else "", answer.text
