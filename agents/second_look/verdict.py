"""The word that an answerer's reply begins with: which of four replies it is; and the lines below
it that aren't for the asker."""

from __future__ import annotations

import re
from dataclasses import dataclass
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


_CONFLICT_WORD = "CONFLICT"
_CONFLICT = re.compile(
    r"CONFLICT[ \t]+\[?(\d{1,3})\]?[ \t,/&]*(?:and|with)?[ \t]*\[?(\d{1,3})\]?"
    r"(?:[ \t]*[:.—-][ \t]*([^\n]*))?"
)
_LONGEST_CONFLICT = 300
MOST_CONFLICTS = 3


@dataclass(frozen=True)
class Conflict:
    """Two sources that can't both be true, by their numbers in the prompt."""

    one: int
    other: int
    about: str


class Opening:
    """Holds a reply's beginning back until its verdict is known; one without the word answers."""

    def __init__(self) -> None:
        self.verdict: Verdict | None = None
        self.conflicts: list[Conflict] = []
        self._held = ""
        self._is_begun = False

    def feed(self, piece: str) -> str:
        """What of the reply itself is known so far."""
        if self.verdict:
            return self._begun(piece)
        self._held += piece
        begun = self._held.lstrip(_DECORATION)
        undecided = "\n" not in begun and len(begun) < _LONGEST
        return "" if undecided and _may_be_a_verdict(begun) else self._decided()

    def close(self) -> str:
        """Decides by what there is."""
        rest = "" if self.verdict else self._decided()
        return rest + self._begun("", ended=True)

    def _decided(self) -> str:
        held, self._held = self._held, ""
        word = _WORD.match(held.lstrip(_DECORATION))
        if word and (known := _VERDICTS.get(word[1].rstrip("_"))):
            self.verdict = known
            return self._begun(held.lstrip(_DECORATION)[word.end() :])
        self.verdict = "answer"
        return self._begun(held)

    def _begun(self, piece: str, *, ended: bool = False) -> str:
        """Without the blank lines before the reply's first word, and the lines on conflicts."""
        if self._is_begun:
            return piece
        self._held += piece
        while True:
            bare = self._held.lstrip(_DECORATION)
            if not bare and not ended:
                return ""
            if not bare or not _CONFLICT_WORD.startswith(bare[: len(_CONFLICT_WORD)]):
                break
            line, ends, rest = bare.partition("\n")
            if not (ends or ended) and len(line) < _LONGEST_CONFLICT:
                return ""
            if not (told := _CONFLICT.match(line)):
                break
            about = (told[3] or "").strip(" *_`.")
            self.conflicts.append(Conflict(int(told[1]), int(told[2]), about))
            self._held = rest
        begun, self._held = self._held.lstrip(), ""
        self._is_begun = bool(begun)
        return begun


def _may_be_a_verdict(begun: str) -> bool:
    return any(word.startswith(begun[: len(word)]) for word in _VERDICTS)
