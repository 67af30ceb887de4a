"""Enrichment by a language model: one call for the document, a few for its passages.

Every reply is cached by content, prompt version and model. Invented content is dropped: numbers in
summaries and answers, and entities, must occur in the source text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from pydantic import BaseModel, Field

from config.errors import ModelError
from config.models import ChatModel, Prompt, Reply
from config.prompts import Foreign
from enrichment.chunk import Chunk, DocumentCard, Entity, EntityKind, Faq
from enrichment.extractive.profile import DocumentType
from enrichment.language.quantities import figures
from enrichment.llm.budget import Budget
from enrichment.llm.prompts import render
from enrichment.llm.reply_cache import ReplyCache, cache_key
from enrichment.safety.grounding import GroundingText
from enrichment.safety.injection import addressing, redacted
from loaders.document import Document

_DOCUMENT_CHARACTERS = 24_000
_BATCH_CHARACTERS = 10_000
_MAX_KEYWORD_CHARS = 60
_BATCH_PASSAGES = 24
_PASSAGE_CHARACTERS = 4_000


class FaqReply(BaseModel):
    question: str
    answer: str


class DocumentReply(BaseModel):
    summary: str
    document_type: DocumentType
    keywords: list[str]
    faqs: list[FaqReply]


class EntityReply(BaseModel):
    kind: EntityKind
    value: str


class PassageReply(BaseModel):
    number: int
    summary: str
    keywords: list[str]
    entities: list[EntityReply]


class PassagesReply(BaseModel):
    passages: list[PassageReply] = Field(description="One for every passage, in order")


@dataclass
class DocumentModel:
    """A model with its budget and cache; counts the requests of one document."""

    model: ChatModel
    budget: Budget
    cache: ReplyCache
    calls: int = 0
    cached: int = 0
    failures: list[str] = field(default_factory=list)

    def reply(self, prompt: Prompt, shape: type[Reply]) -> Reply | None:
        """None when the model failed; `failures` then has the reason."""
        self.calls += 1
        try:
            return self.budget.ask(self.model, prompt, shape)
        except ModelError as error:
            self.failures.append(f"{prompt.name}: {error}")
            return None

    def cached_reply(self, prompt: Prompt, shape: type[Reply]) -> Reply | None:
        """Like `reply`, but no request is sent twice."""
        key = cache_key(prompt, self.model.name)
        if (cached := self.cache.find(key, shape)) is not None:
            self.cached += 1
            return cached
        if (reply := self.reply(prompt, shape)) is not None:
            self.cache.save(key, prompt, self.model.name, reply)
        return reply


def enrich_card(document: Document, card: DocumentCard, client: DocumentModel) -> DocumentCard:
    """The card with the model's description, or `card` itself when the model failed."""
    text = _document_text(document)
    prompt = render("enrich_document", document=Foreign(f"document | {document.title}", text))
    reply = client.cached_reply(prompt, DocumentReply)
    if reply is None:
        return card
    whole = "\n".join((document.title, text))
    grounds = GroundingText([whole])
    faqs = [
        Faq(question=faq.question, answer=faq.answer)
        for faq in reply.faqs
        if faq.question
        and not addressing(faq.question)
        and _is_supported(faq.answer, whole, grounds)
    ]
    return replace(
        card,
        summary=reply.summary if _is_supported(reply.summary, whole, grounds) else card.summary,
        faqs=tuple(faqs[:8]) or card.faqs,
        keywords=_merged(_names(reply.keywords), card.keywords, most=20),
        document_type=reply.document_type,
        enriched_by=client.model.name,
    )


def enrich_passages(
    document: Document, chunks: Sequence[Chunk], client: DocumentModel
) -> tuple[Chunk, ...]:
    """The same chunks in the same order; a chunk without a reply stays unchanged.

    Each passage is cached separately, so an edit asks for one passage only."""
    replies: dict[str, PassageReply] = {}
    unknown: list[Chunk] = []
    for chunk in chunks:
        key = cache_key(_passage_prompt(document, [chunk]), client.model.name)
        cached = client.cache.find(key, PassageReply)
        if cached is None:
            unknown.append(chunk)
        else:
            client.cached += 1
            replies[chunk.id] = cached
    for batch in _batches(unknown):
        for chunk, reply in _ask_batch(document, batch, client):
            prompt = _passage_prompt(document, [chunk])
            client.cache.save(
                cache_key(prompt, client.model.name), prompt, client.model.name, reply
            )
            replies[chunk.id] = reply
    return tuple(_with_reply(chunk, replies.get(chunk.id)) for chunk in chunks)


def grounded(claim: str, text: str) -> bool:
    """Whether every number in `claim` occurs in `text`; number words are not checked."""
    return figures(claim) <= figures(text)


def _is_supported(claim: str, text: str, grounds: GroundingText) -> bool:
    """Checks figures, addresses and most words: later readers trust a summary without a check."""
    return bool(claim) and grounded(claim, text) and grounds.supports(claim, clauses=False)


def _names(keywords: Sequence[str]) -> list[str]:
    return [one for one in keywords if len(one) <= _MAX_KEYWORD_CHARS and not addressing(one)]


def _ask_batch(
    document: Document, batch: Sequence[Chunk], client: DocumentModel
) -> Iterator[tuple[Chunk, PassageReply]]:
    prompt = _passage_prompt(document, batch)
    reply = client.reply(prompt, PassagesReply)
    if reply is None:
        return
    by_number = {passage.number: passage for passage in reply.passages}
    for number, chunk in enumerate(batch, start=1):
        if number in by_number:
            yield chunk, by_number[number].model_copy(update={"number": 1})
        else:
            client.failures.append(f"{prompt.name}: no answer for passage {number}")


def _with_reply(chunk: Chunk, reply: PassageReply | None) -> Chunk:
    if reply is None:
        return chunk
    entities = [Entity(kind=each.kind, value=each.value) for each in reply.entities]
    true_ones = [entity for entity in entities if entity.value and entity.value in chunk.text]
    summary = reply.summary.strip()
    source_text = f"{chunk.index_text}\n{chunk.text}"
    keeps_summary = chunk.table is not None and _is_supported(
        summary, source_text, GroundingText([source_text])
    )
    return replace(
        chunk,
        summary=summary if keeps_summary else chunk.summary,
        keywords=_merged(_names(reply.keywords), chunk.keywords, most=16),
        entities=tuple(dict.fromkeys((*chunk.entities, *true_ones))),
    )


def _passage_prompt(document: Document, batch: Sequence[Chunk]) -> Prompt:
    return render(
        "enrich_passages",
        title=Foreign("title of the document", document.title),
        passages=[
            Foreign(f"passage {number}", _passage_text(chunk))
            for number, chunk in enumerate(batch, start=1)
        ],
    )


def _passage_text(chunk: Chunk) -> str:
    place = " › ".join(chunk.heading_path) or chunk.document_title
    return f"{place}\n{redacted(chunk.text)}"[:_PASSAGE_CHARACTERS]


def _batches(chunks: Sequence[Chunk]) -> Iterator[list[Chunk]]:
    batch: list[Chunk] = []
    characters = 0
    for chunk in chunks:
        length = len(_passage_text(chunk))
        if batch and (characters + length > _BATCH_CHARACTERS or len(batch) == _BATCH_PASSAGES):
            yield batch
            batch, characters = [], 0
        batch.append(chunk)
        characters += length
    if batch:
        yield batch


def _document_text(document: Document) -> str:
    """The whole text, or the beginning of every block when it is too long."""
    blocks = [redacted(block.text) for block in document.blocks if block.text]
    whole = "\n\n".join(blocks)
    if len(whole) <= _DOCUMENT_CHARACTERS:
        return whole
    share = max(80, _DOCUMENT_CHARACTERS // max(1, len(blocks)))
    return "\n\n".join(text[:share] for text in blocks)[:_DOCUMENT_CHARACTERS]


def _merged(first: Sequence[str], second: Sequence[str], *, most: int) -> tuple[str, ...]:
    keywords: dict[str, str] = {}
    for word in (*first, *second):
        if (clean := " ".join(word.split())) and len(clean) <= 80:
            keywords.setdefault(clean.lower(), clean)
    return tuple(keywords.values())[:most]
