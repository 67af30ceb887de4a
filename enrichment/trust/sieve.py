"""Words of a model on their way out: sentence by sentence, only what is grounded."""

from __future__ import annotations

import re

from enrichment.language.sentences import sentences
from enrichment.trust.grounding import Grounds

_FENCE = re.compile(r"\s*(?:```|~~~)[\w+-]{0,12}\s*")
_MARKER = re.compile(r"\s*(?:[-*+]|\d{1,3}[.)]|#{1,6}|>)\s+")
_CITATIONS = re.compile(r"(?:\s*\[\d{1,3}\])+")


class Sieve:
    """Takes a text in pieces and gives back what may be shown of it, as soon as a sentence ends."""

    def __init__(self, grounds: Grounds | None) -> None:
        """None: everything may be shown."""
        self._grounds = grounds
        self._waiting = ""
        self._begun = False
        """Something of the current line is out."""
        self.strays: list[str] = []
        """Sentences that were held back."""

    def feed(self, piece: str) -> str:
        *lines, self._waiting = (self._waiting + piece).split("\n")
        shown = "".join(map(self._line, lines))
        *ready, last = _claims(self._waiting) or [""]
        if last.lstrip().startswith("["):  # perhaps the citation of the sentence before it
            *ready, before = ready or [""]
            last = before + last
        self._waiting = last
        return shown + self._passed(ready)

    def close(self) -> str:
        """The rest."""
        rest, self._waiting = self._waiting, ""
        return self._passed(_claims(rest))

    def _line(self, line: str) -> str:
        """A whole line; none is left of one of which nothing may be shown."""
        shown = self._passed(_claims(line))
        empty = not (self._begun or line.strip())
        end = "\n" if self._begun or empty else ""
        self._begun = False
        return shown + end

    def _passed(self, claims: list[str]) -> str:
        shown = ""
        for claim in claims:
            if self._grounds is None or _FENCE.fullmatch(claim) or self._grounds.hold(claim):
                shown += claim
                continue
            self.strays.append(claim.strip())
            marker = _MARKER.match(claim)
            if marker and not self._begun and not shown and claim is not claims[-1]:
                shown += marker[0]
        self._begun = self._begun or bool(shown.strip())
        return shown


def _claims(line: str) -> list[str]:
    """The sentences of a line, each with the space before it and the citations after it; a row of
    a table is one. Joined they are the line again."""
    if not line or line.lstrip().startswith(("|", "```", "~~~")):
        return [line] if line else []
    ends: list[int] = []
    at = 0
    for sentence in sentences(line):
        start = line.index(sentence, at)
        at = start + len(sentence)
        opening = _CITATIONS.match(sentence) if ends else None
        if opening:
            ends[-1] = start + opening.end()
        if not opening or opening.end() < len(sentence):
            ends.append(at)
    ends = [*ends[:-1], len(line)]
    return [line[start:end] for start, end in zip([0, *ends], ends, strict=False)]
