"""Agent 4: builds the context: no duplicates, whole lists, by sections, as much as helps."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from agents.context.duplicates import Editions, are_editions, editions_for, is_near_duplicate
from agents.context.sources import Source, build_sources, share_a_block
from agents.extractive.relevance import ScoredUnit
from agents.plan import Plan
from config.domain import AnswerPolicy
from enrichment.chunk import Chunk
from index.search import Hit, Snapshot

_NOTHING = -20.0
_LAST = 100
_SEARCH = 5.0
"""Log-odds of the first place in the search; the sixth counts half."""
_ANY_SEARCH = 2.0
"""The same for the first place by vectors or by words; the eleventh counts half."""
_ROOM = 300
"""Characters that cost one log-odds."""

HELPS = -7.0
"""Log-odds, after the cost of its length, below which a passage is dropped even with room left."""
HELPS_AT_ONCE = -4.0
"""The same for a question of one part whose answerer may look up more: of 48 questions planned by
a model none lost a needed passage, and prompts were smaller by a sixth on average."""
ALWAYS = 3_000
"""Characters that are filled whatever the scores, so that there is a nearest passage. Without a
model nothing is saved by reading less: a context of `WITHOUT_A_MODEL` is filled."""
SHARE = 3_000
"""Characters reserved for a part of the question, at most, and at most a quarter of a context."""
_MAX_EDITIONS = 3
_COMPLETED = 3
"""Best passages whose list or table is completed."""
_MAX_COMPLETED_CHARS = 3_000
"""Characters of a completed list or table; a longer one gets a note of what is missing."""
_COMPLETING_SHARE = 0.15
"""Share of a context that completing takes at most: other sections may hold more of the answer."""
_MAX_TAIL_CHARS = 600
"""Characters hidden of a section that are shown rather than looked up: a lookup costs a call."""

_LINK = re.compile(r"!?\[[^\[\]]*\]\([^()\s]*\)|<?https?://\S+")
_WORD = re.compile(r"\w")
WITH_A_MODEL, WITHOUT_A_MODEL = 24_000, 12_000
"""Characters of a context, unless the domain file sets them."""
FIRST_LOOK, FOR_A_PART, FOR_ALL_PARTS = 7_000, 4_000, 16_000
"""Characters of the first look: of a question of one part, more for each further part, and of all.
Decision 155 has what evidence this keeps."""
_PART = 1.0
"""Log-odds that a statement on a part counts less than one on the whole question. In a first look,
which is small, it brings 4 more of 118 questions all their evidence."""
_LABEL = 120
"""Characters that the mark of one more source costs in a prompt."""


@dataclass(frozen=True, kw_only=True)
class FoundPassages:
    plan: Plan
    snapshot: Snapshot
    hits: Sequence[Hit]
    """Best first."""
    scored: Sequence[ScoredUnit]
    """Best first."""
    requested: tuple[str, ...] = ()
    """Ids of chunks that the answerer's lookups brought."""
    reranked: tuple[str, ...] = ()
    """Ids of reranked chunks, best first; they come before all others."""
    can_look_up: bool = False
    """Whether the answerer may look up more."""


@dataclass(frozen=True, kw_only=True)
class Context:
    """The answerer's passages in order, and why others were dropped."""

    chunks: tuple[Chunk, ...]
    dropped: Mapping[str, str]
    """Chunk id → why."""
    sources: tuple[Source, ...] = ()
    """The chunks by section: `[n]` cites one."""


def max_characters(policy: AnswerPolicy, *, has_model: bool) -> int:
    return policy.context_characters or (WITH_A_MODEL if has_model else WITHOUT_A_MODEL)


def first_look(plan: Plan) -> int:
    """Characters that settle a question, when more can be looked up."""
    return min(FOR_ALL_PARTS, FIRST_LOOK + FOR_A_PART * len(plan.parts))


def build_context(
    passages: FoundPassages, *, characters: int, at_first: int | None = None
) -> Context:
    """Requested passages first, then the best of each part of the question, then the next best
    while they help, up to `characters`; of those that nobody requested, up to `at_first`.

    Documents are ordered by their best passage, passages in reading order."""
    # A lookup may bring a passage that was found before, at a lower rank.
    first: dict[str, Hit] = {}
    for hit in passages.hits:
        first.setdefault(hit.chunk.id, hit)
    hits = list(first.values())
    relevance = chunk_scores(hits, passages.scored, by_parts=at_first is not None)
    rerank_places = {chunk_id: place for place, chunk_id in enumerate(passages.reranked)}
    ranked = sorted(
        (hit.chunk for hit in hits),
        key=lambda chunk: (rerank_places.get(chunk.id, len(rerank_places)), -relevance[chunk.id]),
    )
    chosen = _ContextBuilder(
        editions_for(passages.plan, passages.snapshot.documents),
        characters,
        label=0 if at_first is None else _LABEL,
    )
    for chunk in _requested(passages):
        chosen.take(chunk, asked_for=True)
    if at_first is not None:
        chosen.room = min(chosen.room, at_first)
    for place, chunk in enumerate(ranked[:_COMPLETED]):
        if chosen.take(chunk) and not place:
            for part in _leaders(passages, relevance, room=min(SHARE, characters // 4)):
                chosen.take(part)
    spare = characters * _COMPLETING_SHARE
    for chunk in ranked[:_COMPLETED]:
        if chosen.has(chunk):
            spare -= chosen.complete(chunk, passages.snapshot, spare)
    helps = HELPS_AT_ONCE if passages.can_look_up and not passages.plan.parts else HELPS
    is_read_whole = characters <= WITHOUT_A_MODEL and not passages.can_look_up
    always = characters if is_read_whole else min(ALWAYS, characters)
    for chunk in ranked[_COMPLETED:]:
        if relevance[chunk.id] < helps and chosen.size >= always:
            chosen.drop(chunk, "would not help")
        else:
            chosen.take(chunk)
    if passages.can_look_up:
        chosen.room = max(chosen.room, min(_MAX_TAIL_CHARS, characters - chosen.size))
        chosen.show_tails(passages.snapshot)
    context = tuple(in_reading_order(list(chosen.chunks.values())))
    return Context(
        chunks=context, dropped=chosen.dropped, sources=build_sources(context, passages.snapshot)
    )


@dataclass
class _ContextBuilder:
    """The passages so far, best first."""

    editions: Editions
    room: int
    label: int = 0
    """Characters that a section costs beside its passages."""
    chunks: dict[str, Chunk] = field(default_factory=dict)
    dropped: dict[str, str] = field(default_factory=dict)
    size: int = 0

    def has(self, chunk: Chunk) -> bool:
        return chunk.id in self.chunks

    def take(self, chunk: Chunk, *, asked_for: bool = False) -> bool:
        """Whether the chunk is in the context now. Of editions, the nearest one stays."""
        if self.has(chunk):
            return True
        if not _WORD.search(_LINK.sub("", chunk.text)) and not asked_for:
            return self.drop(chunk, "only links")
        others = () if asked_for else tuple(self.chunks.values())
        alike = [one for one in others if are_editions(chunk, one)]
        twins = [one for one in others if is_near_duplicate(chunk, one)]
        better = next((o for o in alike + twins if self.editions.prefers(o, chunk)), None)
        worse = [one for one in alike + twins if self.editions.prefers(chunk, one)]
        if better:
            return self.drop(chunk, f"the question is nearer to {_place(better)}")
        if twins and not worse:
            return self.drop(chunk, f"says the same as {_place(twins[0])}")
        if len(alike) - len(worse) >= _MAX_EDITIONS:
            return self.drop(chunk, f"another edition of {_place(alike[0])}")
        freed = sum(len(one.text) for one in worse)
        cost = len(chunk.text) + self._label_of(chunk)
        if cost > self.room + freed:
            return self.drop(chunk, "over the budget")
        for one in dict.fromkeys(worse):
            self._remove(one, f"the question is nearer to {_place(chunk)}")
        self.chunks[chunk.id] = chunk
        self.dropped.pop(chunk.id, None)
        self.room -= cost
        self.size += len(chunk.text)
        return True

    def _label_of(self, chunk: Chunk) -> int:
        return self.label * all(one.section != chunk.section for one in self.chunks.values())

    def complete(self, chunk: Chunk, snapshot: Snapshot, most: float) -> int:
        """Adds the rest of the chunk's lists and table, up to `most` characters, or nothing.
        Returns the number of characters."""
        document = snapshot.chunks(chunk.document_id)
        rest = [one for one in document if not self.has(one) and share_a_block(chunk, one)]
        length = sum(len(other.text) for other in rest)
        if len(chunk.text) + length > _MAX_COMPLETED_CHARS or length > min(self.room, most):
            return 0
        for other in rest:
            self.take(other)
        return length

    def show_tails(self, snapshot: Snapshot) -> None:
        """Adds what is hidden of a section where it is short, as far as there is room."""
        sections = {one.section for one in self.chunks.values()}
        for document in dict.fromkeys(one.document_id for one in self.chunks.values()):
            hidden: dict[object, list[Chunk]] = {}
            for one in snapshot.chunks(document):
                if one.section in sections and not self.has(one):
                    hidden.setdefault(one.section, []).append(one)
            for tail in hidden.values():
                if sum(len(one.text) for one in tail) < _MAX_TAIL_CHARS:
                    for one in tail:
                        self.take(one)

    def drop(self, chunk: Chunk, why: str) -> bool:
        self.dropped[chunk.id] = why
        return False

    def _remove(self, chunk: Chunk, why: str) -> None:
        del self.chunks[chunk.id]
        self.room += len(chunk.text)
        self.size -= len(chunk.text)
        self.drop(chunk, why)


def _requested(passages: FoundPassages) -> list[Chunk]:
    """In request order, without chunks that no longer exist."""
    missing = set(passages.requested)
    chunks = {hit.chunk.id: hit.chunk for hit in passages.hits if hit.chunk.id in missing}
    documents = dict.fromkeys(hit.chunk.document_id for hit in passages.hits)
    for document in (*documents, *passages.snapshot.documents):
        if missing <= chunks.keys():
            break
        chunks |= {one.id: one for one in passages.snapshot.chunks(document) if one.id in missing}
    return [chunks[one] for one in dict.fromkeys(passages.requested) if one in chunks]


def _leaders(
    passages: FoundPassages, relevance: Mapping[str, float], *, room: int
) -> Iterator[Chunk]:
    """The best passages for each part of the question, as many as fit into its characters."""
    parts = max((len(unit.aspects) for unit in passages.scored), default=1)
    chunks = {hit.chunk.id: hit.chunk for hit in passages.hits}
    for part in range(1, parts):
        best: dict[str, float] = {}
        for unit in passages.scored:
            best[unit.chunk.id] = max(unit.aspects[part], best.get(unit.chunk.id, _NOTHING))
        left = room
        for chunk_id in sorted(best, key=lambda one: -(best[one] + relevance[one] / 2)):
            left -= len(chunks[chunk_id].text)
            if left < 0:
                break
            yield chunks[chunk_id]


def chunk_scores(
    hits: Sequence[Hit], scored: Sequence[ScoredUnit], *, by_parts: bool = False
) -> dict[str, float]:
    """Chunk id → log-odds that it answers, minus the cost of its length.

    The odds of a chunk's statements add up: several likely statements beat a single lucky one.
    `by_parts`: what answers a part of the question counts, too."""
    strengths: dict[str, dict[int, float]] = {}
    for unit in scored:
        strength = _best_strength(unit) if by_parts else unit.strength
        strengths.setdefault(unit.chunk.id, {}).setdefault(unit.index, strength)
    return {
        hit.chunk.id: _together(strengths.get(hit.chunk.id, {}).values())
        + _SEARCH / (1 + rank / 5)
        + _ANY_SEARCH / (1 + min(hit.ranks.values(), default=_LAST) / 10)
        - len(hit.chunk.text) / _ROOM
        for rank, hit in enumerate(hits, start=1)
    }


def _best_strength(unit: ScoredUnit) -> float:
    return max(unit.strength, max(unit.aspects[1:], default=_NOTHING) - _PART)


def _together(strengths: Iterable[float]) -> float:
    odds = sum(math.exp(strength) for strength in strengths)
    return max(_NOTHING, math.log(odds)) if odds else _NOTHING


def in_reading_order(ranked: Sequence[Chunk]) -> list[Chunk]:
    """Documents by their best chunk, chunks of a document by position."""
    documents = list(dict.fromkeys(chunk.document_id for chunk in ranked))
    return sorted(ranked, key=lambda one: (documents.index(one.document_id), one.position))


def _place(chunk: Chunk) -> str:
    return " › ".join(dict.fromkeys((chunk.document_title, *chunk.heading_path)))
