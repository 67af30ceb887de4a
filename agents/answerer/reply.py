"""The word that an answerer's reply begins with: which of four replies it is; and the lines below
it that aren't for the asker.

Sources that a model says can't both be true, as contradictions for people to settle."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from agents.answer import Contradiction
from agents.checks.groundedness import supporting_words
from agents.context.sources import Source
from agents.extractive.relevance import citation
from enrichment.chunk import DocumentCard, is_out_of_force
from enrichment.safety.grounding import GroundingText

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


@dataclass(frozen=True, kw_only=True)
class SourceConflict:
    """Two sources that can't both be true, as the model that read them says."""

    one: Source
    other: Source
    about: str
    """In words that the two hold; else ''. The question, and what else was read, may be private."""


def conflicts_between(
    told: Sequence[Conflict], sources: Sequence[Source], read: Sequence[str]
) -> tuple[SourceConflict, ...]:
    """Those between two sources that there are, each pair once. `read`: what the model was shown of
    each source."""
    known = range(1, min(len(sources), len(read)) + 1)
    pairs = {
        tuple(sorted((one.one, one.other))): one
        for one in reversed(told)
        if one.one != one.other and one.one in known and one.other in known
    }
    return tuple(
        SourceConflict(
            one=sources[one.one - 1],
            other=sources[one.other - 1],
            about=one.about if _is_about(one, read) else "",
        )
        for one in [*reversed(pairs.values())][:MOST_CONFLICTS]
    )


def _is_about(one: Conflict, read: Sequence[str]) -> bool:
    return GroundingText([read[one.one - 1], read[one.other - 1]]).supports(one.about)


def contradictions_told(
    conflicts: Sequence[SourceConflict],
    cited: Sequence[Source],
    question: str,
    documents: Mapping[str, DocumentCard],
) -> tuple[Contradiction, ...]:
    """Between two places of documents in force: a superseded one loses, and what a tool said or
    a model saw in a picture is nobody's text. `cited`: what the answer's `[n]` point to."""
    found = []
    for conflict in conflicts:
        sides = (conflict.one, conflict.other)
        chunks = [side.first for side in sides]
        places = {(chunk.document_id, chunk.tab, chunk.heading_path) for chunk in chunks}
        cards = [documents.get(chunk.document_id) for chunk in chunks]
        if len(places) < 2 or any(side.from_picture for side in sides):
            continue
        if any(card is None or is_out_of_force(card) for card in cards):
            continue
        said = f"{conflict.about or question} [1]"
        one, other = (
            citation(
                side.first,
                cited.index(side) + 1 if side in cited else 0,
                supporting_words(said, 1, side),
                documents,
            )
            for side in sides
        )
        found.append(Contradiction(about=conflict.about, one=one, other=other))
    return tuple(found)
