"""Questions in vain as vectors: of today's embedder, gap by gap."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
from sqlalchemy import Engine, select, update

from agents.gap_clusters import KnownGap
from bot.feature_tools import PublishedDomains
from bot.gaps.alert_gaps import is_of_alerts
from bot.gaps.failed_questions import words_asked
from bot.gaps.kept_gaps import KeptGaps
from bot.memory.gap_tables import gap_vectors
from bot.memory.kept_table import batches
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


def known_gaps(kept: KeptGaps, domain: str) -> dict[str, KnownGap]:
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


def make_anew(engine: Engine, domain: str, published: PublishedDomains) -> None:
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
