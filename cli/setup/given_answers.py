"""What the command line has answered before anything is asked."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Given:
    """Empty or None: asked for, or taken as it comes."""

    channel: str = ""
    folders: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    google_key: Path | None = None
    domain: str = ""
    title: str = ""
    admin: str = ""
    ingest: bool | None = None
    hello: bool | None = None
