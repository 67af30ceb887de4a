"""What a bracket in a reply cites: numbers of the prompt's sources, in the forms that models write.
Amounts, names, indexes, and what the sources themselves have in brackets are no citations."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache

from config.prompts import harmless
from enrichment.language.words import naming_words, sentences, stem, stems, tokens

LITERAL = "\ufdd0"
"""Stands in a `[n]` that is no citation, until `Numbering` has read it. Unicode promises that no
text has this character."""
_LABEL = "source"
"""What the prompt calls a source; the word in brackets may be one of any language."""
ENDS = (".", "!", "?", "。")
_MAX_RANGE = 12
_ENOUGH = 0.6
"""Share of a sentence's naming words that a source must have for a `(1)` to be its citation."""

OPENS, CLOSES = r"\[【［〔⟦《", r"\]】］〕⟧》"
SQUARE = (
    rf"(?<!!)\\?[{OPENS}]{{1,2}}[^{OPENS}{CLOSES}\n]{{1,160}}[{CLOSES}]{{1,2}}"
    r"(?:\([^()\s]{0,300}\))?"
)
_SIGNS = re.compile(rf"[{OPENS}{CLOSES}()（）\\]|</?\w+>")
_WORD = re.compile(r"[^\W\d_]{1,20}(?:\s[^\W\d_]{1,20})?")
_ITEM = r"(?:0|[1-9]\d{0,2})(?:\s?(?:[-–—~〜]|\.\.)\s?[1-9]\d{0,2})?"
_BETWEEN = r"(?:\s?[,;/&+|、，；]\s?|\s)(?:[^\W\d_]{1,3}\s)?\^?"
"""Between two numbers; with a short word, such as `and`."""
_ITEMS = re.compile(rf"{_ITEM}(?:{_BETWEEN}{_ITEM})*+")
_PLACE = re.compile(r"(?::\d{1,3})?†|:\s|\s?[|,;—–§#]|\s-\s|$")
"""Begins the place in the source, behind its number."""
_DEFINITION = re.compile(
    rf"(?P<mark>\s*(?:[-*+]\s)?)(?P<square>{SQUARE})(?P<colon>:?)\s*(?P<rest>.*)"
)
_LAST_CELL = re.compile(r"(?P<row>.*\|)(?P<cell>[^|\n]*[^|\s][^|\n]*)(?P<end>\|?\s*)")
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")


class Brackets:
    """Of one reply, in its order: how it has cited so far says what a `(1)` is."""

    def __init__(self, sources: Sequence[str], other: str) -> None:
        """See `CitationReader`."""
        self._sources = [*map(harmless, sources)]
        bare = (re.sub(rf"^{_LABEL} \d+ \| ", "", one) for one in self._sources)
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

    def squares(self, row: str, before: str) -> str:
        """Brackets in a row. What is between two citations goes, so that they stand together."""
        read, at, space, was_citation = "", 0, "", False
        for match in re.finditer(SQUARE, row):
            between, so_far = row[at : match.start()], before + row[: match.start()]
            at = match.end()
            numbers = self._numbers(match[0], so_far)
            if numbers is None:
                is_index = so_far[-1:].isalnum()
                read += between + (match[0] if is_index else harmless(match[0]))
            else:
                self._cites_in_square |= bool(numbers)
                space = space if was_citation else between
                cited = _cited(one for one in numbers if f"[{one}]" not in read)
                if cited:
                    space = space or " " * (not read and _ends_a_word(before))
                    read, space = read + space + cited, ""
            was_citation = numbers is not None
        return read + row[at:]

    def weak(self, text: str, before: str) -> str:
        """`(1)` or `¹` at the end of a sentence: a citation when that source supports it."""
        numbers = self._numbers(text.translate(_SUPERSCRIPTS), before)
        is_labelled = _LABEL in text.lower()
        if not numbers or not (is_labelled or self._supports(numbers, text, before)):
            return text
        return (" " if _ends_a_word(before) else text[: text[0].isspace()]) + _cited(numbers)

    def label(self, text: str, before: str) -> str:
        """`source 3` in a sentence, as the prompt calls it: the answer has numbers of its own."""
        cited = _cited(self._numbers(text, before) or ())
        self._cites_in_square |= bool(cited)
        return cited or text

    def row(self, line: str, *, is_head: bool) -> str:
        """A row of a table: its last cell may hold the bare numbers of sources."""
        match = _LAST_CELL.fullmatch(line)
        cell = match["cell"].strip(" *") if match else ""
        if is_head:
            self._column = cell.lower()
        is_source = _LABEL in self._column and cell[:1].isdigit()
        cited = _cited(self._numbers(cell) or ()) if is_source else ""
        return f"{match['row']} {cited} {match['end']}" if match and cited else line

    def definition(self, line: str) -> str | None:
        """What stays of a line that only says what a number is, `[^1]: title`, `[1] title`: the
        number, where the reply cites nothing else. None: it is no such line."""
        match = _DEFINITION.fullmatch(line)
        numbers = self._numbers(match["square"]) if match else None
        if match is None or not numbers:
            return None
        label, _, _ = self._sources[numbers[0] - 1].partition("\n")
        rest = " ".join(tokens(match["rest"].lower()))
        is_title = bool(rest) and rest in " ".join(tokens(label.lower()))
        if not is_title and not ("^" in match["square"] and match["colon"]):
            return None
        return "" if self._cites_in_square else f"{match['mark']}[{numbers[0]}]"

    def stands_in_a_source(self, before: str, bracket: str) -> bool:
        """Whether a text has the bracket behind the same word. In the prompt, a source's `[1]` is
        `(1)`, except in code: a model's `[1]` is no copy of it."""
        word = (tokens(before[-60:]) or [""])[-1].lower()
        ways = (f"{word}{_plain(bracket)}", f"{word} {_plain(bracket)}")
        return bool(word) and any(one in text for text in self._texts for one in ways)

    def _numbers(self, bracket: str, before: str = "") -> list[int] | None:
        """What a bracket cites, without numbers that no source has; None: it is no citation."""
        text = _SIGNS.sub("", bracket.partition("](")[0]).strip().lstrip("^#№").lstrip()
        if match := _WORD.match(text):
            word, is_apart = match[0], not text[match.end() :][:1].isdigit()
            if "](" in bracket or not self._means_sources(word, text, is_apart=is_apart):
                return None
            text = re.sub(rf"{word}[\s:.#_-]{{0,3}}", "", text, flags=re.IGNORECASE)
        items = _ITEMS.match(text)
        if items is None or not _PLACE.match(text, items.end()):
            return None
        numbers: list[int] = []
        for item in re.finditer(_ITEM, items[0]):
            first, *last = map(int, re.findall(r"\d+", item[0]))
            end = last[0] if last else first
            if last and not 0 < first < end <= first + _MAX_RANGE:
                return None
            numbers += range(first, end + 1)
        if 0 in numbers and (len(numbers) > 1 or before[-1:].isalnum()):
            return None  # an interval, an index
        if self.stands_in_a_source(before, bracket):
            return None
        return [one for one in dict.fromkeys(numbers) if 1 <= one <= len(self._sources)]

    def _means_sources(self, word: str, text: str, *, is_apart: bool) -> bool:
        """Whether `word n` can be a citation: `Quelle 1` and `doc1`, but not the names `SEV1` and
        `P1`, and not `tier 1` of a source."""
        if word.lower().removesuffix("s") == _LABEL:
            return bool(self._sources)
        is_name = word.isascii() and (word.isupper() or (len(word) < 3 and not is_apart))
        return not is_name and not any(_plain(text) in one for one in self._texts)

    def _supports(self, numbers: Sequence[int], sign: str, before: str) -> bool:
        """Whether a number behind a sentence can only be the source that the sentence is from: no
        power, no amount that a source names with the same word."""
        sentence = (sentences(before) or [""])[-1]
        last = (tokens(sentence) or [""])[-1]
        is_power = sign.strip()[0] not in "(（" and not (last.isalpha() and len(last) > 2)
        if self._cites_in_square or not last or is_power:
            return False
        figures, name = {*map(str, numbers)}, stem(last.lower())
        if any(figures & words and name in names for words, names in self._statements()):
            return False
        names = naming_words(sentence).keys()
        enough = max(1.0, _ENOUGH * len(names))
        return all(len(names & self._words(one)) >= enough for one in numbers)


def protected(text: str) -> str:
    """Code: its `[1]` is no citation."""
    return re.sub(r"\[(?=\d{1,3}\])", f"[{LITERAL}", text)


def _cited(numbers: Iterable[int]) -> str:
    return "".join(f"[{one}]" for one in numbers)


def _ends_a_word(text: str) -> bool:
    return text[-1:].isalnum() or text.endswith(ENDS)


def _plain(text: str) -> str:
    return " ".join(re.sub(r"[*_`]+", "", text.lower()).split())
