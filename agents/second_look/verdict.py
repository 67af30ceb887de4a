"""The word that an answerer's reply begins with: which of four replies it is."""

from __future__ import annotations

import re
from typing import Literal

Verdict = Literal["answer", "look", "which", "nothing"]

_VERDICTS: dict[str, Verdict] = {
    "ANSWER": "answer",
    "LOOK": "look",
    "WHICH": "which",
    "NOTHING": "nothing",
    "NO_ANSWER": "nothing",
}
_DECORATION = " \t\r\n*_`#>"
_WORD = re.compile(r"([A-Z_]++)[*_`]*+[ \t]*+(?:[:.\n—-]|$)\s*+")
"""The word, alone on its line or before a colon."""
_LONGEST = 40
"""Characters after which nothing more is waited for."""


class Opening:
    """Holds a reply's beginning back until its verdict is known; one without the word answers."""

    def __init__(self) -> None:
        self.verdict: Verdict | None = None
        self._held = ""
        self._is_begun = False

    def feed(self, piece: str) -> str:
        """What of the reply itself is known so far."""
        if self.verdict:
            return self._begun(piece)
        self._held += piece
        begun = self._held.lstrip(_DECORATION)
        undecided = "\n" not in begun and len(begun) < _LONGEST
        return "" if undecided and _may_be_a_verdict(begun) else self.close()

    def close(self) -> str:
        """Decides by what there is."""
        if self.verdict:
            return ""
        held, self._held = self._held, ""
        word = _WORD.match(held.lstrip(_DECORATION))
        if word and (known := _VERDICTS.get(word[1].rstrip("_"))):
            self.verdict = known
            return self._begun(held.lstrip(_DECORATION)[word.end() :])
        self.verdict = "answer"
        return self._begun(held)

    def _begun(self, piece: str) -> str:
        """Without the blank lines before the reply's first word."""
        piece = piece if self._is_begun else piece.lstrip()
        self._is_begun = self._is_begun or bool(piece)
        return piece


def _may_be_a_verdict(begun: str) -> bool:
    return any(word.startswith(begun[: len(word)]) for word in _VERDICTS)
