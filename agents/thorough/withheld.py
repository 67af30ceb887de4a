"""Progress of an answer that may yet be thought better of: what is done is told, words are not."""

from __future__ import annotations

from agents.answer import Progress


class Withheld:
    """Its words are told by whoever made it, when they are final."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._last = ""

    def status(self, text: str) -> None:
        """Each line once in a row."""
        if text != self._last:
            self._last = text
            self._progress.status(text)

    def delta(self, text: str) -> None:
        if text:
            self.status("Writing the answer…")
