"""Whether a document still holds, told by its card: one rule for every layer."""

from __future__ import annotations

from collections.abc import Mapping

from enrichment.chunk import DocumentCard

OUT_OF_FORCE = frozenset({"superseded", "obsolete", "deprecated", "withdrawn", "retired"})
"""Statuses of documents to which nobody should hold any more."""


def is_out_of_force(card: DocumentCard | None) -> bool:
    """By its status or by a named successor; a document without a card holds."""
    return card is not None and (bool(card.superseded_by) or card.status.lower() in OUT_OF_FORCE)


def standing(card: DocumentCard, documents: Mapping[str, DocumentCard] | None = None) -> str:
    """In words for a prompt or a title: `superseded by TITLE`, `withdrawn`, `draft`; '' when it is
    current. Only a successor among the documents is named: a reader may not know of others."""
    successor = (documents or {}).get(card.superseded_by)
    if successor:
        return f"superseded by {successor.title}"
    status = card.status.lower()
    if card.superseded_by and status not in OUT_OF_FORCE:
        return "superseded"
    return "" if status == "current" else status
