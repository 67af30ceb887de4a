"""Gaps as people read them: how often, by how many, since when, in whose words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from sqlalchemy import Engine, select

from agents.gap_clusters import MOST_COMPARED, central
from bot.gaps.compared_questions import vectors_of
from bot.gaps.failed_questions import words_asked
from bot.gaps.gap_states import UNANSWERED, GapState
from bot.gaps.kept_gaps import KeptGaps
from bot.memory.gap_tables import gap_changes, gap_questions

FAR_OFF = 0.35
"""Cosine with the nearest passage below which a question is of something else than these documents,
as far as one refusal tells; see `benchmarks/gap_clusters.py`."""


@dataclass(frozen=True, kw_only=True)
class AskedInVain:
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
    questions: tuple[AskedInVain, ...]
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

    def seen(self, may_see: Callable[[str], bool]) -> tuple[AskedInVain, ...]:
        """Those whose words somebody may read; what was asked in a direct message is its asker's
        alone. `may_see`: by channel."""
        known: dict[str, bool] = {}

        def shown(channel: str) -> bool:
            if channel not in known:
                known[channel] = not channel.startswith("D") and may_see(channel)
            return known[channel]

        return tuple(one for one in self.questions if one.text and shown(one.channel))


def gaps_of(
    kept: KeptGaps, domain: str, states: Collection[str] = UNANSWERED, *, history: bool = False
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


def shown_gaps(kept: KeptGaps, domain: str, *, history: bool = False) -> list[Gap]:
    """Of those that nothing answers yet, the ones to speak of."""
    return [gap for gap in gaps_of(kept, domain, history=history) if not gap.is_aside]


def growing(gap: Gap, since: datetime, until: datetime) -> bool:
    """Asked more often between these two than in as long a time before."""
    before = gap.times_since(since - (until - since)) - gap.times_since(since)
    return gap.since < since and gap.times_since(since) > max(1, before)


def _members(engine: Engine, domain: str) -> dict[str, list[AskedInVain]]:
    query = (
        select(
            gap_questions.c.gap, gap_questions.c.question_id, gap_questions.c.asker,
            gap_questions.c.why, gap_questions.c.near, gap_questions.c.name,
            gap_questions.c.asked_at,
        )
        .where(gap_questions.c.domain == domain, gap_questions.c.gap != "")
        .order_by(gap_questions.c.asked_at, gap_questions.c.question_id)
    )  # fmt: skip
    found: dict[str, list[AskedInVain]] = defaultdict(list)
    with engine.connect() as connection:
        for row in connection.execute(query).mappings():
            values = dict(row)
            found[values.pop("gap")].append(AskedInVain(**values))
    return found


def _with_text(one: AskedInVain, texts: dict[str, str]) -> AskedInVain:
    values = {name: getattr(one, name) for name in AskedInVain.__dataclass_fields__}
    return AskedInVain(**(values | {"text": texts.get(one.question_id, "")}))


def _telling_first(
    asked: Sequence[AskedInVain], vectors: dict[str, np.ndarray]
) -> tuple[AskedInVain, ...]:
    """The one that is nearest to all the others leads."""
    newest = [one for one in asked if one.question_id in vectors and one.text][-MOST_COMPARED:]
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
