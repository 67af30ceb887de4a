"""Gaps as people read them: how often, by how many, since when, in whose words.

Questions in vain as vectors: of today's embedder, gap by gap."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from sqlalchemy import Engine, select, update

from agents.answer_cache.same_question import MAX_COMPARED, KnownGap, central
from bot.db import batches
from bot.feature import PublishedIndex
from bot.features.gaps.questions import UNANSWERED, GapState, is_of_alerts, words_asked
from bot.features.gaps.store import GapStore, gap_changes, gap_questions, gap_vectors
from config.models import Vectors
from enrichment.language.words import written_out


def vectors_of(engine: Engine, ids: Collection[str]) -> dict[str, Vectors]:
    """By question id."""
    query = select(gap_vectors.c.question_id, gap_vectors.c.vector)
    found: dict[str, Vectors] = {}
    with engine.connect() as connection:
        for batch in batches(ids):
            rows = connection.execute(query.where(gap_vectors.c.question_id.in_(batch)))
            found |= {one.question_id: np.frombuffer(one.vector, np.float32) for one in rows}
    return found


def known_gaps(kept: GapStore, domain: str) -> dict[str, KnownGap]:
    """By id, in the order in which they were opened; what is asked in other words never joins an
    alert."""
    members = [
        one for one in kept.members(domain).values() if one.gap and not is_of_alerts(one.gap)
    ]
    ids = [one.question_id for one in members]
    texts, vectors = words_asked(kept.engine, ids), vectors_of(kept.engine, ids)
    found: dict[str, KnownGap | None] = {gap.id: None for gap in kept.of(domain)}
    for one in members:
        text, vector = texts.get(one.question_id), vectors.get(one.question_id)
        if text and vector is not None:
            found[one.gap] = joined(found.get(one.gap), one.gap, text, vector)
    return {name: gap for name, gap in found.items() if gap}


def joined(known: KnownGap | None, gap: str, text: str, vector: Vectors) -> KnownGap:
    """The gap with this question, which may be its first."""
    if known is None:
        return KnownGap(id=gap, questions=(text,), vectors=vector.reshape(1, -1))
    return known.with_one(text, vector)


def make_anew(engine: Engine, domain: str, published: PublishedIndex) -> None:
    """Vectors of an embedder that is no longer in use."""
    of_another = select(gap_vectors.c.question_id).where(
        gap_vectors.c.domain == domain, gap_vectors.c.embedder != published.embedder
    )
    with engine.connect() as connection:
        texts = words_asked(engine, connection.scalars(of_another).all())
    for names in batches(texts):
        made = published.embed([written_out(texts[name]) for name in names])
        _replace(engine, dict(zip(names, made, strict=True)), published.embedder)


def _replace(engine: Engine, made: Mapping[str, Vectors], embedder: str) -> None:
    with engine.begin() as connection:
        for name, vector in made.items():
            change = update(gap_vectors).where(gap_vectors.c.question_id == name)
            stored = np.asarray(vector, np.float32).tobytes()
            values = {"vector": stored, "embedder": embedder}
            connection.execute(change.values(**values))


FAR_OFF = 0.35
"""Cosine with the nearest passage below which a question is of something else than these documents,
as far as one refusal tells; see `benchmarks/gap_clusters.py`."""


@dataclass(frozen=True, kw_only=True)
class UnansweredQuestion:
    """One question of a gap."""

    question_id: str
    asker: str
    why: str
    near: float
    name: str
    asked_at: datetime
    text: str = ""
    """Self-contained; empty where its words are gone."""

    @property
    def channel(self) -> str:
        return self.question_id.partition(":")[0]


@dataclass(frozen=True, kw_only=True)
class GapChange:
    state: str
    by: str
    generation: int
    at: datetime


@dataclass(frozen=True, kw_only=True)
class Gap:
    """`questions`: the most telling first, then as they were asked."""

    id: str
    domain: str
    state: GapState
    document: str
    heading: str
    changed_at: datetime
    questions: tuple[UnansweredQuestion, ...]
    history: tuple[GapChange, ...] = ()

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
    def is_aside(self) -> bool:
        """One person was refused something that the documents are not about: a question in the
        wrong place, as far as anybody can tell."""
        return (
            self.state == "open"
            and self.people < 2
            and all(one.why == "refused" and one.near < FAR_OFF for one in self.questions)
        )

    def times_since(self, since: datetime) -> int:
        """`since`: UTC without a zone, as everywhere here."""
        return sum(one.asked_at >= since for one in self.questions)

    def people_since(self, since: datetime) -> int:
        return len({one.asker for one in self.questions if one.asked_at >= since})

    def seen(self, may_see: Callable[[str], bool]) -> tuple[UnansweredQuestion, ...]:
        """Those whose words somebody may read; what was asked in a direct message is its asker's
        alone. `may_see`: by channel."""
        known: dict[str, bool] = {}

        def shown(channel: str) -> bool:
            if channel not in known:
                known[channel] = not channel.startswith("D") and may_see(channel)
            return known[channel]

        return tuple(one for one in self.questions if one.text and shown(one.channel))


def gaps_of(
    kept: GapStore, domain: str, states: Collection[str] = UNANSWERED, *, history: bool = False
) -> list[Gap]:
    """Worst first: by people, by times, the longest open."""
    wanted = [one for one in kept.of(domain) if one.state in states]
    members = _members(kept.engine, domain)
    ids = [one.question_id for gap in wanted for one in members.get(gap.id, ())]
    texts, vectors = words_asked(kept.engine, ids), vectors_of(kept.engine, ids)
    changes = _history(kept.engine, domain) if history else {}
    found = [
        Gap(
            id=one.id,
            domain=one.domain,
            state=one.state,
            document=one.document,
            heading=one.heading,
            changed_at=one.changed_at,
            questions=_telling_first(
                [_with_text(each, texts) for each in members[one.id]], vectors
            ),
            history=tuple(changes.get(one.id, ())),
        )
        for one in wanted
        if one.id in members
    ]
    return sorted(found, key=lambda gap: (-gap.people, -gap.times, gap.since, gap.id))


def shown_gaps(kept: GapStore, domain: str, *, history: bool = False) -> list[Gap]:
    """Of those that nothing answers yet, the ones to speak of."""
    return [gap for gap in gaps_of(kept, domain, history=history) if not gap.is_aside]


def growing(gap: Gap, since: datetime, until: datetime) -> bool:
    """Asked more often between these two than in as long a time before."""
    before = gap.times_since(since - (until - since)) - gap.times_since(since)
    return gap.since < since and gap.times_since(since) > max(1, before)


def _members(engine: Engine, domain: str) -> dict[str, list[UnansweredQuestion]]:
    query = (
        select(
            gap_questions.c.gap, gap_questions.c.question_id, gap_questions.c.asker,
            gap_questions.c.why, gap_questions.c.near, gap_questions.c.name,
            gap_questions.c.asked_at,
        )
        .where(gap_questions.c.domain == domain, gap_questions.c.gap != "")
        .order_by(gap_questions.c.asked_at, gap_questions.c.question_id)
    )  # fmt: skip
    found: dict[str, list[UnansweredQuestion]] = defaultdict(list)
    with engine.connect() as connection:
        for row in connection.execute(query).mappings():
            values = dict(row)
            found[values.pop("gap")].append(UnansweredQuestion(**values))
    return found


def _with_text(one: UnansweredQuestion, texts: dict[str, str]) -> UnansweredQuestion:
    values = {name: getattr(one, name) for name in UnansweredQuestion.__dataclass_fields__}
    return UnansweredQuestion(**(values | {"text": texts.get(one.question_id, "")}))


def _telling_first(
    asked: Sequence[UnansweredQuestion], vectors: dict[str, np.ndarray]
) -> tuple[UnansweredQuestion, ...]:
    """The one that is nearest to all the others leads."""
    newest = [one for one in asked if one.question_id in vectors and one.text][-MAX_COMPARED:]
    if len({vectors[one.question_id].shape for one in newest}) > 1:
        return tuple(asked)  # another embedder is about to make them anew
    if len(newest) < 3:  # of two, each is as near to the other
        return tuple(asked)
    place = central(np.stack([vectors[one.question_id] for one in newest]))
    leader = newest[place]
    return (leader, *(one for one in asked if one is not leader))


def _history(engine: Engine, domain: str) -> dict[str, list[GapChange]]:
    query = select(gap_changes).where(gap_changes.c.domain == domain).order_by(gap_changes.c.id)
    found: dict[str, list[GapChange]] = defaultdict(list)
    with engine.connect() as connection:
        for row in connection.execute(query):
            found[row.gap].append(
                GapChange(state=row.state, by=row.by, generation=row.generation, at=row.at)
            )
    return found
