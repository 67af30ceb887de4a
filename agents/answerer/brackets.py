"""What a bracket in a reply cites: numbers of the prompt's sources, in the forms that models write.
Amounts, names, indexes, and what the sources themselves have in brackets are no citations."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from re import Match

from config.prompts import harmless
from enrichment.language.words import naming_words, sentences, stem, stems, tokens

LITERAL = "\ufdd0"
"""Stands in a `[n]` that is no citation, until `Numbering` has read it. Unicode promises that no
text has this character."""
_LABEL = "source"
"""What the prompt calls a source; the word in brackets may be one of any language."""
ENDS = (".", "!", "?", "。")
_MAX_RANGE = 12
MAX_CONTEXT, _MAX_WORD = 600, 60
"""Characters before a bracket that tell what it is."""
_ENOUGH = 0.6
"""Share of a sentence's naming words that a source must have for a `(1)` to be its citation."""

_NUMBER = r"(?:0|[1-9]\d{0,2})"
_ITEM = rf"{_NUMBER}(?:\s?(?:[-–—~〜]|\.\.)\s?{_NUMBER})?"
_BETWEEN = r"(?:\s?[,;/&+|、，；]\s?|\s)(?:[^\W\d_]{1,3}\s)?\^?"
"""Between two numbers; with a short word, such as `and`."""
_CONTENT = re.compile(
    r"\s?(?:(?P<word>(?:[^\W\d_]{1,12}\s)?[^\W\d_]{1,20})(?P<colon>[\s:.#_-]{0,3})|[\^#№]\s?)?"
    rf"(?P<items>{_ITEM}(?:{_BETWEEN}(?(word)(?:(?P=word)[\s:.#_-]{{0,3}})?){_ITEM})*+)"
    r"(?P<place>(?::\d{1,3})?†.*|\s?(?::\s|[|,;—–§#]|\s-\s).*)?\s?",
    re.IGNORECASE | re.DOTALL,
)
"""What a bracket holds: perhaps a word, numbers, and perhaps the place in the source."""
OPENS, CLOSES = r"\[【［〔⟦《", r"\]】］〕⟧》"
SQUARE = (
    rf"(?<!!)\\?[{OPENS}]{{1,2}}\\?(?P<content>[^{OPENS}{CLOSES}\\\n]{{1,160}})\\?[{CLOSES}]{{1,2}}"
    r"(?P<link>\([^()\s]{0,300}\))?"
)
ANY_SQUARE = re.sub(r"\?P<\w+>", "?:", SQUARE)
ROUND = r"[(（][^()（）\n]{1,60}[)）]"
RAISED = r"(?:[⁰¹²³⁴-⁹]++|<(?:sup|cite|ref)>\s?\[?\d{1,3}\]?\s?</\w+>)"
_NUMBERED = re.compile(rf"^{_LABEL} \d+ \| ")
_BRACKETED = re.compile(r"\[(?=\d{1,3}\])")
_ONE = re.compile(SQUARE)
_DEFINITION = re.compile(rf"(?P<mark>\s*(?:[-*+]\s)?){SQUARE}(?P<colon>:?)\s*(?P<rest>.*)")
_LAST_CELL = re.compile(r"(?P<row>.*\|)(?P<cell>[^|\n]*[^|\s][^|\n]*)(?P<end>\|?\s*)")
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_SIGNS = re.compile(r"</?\w+>|[()（）\[\]]")


class Brackets:
    """Of one reply, in its order: how it has cited so far says what a `(1)` is."""

    def __init__(self, sources: Sequence[str], other: str) -> None:
        """See `CitationReader`."""
        self._sources = [*map(harmless, sources)]
        bare = (_NUMBERED.sub("", one) for one in self._sources)
        self._texts = [_plain(one) for one in (*bare, other)]
        self._words = cache(lambda number: frozenset(stems(self._sources[number - 1])))
        self._statements = cache(
            lambda: [
                ({*tokens(one)}, stems(one))
                for source in self._sources
                for one in sentences(source.partition("\n")[2])
            ]
        )
        self._cites_in_square = False
        """It has a citation in square brackets, so `(1)` is none."""
        self._column = ""
        """Head of the last column of the table that it is in."""

    def squares(self, text: str, before: str) -> str:
        """Brackets in a row. What is between two citations goes, so that they stand together."""
        read, at, space, was_citation = "", 0, "", False
        for match in _ONE.finditer(text):
            between = text[at : match.start()]
            at = match.end()
            numbers = self._cited(match, before + text[: match.start()])
            if numbers is None:
                is_index = (read + between or before)[-1:].isalnum()
                literal = match[0] if is_index else harmless(match[0])
                read, was_citation = f"{read}{between}{literal}", False
                continue
            self._cites_in_square = self._cites_in_square or bool(numbers)
            space = space if was_citation else between
            numbers = [one for one in numbers if f"[{one}]" not in read]
            if numbers:
                space = space or " " * (not read and _ends_a_word(before))
                read += space + "".join(f"[{one}]" for one in numbers)
            space, was_citation = "" if numbers else space, True
        return read + text[at:]

    def weak(self, text: str, before: str) -> str:
        """`(1)` or `¹` at the end of a sentence: a citation when that source supports the sentence
        and the number is nothing that the sources say there."""
        space = text[: len(text) - len(text.lstrip())]
        sign = text.strip().translate(_SUPERSCRIPTS)
        match = _CONTENT.fullmatch(_SIGNS.sub("", sign))
        numbers = self.numbers_in(match[0]) if match else None
        if match is None or not numbers:
            return text
        space = " " if _ends_a_word(before) else space
        cited = space + "".join(f"[{one}]" for one in numbers)
        if self.stands_in_a_source(before, text):
            return text
        if _is_label(match["word"]):
            return cited
        sentence = (sentences(before[-MAX_CONTEXT:]) or [""])[-1]
        last = (tokens(sentence) or [""])[-1]
        is_raised = sign != text.strip() or "<" in sign
        if (
            self._cites_in_square
            or not last
            or (is_raised and (len(last) < 3 or not last.isalpha()))
        ):
            return text
        if match["word"] and not self._is_a_word_for_sources(match):
            return text
        if self._is_an_amount(last, numbers):
            return text
        return cited if all(self._supports(one, sentence) for one in numbers) else text

    def labels(self, text: str) -> str:
        """`source 3` in a sentence, as the prompt calls it: the answer has numbers of its own."""
        match = _CONTENT.fullmatch(text)
        numbers = self.numbers_in(text) if match else None
        if not numbers or any(_plain(text) in one for one in self._texts):
            return text
        self._cites_in_square = True
        return "".join(f"[{one}]" for one in numbers)

    def row(self, line: str, *, is_head: bool) -> str:
        """A row of a table: its last cell may hold the bare numbers of sources."""
        match = _LAST_CELL.fullmatch(line)
        cell = match["cell"].strip(" *") if match else ""
        if match is None or not cell or is_head:
            self._column = cell if is_head else self._column
            return line
        numbers = self.numbers_in(cell) if cell[0].isdigit() else None
        is_source = _LABEL in self._column.lower()
        if not numbers or not (is_source and _CONTENT.fullmatch(cell)):
            return line
        return f"{match['row']} {''.join(f'[{one}]' for one in numbers)} {match['end']}"

    def definition(self, line: str) -> str | None:
        """What stays of a line that only says what a number is, `[^1]: title`, `[1] title`: the
        number, where the reply cites nothing else. None: it is no such line."""
        match = _DEFINITION.fullmatch(line)
        numbers = self.numbers_in(match["content"]) if match else None
        if match is None or not numbers:
            return None
        label, _, _ = self._sources[numbers[0] - 1].partition("\n")
        rest = " ".join(tokens(match["rest"].lower()))
        is_title = bool(rest) and rest in " ".join(tokens(label.lower()))
        if not is_title and not ("^" in match["content"] and match["colon"]):
            return None
        return "" if self._cites_in_square else f"{match['mark']}[{numbers[0]}]"

    def stands_in_a_source(self, before: str, bracket: str) -> bool:
        """Whether a text has the bracket behind the same word. In the prompt, a source's `[1]` is
        `(1)`, except in code: a model's `[1]` is no copy of it."""
        word = (tokens(before[-_MAX_WORD:]) or [""])[-1].lower()
        ways = (f"{word}{_plain(bracket)}", f"{word} {_plain(bracket)}")
        return bool(word) and any(one in text for text in self._texts for one in ways)

    def numbers_in(self, content: str) -> list[int] | None:
        """The existing sources that a bracket's content names; None: it names no numbers."""
        match = _CONTENT.fullmatch(content)
        if match is None:
            return None
        numbers: list[int] = []
        for one in re.finditer(_ITEM, match["items"]):
            first, *last = map(int, re.findall(r"\d+", one[0]))
            end = last[0] if last else first
            if last and not 0 < first < end <= first + _MAX_RANGE:
                return None
            numbers += range(first, end + 1)
        if 0 in numbers and len(numbers) > 1:
            return None
        return [one for one in dict.fromkeys(numbers) if 1 <= one <= len(self._sources)]

    def _cited(self, match: Match[str], before: str) -> list[int] | None:
        """Numbers that a bracket cites, without those that no source has; None: it is none."""
        content = _CONTENT.fullmatch(match["content"])
        if content is None or (match["link"] and content["word"]):
            return None
        if content["word"] and not (self._sources and self._is_a_word_for_sources(content)):
            return None
        is_index = before[-1:].isalnum() and content[0] == "0"
        if is_index or self.stands_in_a_source(before, match[0]):
            return None
        return self.numbers_in(match["content"])

    def _is_a_word_for_sources(self, content: Match[str]) -> bool:
        """Whether `word n` can be a citation: `Quelle 1` and `doc1`, but not the names `SEV1` and
        `P1`, and not `tier 1` of a source."""
        word = content["word"]
        if _is_label(word):
            return True
        is_short = len(word) < 3 and not content["colon"]
        if word.isascii() and (word.isupper() or is_short):
            return False
        return not any(_plain(content[0]).strip() in text for text in self._texts)

    def _is_an_amount(self, word: str, numbers: Sequence[int]) -> bool:
        """Whether a sentence of some source has the number and the word before it."""
        figures, name = {*map(str, numbers)}, stem(word.lower())
        return any(figures & words and name in names for words, names in self._statements())

    def _supports(self, number: int, sentence: str) -> bool:
        names = naming_words(sentence).keys()
        return len(names & self._words(number)) >= max(1.0, _ENOUGH * len(names))


def protected(text: str) -> str:
    """Code: its `[1]` is no citation."""
    return _BRACKETED.sub(f"[{LITERAL}", text)


def _is_label(word: str | None) -> bool:
    return (word or "").lower().removesuffix("s") == _LABEL


def _ends_a_word(text: str) -> bool:
    return text[-1:].isalnum() or text.endswith(ENDS)


def _plain(text: str) -> str:
    return " ".join(re.sub(r"[*_`]+", "", text.lower()).split())
