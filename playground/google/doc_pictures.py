"""The pictures of documents, at addresses that whoever holds them may open, for a while."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

PLACE = "/docs-pictures/"
NAMED = "picture:"
"""How a document says which picture stands there: `![Request flow](picture:flow)`."""
LIFETIME = 1_800.0
"""Seconds: Google's default."""


@dataclass
class DocPictures:
    """Thread-safe."""

    base_url: str
    pictures: dict[str, bytes]
    """Name → the bytes, whatever they are; changed while it runs, by whoever likes."""
    lifetime: float = LIFETIME
    _issued: dict[str, tuple[str, float]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def addressed(self, part: Any) -> Any:
        """A response in which each picture has an address of its own, made for this request."""
        if isinstance(part, list):
            return [self.addressed(item) for item in part]
        if not isinstance(part, Mapping):
            return part
        return {
            name: self._address(value.removeprefix(NAMED))
            if name == "contentUri" and isinstance(value, str) and value.startswith(NAMED)
            else self.addressed(value)
            for name, value in part.items()
        }

    def serve(self, path: str) -> tuple[int, tuple[str, bytes]]:
        """Status, media type and content; no token is asked for."""
        with self._lock:
            name, until = self._issued.get(path.removeprefix(PLACE), ("", 0.0))
        if not name or time.monotonic() > until:
            return 403, ("text/html", b"<html>Your client does not have permission.</html>")
        if name not in self.pictures:
            return 404, ("text/html", b"<html>Not Found</html>")
        return 200, ("image/png", self.pictures[name])

    def _address(self, name: str) -> str:
        key = secrets.token_urlsafe(24)
        with self._lock:
            self._issued[key] = name, time.monotonic() + self.lifetime
        return f"{self.base_url}{PLACE}{key}"
