"""Agent 4: what the answerer reads: no duplicates, whole lists, by sections, as much as helps."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from agents.context.duplicates import Editions, are_editions, editions_for, is_near_duplicate
from agents.context.sources import Source, sources_of
from agents.extractive.relevance import ScoredUnit
from agents.plan import Plan
from config.domain import AnswerPolicy
from enrichment.chunk import Chunk
from index.search import Hit, Snapshot

_NOTHING = -20.0
_LAST = 100
_SEARCH = 5.0
"""Log-odds that search's first place is worth; the sixth is worth half."""
_ANY_SEARCH = 2.0
"""The same for the first place by vectors or by words alone; the eleventh is worth half."""
_ROOM = 300
"""Characters that cost one log-odds."""

HELPS = -7.0
"""Log-odds for its room below which a passage is left out though there is room."""
HELPS_AT_ONCE = -4.0
"""The same for a question of one part, when its reader may ask for more: of 48 questions planned
by a model none lost a passage that it needed, and the prompt was smaller by a sixth on average."""
ALWAYS = 3_000
"""Characters that are filled whatever the scores say: to say what is nearest."""
SHARE = 3_000
"""Characters, at most, that a part of the question has to itself."""
_MOST_EDITIONS = 3
_COMPLETED = 3
"""Of the best passages, those whose list or table is completed."""
_LONGEST_COMPLETED = 3_000
"""Characters of a list or table that is completed; of a longer one what is left out is said."""

_LINK = re.compile(r"!?\[[^\[\]]*\]\([^()\s]*\)|<?https?://\S+")
_WORD = re.compile(r"\w")


WITH_A_MODEL, WITHOUT_A_MODEL = 24_000, 12_000
"""Characters that a context has room for unless the domain file says how many."""


@dataclass(frozen=True, kw_only=True)
class FoundPassages:
    """What the post-processor sees."""

    plan: Plan
    snapshot: Snapshot
    hits: Sequence[Hit]
    """Best first."""
    scored: Sequence[ScoredUnit]
    """Best first."""
    requested: tuple[str, ...] = ()
    """Ids of chunks that the answerer's lookups brought."""
    reranked: tuple[str, ...] = ()
    """Ids of chunks that a reranker judged, best first: they come before all others."""
    can_look_up: bool = False
    """Whoever reads the context may ask for more."""


@dataclass(frozen=True, kw_only=True)
class Context:
    """What the answerer sees, in order, and why the rest is not part of it."""

    chunks: tuple[Chunk, ...]
    dropped: Mapping[str, str]
    """Chunk id → why."""
    sources: tuple[Source, ...] = ()
    """The chunks by sections: what `[n]` cites."""


def max_characters(policy: AnswerPolicy, *, has_model: bool) -> int:
    return policy.context_characters or (WITH_A_MODEL if has_model else WITHOUT_A_MODEL)


def build_context(passages: FoundPassages, *, characters: int) -> Context:
    """At most that many characters of passages: what was asked for, then the best ones of each
    part of the question, then the next best while they help.

    Documents are in the order of their best passage, passages in reading order."""
    # What a second look brought may have been found before, further down.
    first: dict[str, Hit] = {}
    for hit in passages.hits:
        first.setdefault(hit.chunk.id, hit)
    hits = list(first.values())
    relevance = chunk_scores(hits, passages.scored)
    judged = {chunk_id: place for place, chunk_id in enumerate(passages.reranked)}
    ranked = sorted(
        (hit.chunk for hit in hits),
        key=lambda chunk: (judged.get(chunk.id, len(judged)), -relevance[chunk.id]),
    )
    chosen = _Chosen(editions_for(passages.plan, passages.snapshot.documents), characters)
    for chunk in _requested(passages):
        chosen.take(chunk, asked_for=True)
    for place, chunk in enumerate(ranked[:_COMPLETED]):
        if chosen.take(chunk) and not place:
            for part in _leaders(passages, relevance):
                chosen.take(part)
    for chunk in ranked[:_COMPLETED]:
        if chosen.has(chunk):
            chosen.complete(chunk, passages.snapshot)
    helps = HELPS_AT_ONCE if passages.can_look_up and not passages.plan.parts else HELPS
    for chunk in ranked[_COMPLETED:]:
        if relevance[chunk.id] < helps and chosen.size >= min(ALWAYS, characters):
            chosen.drop(chunk, "would not help")
        else:
            chosen.take(chunk)
    context = tuple(in_reading_order(list(chosen.kept.values())))
    return Context(
        chunks=context, dropped=chosen.dropped, sources=sources_of(context, passages.snapshot)
    )


@dataclass
class _Chosen:
    """The passages taken so far, best first."""

    editions: Editions
    room: int
    kept: dict[str, Chunk] = field(default_factory=dict)
    dropped: dict[str, str] = field(default_factory=dict)
    size: int = 0

    def has(self, chunk: Chunk) -> bool:
        return chunk.id in self.kept

    def take(self, chunk: Chunk, *, asked_for: bool = False) -> bool:
        """Whether it is among them now; of editions, the one nearest to the question is."""
        if self.has(chunk):
            return True
        if _is_only_links(chunk.text) and not asked_for:
            return self.drop(chunk, "only links")
        others = () if asked_for else tuple(self.kept.values())
        alike = [one for one in others if are_editions(chunk, one)]
        twins = [one for one in others if is_near_duplicate(chunk, one)]
        better = next((o for o in alike + twins if self.editions.prefers(o, chunk)), None)
        worse = [one for one in alike + twins if self.editions.prefers(chunk, one)]
        if better:
            return self.drop(chunk, f"the question is nearer to {_place(better)}")
        if twins and not worse:
            return self.drop(chunk, f"says the same as {_place(twins[0])}")
        if len(alike) - len(worse) >= _MOST_EDITIONS:
            return self.drop(chunk, f"another edition of {_place(alike[0])}")
        freed = sum(len(one.text) for one in worse)
        if len(chunk.text) > self.room + freed:
            return self.drop(chunk, "over the budget")
        for one in dict.fromkeys(worse):
            self._give_up(one, f"the question is nearer to {_place(chunk)}")
        self.kept[chunk.id] = chunk
        self.dropped.pop(chunk.id, None)
        self.room -= len(chunk.text)
        self.size += len(chunk.text)
        return True

    def complete(self, chunk: Chunk, snapshot: Snapshot) -> None:
        """The rest of its lists and of its table, all of it or nothing."""
        document = snapshot.chunks(chunk.document_id)
        runs = {run.id for run in chunk.runs}
        table = chunk.table.id if chunk.table else None
        rest = [
            other
            for other in document
            if not self.has(other)
            and (
                bool(runs & {run.id for run in other.runs})
                or (table is not None and other.table is not None and other.table.id == table)
            )
        ]
        length = sum(len(other.text) for other in rest)
        if len(chunk.text) + length <= _LONGEST_COMPLETED and length <= self.room:
            for other in rest:
                self.take(other)

    def drop(self, chunk: Chunk, why: str) -> bool:
        self.dropped[chunk.id] = why
        return False

    def _give_up(self, chunk: Chunk, why: str) -> None:
        del self.kept[chunk.id]
        self.room += len(chunk.text)
        self.size -= len(chunk.text)
        self.drop(chunk, why)


def _requested(passages: FoundPassages) -> list[Chunk]:
    """In the order in which they were asked for; those that are gone are left out."""
    missing = set(passages.requested)
    known = {hit.chunk.id: hit.chunk for hit in passages.hits if hit.chunk.id in missing}
    documents = dict.fromkeys(hit.chunk.document_id for hit in passages.hits)
    for document in (*documents, *passages.snapshot.documents):
        if missing <= known.keys():
            break
        known |= {one.id: one for one in passages.snapshot.chunks(document) if one.id in missing}
    return [known[one] for one in dict.fromkeys(passages.requested) if one in known]


def _leaders(passages: FoundPassages, relevance: Mapping[str, float]) -> Iterator[Chunk]:
    """The best passages for each part of the question, as many as fit its share."""
    parts = max((len(unit.aspects) for unit in passages.scored), default=1)
    chunks = {hit.chunk.id: hit.chunk for hit in passages.hits}
    for part in range(1, parts):
        best: dict[str, float] = {}
        for unit in passages.scored:
            best[unit.chunk.id] = max(unit.aspects[part], best.get(unit.chunk.id, _NOTHING))
        room = SHARE
        for chunk_id in sorted(best, key=lambda one: -(best[one] + relevance[one] / 2)):
            room -= len(chunks[chunk_id].text)
            if room < 0:
                break
            yield chunks[chunk_id]


def chunk_scores(hits: Sequence[Hit], scored: Sequence[ScoredUnit]) -> dict[str, float]:
    """Chunk id → how much of the answer it may hold for the room that it takes.

    The odds of a chunk's statements add up, so one with several that may answer comes before one
    with a single lucky one."""
    strengths: dict[str, dict[int, float]] = {}
    for unit in scored:
        strengths.setdefault(unit.chunk.id, {}).setdefault(unit.index, unit.strength)
    return {
        hit.chunk.id: _together(strengths.get(hit.chunk.id, {}).values())
        + _SEARCH / (1 + rank / 5)
        + _ANY_SEARCH / (1 + min(hit.ranks.values(), default=_LAST) / 10)
        - len(hit.chunk.text) / _ROOM
        for rank, hit in enumerate(hits, start=1)
    }


def _together(strengths: Iterable[float]) -> float:
    odds = sum(math.exp(strength) for strength in strengths)
    return max(_NOTHING, math.log(odds)) if odds else _NOTHING


def in_reading_order(ranked: Sequence[Chunk]) -> list[Chunk]:
    """Documents by their best chunk, chunks of a document by position."""
    order = {
        document: place
        for place, document in enumerate(dict.fromkeys(c.document_id for c in ranked))
    }
    return sorted(ranked, key=lambda chunk: (order[chunk.document_id], chunk.position))


def _is_only_links(text: str) -> bool:
    return _WORD.search(_LINK.sub("", text)) is None


def _place(chunk: Chunk) -> str:
    return " › ".join(dict.fromkeys((chunk.document_title, *chunk.heading_path)))
