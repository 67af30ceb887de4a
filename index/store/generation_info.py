"""What the index says about its generations and documents."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, kw_only=True)
class GenerationInfo:
    """A published generation, in numbers."""

    domain: str
    number: int
    documents: int
    chunks: int
    units: int
    embedded: int
    """Texts embedded for it; the rest was carried over."""
    seconds: float
    """From opening the staging to publication."""
    created_at: datetime
    embedder: str
    dimensions: int
    digest: str
    """Of its revisions: equal digests hold equal content."""
    is_current: bool = True


@dataclass(frozen=True, kw_only=True)
class Revision:
    """One state of one document, as a generation refers to it."""

    id: int
    document_id: str
    digest: str
    chunks: int
    units: int


def digest_of(held: Iterable[Revision]) -> str:
    """Names a set of revisions by content, so that a folder can prove which one it was made of."""
    lines = sorted(f"{one.document_id}\0{one.digest}" for one in held)
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()
