"""What one run remembers for the next: where the change feeds stood, and what was there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from config.domain import GoogleDriveSource

VERSION = 2
"""Another one lists everything again: what earlier versions read may not be read any more."""


@dataclass(frozen=True, kw_only=True)
class Cursor:
    """Valid for one source as one account sees it; anyone else's is refused."""

    source: str
    """Account, host and configured ids: when one changes, everything is listed again."""
    tokens: Mapping[str, str] = field(default_factory=dict)
    """Shared drive's id, or empty for the account's own feed → its page token. An empty token: a
    drive whose feed we may not read."""
    folders: frozenset[str] = frozenset()
    shortcuts: Mapping[str, str] = field(default_factory=dict)
    """Shortcut's id → its target's."""
    files: frozenset[str] = frozenset()
    """Documents that were there, loaded or not."""

    def to_text(self) -> str:
        return json.dumps(
            {
                "cursor": VERSION,
                "source": self.source,
                "tokens": dict(self.tokens),
                "folders": sorted(self.folders),
                "shortcuts": dict(self.shortcuts),
                "files": sorted(self.files),
            },
            separators=(",", ":"),
        )


def name_source(source: GoogleDriveSource, *, account: str, host: str) -> str:
    parts = [account, host, *sorted(source.folders), "/", *sorted(source.documents)]
    return " ".join(parts)


def read_cursor(text: str, source: str) -> Cursor | None:
    """The cursor that an earlier run of this source left; None when there is none to trust."""
    try:
        stored = json.loads(text)
        if stored["cursor"] != VERSION or stored["source"] != source:
            return None
        return Cursor(
            source=source,
            tokens=dict(stored["tokens"]),
            folders=frozenset(stored["folders"]),
            shortcuts=dict(stored["shortcuts"]),
            files=frozenset(stored["files"]),
        )
    except (ValueError, KeyError, TypeError):
        return None
