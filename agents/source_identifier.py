"""Agent 2: selects the documents that can hold the answer, where a search leaves that open."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import islice

from pydantic import BaseModel, Field

from agents.context.duplicates import editions_for
from agents.extractive.language import asks_about_the_past
from agents.extractive.relevance import score_units
from agents.plan import Plan, SourceChoice
from agents.prompts import render
from agents.retrieval import retrieve
from agents.state import AgentResult, with_fallback
from config.domain import Domain, Example
from config.models import ChatModel, Usage
from config.prompts import Foreign, listed
from enrichment.chunk import DocumentCard, Faq, is_out_of_force, standing
from enrichment.language.words import naming_words, stems
from enrichment.references import as_ids
from index.search import Hit, Snapshot

MAX_LISTED = 24
"""Documents that one prompt lists. Of more, a search shortlists the likeliest: for 68 questions
planned by a model, every needed document was among the first 15 of 126, and of 826."""
_PASSAGES = 240
"""Passages that rank documents for a shortlist."""
_MAX_LINE_CHARS = 300
"""Characters of what one document has."""
_SUMMARY_CHARS = 90
_FAQ_CHARS = 80
_PLACE_CHARS = 100
_PLACES = 3
"""Passages of a document that its line names."""
_MAX_CHOSEN = 8
_LIKELY = 0.0
"""Log-odds of the best statement on a part of the question, from which the search settles it."""
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
) -> Callable[[Plan, Snapshot, Sequence[Hit]], AgentResult[SourceChoice]]:
    """The hits are those of a search in all documents."""
    return with_fallback(
        "source_identifier",
        choose_with_model(domain, model) if model else None,
        choose_without_model(domain),
    )


def choose_without_model(
    domain: Domain,
) -> Callable[[Plan, Snapshot, Sequence[Hit]], SourceChoice]:
    """Ranks documents by their passages and the domain's examples.

    It restricts nothing: measured, narrowing without a model loses more than it finds."""

    def run(plan: Plan, snapshot: Snapshot, hits: Sequence[Hit]) -> SourceChoice:
        return _by_passages(plan, snapshot, domain, hits)

    return run


def _by_passages(
    plan: Plan, snapshot: Snapshot, domain: Domain, hits: Sequence[Hit]
) -> SourceChoice:
    likely = likely_documents(plan, snapshot, domain.examples, hits)
    best = [document for document in likely if document in snapshot.documents]
    return SourceChoice(
        reasons={
            document: _why(snapshot, document, f"rank {rank} by its passages")
            for rank, document in enumerate(best[:_MAX_CHOSEN], start=1)
        }
    )


def choose_with_model(
    domain: Domain, model: ChatModel
) -> Callable[[Plan, Snapshot, Sequence[Hit]], tuple[SourceChoice, Usage]]:
    def run(plan: Plan, snapshot: Snapshot, hits: Sequence[Hit]) -> tuple[SourceChoice, Usage]:
        if len(snapshot.documents) < 2 or search_settles(plan, snapshot, domain, hits):
            return _by_passages(plan, snapshot, domain, hits), Usage()
        hits = retrieve(plan, snapshot, limit=_PASSAGES)
        cards = shortlist(plan, snapshot, domain.examples, hits)
        passages: dict[str, list[Hit]] = defaultdict(list)
        for hit in hits:
            passages[hit.chunk.document_id].append(hit)
        others = len(snapshot.documents) - len(cards)
        cards_of_all = snapshot.documents.values()
        examples = (
            f"{one.question} → {', '.join(as_ids(one.documents, cards_of_all))}"
            for one in domain.examples
        )
        words = stems(" ".join((plan.question, *plan.parts, *plan.keywords)))
        lines = (_card_line(card, passages[card.id][:_PLACES], words) for card in cards)
        prompt = render(
            "sources",
            title=domain.title,
            listing=_NOT_LISTED.format(others) if others else "",
            examples=Foreign("questions answered before", listed(examples)),
            documents=Foreign("documents", listed(lines)),
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


def search_settles(plan: Plan, snapshot: Snapshot, domain: Domain, hits: Sequence[Hit]) -> bool:
    """Whether a search in all documents brings for the question, and for each of its parts, a
    statement that more likely than not holds it. Then nothing is won by choosing documents: of 68
    questions planned by a model that is so for 50, and none of these lost a needed passage."""
    scored = score_units(plan, snapshot, hits, domain.glossary)
    best = [max(strengths) for strengths in zip(*(unit.aspects for unit in scored), strict=True)]
    return bool(best) and min(best) >= _LIKELY


def shortlist(
    plan: Plan, snapshot: Snapshot, examples: Iterable[Example], hits: Sequence[Hit]
) -> list[DocumentCard]:
    """At most 24 cards, the likeliest first when there are more."""
    cards = snapshot.documents
    if len(cards) <= MAX_LISTED:
        return snapshot.cards(cards)
    ranked_documents = likely_documents(plan, snapshot, examples, hits)
    likely = [document for document in ranked_documents if document in cards]
    matches = {document: _card_match(card, plan) for document, card in cards.items()}
    by_card = sorted(matches, key=lambda document: -matches[document])
    ranked = dict.fromkeys([*likely[: MAX_LISTED * 5 // 6], *by_card])
    return snapshot.cards(islice(ranked, MAX_LISTED))


def likely_documents(
    plan: Plan, snapshot: Snapshot, examples: Iterable[Example], hits: Sequence[Hit]
) -> list[str]:
    """Document ids, best first, by the ranks of their passages; editions for other readers last."""
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


def _card_line(card: DocumentCard, hits: Sequence[Hit], words: frozenset[str]) -> str:
    """Title and status, what the document says of itself, and its passages that are most like the
    question; its outline where the search brought none."""
    parts = [f"`{card.id}`: {card.title}"]
    if status := standing(card):
        parts.append(f"({status})")
    if says := _shorten(card.summary, _SUMMARY_CHARS):
        parts.append(f"— {says}")
    if faq := _likest(card.faqs, words):
        parts.append(f"· Answers: {_shorten(faq, _FAQ_CHARS)}")
    room = _MAX_LINE_CHARS - len(says)
    if hits:
        places = "; ".join(dict.fromkeys(_place_line(hit, words) for hit in hits))
        parts.append(f"· Has: {_shorten(places, room)}")
    elif card.headings:
        parts.append(f"· Headings: {_shorten('; '.join(card.headings), room)}")
    return " ".join(" ".join(parts).split())


def _place_line(hit: Hit, words: frozenset[str]) -> str:
    """`heading: the row or sentence that is most like the question`."""
    chunk = hit.chunk
    heading = chunk.heading if chunk.heading != chunk.document_title else ""
    units = chunk.units if hit.unit is None else (chunk.units[hit.unit],)
    likest = max(units, key=lambda unit: len(stems(unit.text) & words), default=None)
    text = likest.text if likest else chunk.text
    return f"{heading}: {_shorten(' '.join(text.split()), _PLACE_CHARS)}".removeprefix(": ")


def _likest(faqs: Sequence[Faq], words: frozenset[str]) -> str:
    """The question derived from the document that shares most words with these; '' for none."""
    shared = {faq.question: len(stems(faq.question) & words) for faq in faqs}
    best = max(shared, key=shared.__getitem__, default="")
    return best if best and shared[best] > 1 else ""


def _shorten(text: str, most: int) -> str:
    """Cut at a word's end, with `…`."""
    return text if len(text) <= most else text[:most].rsplit(" ", 1)[0].rstrip(",;") + " …"
