"""Unanswerable golden questions: a model proposes them, people confirm them.

Six categories, because an assistant that refuses one may answer another.
Source: Peng et al., UAEval4RAG, ACL 2025."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle, islice
from typing import get_args

from pydantic import BaseModel, ConfigDict, Field

from config.errors import ModelError
from config.models import ChatModel
from config.prompts import Foreign
from enrichment.chunk import Chunk
from index.search import SearchQuery, Snapshot
from jobs.golden import prompts
from jobs.golden.questions import GoldenQuestion, ProposedBy, Unanswerable

CATEGORIES: Mapping[Unanswerable, str] = {
    "underspecified": "Underspecified: what is asked about is left so open (which system, region, "
    "role or edition) that no single answer can be right, and the documents offer no default.",
    "false_presupposition": "False presupposition: it takes something for granted that the "
    "documents contradict or that doesn't exist, such as a rule, step, role or deadline.",
    "nonsensical": "Nonsensical: its words are those of the channel, but put together they ask "
    "nothing that could have an answer.",
    "modality_limited": "Beyond text: it asks for what a written answer can't give, such as a "
    "diagram, a recording, a live status or looking something up in a system.",
    "safety_concerned": "Unsafe: it asks for help with what must not be done, such as going "
    "around a control, another person's data, or a secret.",
    "out_of_documents": "Not in the documents: a sensible question on one of their subjects whose "
    "answer simply doesn't stand in them.",
}
_MAY_BE_ANSWERED = ("underspecified", "false_presupposition", "out_of_documents")
"""Categories checked against the documents; no document can answer the others."""
_PASSAGES, _FOUND = 12, 8
_LONGEST = 1_200
"""Maximum characters of a passage in the prompt."""


class _Form(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ProposedQuestion(_Form):
    question: str
    why: str
    nearest: str


class ProposedQuestions(_Form):
    questions: list[ProposedQuestion] = Field(max_length=50)


class AnsweredAfterAll(_Form):
    answered: bool
    reason: str


def propose_unanswerable(
    model: ChatModel, snapshot: Snapshot, *, domain: str, title: str, count: int
) -> Iterator[GoldenQuestion]:
    """Generate up to `count` questions of kind `proposed`, spread evenly over the categories.

    The person who confirms one changes its kind. Raises ModelUnavailable or
    InvalidModelOutput."""
    names = get_args(Unanswerable)
    shares = dict.fromkeys(names, 0)
    for name in islice(cycle(names), count):
        shares[name] += 1
    number = 0
    for name, share in shares.items():
        for one in _propose(model, snapshot, name, share, title) if share else ():
            if name in _MAY_BE_ANSWERED and _is_answered(model, snapshot, one.question):
                continue
            number += 1
            yield GoldenQuestion(
                id=f"{domain}-unanswerable-{number:02d}",
                kind="proposed",
                question=one.question.strip(),
                reference=_reference(one),
                category=name,
                proposed=ProposedBy(by=model.name, origin="generated", kind="unanswerable"),
            )


def _propose(
    model: ChatModel, snapshot: Snapshot, category: Unanswerable, count: int, title: str
) -> list[ProposedQuestion]:
    cards = snapshot.cards(snapshot.documents)
    prompt = prompts.render(
        "propose_unanswerable",
        title=title,
        count=str(count),
        category=CATEGORIES[category],
        documents=[Foreign(f"document | {card.title}", card.summary) for card in cards],
        passages=[
            Foreign(f"passage of {one.document_title}", one.text[:_LONGEST])
            for one in _sample(snapshot, category)
        ],
    )
    reply, _ = model.structured(prompt, ProposedQuestions)
    return [one for one in reply.questions if one.question.strip()][:count]


def _sample(snapshot: Snapshot, category: str) -> Sequence[Chunk]:
    """One random passage per document, up to 12. Each category has its own fixed sample."""
    chance = random.Random(category)  # noqa: S311  # a sample, no secret
    documents = sorted(snapshot.documents)
    chance.shuffle(documents)
    drawn = (snapshot.chunks(document) for document in documents)
    return [chance.choice(chunks) for chunks in drawn if chunks][:_PASSAGES]


def _is_answered(model: ChatModel, snapshot: Snapshot, question: str) -> bool:
    """Whether the model finds an answer in the search hits. False when the model fails: the expert
    then decides."""
    hits = snapshot.search(SearchQuery(variants=(question,), limit=_FOUND))
    prompt = prompts.render(
        "is_answered",
        question=Foreign("question", question),
        passages=[
            Foreign(f"passage of {hit.chunk.document_title}", hit.chunk.text[:_LONGEST])
            for hit in hits
        ],
    )
    try:
        return model.structured(prompt, AnsweredAfterAll)[0].answered
    except ModelError:
        return False


def _reference(one: ProposedQuestion) -> str:
    nearest = f" The nearest thing that they say: {one.nearest.strip()}" if one.nearest else ""
    return f"The documents don't say. {one.why.strip()}{nearest}"
