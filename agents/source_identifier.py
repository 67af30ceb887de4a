"""Agent 2: narrows to the documents that can hold the answer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice

from pydantic import BaseModel, Field

from agents.context.duplicates import editions_for
from agents.extractive.language import asks_about_the_past
from agents.plan import Plan, SourceChoice
from agents.prompts import render
from agents.retrieval import RetrievalRequest, retrieve
from agents.state import AgentResult, with_fallback
from config.domain import Domain, Example
from config.models import ChatModel, Usage
from config.prompts import Foreign, listed
from enrichment.chunk import DocumentCard, is_out_of_force, standing
from enrichment.language.words import naming_words, stems
from index.search import Snapshot

LONGEST_LIST = 60
"""Documents that one prompt lists; of more, the likeliest are shortlisted by search."""
_PASSAGES, _PASSAGES_FOR_A_LIST = 60, 240
"""Passages by which documents are ranked: the best few, or more than one prompt lists."""
_LIST_CHARACTERS = 12_000
"""Of the summaries and headings of all documents listed; titles come on top."""
_LONGEST_LINE = 460
"""Characters of one document's summary and headings."""
_MOST_CHOSEN = 8
_NOT_LISTED = (
    "The list is a shortlist made by search: {} further documents are less like the question."
)


@dataclass(frozen=True, kw_only=True)
class SourceRequest:
    """What the source identifier sees."""

    plan: Plan
    snapshot: Snapshot


class ChosenDocument(BaseModel):
    id: str = Field(description="Id from the list")
    reason: str = Field(default_factory=str, description="Why it can hold the answer, a few words")


class ChosenDocuments(BaseModel):
    """The reply asked of the model."""

    documents: list[ChosenDocument] = Field(description="Best first, at most 8; [] when none fits")


def source_identifier(
    domain: Domain, model: ChatModel | None
) -> Callable[[SourceRequest], AgentResult[SourceChoice]]:
    return with_fallback(
        "source_identifier",
        choose_with_model(domain, model) if model else None,
        choose_without_model(domain),
    )


def choose_without_model(domain: Domain) -> Callable[[SourceRequest], SourceChoice]:
    """Ranks documents by their passages, by the examples, and by the document list's own words.

    Restricts nothing: measured, a narrowing made without a model loses more than it finds."""

    def run(planned: SourceRequest) -> SourceChoice:
        likely = likely_documents(planned, domain.examples)
        best = [document for document in likely if document in planned.snapshot.documents]
        return SourceChoice(
            reasons={
                document: _why(planned, document, f"rank {rank} by its passages")
                for rank, document in enumerate(best[:_MOST_CHOSEN], start=1)
            }
        )

    return run


def choose_with_model(
    domain: Domain, model: ChatModel
) -> Callable[[SourceRequest], tuple[SourceChoice, Usage]]:
    without_asking = choose_without_model(domain)

    def run(planned: SourceRequest) -> tuple[SourceChoice, Usage]:
        if len(planned.snapshot.documents) < 2:  # there is nothing to choose
            return without_asking(planned), Usage()
        cards = shortlist(planned, domain.examples)
        others = len(planned.snapshot.documents) - len(cards)
        room = min(_LONGEST_LINE, _LIST_CHARACTERS // max(1, len(cards)))
        prompt = render(
            "sources",
            title=domain.title,
            listing=_NOT_LISTED.format(others) if others else "",
            examples=Foreign("questions answered before", listed(map(_answered, domain.examples))),
            documents=Foreign("documents", listed(_described(card, room) for card in cards)),
            question=Foreign("question", planned.plan.question),
            sub_questions=Foreign("parts of the question", listed(planned.plan.parts)),
        )
        reply, usage = model.structured(prompt, ChosenDocuments)
        known = {card.id for card in cards}
        chosen = {one.id: one.reason for one in reply.documents[:_MOST_CHOSEN] if one.id in known}
        documents = current_first(chosen, planned)
        reasons = {document: _why(planned, document, chosen[document]) for document in documents}
        return SourceChoice(documents=tuple(documents), reasons=reasons), usage

    return run


def shortlist(planned: SourceRequest, examples: Iterable[Example]) -> list[DocumentCard]:
    """At most 60 cards, the likeliest ones when there are more."""
    cards = planned.snapshot.documents
    if len(cards) <= LONGEST_LIST:
        return planned.snapshot.cards(cards)
    ranked_documents = likely_documents(planned, examples, passages=_PASSAGES_FOR_A_LIST)
    likely = [document for document in ranked_documents if document in cards]
    matches = {document: _card_match(card, planned.plan) for document, card in cards.items()}
    by_card = sorted(matches, key=lambda document: -matches[document])
    ranked = dict.fromkeys([*likely[: LONGEST_LIST * 5 // 6], *by_card])
    return planned.snapshot.cards(islice(ranked, LONGEST_LIST))


def likely_documents(
    planned: SourceRequest, examples: Iterable[Example], *, passages: int = _PASSAGES
) -> list[str]:
    """Document ids, best first, by the ranks of their passages; editions for somebody else last:
    among 1,126 documents the list of 60 then misses one that is needed for 12 of 306 questions
    instead of 29."""
    plan = planned.plan
    wide = RetrievalRequest(plan=plan, sources=SourceChoice(), snapshot=planned.snapshot)
    hits = retrieve(wide, limit=passages)
    scores: dict[str, float] = defaultdict(float)
    for rank, hit in enumerate(hits):
        scores[hit.chunk.document_id] += 1 / (10 + rank)
    for example in examples:
        if _same_question(example.question, plan.question):
            for document in example.documents:
                scores[document] += 0.1
    editions = editions_for(plan, planned.snapshot.documents)
    beside = editions.beside_the_question(hit.chunk for hit in hits)
    ranked = current_first(dict(sorted(scores.items(), key=lambda item: -item[1])), planned)
    return sorted(ranked, key=lambda document: document in beside)


def current_first(documents: Iterable[str], planned: SourceRequest) -> list[str]:
    """Documents out of force behind all others, unless the question asks about the past."""
    listed_once = list(dict.fromkeys(documents))
    if asks_about_the_past(planned.plan.question):
        return listed_once
    cards = planned.snapshot.documents
    return sorted(listed_once, key=lambda document: is_out_of_force(cards.get(document)))


def _why(planned: SourceRequest, document: str, reason: str) -> str:
    documents = planned.snapshot.documents
    card = documents[document]
    return f"{reason}; {standing(card, documents)}" if is_out_of_force(card) else reason


def _card_match(card: DocumentCard, plan: Plan) -> int:
    """Words of the question that the card shares."""
    faqs = " ".join(faq.question for faq in card.faqs)
    said = (card.title, card.summary, faqs, *card.keywords, *card.headings)
    words = stems(" ".join(said))
    return len(words & naming_words(plan.question).keys())


def _same_question(example: str, question: str) -> bool:
    named, asked = naming_words(example).keys(), naming_words(question).keys()
    return bool(named) and len(named & asked) / len(named) >= 0.6


def _answered(example: Example) -> str:
    return f"{example.question} → {', '.join(example.documents)}"


def _described(card: DocumentCard, room: int) -> str:
    parts = [f"`{card.id}`: {card.title}"]
    if status := standing(card):
        parts.append(f"({status})")
    says = _shortened(card.summary, room // 3)
    if says:
        parts.append(f"— {says}")
    if card.headings:
        parts.append(f"· Headings: {_shortened('; '.join(card.headings), room - len(says))}")
    return " ".join(" ".join(parts).split())


def _shortened(text: str, most: int) -> str:
    """At a word's end, with a sign that it goes on."""
    return text if len(text) <= most else text[:most].rsplit(" ", 1)[0].rstrip(",;") + " …"
