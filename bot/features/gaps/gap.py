"""Gaps for display, with a short name by a model; and as vectors, to find the one that a question
belongs to.

A name is stored with the question that it is made of: it is deleted with it, and visible only to
those who may read it."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np
import structlog
from pydantic import BaseModel, Field

from agents.answer_cache.same_question import MAX_COMPARED, KnownGap, central
from bot.feature import PublishedIndex
from bot.features.gaps.prompts import render
from bot.features.gaps.question_store import question_texts, question_words_of
from bot.features.gaps.questions import UNANSWERED, GapState, is_of_alerts
from bot.features.gaps.store import GapChangeRow, GapQuestionRow, GapStore
from config.errors import CopilotError, ModelError
from config.models import ChatModel, Usage, Vectors
from config.prompts import Foreign
from durable.database import batches
from enrichment.language.words import written_out
from index.permissions.words import Reader, Words, visible_text
from index.search import SearchQuery, Snapshot

log = structlog.get_logger()

MAX_NAME_CHARS = 80
MAX_NAMES = 10
"""Calls in one run: a name is not urgent."""
_MAX_QUESTION_CHARS = 600


OFF_TOPIC_SIMILARITY = 0.35
"""Cosine with the nearest passage below which a single refused question counts as off topic; see
`benchmarks/gap_clusters.py`."""


@dataclass(frozen=True, kw_only=True)
class UnansweredQuestion:
    """One question of a gap."""

    question_id: str
    asker: str
    why: str
    near: float
    name: str
    asked_at: datetime
    words: Words | None = None
    """None where it was deleted."""

    @property
    def channel(self) -> str:
        return self.question_id.partition(":")[0]

    @property
    def text(self) -> str:
        """Self-contained; to compare and to ask again, never displayed."""
        return self.words.text if self.words else ""

    @property
    def named(self) -> Words | None:
        """The short name for it, or its words. A model makes the name of the words."""
        return replace(self.words, text=self.name) if self.words and self.name else self.words


@dataclass(frozen=True, kw_only=True)
class Gap:
    """`questions`: the one nearest to all others first, then oldest first."""

    id: str
    domain: str
    state: GapState
    document: str
    heading: str
    changed_at: datetime
    questions: tuple[UnansweredQuestion, ...]
    history: tuple[GapChangeRow, ...] = ()

    @property
    def times(self) -> int:
        return len(self.questions)

    @property
    def people(self) -> int:
        return len({one.asker for one in self.questions})

    @property
    def since(self) -> datetime:
        return min(one.asked_at for one in self.questions)

    @property
    def is_off_topic(self) -> bool:
        """Only one person asked, and no document is about it."""
        return (
            self.state == "open"
            and self.people < 2
            and all(
                one.why == "refused" and one.near < OFF_TOPIC_SIMILARITY for one in self.questions
            )
        )

    def times_since(self, since: datetime) -> int:
        """`since`: UTC without a zone, as everywhere here."""
        return sum(one.asked_at >= since for one in self.questions)

    def people_since(self, since: datetime) -> int:
        return len({one.asker for one in self.questions if one.asked_at >= since})

    def visible_questions(self, reader: Reader) -> tuple[UnansweredQuestion, ...]:
        """Those whose words a reader may see, at least the asker's own."""
        return tuple(one for one in self.questions if one.words and visible_text(one.words, reader))


def gaps_of(
    store: GapStore, domain: str, states: Collection[str] = UNANSWERED, *, history: bool = False
) -> list[Gap]:
    """Worst first: by people, by times, the longest open."""
    rows = [row for row in store.in_domain(domain) if row.state in states]
    by_gap: dict[str, list[GapQuestionRow]] = defaultdict(list)
    for question in store.questions(domain).values():
        by_gap[question.gap].append(question)
    ids = [question.question_id for row in rows for question in by_gap.get(row.id, ())]
    words, vectors = question_words_of(store.engine, ids), store.vectors(ids)
    changes: dict[str, list[GapChangeRow]] = defaultdict(list)
    for change in store.changes(domain) if history else ():
        changes[change.gap].append(change)
    gaps = [
        Gap(
            id=row.id,
            domain=row.domain,
            state=row.state,
            document=row.document,
            heading=row.heading,
            changed_at=row.changed_at,
            questions=_most_central_first(
                [_question(one, words.get(one.question_id)) for one in by_gap[row.id]], vectors
            ),
            history=tuple(changes.get(row.id, ())),
        )
        for row in rows
        if row.id in by_gap
    ]
    return sorted(gaps, key=lambda gap: (-gap.people, -gap.times, gap.since, gap.id))


def relevant_gaps(store: GapStore, domain: str, *, history: bool = False) -> list[Gap]:
    """Unanswered gaps without those that are off topic."""
    return [gap for gap in gaps_of(store, domain, history=history) if not gap.is_off_topic]


def is_growing(gap: Gap, since: datetime, until: datetime) -> bool:
    """Asked more often between these two than in as long a time before."""
    before = gap.times_since(since - (until - since)) - gap.times_since(since)
    return gap.since < since and gap.times_since(since) > max(1, before)


def _question(row: GapQuestionRow, words: Words | None) -> UnansweredQuestion:
    if words and is_of_alerts(row.gap):  # its name is the alert's own
        words = replace(words, text=words.own, drawn_from=frozenset())
    return UnansweredQuestion(
        question_id=row.question_id, asker=row.asker, why=row.why, near=row.near, name=row.name,
        asked_at=row.asked_at, words=words,
    )  # fmt: skip


def _most_central_first(
    questions: Sequence[UnansweredQuestion], vectors: Mapping[str, Vectors]
) -> tuple[UnansweredQuestion, ...]:
    """Orders questions: the one nearest to all others leads."""
    newest = [one for one in questions if one.question_id in vectors and one.text][-MAX_COMPARED:]
    if len({vectors[one.question_id].shape for one in newest}) > 1:
        return tuple(questions)  # vectors of two embedders: those of the old one are replaced soon
    if len(newest) < 3:  # of two, each is as near to the other
        return tuple(questions)
    leader = newest[central(np.stack([vectors[one.question_id] for one in newest]))]
    return (leader, *(one for one in questions if one is not leader))


def comparable_gaps(store: GapStore, domain: str) -> dict[str, KnownGap]:
    """Gaps by id, the oldest first; none of alerts, which no question joins by its words."""
    questions = [
        one for one in store.questions(domain).values() if one.gap and not is_of_alerts(one.gap)
    ]
    ids = [one.question_id for one in questions]
    texts, vectors = question_texts(store.engine, ids), store.vectors(ids)
    gaps: dict[str, KnownGap | None] = {gap.id: None for gap in store.in_domain(domain)}
    for one in questions:
        text, vector = texts.get(one.question_id), vectors.get(one.question_id)
        if text and vector is not None:
            gaps[one.gap] = with_question(gaps.get(one.gap), one.gap, text, vector)
    return {name: gap for name, gap in gaps.items() if gap}


def with_question(existing: KnownGap | None, gap: str, text: str, vector: Vectors) -> KnownGap:
    """The gap with this question, which may be its first."""
    if existing is None:
        return KnownGap(id=gap, questions=(text,), vectors=vector.reshape(1, -1))
    return existing.with_one(text, vector)


def refresh_vectors(store: GapStore, domain: str, published: PublishedIndex) -> None:
    """Embed again the vectors of another embedder."""
    texts = question_texts(store.engine, store.outdated_vectors(domain, published.embedder))
    for ids in batches(texts):
        vectors = published.embed([written_out(texts[name]) for name in ids])
        store.replace_vectors(zip(ids, vectors, strict=True), published.embedder)


class GapName(BaseModel):
    """The reply asked of the model."""

    name: str = Field(description="Three to eight words")


def unnamed_questions(store: GapStore, domain: str) -> list[UnansweredQuestion]:
    """The leading questions of gaps that were asked more than once and have no name."""
    leaders = (gap.questions[0] for gap in gaps_of(store, domain) if gap.times > 1)
    return [one for one in leaders if one.text and not one.name][:MAX_NAMES]


def name_gaps(
    store: GapStore, model: ChatModel, unnamed: Sequence[UnansweredQuestion]
) -> Iterator[Usage]:
    """Yields what each name took. The next run retries failures."""
    for one in unnamed:
        question = Foreign("question", one.text[:_MAX_QUESTION_CHARS])
        try:
            reply, usage = model.structured(render("gap_name", question=question), GapName)
        except ModelError as error:
            log.info("gap could not be named by the model", reason=error.kind)
            return
        yield usage
        if name := " ".join(reply.name.split())[:MAX_NAME_CHARS]:
            store.update_question(one.question_id, name=name)


@dataclass(frozen=True, kw_only=True)
class NearestPlace:
    document: str = ""
    heading: str = ""
    similarity: float = 0.0
    """Cosine."""


NOWHERE = NearestPlace()


def nearest_place(snapshot: Snapshot, question: str) -> NearestPlace:
    """Raises CopilotError, e.g. where the embedder is unavailable."""
    hits = snapshot.search(SearchQuery(variants=(question,), limit=5))
    best = max((hit.similarity for hit in hits), default=0.0)
    if not hits:
        return NOWHERE
    chunk = hits[0].chunk
    return NearestPlace(
        document=chunk.document_id,
        heading=_heading(chunk.document_title, chunk.heading_path),
        similarity=round(float(best), 4),
    )


def state_of(snapshot: Snapshot, documents: Sequence[str]) -> str:
    """Changes with the content of these documents, or when one is deleted."""
    hashes = {card.id: card.content_hash for card in snapshot.cards(documents)}
    states = "\0".join(f"{one}\0{hashes.get(one, 'gone')}" for one in documents)
    return hashlib.sha256(states.encode()).hexdigest()


def where(snapshot: Callable[[str], Snapshot], gap: Gap) -> tuple[str, str]:
    """(address, `title › heading`) of its nearest place; empty for a deleted document."""
    if not gap.document:
        return "", ""
    try:
        current = snapshot(gap.domain)
        titles = [card.title for card in current.cards([gap.document])]
        chunks = current.chunks(gap.document) if titles else ()
    except CopilotError:
        return "", ""
    if not titles:
        return "", ""
    below = (c for c in chunks if _heading(c.document_title, c.heading_path) == gap.heading)
    address = next((one.url for one in (*below, *chunks)), "")
    return address, " › ".join(filter(None, (titles[0], gap.heading)))


def _heading(title: str, path: Iterable[str]) -> str:
    """The headings below a document's title."""
    names = list(path)
    return " › ".join(names[1:] if names[:1] == [title] else names)
