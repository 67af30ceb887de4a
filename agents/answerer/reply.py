"""Parses an answerer's reply: the verdict it begins with, and its CONFLICT lines.

A conflict names two sources that can't both be true; people settle it as a contradiction."""

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
    "ANSWER": "answer", "LOOK": "look", "WHICH": "which", "NOTHING": "nothing",
    "NO_ANSWER": "nothing",
}  # fmt: skip
_DECORATION = " \t\r\n*_`#>"
_WORD = re.compile(r"([A-Z_]++)[*_`]*+[ \t]*+(?:[:.\n—-]|$)\s*+")
"""The word, alone on its line or before a colon."""
_MAX_VERDICT_CHARS = 40
"""Characters after which the reply counts as one without a verdict."""
_CONFLICT_WORD = "CONFLICT"
_CONFLICT = re.compile(
    r"CONFLICTS?[ \t:*_`]*"
    r"((?:(?:[ \t,/&\[\]–-]|sources?\b|and\b|with\b|vs\b\.?)*+\b\d{1,3}\b\]?){2,6})"
    r"[*_`]*(?:[ \t]*[:.,—–-]+[ \t]*(.*)|[ \t]*$)"
)
"""At least two numbers of sources, and what they differ on."""
_BEFORE_LINE = " \t*_`>-"
_MAX_CONFLICT_CHARS = 300
MAX_CONFLICTS = 3


@dataclass(frozen=True)
class Conflict:
    """Two sources that can't both be true, by number in the prompt."""

    one: int
    other: int
    about: str


class Opening:
    """Withholds a reply until its verdict is read. A reply without one is an answer."""

    def __init__(self) -> None:
        self.verdict: Verdict | None = None
        self.conflicts: list[Conflict] = []
        self._pending = ""
        self._has_begun = False
        self._begins_line = True

    def feed(self, piece: str) -> str:
        """The next text of the reply, without verdict and conflicts."""
        if self.verdict:
            return self._read_text(piece)
        self._pending += piece
        opening = self._pending.lstrip(_DECORATION)
        undecided = "\n" not in opening and len(opening) < _MAX_VERDICT_CHARS
        may_be_a_verdict = any(word.startswith(opening[: len(word)]) for word in _VERDICTS)
        return "" if undecided and may_be_a_verdict else self._read_verdict()

    def close(self) -> str:
        """The rest of the text; the verdict is decided now if it was not."""
        rest = "" if self.verdict else self._read_verdict()
        return rest + self._read_text("", is_end=True)

    def _read_verdict(self) -> str:
        text, self._pending = self._pending, ""
        word = _WORD.match(text.lstrip(_DECORATION))
        if word and (verdict := _VERDICTS.get(word[1].rstrip("_"))):
            self.verdict = verdict
            return self._read_text(text.lstrip(_DECORATION)[word.end() :])
        self.verdict = "answer"
        return self._read_text(text)

    def _read_text(self, piece: str, *, is_end: bool = False) -> str:
        """Text without leading blank lines and without CONFLICT lines."""
        self._pending += piece
        text = ""
        while self._pending:
            if not self._begins_line:
                line, ends, self._pending = self._pending.partition("\n")
                text += line + ends
                self._begins_line = bool(ends)
                continue
            bare = self._pending.lstrip(_BEFORE_LINE if self._has_begun else _DECORATION)
            line, ends, rest = bare.partition("\n")
            undecided = not (ends or is_end) and len(line) < _MAX_CONFLICT_CHARS
            if undecided and _CONFLICT_WORD.startswith(line[: len(_CONFLICT_WORD)]):
                return text
            if conflict := _CONFLICT.match(line):
                self._add_conflicts(conflict)
                self._pending = rest
                continue
            if not self._has_begun:
                self._pending = self._pending.lstrip()
            self._has_begun, self._begins_line = bool(self._pending), False
        return text

    def _add_conflicts(self, match: re.Match[str]) -> None:
        first, *others = map(int, re.findall(r"\d+", match[1]))
        about = (match[2] or "").strip(" *_`.")
        self.conflicts += [Conflict(first, other, about) for other in others]


@dataclass(frozen=True, kw_only=True)
class SourceConflict:
    """Two sources that can't both be true, according to the model."""

    one: Source
    other: Source
    about: str
    """Only words that both sources support, else '': the question and other sources may be
    private."""


def conflicts_between(
    conflicts: Sequence[Conflict], sources: Sequence[Source], source_texts: Sequence[str]
) -> tuple[SourceConflict, ...]:
    """Each pair of existing sources once. `source_texts`: the sources as in the prompt."""
    numbers = range(1, min(len(sources), len(source_texts)) + 1)
    pairs = {
        tuple(sorted((one.one, one.other))): one
        for one in reversed(conflicts)
        if one.one != one.other and one.one in numbers and one.other in numbers
    }
    return tuple(
        SourceConflict(
            one=sources[one.one - 1],
            other=sources[one.other - 1],
            about=one.about if _is_about(one, source_texts) else "",
        )
        for one in [*reversed(pairs.values())][:MAX_CONFLICTS]
    )


def _is_about(one: Conflict, source_texts: Sequence[str]) -> bool:
    return GroundingText([source_texts[one.one - 1], source_texts[one.other - 1]]).supports(
        one.about
    )


def contradictions_from(
    conflicts: Sequence[SourceConflict],
    sources: Sequence[Source],
    question: str,
    documents: Mapping[str, DocumentCard],
) -> tuple[Contradiction, ...]:
    """Contradictions between two places of documents in force: a superseded document loses, and the
    text of a tool or of a picture's description has no owner. `sources`: the targets of the
    answer's `[n]`."""
    contradictions = []
    for conflict in conflicts:
        sides = (conflict.one, conflict.other)
        chunks = [side.first for side in sides]
        places = {(chunk.document_id, chunk.tab, chunk.heading_path) for chunk in chunks}
        cards = [documents.get(chunk.document_id) for chunk in chunks]
        if len(places) < 2 or any(side.from_picture for side in sides):
            continue
        if any(card is None or is_out_of_force(card) for card in cards):
            continue
        claim = f"{conflict.about or question} [1]"
        one, other = (
            citation(
                side.first,
                sources.index(side) + 1 if side in sources else 0,
                supporting_words(claim, 1, side),
                documents,
            )
            for side in sides
        )
        contradictions.append(Contradiction(about=conflict.about, one=one, other=other))
    return tuple(contradictions)
