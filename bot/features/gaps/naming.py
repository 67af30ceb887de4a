"""What a gap is called and where it belongs: a short name by a model, and the nearest place in
today's documents.

A name is stored with the question that it is made of: it is deleted with it, and visible only to
those who may read it."""

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

MAX_NAME_CHARS = 80
MAX_NAMES = 10
"""Calls in one run: a name is not urgent."""
_MAX_QUESTION_CHARS = 600


class GapName(BaseModel):
    """The reply asked of the model."""

    name: str = Field(description="Three to eight words")


def name_gaps(store: GapStore, model: ChatModel, domain: str) -> None:
    """Name gaps that were asked more than once by their leading question. The next run tries again
    what failed."""
    leaders = (gap.questions[0] for gap in gaps_of(store, domain) if gap.times > 1)
    unnamed = [one for one in leaders if one.text and not one.name]
    for one in unnamed[:MAX_NAMES]:
        question = Foreign("question", one.text[:_MAX_QUESTION_CHARS])
        try:
            reply, _ = model.structured(render("gap_name", question=question), GapName)
        except ModelError as error:
            log.info("a gap is named by its question", reason=error.kind)
            return
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
        heading=" › ".join(_below_title(chunk.document_title, chunk.heading_path)),
        similarity=round(float(best), 4),
    )


def state_of(snapshot: Snapshot, documents: Sequence[str]) -> str:
    """Changes with the content of these documents, or when one is deleted."""
    hashes = {card.id: card.content_hash for card in snapshot.cards(documents)}
    states = "\0".join(f"{one}\0{hashes.get(one, 'gone')}" for one in documents)
    return hashlib.sha256(states.encode()).hexdigest()


def where(
    snapshot: Callable[[str], Snapshot], domain: str, place: tuple[str, str]
) -> tuple[str, str]:
    """(address, `title › heading`) of a document and heading; empty for a deleted document."""
    document, heading = place
    if not document:
        return "", ""
    try:
        current = snapshot(domain)
        titles = [card.title for card in current.cards([document])]
        chunks = current.chunks(document) if titles else ()
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
