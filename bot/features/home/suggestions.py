"""Which questions to suggest: asked before and answered well, of many things, about nobody.

Pure, but for the index that it looks in.

Questions on record that were answered well, for others to ask.

Questions to suggest, chosen once for each generation of a domain, and again now and then.

See docs/decisions/115-suggested-questions.md."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import structlog
from sqlalchemy import Engine, case, func, select

from agents.answer import Answer
from agents.confidence import HIGH
from bot.feature import Embed
from bot.questions.store import decoded
from bot.questions.tables import FeedbackRow, HandoffRow, QuestionRow
from bot.slack.client import SlackBusy, SlackRefused, SlackUnsure
from bot.slack.messages import is_question
from config.domain import Domain
from config.errors import CopilotError, ModelUnavailable
from enrichment.chunk import is_out_of_force
from enrichment.language.words import stems
from index.search import Snapshot

MOST = 200
WELL = ("company_specific_rag_success", "cached")


@dataclass(frozen=True, kw_only=True)
class WellAnswered:
    """A question that somebody asked in a channel."""

    id: str
    text: str
    answer: Answer
    helpful: int
    """How many said so."""


def well_answered(engine: Engine, domain: str, channels: Collection[str]) -> list[WellAnswered]:
    """Best first: said to be helpful, or answered with high confidence; none that anybody found
    unhelpful, or that a human had to be called for."""
    helpful = func.coalesce(func.sum(case((FeedbackRow.verdict == "helpful", 1), else_=0)), 0)
    unhelpful = func.coalesce(func.sum(case((FeedbackRow.verdict == "unhelpful", 1), else_=0)), 0)
    query = (
        select(QuestionRow.id, QuestionRow.text, QuestionRow.answer, helpful.label("helpful"))
        .outerjoin(FeedbackRow, FeedbackRow.question_id == QuestionRow.id)
        .outerjoin(HandoffRow, HandoffRow.question_id == QuestionRow.id)
        .where(QuestionRow.domain == domain, QuestionRow.channel.in_(list(channels)))
        .where(QuestionRow.state == "posted", QuestionRow.path.in_(WELL))
        .where(QuestionRow.answer.is_not(None), HandoffRow.question_id.is_(None))
        .group_by(
            QuestionRow.id,
            QuestionRow.text,
            QuestionRow.answer,
            QuestionRow.confidence,
            QuestionRow.asked_at,
        )
        .having(unhelpful == 0)
        .having((helpful > 0) | (QuestionRow.confidence >= HIGH))
        .order_by(
            helpful.desc(),
            QuestionRow.confidence.desc(),
            QuestionRow.asked_at.desc(),
            QuestionRow.id,
        )
        .limit(MOST)
    )
    with engine.connect() as connection:
        rows = connection.execute(query).all()
    return [
        WellAnswered(id=row.id, text=row.text, answer=decoded(row.answer), helpful=int(row.helpful))
        for row in rows
    ]


def still_kept(engine: Engine, asked: Mapping[str, str]) -> frozenset[str]:
    """Ids of those that are on record with these words: not erased, taken back or edited since,
    nor found unhelpful. `asked`: id → words."""
    if not asked:
        return frozenset()
    disliked = select(FeedbackRow.question_id).where(FeedbackRow.verdict == "unhelpful")
    query = (
        select(QuestionRow.id, QuestionRow.text)
        .where(QuestionRow.id.in_(list(asked)), QuestionRow.state == "posted")
        .where(QuestionRow.id.not_in(disliked))
    )
    with engine.connect() as connection:
        return frozenset(
            row.id for row in connection.execute(query) if row.text.strip() == asked[row.id]
        )


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


log = structlog.get_logger()

FRESH_SECONDS = 900.0
"""A question that was answered well today is suggested today."""
KEPT = 12
"""Of a domain; more than are shown, as some may be erased meanwhile."""

Suggest = Callable[[Domain, int], list[str]]
"""At most so many questions that anybody who may ask the domain may see."""


def only_examples(domain: Domain, most: int) -> list[str]:
    return [one.question for one in examples_of(domain)][:most]


class Suggestions:
    """See `Suggest`. Thread-safe; called by workers, never before an event is acknowledged."""

    def __init__(
        self,
        engine: Engine,
        *,
        snapshot: Callable[[str], Snapshot],
        embed: Embed,
        is_public: Callable[[str], bool],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`snapshot`: what everybody may read of a domain; raises CopilotError where nothing is
        published. `is_public`: whether any colleague may join a channel."""
        self._engine = engine
        self._snapshot = snapshot
        self._embed = embed
        self._is_public = is_public
        self._clock = clock
        self._lock = threading.Lock()
        self._chosen: dict[str, tuple[Domain, int, float, list[Suggested]]] = {}

    def __call__(self, domain: Domain, most: int) -> list[str]:
        try:
            chosen = self._of(domain)
        except (CopilotError, SlackBusy, SlackRefused, SlackUnsure) as error:
            log.info("suggesting the domain file's examples", reason=str(error))
            return only_examples(domain, most)
        asked = {one.record: one.question for one in chosen if one.record}
        kept = still_kept(self._engine, asked)
        return [one.question for one in chosen if not one.record or one.record in kept][:most]

    def _of(self, domain: Domain) -> list[Suggested]:
        """Chosen anew after a publication, an edit of the domain's file, or some time."""
        snapshot, now = self._snapshot(domain.domain), self._clock()
        with self._lock:
            known = self._chosen.get(domain.domain)
        same = known and known[0] is domain and known[1] == snapshot.generation
        if known and same and now - known[2] < FRESH_SECONDS:
            return known[3]
        chosen = self._choose(domain, snapshot)
        with self._lock:
            self._chosen[domain.domain] = (domain, snapshot.generation, now, chosen)
        return chosen

    def _choose(self, domain: Domain, snapshot: Snapshot) -> list[Suggested]:
        channels = [one for one in domain.channels if self._is_public(one)]
        asked = well_answered(self._engine, domain.domain, channels)
        return diverse(candidates(asked, domain, snapshot), self._embed, KEPT)


def of_several(suggest: Suggest, domains: Sequence[Domain], most: int) -> list[str]:
    """One of each domain, then a second one of each."""
    rows = [suggest(domain, most) for domain in domains[:most]]
    return [row[place] for place in range(most) for row in rows if place < len(row)][:most]
