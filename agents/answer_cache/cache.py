"""The answer cache of one domain.

An answer is given again when the question asks the same (see `agreement`), every document that it
was drawn from is as it was and readable now, and nothing else that it depends on has changed: the
domain file, the prompts, the models, and what its reader may read.

What the agents know of the cache: it is asked before they think, and told what they found.

Which answers may be given again, to somebody else and on another day."""

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
from agents.answer_cache.store import CachedAnswerStore, Kept, NewCacheEntry, digest_of, now
from agents.confidence import HIGH
from agents.extractive.conversation import clean_message
from agents.plan import Trace
from agents.state import State
from config.domain import Domain
from config.errors import CopilotError
from config.models import Embedder, Usage, Vectors
from enrichment.chunk import DocumentCard
from index.search import Snapshot
from telemetry import metrics


@dataclass(frozen=True, kw_only=True)
class CachedAnswer:
    """What a look-up found. `note`: what an administrator should know of it."""

    answer: Answer | None = None
    note: str = ""
    nearest: float | None = None
    """Cosine of the question with the nearest one that is kept; None where none is."""
    unavailable: bool = False
    """It could not be read."""


class AnswerCache(Protocol):
    """Neither method raises: a question is answered as if there were no cache."""

    def find(self, asked: str, question: Question, snapshot: Snapshot) -> CachedAnswer:
        """`asked`: the self-contained question; `snapshot`: as its reader sees it."""
        ...

    def keep(self, answer: Answer, question: Question, snapshot: Snapshot) -> None:
        """Kept only where it may be given again."""
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
"""Another answer on another day."""
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
"""Another answer to another person; typographic apostrophes are made plain before."""
_REFERS_BACK = re.compile(
    r"\b(?:above|previous(?:ly)?|earlier|same (?:thing|question|one)|the (?:former|latter))\b"
    r"|^(?:and|but|so|or|also|then|what about|how about)\b",
    re.IGNORECASE,
)


def lasts(asked: str, answer: Answer) -> bool:
    """Of a model, sure, whole, and dependent neither on the day, nor on who asks, nor on what was
    said before."""
    plain = asked.replace("’", "'").strip()
    made_well = (
        answer.path == "company_specific_rag_success"
        and answer.usage.calls > 0
        and not answer.degraded
        and not (answer.cut or answer.usage.cut)
        and answer.confidence > HIGH
        and bool(answer.citations)
        # What a tool said held at that moment, also where a document alone is cited.
        and not answer.of_the_moment
    )
    asks_for_good = not any(
        found.search(plain) for found in (_OF_TODAY, _OF_THE_ASKER, _REFERS_BACK)
    )
    return made_well and asks_for_good and not _OF_AN_ANSWER.search(answer.text)


log = structlog.get_logger()

_MOST_COMPARED = 20
"""Kept questions that are read word by word, the nearest first."""
_LONGEST = 400
"""Characters of a question. A longer one tells a story, and no two of those are the same."""
_TROUBLE = (SQLAlchemyError, CopilotError, ValidationError, ValueError, TypeError, KeyError)
_answers = TypeAdapter(Answer)


class SemanticCache:
    """See `AnswerCache`. Safe to use from several threads."""

    def __init__(
        self,
        *,
        kept: Callable[[], CachedAnswerStore],
        embedder: Embedder,
        domain: Domain,
        model: str,
    ) -> None:
        """`kept` is called when first needed, and again after it failed."""
        self._open = kept
        self._embed = embedder
        self._domain = domain
        self._model = model
        self._known: tuple[tuple[int, ...], Vectors] = ((), np.zeros((0, 0), dtype=np.float32))
        self._lock = Lock()

    def find(self, asked: str, question: Question, snapshot: Snapshot) -> CachedAnswer:
        try:
            return self._find(clean_message(asked), question, snapshot)
        except _TROUBLE as error:
            log.warning("the answer cache can't be read", cause=_cause(error))
            note = f"answered without the cache: {type(error).__name__}"
            return CachedAnswer(note=note, unavailable=True)

    def keep(self, answer: Answer, question: Question, snapshot: Snapshot) -> None:
        try:
            self._keep(answer, question, snapshot)
        except _TROUBLE as error:
            log.warning("the answer cache can't be written", cause=_cause(error))

    def _find(self, asked: str, question: Question, snapshot: Snapshot) -> CachedAnswer:
        if len(asked) > _LONGEST or not asked:
            return CachedAnswer()
        since = now() - timedelta(days=self._domain.answer.cache.days)
        ids = self._kept.ids(snapshot.domain, self._key(question, snapshot), since=since)
        if not ids:
            return CachedAnswer()
        similarities = self._vectors(ids) @ self._embed([asked])[0]
        nearest = np.argsort(-similarities, kind="stable")[:_MOST_COMPARED]
        least = self._domain.answer.cache.similarity
        near = {ids[i]: float(similarities[i]) for i in nearest if similarities[i] >= least}
        for one in self._kept.get(list(near)):
            if difference(asked, one.question, self._domain.glossary):
                continue
            if not _unchanged(one.documents, snapshot):
                continue
            return _again(one, asked, snapshot, near[one.id])
        return CachedAnswer(nearest=_cosine(similarities[nearest[0]]))

    def _keep(self, answer: Answer, question: Question, snapshot: Snapshot) -> None:
        asked = answer.standalone_question if question.history else clean_message(question.text)
        documents = _states(snapshot.cards(sorted(answer.drawn_from)))
        complete = documents.keys() == answer.drawn_from
        if len(asked) > _LONGEST or not complete or not lasts(asked, answer):
            return
        self._kept.keep(
            NewCacheEntry(
                domain=snapshot.domain,
                key=self._key(question, snapshot),
                question=asked,
                vector=np.asarray(self._embed([asked])[0], dtype=np.float32).tobytes(),
                text=answer.text,
                answer=_answers.dump_json(replace(answer, context=(), trace=None)).decode(),
                documents=documents,
            )
        )

    @cached_property
    def _kept(self) -> CachedAnswerStore:
        return self._open()

    def _key(self, question: Question, snapshot: Snapshot) -> str:
        """Of all that an answer depends on besides the question and the documents it draws on.

        Where each reads what they may, a document that only one of them may read could have given
        them another answer: whoever reads other documents asks anew."""
        audience = "" if question.readers is None else _digest(sorted(snapshot.documents))
        return _digest([self._made_with, audience])

    @cached_property
    def _made_with(self) -> str:
        file = self._domain.model_dump_json()
        return _digest([file, self._model, self._embed.name, _prompt_wording()])

    def _vectors(self, ids: tuple[int, ...]) -> Vectors:
        """One row for each; only new ones are read from the database."""
        with self._lock:
            known_ids, known = self._known
        if known_ids == ids:
            return known
        held = dict(zip(known_ids, known, strict=True))
        held |= self._kept.vectors([one for one in ids if one not in held])
        size = self._embed.dimensions
        gone = np.zeros(size, dtype=np.float32)  # similar to nothing
        rows = [held.get(one, gone) for one in ids]
        matrix = np.stack([row if row.shape == (size,) else gone for row in rows])
        with self._lock:
            self._known = (ids, matrix)
        return matrix


def _again(one: Kept, asked: str, snapshot: Snapshot, similarity: float) -> CachedAnswer:
    answer = replace(
        _answers.validate_json(one.answer),
        path="cached",
        cache_similarity=_cosine(similarity),
        timings_ms={},
        usage=Usage(),
        generation=snapshot.generation,
        standalone_question=asked,
    )
    note = f"answered before, on {one.kept_at:%Y-%m-%d}: {one.question}"
    return CachedAnswer(answer=answer, note=note)


def _cosine(similarity: float) -> float:
    return round(min(1.0, float(similarity)), 3)


def _unchanged(documents: Mapping[str, str], snapshot: Snapshot) -> bool:
    """Whether all of them are readable now and as they were. A document that was published since
    and says that it replaces one of them is seen in that one's card."""
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
    """Without what was asked: people's words stay out of logs."""
    return f"{type(error).__name__}: {getattr(error, 'orig', '')}"


def look_up(cache: AnswerCache | None, asked: str, state: State) -> State:
    """The state with `cached` when `asked` was answered before; its text is reported at once."""
    if cache is None:
        return state
    lookup = cache.find(asked, state["question"], state["snapshot"])
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
