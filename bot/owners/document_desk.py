"""Where documents come from, asked whose they are and told what their owner accepted."""

from __future__ import annotations

from typing import Protocol

from loaders.google.owners import Commented, OwnersFound


class DocumentDesk(Protocol):
    """Documents by their ids; none of the methods raises but ConfigError."""

    @property
    def comments_are_on(self) -> bool: ...

    def owners(self, document: str) -> OwnersFound: ...

    def comment(self, document: str, *, mark: str, content: str, quoted: str) -> Commented:
        """Once for each mark, however often it is called."""
        ...
