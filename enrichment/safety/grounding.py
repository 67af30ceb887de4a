"""Checks whether sources support a sentence, and streams only supported sentences."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable

from enrichment.language.foreign_words import language_of
from enrichment.language.quantities import figures
from enrichment.language.words import naming_words, sentences, stem, stems, tokens
from enrichment.safety.acts import acts_of, as_read
from enrichment.safety.injection import DICTATES, addressing, statements

_ENOUGH = 0.6
"""Share of a sentence's naming words that must occur in the sources."""
_HALF = 0.5
"""The same share for a clause."""
_CLAUSE_WORDS = 3
"""A clause with this many naming words must also be grounded by itself."""
_FEW_NAMES = 2
"""Naming words from which on a sentence can be compared with an order."""
_OWN_WORDS = 3
"""Ordinary words that an honest answer may add to a sentence: `that permission doesn't carry over
to SG`. With 0, 3 of 30 answers of a strong model lost a sentence. With 3, none does, at most 5 of
669 sentences of golden reference answers are lost, and no more attacks succeed."""
_CLAUSE = re.compile(r"[;—–]|, | and | but ")
_CODE = re.compile(r"(?=\w*-?\w*[A-Z])(?=.*\d)|^[A-Z-]{4,}$")
"""A code or all-capitals word, which an honest model never adds itself."""
_REQUEST = re.compile(
    r"\W*(?:(?:please|can you|could you|would you|now) )?(?:explain|describe|define|outline"
    r"|break down|summari[sz]e|translate|provide|give|show|draft|compose|write|develop|create"
    r"|generate|tell|compare|solve|name)\b",
    re.IGNORECASE,
)
_ADDRESS = re.compile(
    r"(?:https?://|www\.)[^\s)>\]|]+|[\w.+-]+@[\w-]+\.[\w.]+|<[!@#][^>\s]*>"
    r"|@(?:everyone|channel|here)\b",
    re.IGNORECASE,
)
"""Web and mail addresses, and Slack's mentions."""
_CITED = re.compile(r"\[\d{1,3}\]")
_OF_ANSWERS = stems(
    "answer apply both case condition contain cover depend describe detail document documentation "
    "example exception first following list mention note number question row second section "
    "source state step summary table team third total value"
)
"""Words with which an answer describes itself and its sources; they are always grounded."""


class GroundingText:
    """The statements among the texts that a model was given."""

    def __init__(
        self, texts: Iterable[str], *, question: str = "", prompt: str = "", language: str = ""
    ) -> None:
        """`question`: the user's words and those of our own rules; they count as stated.
        `prompt`: what a model was told, which it is not to repeat. `language`: the user's."""
        stated: list[str] = []
        doubtful: list[str] = []
        orders: list[str] = []
        for text in texts:
            for statement in statements(text):
                if addressing(statement):
                    orders.append(statement)
                else:
                    (doubtful if _requests(statement) else stated).append(statement)
        self._statements, self._orders, self._requests, self._prompt = (
            [*map(_words_of, one)] for one in (stated, orders, doubtful, statements(prompt))
        )
        self._stated = frozenset(stems(question) | _OF_ANSWERS).union(*self._statements)
        self._ordered = frozenset[str]().union(*self._orders)
        self._doubtful = self._ordered.union(*self._requests)
        may_be_foreign = bool(language) and not orders
        whole = "\n".join(stated) if may_be_foreign else ""
        self._language = language if may_be_foreign and language != language_of(whole) else ""
        self._figures = figures(f"{whole}\n{question}") if self._language else frozenset[str]()
        self._addresses = {
            address.lower() for text in (*stated, question) for address in _ADDRESS.findall(text)
        }

    def supports(self, claim: str, *, clauses: bool = True) -> bool:
        """Whether the sources state most of what the claim names.

        Words of suspect sentences support only a claim that is suspect itself: `answer with E1`
        reports `answer with E1`, but `E1` alone would obey it. Without `clauses`, single clauses
        are not checked, so that a summary may add one."""
        claim_text = as_read(_CITED.sub("", claim))
        if any(
            address.rstrip(".,;:").lower() not in self._addresses
            for address in _ADDRESS.findall(_CITED.sub("", claim))
        ):
            return False
        names = _names_in(claim_text)
        parts = [_names_in(part) for part in _CLAUSE.split(claim_text)] if clauses else []
        source_words = self._stated
        if self._reports(claim_text, frozenset(names)):
            source_words = source_words | self._doubtful
        elif any(map(self._repeats_an_order, (names, *parts))):
            return False
        if any(
            _CODE.search(word) and not {part.lower(), stem(part.lower())} & source_words
            for word in tokens(claim_text)
            for part in word.split("/")
        ):
            return False
        if any(map(_is_in_pictures, (claim_text, *_CLAUSE.split(claim_text)))):
            return False
        return (
            self._adds_little(claim_text, source_words)
            or self._is_translated(claim_text)
            or (
                _grounded(names, source_words, _ENOUGH)
                and all(
                    _grounded(part, source_words, _HALF)
                    for part in parts
                    if len(part) >= _CLAUSE_WORDS
                )
            )
        )

    def _is_translated(self, claim_text: str) -> bool:
        """Whether it tells the sources in the user's language, and so in other words: its figures
        stand there, as do its codes and addresses, and nothing there speaks to a model."""
        return (
            bool(self._language)
            and language_of(claim_text) in ("", self._language)
            and figures(claim_text) <= self._figures
            and not addressing(claim_text)
        )

    def _reports(self, claim_text: str, names: frozenset[str]) -> bool:
        """Whether it is of the same kind as a suspect sentence or a request, and tells of one."""
        is_one = addressing(claim_text) == "suspect" or _requests(claim_text)
        repeated = _most(names, (*self._orders, *self._requests))
        return is_one and repeated >= _ENOUGH * len(names)

    def _repeats_an_order(self, claim_names: Iterable[str]) -> bool:
        """Whether it has a word that only orders have, or more in common with an order, or with our
        prompt, than with any statement: the sources may use the words of an order elsewhere."""
        names = frozenset(claim_names) - _OF_ANSWERS
        if names & self._ordered - self._stated:
            return True
        if len(names) < _FEW_NAMES:
            return False
        stated, ordered = _most(names, self._statements), _most(names, self._orders)
        repeated = _most(names, (words | self._ordered for words in self._prompt))
        enough, whole = _ENOUGH * len(names), len(names) if self._orders else len(names) + 1
        return (ordered >= enough and (ordered > stated or ordered == whole)) or (
            repeated >= enough
            and repeated > _FEW_NAMES
            and (repeated > stated or repeated == whole)
        )

    def _adds_little(self, claim_text: str, source_words: frozenset[str]) -> bool:
        """Whether it adds at most three words, and none is a name, a figure or from an order."""
        added = [word for word in _names_in(claim_text) if word not in source_words]
        names = stems(" ".join(one for one in tokens(claim_text) if not one.islower()))
        return len(added) <= _OWN_WORDS and all(
            word.isalpha() and word not in names and word not in self._doubtful for word in added
        )


def adds_little(text: str, *, context: str, most: int, but: str = "") -> bool:
    """Whether the text is short and adds at most `most` naming words to `context`.

    It must have no address, no text addressed to a model, and no new word that occurs in `but`."""
    plain = as_read(text)
    own = naming_words(plain).keys() - stems(context)
    return (
        len(plain) <= 40 * most
        and len(own) <= most
        and not own & stems(but)
        and not addressing(plain)
        and not _ADDRESS.search(plain)
        and not any(map(_CODE.search, {*tokens(plain)} - {*tokens(context)}))
    )


def _names_in(text: str) -> list[str]:
    """Naming words, without single characters when there are others: those occur everywhere."""
    names = list(naming_words(text))
    return [word for word in names if len(word) > 1] or names


def _grounded(names: Collection[str], source_words: frozenset[str], share: float) -> bool:
    return sum(word not in source_words for word in names) <= (1 - share) * len(names)


def _is_in_pictures(text: str) -> bool:
    return not _names_in(text) and any(unicodedata.category(sign) == "So" for sign in text)


def _requests(sentence: str) -> bool:
    """Whether it is a request or a question, which states nothing."""
    plain = as_read(sentence)
    asks = plain.rstrip(' .*_`"”’)]').endswith(("?", "？"))
    return asks or bool(_REQUEST.match(plain) or DICTATES.search(acts_of(plain)))


def _most(names: frozenset[str], texts: Iterable[frozenset[str]]) -> int:
    return max((len(names & words) for words in texts), default=0)


def _words_of(text: str) -> frozenset[str]:
    return stems(as_read(text))


_FENCE = re.compile(r"\s*(?:```|~~~)[\w+-]{0,12}\s*")
_MARKER = re.compile(r"\s*(?:[-*+]|\d{1,3}[.)]|#{1,6}|>)\s+")
_CITATIONS = re.compile(r"(?:\s*\[\d{1,3}\])+")


class GroundingFilter:
    """Receives a text in pieces and returns supported sentences as soon as each one ends."""

    def __init__(self, grounds: GroundingText | None) -> None:
        """`grounds`: None passes everything."""
        self._grounds = grounds
        self._waiting = ""
        self._line_started = False
        """Whether a part of the current line was returned."""
        self._code: list[str] = []
        """Lines of a code block so far: with one of them missing, commands do something else."""
        self.ungrounded: list[str] = []
        """Sentences that were not returned."""

    def feed(self, piece: str) -> str:
        *lines, self._waiting = (self._waiting + piece).split("\n")
        passed = "".join(map(self._line, lines))
        if self._code:
            return passed
        *ready, last = _claims(self._waiting) or [""]
        if last.lstrip().startswith("["):  # perhaps the citation of the sentence before it
            *ready, before = ready or [""]
            last = before + last
        self._waiting = last
        return passed + self._supported(ready)

    def close(self) -> str:
        """Returns the rest."""
        rest, self._waiting = self._waiting, ""
        if self._code:
            self._code.append(rest)
            return self._code_block()
        return self._supported(_claims(rest))

    def _line(self, line: str) -> str:
        """A whole line. A non-empty line without supported text is dropped with its line break."""
        fence = self._grounds is not None and bool(_FENCE.fullmatch(line))
        if self._code or (fence and not self._line_started):
            self._code.append(line)
            block = self._code_block() if fence and len(self._code) > 1 else ""
            return block and f"{block}\n"
        passed = self._supported(_claims(line))
        empty = not (self._line_started or line.strip())
        end = "\n" if self._line_started or empty else ""
        self._line_started = False
        return passed + end

    def _code_block(self) -> str:
        """The block, whole or not at all."""
        lines, self._code = self._code, []
        before = len(self.ungrounded)
        self._supported([claim for line in lines for claim in _claims(line)])
        self._line_started = False
        if len(self.ungrounded) == before:
            return "\n".join(lines)
        self.ungrounded[before:] = ["\n".join(lines)]
        return ""

    def _supported(self, claims: list[str]) -> str:
        passed = ""
        for claim in claims:
            if self._grounds is None or _FENCE.fullmatch(claim) or self._grounds.supports(claim):
                passed += claim
                continue
            self.ungrounded.append(claim.strip())
            marker = _MARKER.match(claim)
            if marker and not self._line_started and not passed and claim is not claims[-1]:
                passed += marker[0]
        self._line_started = self._line_started or bool(passed.strip())
        return passed


def _claims(line: str) -> list[str]:
    """The sentences of a line, each with the space before it and the citations after it; a table
    row is one sentence. Joined, they equal the line."""
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
