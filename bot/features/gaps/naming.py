"""The place in today's documents that is nearest to a question.

A short name for a gap, where there is a model. It is made of one question and kept with it: it
goes when that goes, and is shown to nobody who may not read it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import structlog
from pydantic import BaseModel, Field

from bot.features.gaps.gap import gaps_of
from bot.features.gaps.prompts import render
from bot.features.gaps.store import GapStore
from config.errors import CopilotError, ModelError
from config.models import ChatModel
from config.prompts import Foreign
from index.search import SearchQuery, Snapshot

log = structlog.get_logger()

LONGEST_NAME = 80
MOST_NAMED = 10
"""Calls for one look: a name is no hurry."""
_LONGEST_QUESTION = 600


class GapName(BaseModel):
    """The reply asked of the model."""

    name: str = Field(description="Three to eight words")


def name_gaps(kept: GapStore, model: ChatModel, domain: str) -> None:
    """Those that were asked more than once, by the question that leads them. What fails is tried
    by the next look."""
    leaders = (gap.questions[0] for gap in gaps_of(kept, domain) if gap.times > 1)
    unnamed = [one for one in leaders if one.text and not one.name]
    for one in unnamed[:MOST_NAMED]:
        asked = Foreign("question", one.text[:_LONGEST_QUESTION])
        try:
            reply, _ = model.structured(render("gap_name", question=asked), GapName)
        except ModelError as error:
            log.info("a gap goes by its question", reason=error.kind)
            return
        if name := " ".join(reply.name.split())[:LONGEST_NAME]:
            kept.name(one.question_id, name)


@dataclass(frozen=True, kw_only=True)
class NearestPlace:
    document: str = ""
    heading: str = ""
    similarity: float = 0.0
    """Cosine of the question with it."""


NOWHERE = NearestPlace()


def nearest_place(snapshot: Snapshot, question: str) -> NearestPlace:
    """Raises CopilotError, e.g. where the embedder is away."""
    hits = snapshot.search(SearchQuery(variants=(question,), limit=5))
    best = max((hit.similarity for hit in hits), default=0.0)
    if not hits:
        return NOWHERE
    chunk = hits[0].chunk
    return NearestPlace(
        document=chunk.document_id,
        heading=" › ".join(_below_title(chunk.document_title, chunk.heading_path)),
        similarity=round(float(best), 4),
    )


def state_of(snapshot: Snapshot, documents: Sequence[str]) -> str:
    """Changes with what these documents say; tells as well that one is gone."""
    known = {card.id: card.content_hash for card in snapshot.cards(documents)}
    states = "\0".join(f"{one}\0{known.get(one, 'gone')}" for one in documents)
    return hashlib.sha256(states.encode()).hexdigest()


def where(
    snapshot: Callable[[str], Snapshot], domain: str, place: tuple[str, str]
) -> tuple[str, str]:
    """(address, `title › heading`) of a document and heading; empty for what is not there now."""
    document, heading = place
    if not document:
        return "", ""
    try:
        found = snapshot(domain)
        titles = [card.title for card in found.cards([document])]
        chunks = found.chunks(document) if titles else ()
    except CopilotError:
        return "", ""
    if not titles:
        return "", ""
    title = titles[0]
    below = (one for one in chunks if _heading(one.document_title, one.heading_path) == heading)
    address = next((one.url for one in (*below, *chunks)), "")
    return address, " › ".join(filter(None, (title, heading)))


def _heading(title: str, path: Iterable[str]) -> str:
    return " › ".join(_below_title(title, path))


def _below_title(title: str, path: Iterable[str]) -> list[str]:
    names = list(path)
    return names[1:] if names[:1] == [title] else names
