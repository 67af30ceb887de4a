"""Agent 2: selects the documents that can hold the answer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from itertools import islice

from pydantic import BaseModel, Field

from agents.context.duplicates import editions_for
from agents.extractive.language import asks_about_the_past
from agents.plan import Plan, SourceChoice
from agents.prompts import render
from agents.retrieval import retrieve
from agents.state import AgentResult, with_fallback
from config.domain import Domain, Example
from config.models import ChatModel, Usage
from config.prompts import Foreign, listed
from enrichment.chunk import DocumentCard, is_out_of_force, standing
from enrichment.language.words import naming_words, stems
from enrichment.references import as_ids
from index.search import Snapshot

MAX_LISTED = 60
"""Documents that one prompt lists. Of more, a search shortlists the likeliest."""
_PASSAGES, _PASSAGES_FOR_A_LIST = 60, 240
"""Passages that rank documents: a few, or more for a shortlist."""
_LIST_CHARACTERS = 12_000
"""Of the summaries and headings of all listed documents, without titles."""
_MAX_LINE_CHARS = 460
"""Characters of one document's summary and headings."""
_MAX_CHOSEN = 8
_NOT_LISTED = (
    "The list is a shortlist made by search: {} further documents are less like the question."
)


class ChosenDocument(BaseModel):
    id: str = Field(description="Id from the list")
    reason: str = Field(default_factory=str, description="Why it can hold the answer, a few words")


class ChosenDocuments(BaseModel):
    """The reply asked of the model."""

    documents: list[ChosenDocument] = Field(description="Best first, at most 8; [] when none fits")


def source_identifier(
    domain: Domain, model: ChatModel | None
) -> Callable[[Plan, Snapshot], AgentResult[SourceChoice]]:
    return with_fallback(
        "source_identifier",
        choose_with_model(domain, model) if model else None,
        choose_without_model(domain),
    )


def choose_without_model(domain: Domain) -> Callable[[Plan, Snapshot], SourceChoice]:
    """Ranks documents by their passages and the domain's examples.

    It restricts nothing: measured, narrowing without a model loses more than it finds."""

    def run(plan: Plan, snapshot: Snapshot) -> SourceChoice:
        likely = likely_documents(plan, snapshot, domain.examples)
        best = [document for document in likely if document in snapshot.documents]
        return SourceChoice(
            reasons={
                document: _why(snapshot, document, f"rank {rank} by its passages")
                for rank, document in enumerate(best[:_MAX_CHOSEN], start=1)
            }
        )

    return run


def choose_with_model(
    domain: Domain, model: ChatModel
) -> Callable[[Plan, Snapshot], tuple[SourceChoice, Usage]]:
    without_asking = choose_without_model(domain)

    def run(plan: Plan, snapshot: Snapshot) -> tuple[SourceChoice, Usage]:
        if len(snapshot.documents) < 2:  # there is nothing to choose
            return without_asking(plan, snapshot), Usage()
        cards = shortlist(plan, snapshot, domain.examples)
        others = len(snapshot.documents) - len(cards)
        cards_of_all = snapshot.documents.values()
        examples = (
            f"{one.question} → {', '.join(as_ids(one.documents, cards_of_all))}"
            for one in domain.examples
        )
        room = min(_MAX_LINE_CHARS, _LIST_CHARACTERS // max(1, len(cards)))
        prompt = render(
            "sources",
            title=domain.title,
            listing=_NOT_LISTED.format(others) if others else "",
            examples=Foreign("questions answered before", listed(examples)),
            documents=Foreign("documents", listed(_card_line(card, room) for card in cards)),
            question=Foreign("question", plan.question),
            sub_questions=Foreign("parts of the question", listed(plan.parts)),
        )
        reply, usage = model.structured(prompt, ChosenDocuments)
        listed_ids = {card.id for card in cards}
        chosen = {
            one.id: one.reason for one in reply.documents[:_MAX_CHOSEN] if one.id in listed_ids
        }
        documents = current_first(chosen, plan, snapshot)
        reasons = {document: _why(snapshot, document, chosen[document]) for document in documents}
        return SourceChoice(documents=tuple(documents), reasons=reasons), usage

    return run


def shortlist(plan: Plan, snapshot: Snapshot, examples: Iterable[Example]) -> list[DocumentCard]:
    """At most 60 cards, the likeliest first when there are more."""
    cards = snapshot.documents
    if len(cards) <= MAX_LISTED:
        return snapshot.cards(cards)
    ranked_documents = likely_documents(plan, snapshot, examples, passages=_PASSAGES_FOR_A_LIST)
    likely = [document for document in ranked_documents if document in cards]
    matches = {document: _card_match(card, plan) for document, card in cards.items()}
    by_card = sorted(matches, key=lambda document: -matches[document])
    ranked = dict.fromkeys([*likely[: MAX_LISTED * 5 // 6], *by_card])
    return snapshot.cards(islice(ranked, MAX_LISTED))


def likely_documents(
    plan: Plan, snapshot: Snapshot, examples: Iterable[Example], *, passages: int = _PASSAGES
) -> list[str]:
    """Document ids, best first, by the ranks of their passages; editions for other readers last.

    With that, the list of 60 among 1,126 documents misses a needed one for 12 of 306 questions
    instead of 29."""
    hits = retrieve(plan, snapshot, limit=passages)
    scores: dict[str, float] = defaultdict(float)
    for rank, hit in enumerate(hits):
        scores[hit.chunk.document_id] += 1 / (10 + rank)
    for example in examples:
        if _same_question(example.question, plan.question):
            for document in as_ids(example.documents, snapshot.documents.values()):
                scores[document] += 0.1
    editions = editions_for(plan, snapshot.documents)
    other_editions = editions.for_others(hit.chunk for hit in hits)
    ranked = current_first(sorted(scores, key=lambda document: -scores[document]), plan, snapshot)
    return sorted(ranked, key=lambda document: document in other_editions)


def current_first(documents: Iterable[str], plan: Plan, snapshot: Snapshot) -> list[str]:
    """Documents out of force last, unless the question asks about the past."""
    if asks_about_the_past(plan.question):
        return list(documents)
    cards = snapshot.documents
    return sorted(documents, key=lambda document: is_out_of_force(cards.get(document)))


def _why(snapshot: Snapshot, document: str, reason: str) -> str:
    card = snapshot.documents[document]
    is_past = is_out_of_force(card)
    return f"{reason}; {standing(card, snapshot.documents)}" if is_past else reason


def _card_match(card: DocumentCard, plan: Plan) -> int:
    """Number of the question's words on the card."""
    faqs = " ".join(faq.question for faq in card.faqs)
    words = stems(" ".join((card.title, card.summary, faqs, *card.keywords, *card.headings)))
    return len(words & naming_words(plan.question).keys())


def _same_question(example: str, question: str) -> bool:
    example_words, question_words = naming_words(example).keys(), naming_words(question).keys()
    return bool(example_words) and len(example_words & question_words) / len(example_words) >= 0.6


def _card_line(card: DocumentCard, room: int) -> str:
    parts = [f"`{card.id}`: {card.title}"]
    if status := standing(card):
        parts.append(f"({status})")
    says = _shorten(card.summary, room // 3)
    if says:
        parts.append(f"— {says}")
    if card.headings:
        parts.append(f"· Headings: {_shorten('; '.join(card.headings), room - len(says))}")
    return " ".join(" ".join(parts).split())


def _shorten(text: str, most: int) -> str:
    """Cut at a word's end, with `…`."""
    return text if len(text) <= most else text[:most].rsplit(" ", 1)[0].rstrip(",;") + " …"
