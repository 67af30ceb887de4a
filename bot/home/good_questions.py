"""Which questions to suggest: asked before and answered well, of many things, about nobody.

Pure, but for the index that it looks in."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from bot.feature_tools import Embed
from bot.memory.good_answers import WellAnswered
from bot.slack.message_words import is_question
from config.domain import Domain
from config.errors import ModelUnavailable
from enrichment.chunk import is_out_of_force
from enrichment.language.words import stems
from index.search import Snapshot

SHORTEST, LONGEST = 12, 150
"""Characters."""
SAME_MEANING = 0.7
"""Cosine of two questions from which on one of them is enough."""
MOST_CONSIDERED = 60

_OF_ONE_PERSON = re.compile(r"\b(?:i|i'm|i've|i'd|i'll|me|my|mine|myself)\b", re.IGNORECASE)
_POINTS_AT = re.compile(r"[@<>\n]|https?:|www\.|\d{5}|\d+\.\d+\.\d+|[0-9a-f]{8}-[0-9a-f]{4}")
"""People, addresses, numbers of single things."""
_WORD = re.compile(r"[\w'’-]+")
_HELD_NOWHERE = "qzxjkvwqzx"


@dataclass(frozen=True, kw_only=True)
class Suggested:
    """A question that is worth asking."""

    question: str
    documents: frozenset[str] = frozenset()
    """Which answer it, as far as is known."""
    record: str = ""
    """Id of the kept question that it is; empty for one that the documents or their owners ask."""


def candidates(
    asked: Iterable[WellAnswered], domain: Domain, snapshot: Snapshot
) -> Iterator[Suggested]:
    """Best first: what people asked, then the domain file's examples, then what the documents
    answer by themselves."""
    for one in asked:
        text = one.text.strip()
        if is_presentable(text, snapshot) and _still_answered(one, snapshot):
            cited = frozenset(citation.document for citation in one.answer.citations)
            yield Suggested(question=text, documents=cited, record=one.id)
    yield from examples_of(domain)
    yield from _asked_by_documents(snapshot)


def examples_of(domain: Domain) -> Iterator[Suggested]:
    for example in domain.examples:
        yield Suggested(question=example.question, documents=frozenset(example.documents))


def is_presentable(text: str, snapshot: Snapshot) -> bool:
    """Whether everybody may see and understand it: a question whose every word stands in the
    documents, so that it names nobody and nothing that they don't name; and of no one person."""
    if not SHORTEST <= len(text) <= LONGEST or not is_question(text):
        return False
    if _POINTS_AT.search(text) or _OF_ONE_PERSON.search(text):
        return False
    unheard = snapshot.rarity(_HELD_NOWHERE)
    words = _WORD.findall(text)
    return all(not stems(word) or snapshot.rarity(word) < unheard for word in words)


def diverse(found: Iterable[Suggested], embed: Embed, most: int) -> list[Suggested]:
    """No two of one meaning; of different documents as long as there are any."""
    known = _distinct(found)[:MOST_CONSIDERED]
    alike = _alike([one.question for one in known], embed)
    chosen: list[int] = []
    for of_new_documents in (True, False):
        for place, one in enumerate(known):
            if len(chosen) == most:
                break
            named = {document for other in chosen for document in known[other].documents}
            if place in chosen or (of_new_documents and one.documents & named):
                continue
            if not any(alike(place, other) for other in chosen):
                chosen.append(place)
    return [known[place] for place in chosen]


def _distinct(found: Iterable[Suggested]) -> list[Suggested]:
    kept: dict[str, Suggested] = {}
    for one in found:
        kept.setdefault(" ".join(one.question.lower().split()).rstrip("?"), one)
    return list(kept.values())


def _alike(questions: Sequence[str], embed: Embed) -> Callable[[int, int], bool]:
    """Whether two of them mean the same; by their words while there is no model."""
    if not questions:
        return lambda one, other: False
    try:
        vectors = embed(questions)
    except ModelUnavailable:
        words = [stems(question) for question in questions]
        return lambda one, other: (
            len(words[one] & words[other]) >= SAME_MEANING * len(words[one] | words[other])
        )
    cosines = np.asarray(vectors) @ np.asarray(vectors).T
    return lambda one, other: bool(cosines[one, other] >= SAME_MEANING)


def _still_answered(one: WellAnswered, snapshot: Snapshot) -> bool:
    """All that it was made of is there for everybody, and what it cites says the same as then."""
    answer = one.answer
    if not answer.citations or not answer.drawn_from <= set(snapshot.documents):
        return False
    for citation in answer.citations:
        held = {chunk.id for chunk in snapshot.chunks(citation.document)}
        same = citation.chunk_id in held
        if not (same or (not citation.chunk_id and answer.generation == snapshot.generation)):
            return False
    return True


def _asked_by_documents(snapshot: Snapshot) -> Iterator[Suggested]:
    """The first question of each document in force, then the second ones."""
    cards = [card for card in snapshot.documents.values() if not is_out_of_force(card)]
    for row in range(max((len(card.faqs) for card in cards), default=0)):
        for card in cards:
            if row < len(card.faqs) and len(card.faqs[row].question) <= LONGEST:
                faq = card.faqs[row]
                yield Suggested(question=faq.question, documents=frozenset({card.id}))
