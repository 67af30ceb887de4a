"""The answer cache of one domain.

A cached answer is returned when the question asks the same (see `same_question`), every document
of the answer is unchanged and readable, and its other inputs are unchanged: the domain file, the
prompts, the models, the asker's clock, and the reader's documents."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cache, cached_property
from pathlib import Path
from threading import Lock
from typing import Protocol

import numpy as np
import structlog
from pydantic import TypeAdapter, ValidationError
from sqlalchemy.exc import SQLAlchemyError

from agents import prompts
from agents.answer import Answer, Question
from agents.answer_cache.same_question import difference
from agents.answer_cache.store import CachedAnswerStore, CachedEntry, NewCacheEntry, digest_of
from agents.extractive.conversation import clean_message
from agents.plan import Trace
from agents.state import State
from agents.thread.turns import utc_offset
from config.domain import CachePolicy, Domain
from config.errors import CopilotError
from config.models import Embedder, Usage, Vectors
from durable.database import now
from enrichment.chunk import DocumentCard
from index.search import Snapshot
from telemetry import metrics


@dataclass(frozen=True, kw_only=True)
class CachedAnswer:
    """The result of a lookup. `note`: for administrators."""

    answer: Answer | None = None
    note: str = ""
    nearest: float | None = None
    """Cosine with the nearest cached question; None without any."""
    unavailable: bool = False
    """The cache could not be read."""


class AnswerCache(Protocol):
    """Neither method raises: without the cache, the agents answer the question."""

    def find(self, text: str, question: Question, snapshot: Snapshot) -> CachedAnswer:
        """`text`: the self-contained question; `snapshot`: as its reader sees it."""
        ...

    def keep(self, answer: Answer, question: Question, snapshot: Snapshot) -> None:
        """Stores the answer if it is cacheable and its question stands alone: the turns before a
        follow-up steer its searches, so its words do not say what it was answered from."""
        ...


_DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_SPAN = r"(?:minute|hour|day|night|week|weekend|month|quarter|year)s?"
_OF_TODAY = re.compile(
    r"\b(?:today|tonight|tomorrow|yesterday|nowadays|now|currently|current|presently|recently"
    r"|upcoming|at the moment|at present|these days|so far|just now|as of|ago"
    rf"|(?:this|next|last|past|coming|previous|following) (?:{_SPAN}|{_DAY}|morning|afternoon"
    rf"|evening|time|one)|on {_DAY}|days? left|from now|in \d+ {_SPAN})\b",
    re.IGNORECASE,
)
"""The answer depends on the day."""
_OF_AN_ANSWER = re.compile(
    r"\b(?:today|tonight|tomorrow|yesterday|right now|at the moment|days? left|from now"
    rf"|{_SPAN} ago|this (?:{_SPAN}|{_DAY})|(?:next|last) (?:{_DAY}|week|month|quarter|year))\b",
    re.IGNORECASE,
)
_OF_THE_ASKER = re.compile(
    r"\bam i\b(?! (?:not )?(?:allowed|permitted|required|supposed|expected|obliged|able|to)\b)"
    r"|\bi(?:'m| am) (?:an? |in |on |from |based|the |new\b|working|located|part)"
    r"|\bas an? (?!\w+ of\b)|\bdo i (?:still )?(?:have|belong|qualify|count)\b"
    r"|\b(?:who|what|which|where) (?:is|are|was)(?: the)? my\b|\b(?:who|what|which)'?s my\b"
    r"|\b(?:my|our) (?:own )?(?:team|role|manager|boss|lead|group|department|office|site|country"
    r"|region|location|level|grade|rank|title|position|contract|shift|rota|project|squad|unit"
    r"|division|seniority|tenure|balance|status|entitlement|allowance|salary)s?\b|\bi work\b",
    re.IGNORECASE,
)
"""The answer depends on the user. Apostrophes are plain here."""
_REFERS_BACK = re.compile(
    r"\b(?:above|previous(?:ly)?|earlier|same (?:thing|question|one)|the (?:former|latter))\b"
    r"|^(?:and|but|so|or|also|then|what about|how about)\b",
    re.IGNORECASE,
)


def is_cacheable(question: str, answer: Answer, *, least: float = CachePolicy().confidence) -> bool:
    """A complete answer by a model, of at least this confidence, that no check doubts and that
    depends neither on day, user nor thread."""
    plain = question.replace("’", "'").strip()
    made_well = (
        answer.path == "company_specific_rag_success"
        and answer.usage.calls > 0
        and not answer.degraded
        and not (answer.cut or answer.usage.cut)
        and answer.confidence >= least
        and answer.confidence_parts.get("groundedness", 1.0) == 1.0
        and not answer.confidence_parts.get("off subject")
        and bool(answer.citations)
        # Tool results hold at one moment, even when the answer cites documents only.
        and not answer.of_the_moment
    )
    asks_for_good = not any(
        pattern.search(plain) for pattern in (_OF_TODAY, _OF_THE_ASKER, _REFERS_BACK)
    )
    return made_well and asks_for_good and not _OF_AN_ANSWER.search(answer.text)


log = structlog.get_logger()

_MAX_COMPARED = 20
"""Cached questions that are compared word by word, nearest first."""
_MAX_QUESTION_CHARS = 400
"""Longer questions tell a story, and no two of them are the same."""
_ERRORS = (SQLAlchemyError, CopilotError, ValidationError, ValueError, TypeError, KeyError)
_answers = TypeAdapter(Answer)


class SemanticCache:
    """See `AnswerCache`. Safe to use from several threads."""

    def __init__(
        self,
        *,
        open_store: Callable[[], CachedAnswerStore],
        embedder: Embedder,
        domain: Domain,
        model: str,
    ) -> None:
        """`open_store` is called at first use, and again after it failed."""
        self._open_store = open_store
        self._embed = embedder
        self._domain = domain
        self._model = model
        self._known: tuple[tuple[int, ...], Vectors] = ((), np.zeros((0, 0), dtype=np.float32))
        self._lock = Lock()

    def find(self, text: str, question: Question, snapshot: Snapshot) -> CachedAnswer:
        try:
            return self._find(clean_message(text), question, snapshot)
        except _ERRORS as error:
            log.warning("the answer cache can't be read", cause=_cause(error))
            note = f"answered without the cache: {type(error).__name__}"
            return CachedAnswer(note=note, unavailable=True)

    def keep(self, answer: Answer, question: Question, snapshot: Snapshot) -> None:
        try:
            self._keep(answer, question, snapshot)
        except _ERRORS as error:
            log.warning("the answer cache can't be written", cause=_cause(error))

    def _find(self, text: str, question: Question, snapshot: Snapshot) -> CachedAnswer:
        if len(text) > _MAX_QUESTION_CHARS or not text:
            return CachedAnswer()
        since = now() - timedelta(days=self._domain.answer.cache.days)
        ids = self._store.ids(snapshot.domain, self._key(question, snapshot), since=since)
        if not ids:
            return CachedAnswer()
        similarities = self._vectors(ids) @ self._embed([text])[0]
        nearest = np.argsort(-similarities, kind="stable")[:_MAX_COMPARED]
        least = self._domain.answer.cache.similarity
        near = {ids[i]: float(similarities[i]) for i in nearest if similarities[i] >= least}
        for one in self._store.get(list(near)):
            if difference(text, one.question, self._domain.glossary):
                continue
            if not _unchanged(one.documents, snapshot):
                continue
            return _from_entry(one, text, snapshot, near[one.id])
        return CachedAnswer(nearest=_cosine(similarities[nearest[0]]))

    def _keep(self, answer: Answer, question: Question, snapshot: Snapshot) -> None:
        if not question.stands_alone:
            return
        text = clean_message(question.text)
        documents = _states(snapshot.cards(sorted(answer.drawn_from)))
        complete = documents.keys() == answer.drawn_from
        least = self._domain.answer.cache.confidence
        if len(text) > _MAX_QUESTION_CHARS or not complete:
            return
        if not is_cacheable(text, answer, least=least):
            return
        self._store.keep(
            NewCacheEntry(
                domain=snapshot.domain,
                key=self._key(question, snapshot),
                question=text,
                vector=np.asarray(self._embed([text])[0], dtype=np.float32).tobytes(),
                text=answer.text,
                answer=_answers.dump_json(replace(answer, context=(), trace=None)).decode(),
                documents=documents,
            )
        )

    @cached_property
    def _store(self) -> CachedAnswerStore:
        return self._open_store()

    def _key(self, question: Question, snapshot: Snapshot) -> str:
        """A digest of an answer's inputs besides the question and its documents.

        An answer was written with the asker's clock in sight. With permissions per reader, a
        document that only one user may read could change the answer: readers of different
        documents don't share entries."""
        audience = "" if question.readers is None else _digest(sorted(snapshot.documents))
        return _digest([self._made_with, audience, utc_offset(question)])

    @cached_property
    def _made_with(self) -> str:
        file = self._domain.model_dump_json()
        return _digest([file, self._model, self._embed.name, _prompt_wording()])

    def _vectors(self, ids: tuple[int, ...]) -> Vectors:
        """One row per id; only new ones are read from the database."""
        with self._lock:
            cached_ids, cached = self._known
        if cached_ids == ids:
            return cached
        by_id = dict(zip(cached_ids, cached, strict=True))
        by_id |= self._store.vectors([one for one in ids if one not in by_id])
        size = self._embed.dimensions
        zeros = np.zeros(size, dtype=np.float32)  # similar to nothing
        rows = [by_id.get(one, zeros) for one in ids]
        matrix = np.stack([row if row.shape == (size,) else zeros for row in rows])
        with self._lock:
            self._known = (ids, matrix)
        return matrix


def _from_entry(one: CachedEntry, text: str, snapshot: Snapshot, similarity: float) -> CachedAnswer:
    answer = _answers.validate_json(one.answer)
    answer = replace(
        answer,
        path="cached",
        original_path=answer.path,
        cache_similarity=_cosine(similarity),
        timings_ms={},
        usage=Usage(),
        generation=snapshot.generation,
        standalone_question=text,
    )
    # Without the words: whoever asked first is not the one whose answer is stored with this note.
    note = f"answered before, on {one.kept_at:%Y-%m-%d}"
    return CachedAnswer(answer=answer, note=note)


def _cosine(similarity: float) -> float:
    return round(min(1.0, float(similarity)), 3)


def _unchanged(documents: Mapping[str, str], snapshot: Snapshot) -> bool:
    """Whether all are readable and unchanged. A new successor shows in the card of the document
    that it replaces."""
    return _states(snapshot.cards(documents)) == documents


def _states(cards: Iterable[DocumentCard]) -> dict[str, str]:
    return {
        card.id: _digest(
            (card.content_hash, card.version, card.modified_at, card.status, card.superseded_by)
        )
        for card in cards
    }


@cache
def _prompt_wording() -> str:
    folder = Path(prompts.__path__[0])
    return _digest(file.read_text("utf-8") for file in sorted(folder.glob("*.md")))


def _digest(parts: Sequence[object] | Iterable[object]) -> str:
    return digest_of("\x1f".join(map(str, parts)))


def _cause(error: Exception) -> str:
    """Without the statement's parameters: message text stays out of logs."""
    return f"{type(error).__name__}: {getattr(error, 'orig', '')}"


def look_up(cache: AnswerCache | None, text: str, state: State) -> State:
    """The state with `cached` when `text` was answered before; its text is reported at once."""
    if cache is None:
        return state
    lookup = cache.find(text, state["question"], state["snapshot"])
    noted: State = {**state, "notes": (*state["notes"], *([lookup.note] if lookup.note else []))}
    result = "hit" if lookup.answer else "unavailable" if lookup.unavailable else "miss"
    metrics.ANSWER_CACHE.labels(state["snapshot"].domain, result).inc()
    if lookup.answer is None:
        return {**noted, "cache_similarity": lookup.nearest}
    state["progress"].delta(lookup.answer.text)
    return {**noted, "cached": lookup.answer}


def cached_answer(state: State, total_ms: float) -> Answer:
    """The cached answer, with the usage and timings of this question."""
    return replace(
        state["cached"],
        usage=state["usage"],
        timings_ms={**state.get("timings_ms", {}), "total": total_ms},
        trace=Trace(plan=state.get("plan"), notes=state.get("notes", ())),
    )
