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
    r"CONFLICTS?[ \t:*_`]*"
    r"((?:(?:[ \t,/&\[\]–-]|sources?\b|and\b|with\b|vs\b\.?)*+\b\d{1,3}\b\]?){2,6})"
    r"[*_`]*(?:[ \t]*[:.,—–-]+[ \t]*(.*)|[ \t]*$)"
)
"""At least two numbers of sources, and what they differ on."""
_BEFORE_LINE = " \t*_`>-"
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
        self._begins_line = True

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
        """Without the blank lines before the reply's first word, and without lines on conflicts,
        wherever they stand."""
        self._held += piece
        shown = ""
        while self._held:
            if not self._begins_line:
                line, ends, self._held = self._held.partition("\n")
                shown += line + ends
                self._begins_line = bool(ends)
                continue
            bare = self._held.lstrip(_BEFORE_LINE if self._is_begun else _DECORATION)
            line, ends, rest = bare.partition("\n")
            undecided = not (ends or ended) and len(line) < _LONGEST_CONFLICT
            if undecided and _may_be_a_conflict(line):
                return shown
            if told := _CONFLICT.match(line):
                self._keep(told)
                self._held = rest
                continue
            if not self._is_begun:
                self._held = self._held.lstrip()
            self._is_begun, self._begins_line = bool(self._held), False
        return shown

    def _keep(self, told: re.Match[str]) -> None:
        first, *others = map(int, re.findall(r"\d+", told[1]))
        about = (told[2] or "").strip(" *_`.")
        self.conflicts += [Conflict(first, other, about) for other in others]


def _may_be_a_conflict(line: str) -> bool:
    return _CONFLICT_WORD.startswith(line[: len(_CONFLICT_WORD)])


def _may_be_a_verdict(begun: str) -> bool:
    return any(word.startswith(begun[: len(word)]) for word in _VERDICTS)
