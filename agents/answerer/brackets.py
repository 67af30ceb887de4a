"""What a bracket in a reply cites: numbers of the prompt's sources, in the forms that models write.
Amounts, names, indexes, and what the sources themselves have in brackets are no citations."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
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
SQUARE = rf"(?<!!)\\?[{OPENS}]{{1,2}}[^{OPENS}{CLOSES}\n]{{1,160}}[{CLOSES}]{{1,2}}(?:\([^()\s]{{0,300}}\))?"
_SQUARE = re.compile(
    rf"(?<!!)\\?[{OPENS}]{{1,2}}\\?(?P<content>[^{OPENS}{CLOSES}\\\n]{{1,160}})\\?[{CLOSES}]{{1,2}}"
    r"(?P<link>\([^()\s]{0,300}\))?"
)
_WORD = re.compile(r"[^\W\d_]{1,20}(?:\s[^\W\d_]{1,20})?")
_ITEM = r"(?:0|[1-9]\d{0,2})(?:\s?(?:[-–—~〜]|\.\.)\s?[1-9]\d{0,2})?"
_BETWEEN = r"(?:\s?[,;/&+|、，；]\s?|\s)(?:[^\W\d_]{1,3}\s)?\^?"
"""Between two numbers; with a short word, such as `and`."""
_ITEMS = re.compile(rf"{_ITEM}(?:{_BETWEEN}{_ITEM})*+")
_PLACE = re.compile(r"(?::\d{1,3})?†|:\s|\s?[|,;—–§#]|\s-\s|$")
"""Begins the place in the source, behind its number."""
_DEFINITION = re.compile(rf"(?P<mark>\s*(?:[-*+]\s)?){_SQUARE.pattern}(?P<colon>:?)\s*(?P<rest>.*)")
_LAST_CELL = re.compile(r"(?P<row>.*\|)(?P<cell>[^|\n]*[^|\s][^|\n]*)(?P<end>\|?\s*)")
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")


@dataclass(frozen=True)
class Content:
    """Numbers in a bracket, perhaps behind a word."""

    word: str
    is_apart: bool
    """Whether anything is between the word and the number."""
    numbers: tuple[int, ...]


def content_of(text: str) -> Content | None:
    """None: it is no list of numbers."""
    text = text.strip().lstrip("^#№").lstrip()
    word, is_apart = "", False
    if match := _WORD.match(text):
        word = match[0]
        is_apart = not text[match.end() :][:1].isdigit()
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
    if 0 in numbers and len(numbers) > 1:
        return None
    return Content(word, is_apart, tuple(dict.fromkeys(numbers)))


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

    def squares(self, text: str, before: str) -> str:
        """Brackets in a row. What is between two citations goes, so that they stand together."""
        read, at, space, was_citation = "", 0, "", False
        for match in _SQUARE.finditer(text):
            between, so_far = text[at : match.start()], before + text[: match.start()]
            at = match.end()
            content = content_of(match["content"])
            if content is None or not self._cites(content, match[0], match["link"], so_far):
                is_index = (read + between or before)[-1:].isalnum()
                literal = match[0] if is_index else harmless(match[0])
                read, was_citation = f"{read}{between}{literal}", False
                continue
            space = space if was_citation else between
            cited = [f"[{one}]" for one in self._existing(content) if f"[{one}]" not in read]
            if cited:
                space = space or " " * (not read and _ends_a_word(before))
                read, space = read + space + "".join(cited), ""
            self._cites_in_square |= bool(self._existing(content))
            was_citation = True
        return read + text[at:]

    def weak(self, text: str, before: str) -> str:
        """`(1)` or `¹` at the end of a sentence: a citation when that source supports the sentence
        and the number is nothing that the sources say there."""
        sign = text.strip().translate(_SUPERSCRIPTS)
        content = content_of(re.sub(r"</?\w+>|[()（）\[\]]", "", sign))
        numbers = self._existing(content) if content else ()
        if content is None or not numbers or self.stands_in_a_source(before, text):
            return text
        space = " " if _ends_a_word(before) else text[: len(text) - len(text.lstrip())]
        cited = space + "".join(f"[{one}]" for one in numbers)
        if _is_label(content.word):
            return cited
        sentence = (sentences(before) or [""])[-1]
        last = (tokens(sentence) or [""])[-1]
        is_raised = sign != text.strip() or "<" in sign
        is_power = is_raised and (len(last) < 3 or not last.isalpha())
        is_named = bool(content.word) and not self._is_a_word_for_sources(content, sign)
        if self._cites_in_square or not last or is_power or is_named:
            return text
        if self._is_an_amount(last, numbers):
            return text
        return cited if all(self._supports(one, sentence) for one in numbers) else text

    def label(self, text: str) -> str:
        """`source 3` in a sentence, as the prompt calls it: the answer has numbers of its own."""
        content = content_of(text)
        numbers = self._existing(content) if content else ()
        if not numbers or any(_plain(text) in one for one in self._texts):
            return text
        self._cites_in_square = True
        return "".join(f"[{one}]" for one in numbers)

    def row(self, line: str, *, is_head: bool) -> str:
        """A row of a table: its last cell may hold the bare numbers of sources."""
        match = _LAST_CELL.fullmatch(line)
        cell = match["cell"].strip(" *") if match else ""
        if is_head:
            self._column = cell.lower()
        content = content_of(cell) if cell[:1].isdigit() else None
        if is_head or not match or not content or _LABEL not in self._column:
            return line
        cited = "".join(f"[{one}]" for one in self._existing(content))
        return f"{match['row']} {cited} {match['end']}" if cited else line

    def definition(self, line: str) -> str | None:
        """What stays of a line that only says what a number is, `[^1]: title`, `[1] title`: the
        number, where the reply cites nothing else. None: it is no such line."""
        match = _DEFINITION.fullmatch(line)
        content = content_of(match["content"]) if match else None
        numbers = self._existing(content) if content else ()
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
        word = (tokens(before[-60:]) or [""])[-1].lower()
        ways = (f"{word}{_plain(bracket)}", f"{word} {_plain(bracket)}")
        return bool(word) and any(one in text for text in self._texts for one in ways)

    def _existing(self, content: Content) -> list[int]:
        return [one for one in content.numbers if 1 <= one <= len(self._sources)]

    def _cites(self, content: Content, bracket: str, link: str | None, before: str) -> bool:
        """Whether a square bracket is a citation, if only of a source that doesn't exist."""
        if content.word and (link or not self._is_a_word_for_sources(content, bracket)):
            return False
        is_index = before[-1:].isalnum() and content.numbers == (0,)
        return not is_index and not self.stands_in_a_source(before, bracket)

    def _is_a_word_for_sources(self, content: Content, bracket: str) -> bool:
        """Whether `word n` can be a citation: `Quelle 1` and `doc1`, but not the names `SEV1` and
        `P1`, and not `tier 1` of a source."""
        word = content.word
        if _is_label(word):
            return bool(self._sources)
        is_name = word.isascii() and (word.isupper() or (len(word) < 3 and not content.is_apart))
        text = _plain(bracket).strip(r" \[]()【】")
        return bool(self._sources) and not is_name and not any(text in one for one in self._texts)

    def _is_an_amount(self, word: str, numbers: Sequence[int]) -> bool:
        """Whether a sentence of some source has the number and the word before it."""
        figures, name = {*map(str, numbers)}, stem(word.lower())
        return any(figures & words and name in names for words, names in self._statements())

    def _supports(self, number: int, sentence: str) -> bool:
        names = naming_words(sentence).keys()
        return len(names & self._words(number)) >= max(1.0, _ENOUGH * len(names))


def protected(text: str) -> str:
    """Code: its `[1]` is no citation."""
    return re.sub(r"\[(?=\d{1,3}\])", f"[{LITERAL}", text)


def _is_label(word: str) -> bool:
    return word.lower().removesuffix("s") == _LABEL


def _ends_a_word(text: str) -> bool:
    return text[-1:].isalnum() or text.endswith(ENDS)


def _plain(text: str) -> str:
    return " ".join(re.sub(r"[*_`]+", "", text.lower()).split())
