"""Questions to suggest: answered well before, on different topics, and about no person.

They are chosen for each generation of a domain, and again now and then.
See docs/decisions/115-suggested-questions.md."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import structlog

from bot.feature import Embed, PublishedIndex
from bot.features.home.store import WellAnswered, WellAnsweredStore
from bot.slack.client import SlackBusy, SlackRefused, SlackUnsure
from bot.slack.messages import is_question
from config.domain import Domain
from config.errors import CopilotError, ModelUnavailable
from enrichment.chunk import is_out_of_force
from enrichment.language.words import stems
from index.search import Snapshot

log = structlog.get_logger()

Suggest = Callable[[Domain, int], list[str]]
"""(domain, n) → at most n questions that anyone who may ask the domain may see."""
FRESH_SECONDS = 900.0
"""A question that was answered well today is suggested today."""
MAX_CHOSEN = 12
"""Per domain; more than are displayed, as some may be erased meanwhile."""
MAX_CONSIDERED = 60
MIN_CHARS, MAX_CHARS = 12, 150
SAME_MEANING = 0.7
"""Two questions with this cosine or more mean the same."""

_ABOUT_ASKER = re.compile(r"\b(?:i|i'm|i've|i'd|i'll|me|my|mine|myself)\b", re.IGNORECASE)
_SPECIFICS = re.compile(r"[@<>\n]|https?:|www\.|\d{5}|\d+\.\d+\.\d+|[0-9a-f]{8}-[0-9a-f]{4}")
"""People, addresses, ids."""
_WORD = re.compile(r"[\w'’-]+")
_UNKNOWN_WORD = "qzxjkvwqzx"
"""A word in no document: it has the highest rarity."""


@dataclass(frozen=True, kw_only=True)
class Suggested:
    question: str
    documents: frozenset[str] = frozenset()
    """Documents that answer it, as far as is known."""
    record: str = ""
    """Id of the question on record; empty for one of a document or of the domain file."""


def candidates(
    answered: Iterable[WellAnswered], domain: Domain, snapshot: Snapshot
) -> Iterator[Suggested]:
    """First what people asked, then the domain file's examples, then the documents' questions."""
    for one in answered:
        text = one.text.strip()
        if is_presentable(text, snapshot) and _still_answered(one, snapshot):
            cited = frozenset(citation.document for citation in one.answer.citations)
            yield Suggested(question=text, documents=cited, record=one.id)
    yield from examples_of(domain)
    yield from _questions_of_documents(snapshot)


def examples_of(domain: Domain) -> Iterator[Suggested]:
    for example in domain.examples:
        yield Suggested(question=example.question, documents=frozenset(example.documents))


def is_presentable(text: str, snapshot: Snapshot) -> bool:
    """Whether everyone may see and understand a question. Each of its words is in the documents,
    so it names nothing and nobody that they don't name; and it isn't about its asker."""
    if not MIN_CHARS <= len(text) <= MAX_CHARS or not is_question(text):
        return False
    if _SPECIFICS.search(text) or _ABOUT_ASKER.search(text):
        return False
    unknown = snapshot.rarity(_UNKNOWN_WORD)
    words = _WORD.findall(text)
    return all(not stems(word) or snapshot.rarity(word) < unknown for word in words)


def diverse(suggested: Iterable[Suggested], embed: Embed, most: int) -> list[Suggested]:
    """No two of the same meaning; the first of different documents while there are any."""
    distinct = _distinct(suggested)[:MAX_CONSIDERED]
    alike = _alike([one.question for one in distinct], embed)
    places: list[int] = []
    for of_new_documents in (True, False):
        for place, one in enumerate(distinct):
            if len(places) == most:
                break
            covered = {document for other in places for document in distinct[other].documents}
            if place in places or (of_new_documents and one.documents & covered):
                continue
            if not any(alike(place, other) for other in places):
                places.append(place)
    return [distinct[place] for place in places]


def _distinct(suggested: Iterable[Suggested]) -> list[Suggested]:
    by_text: dict[str, Suggested] = {}
    for one in suggested:
        by_text.setdefault(" ".join(one.question.lower().split()).rstrip("?"), one)
    return list(by_text.values())


def _alike(questions: Sequence[str], embed: Embed) -> Callable[[int, int], bool]:
    """Compares two places of `questions` by meaning; by words while the model is unavailable."""
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
    """Everyone may read all documents of the answer, and the cited sections have not changed."""
    answer = one.answer
    if not answer.citations or not answer.drawn_from <= set(snapshot.documents):
        return False
    for citation in answer.citations:
        chunks = {chunk.id for chunk in snapshot.chunks(citation.document)}
        if not (
            citation.chunk_id in chunks
            or (not citation.chunk_id and answer.generation == snapshot.generation)
        ):
            return False
    return True


def _questions_of_documents(snapshot: Snapshot) -> Iterator[Suggested]:
    """The first question of each document in force, then the second ones."""
    cards = [card for card in snapshot.documents.values() if not is_out_of_force(card)]
    for row in range(max((len(card.faqs) for card in cards), default=0)):
        for card in cards:
            if row < len(card.faqs) and len(card.faqs[row].question) <= MAX_CHARS:
                faq = card.faqs[row]
                yield Suggested(question=faq.question, documents=frozenset({card.id}))


def only_examples(domain: Domain, most: int) -> list[str]:
    return [one.question for one in examples_of(domain)][:most]


@dataclass
class Suggestions:
    """See `Suggest`. Thread-safe; called by workers, never before an event is acknowledged."""

    store: WellAnsweredStore
    published: PublishedIndex
    is_public: Callable[[str], bool]
    """Whether any colleague may join a channel."""
    clock: Callable[[], float] = time.monotonic
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    _chosen: dict[str, tuple[Domain, int, float, list[Suggested]]] = field(
        default_factory=dict, init=False
    )

    def __call__(self, domain: Domain, most: int) -> list[str]:
        try:
            selection = self._of(domain)
        except (CopilotError, SlackBusy, SlackRefused, SlackUnsure) as error:
            log.info("suggesting the domain file's examples", reason=str(error))
            return only_examples(domain, most)
        texts = {one.record: one.question for one in selection if one.record}
        unchanged = self.store.unchanged(texts)
        return [one.question for one in selection if not one.record or one.record in unchanged][
            :most
        ]

    def _of(self, domain: Domain) -> list[Suggested]:
        """Chosen again after a publication, an edit of the domain's file, or FRESH_SECONDS."""
        snapshot, now = self.published.snapshot(domain.domain), self.clock()
        with self._lock:
            cached = self._chosen.get(domain.domain)
        same = cached and cached[0] is domain and cached[1] == snapshot.generation
        if cached and same and now - cached[2] < FRESH_SECONDS:
            return cached[3]
        channels = [one for one in domain.channels if self.is_public(one)]
        suggested = candidates(self.store.of(domain.domain, channels), domain, snapshot)
        selection = diverse(suggested, self.published.embed, MAX_CHOSEN)
        with self._lock:
            self._chosen[domain.domain] = (domain, snapshot.generation, now, selection)
        return selection


def of_several(suggest: Suggest, domains: Sequence[Domain], most: int) -> list[str]:
    """One question of each domain, then a second one of each."""
    rows = [suggest(domain, most) for domain in domains[:most]]
    return [row[place] for place in range(most) for row in rows if place < len(row)][:most]
