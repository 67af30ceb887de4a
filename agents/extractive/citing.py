"""Where an answer's `[n]` opens."""

from __future__ import annotations

from collections.abc import Mapping

from agents.answer import Citation
from enrichment.chunk import Chunk, DocumentCard, is_out_of_force, standing


def citation(
    chunk: Chunk, number: int, quote: str, documents: Mapping[str, DocumentCard]
) -> Citation:
    card = documents.get(chunk.document_id)
    over = f" ({standing(card)})" if card and is_out_of_force(card) else ""
    return Citation(
        number=number,
        document=chunk.document_id,
        title=chunk.document_title + over,
        heading=chunk.heading or chunk.document_title,
        url=chunk.url,
        quote=quote,
        modified_at=card.modified_at if card else None,
        page=chunk.page,
        chunk_id=chunk.id,
        from_picture=chunk.from_picture,
    )
