"""What makes an answer: as long as it is the same, an answer need not be asked for again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from config.domain import Domain

_ROOT = Path(__file__).resolve().parents[3]
_ANSWERING = ("agents", "config", "enrichment", "index")
"""Rooms whose code an answer is made by; prompts and weights among it."""
ANSWERING_KEYS = ("title", "answer", "retrieval", "examples", "glossary", "access")
"""Keys of a domain that answers depend on; `sources` and `chunks` act through the index."""


@cache
def code_fingerprint() -> str:
    """Of the product's own code that answers questions: another after every edit."""
    digest = hashlib.sha256()
    for room in _ANSWERING:
        for path in sorted((_ROOT / room).rglob("*")):
            if path.suffix in (".py", ".md", ".json") and path.is_file():
                digest.update(f"{path.relative_to(_ROOT)}\0".encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def version_of(domain: Domain, **more: str | float | None) -> str:
    """Of a system that answers in a domain. `more`: whatever else its answers depend on, e.g.
    the digest of the index and the name of the model."""
    known: Mapping[str, object] = {
        "code": code_fingerprint(),
        "domain": domain.model_dump(mode="json", include={"domain", *ANSWERING_KEYS}),
        **more,
    }
    return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()[:16]
