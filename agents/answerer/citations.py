"""Reads the citations of a reply while it streams, in every form that models write.

The rest of the product knows one form, `[n]`. `【1†L3】`, `[Source 1]`, `[^1]`, `[1, 2]`, `[1-3]`
and `[1](https://…)` become it; `(1)` and `¹` only where they can be nothing else. Code, links, and
what the sources themselves have in brackets stay as they are."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from re import Match

from agents.answer import CITATION
from agents.context.sources import Source
from config.prompts import harmless
from enrichment.language.words import naming_words, sentences, stem, stems, tokens

_LITERAL = "\ufdd0"
"""Stands in a `[n]` that is no citation, until `Numbering` has read it. Unicode promises that no
text has this character."""
_LABEL = "source"
"""What the prompt calls a source; the word in brackets may be one of any language."""
_ENDS = (".", "!", "?", "。")
_MAX_RANGE = 12
_MAX_CONTEXT, _MAX_WORD = 600, 60
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
_OPENS, _CLOSES = r"\[【［〔⟦《", r"\]】］〕⟧》"
_SQUARE = (
    rf"(?<!!)\\?[{_OPENS}]{{1,2}}\\?(?P<content>[^{_OPENS}{_CLOSES}\\\n]{{1,160}})\\?[{_CLOSES}]{{1,2}}"
    r"(?P<link>\([^()\s]{0,300}\))?"
)
_ANY_SQUARE = re.sub(r"\?P<\w+>", "?:", _SQUARE)
_ROUND = r"[(（][^()（）\n]{1,60}[)）]"
_RAISED = r"(?:[⁰¹²³⁴-⁹]++|<sup>\s?\[?\d{1,3}\]?\s?</sup>)"
_TOKEN = re.compile(
    r"(?P<code>(?P<ticks>`++)[^\n]+?(?<!`)(?P=ticks)(?!`)|!\[[^\n\]]*\]\([^()\s]*\))"
    r"|\ue200[^\ue201\n]{0,80}\ue201"
    rf"|(?P<squares>\s?{_ANY_SQUARE}(?:\s{{0,3}}[,;、，]?\s{{0,3}}{_ANY_SQUARE})*+)"
    rf"|(?P<weak>\s?(?:{_ROUND}|{_RAISED}))"
)
_ONE = re.compile(_SQUARE)
_UNSETTLED = re.compile(
    rf"(?:\s?{_ANY_SQUARE}\s{{0,3}}(?:[,;、，]\s{{0,3}})?)*+"
    rf"(?:\s?\\?[{_OPENS}][^{_CLOSES}\n]{{0,170}}[{_CLOSES}]?(?:\([^()\s]{{0,300}})?"
    rf"|\s?{_ROUND}\s?|\s?[(（][^()（）\n]{{0,60}}"
    rf"|\s?{_RAISED}|\s?<(?:s(?:up?|up>[^<>\n]{{0,6}}(?:</?s?u?p?)?)?)?|\ue200[^\ue201\n]{{0,80}}"
    r"|`[^\n]*|\s|\\|!(?:\[[^\n\]]*(?:\]\(?[^()\s]*)?)?)?$"
)
"""The end of a piece that the next one may change."""
_SENTENCE_END = re.compile(r"\s?(?:[.,;:!?。，；！？|]|$)|\s?[(（⁰¹²³⁴-⁹<]")
_BRACKETED = re.compile(r"\[(?=\d{1,3}\])")
_IN_A_COMMAND = re.compile(rf"(?<=\s){_ANY_SQUARE}\s*$")
_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})")
_DEFINITION = re.compile(rf"\s*(?:[-*+]\s)?{_SQUARE}(?P<colon>:?)\s*(?P<rest>.*)")
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")


class CitationReader:
    """Receives a reply in pieces and returns it with its citations as `[n]`, as soon as they can't
    change any more. Numbers are those of the prompt."""

    def __init__(self, sources: Sequence[str], *, other: str = "") -> None:
        """`sources`: as in the prompt, from number 1. `other`: what else a reply may repeat."""
        self._sources = [*map(harmless, sources)]
        self._texts = [_plain(one) for one in (*self._sources, other)]
        self._words = cache(lambda number: frozenset(stems(self._sources[number - 1])))
        self._statements = cache(
            lambda: [
                ({*tokens(one)}, stems(one))
                for source in self._sources
                for one in sentences(source.partition("\n")[2])
            ]
        )
        self._fence = ""
        self._line = ""
        """The current line up to what waits, as the model wrote it."""
        self._waiting = ""
        self._cites_in_square = False
        """The reply has a citation in square brackets, so `(1)` is none."""

    def feed(self, piece: str) -> str:
        *lines, self._waiting = (self._waiting + piece).split("\n")
        ready = ""
        for line in lines:
            ready += self._end_line(line)
        if self._fence or (not self._line and _may_define(self._waiting)):
            return ready
        unsettled = _UNSETTLED.search(self._waiting)
        settled = self._waiting[: unsettled.start() if unsettled else None]
        self._waiting = self._waiting[len(settled) :]
        return ready + self._read(settled)

    def close(self) -> str:
        """Returns the rest."""
        rest, self._waiting = self._waiting, ""
        return self._end_line(rest).removesuffix("\n")

    def _end_line(self, rest: str) -> str:
        fence = None if self._line else _FENCE.match(rest)
        if self._fence or fence:
            if not self._fence:
                self._fence = fence[1] if fence else ""
            elif fence and fence[1].startswith(self._fence) and rest.strip() == fence[1]:
                self._fence = ""
            return self._command(rest) + "\n"
        if not self._line and self._is_definition(rest):
            return ""
        text = self._read(rest, ends_line=True)
        self._line = ""
        return f"{text}\n"

    def _command(self, line: str) -> str:
        """A line of code. Only what stands behind it, and in no source, can be a citation."""
        cited = _IN_A_COMMAND.search(line)
        if cited and not self._is_literal(line, cited):
            return _protected(line[: cited.start()]) + self._squares(cited[0], "")
        return _protected(line)

    def _is_definition(self, line: str) -> bool:
        """A line that only says what a number is: `[^1]: title`, `[1] title › heading`."""
        match = _DEFINITION.fullmatch(line)
        numbers = self._numbers(match["content"]) if match else None
        if match is None or not numbers:
            return False
        if "^" in match["content"] and match["colon"]:
            return True
        label, _, _ = self._sources[numbers[0] - 1].partition("\n")
        rest = " ".join(tokens(match["rest"].lower()))
        return bool(rest) and rest in " ".join(tokens(label.lower()))

    def _read(self, text: str, *, ends_line: bool = False) -> str:
        read, at = "", 0
        for match in _TOKEN.finditer(text):
            before = self._line + text[max(0, match.start() - _MAX_CONTEXT) : match.start()]
            after = text[match.end() : match.end() + 2]
            read += text[at : match.start()]
            at = match.end()
            if match["squares"]:
                read += self._squares(match[0], before)
            elif match["weak"]:
                ends = bool(_SENTENCE_END.match(after)) and (bool(after) or ends_line)
                ends = ends or (match[0][0] not in " (（" and before.endswith(_ENDS))
                read += self._weak(match[0], before) if ends else match[0]
            elif match["code"]:
                read += _protected(match[0])
        self._line = (self._line + text)[-_MAX_CONTEXT:]
        return read + text[at:]

    def _squares(self, text: str, before: str) -> str:
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
            if numbers:
                space = space or " " * (not read and _ends_a_word(before))
                read += space + "".join(f"[{one}]" for one in numbers)
            space, was_citation = "" if numbers else space, True
        return read + text[at:]

    def _cited(self, match: Match[str], before: str) -> list[int] | None:
        """Numbers that a bracket cites, without those that no source has; None: it is none."""
        content = _CONTENT.fullmatch(match["content"])
        if content is None or (match["link"] and content["word"]):
            return None
        if content["word"] and not self._is_a_word_for_sources(content):
            return None
        if self._stands_in_a_source(before, match[0]):
            return None
        return self._numbers(match["content"])

    def _is_a_word_for_sources(self, content: Match[str]) -> bool:
        """Whether `word n` can be a citation: `Quelle 1`, but not `SEV1`, and not `tier 1` of a
        source."""
        word = content["word"]
        if word.lower().removesuffix("s") == _LABEL:
            return True
        if not content["colon"] and word.isascii() and (len(word) < 3 or word.isupper()):
            return False
        is_name = word.isupper() and word.isascii()
        return not is_name and not any(_plain(content[0]).strip() in text for text in self._texts)

    def _numbers(self, content: str) -> list[int] | None:
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

    def _weak(self, text: str, before: str) -> str:
        """`(1)` or `¹` at the end of a sentence: a citation when that source supports the sentence
        and the number is nothing that the sources say there."""
        space = text[: len(text) - len(text.lstrip())]
        sign = text.strip().translate(_SUPERSCRIPTS)
        match = _CONTENT.fullmatch(re.sub(r"</?sup>|[()（）\[\]]", "", sign))
        numbers = self._numbers(match[0]) if match else None
        if match is None or not numbers:
            return text
        space = " " if _ends_a_word(before) else space
        cited = space + "".join(f"[{one}]" for one in numbers)
        if self._stands_in_a_source(before, text):
            return text
        if (match["word"] or "").lower().removesuffix("s") == _LABEL:
            return cited
        sentence = (sentences(before[-_MAX_CONTEXT:]) or [""])[-1]
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

    def _is_an_amount(self, word: str, numbers: Sequence[int]) -> bool:
        """Whether a sentence of some source has the number and the word before it."""
        figures, name = {*map(str, numbers)}, stem(word.lower())
        return any(figures & words and name in names for words, names in self._statements())

    def _supports(self, number: int, sentence: str) -> bool:
        names = naming_words(sentence).keys()
        return len(names & self._words(number)) >= max(1.0, _ENOUGH * len(names))

    def _is_literal(self, line: str, match: Match[str]) -> bool:
        return self._stands_in_a_source(line[: match.start()], match[0])

    def _stands_in_a_source(self, before: str, bracket: str) -> bool:
        """Whether a text has the bracket behind the same word. A source's `[1]` is `(1)` in the
        prompt, except in code."""
        word = (tokens(before[-_MAX_WORD:]) or [""])[-1].lower()
        signs = {_plain(bracket), _plain(harmless(bracket))}
        ways = [f"{word}{space}{sign}" for sign in signs for space in ("", " ")]
        return bool(word) and any(one in text for text in self._texts for one in ways)


@dataclass
class Numbering:
    """Renumbers sources by first citation and removes unknown numbers."""

    numbered: Sequence[Source]
    sources: list[Source] = field(default_factory=list)

    def apply(self, text: str) -> str:
        return unprotected(CITATION.sub(self._renumbered, text))

    def _renumbered(self, match: Match[str]) -> str:
        number = int(match[1])
        if not 1 <= number <= len(self.numbered):
            return ""
        source = self.numbered[number - 1]
        if source not in self.sources:
            self.sources.append(source)
        return f"{match[0].partition('[')[0]}[{self.sources.index(source) + 1}]"


def read_citations(text: str, sources: Sequence[str]) -> str:
    """A whole reply with its citations as `[n]`; other `[n]` in code are left alone."""
    reader = CitationReader(sources)
    return unprotected(reader.feed(text) + reader.close())


def unprotected(text: str) -> str:
    return text.replace(_LITERAL, "")


def _protected(text: str) -> str:
    return _BRACKETED.sub(f"[{_LITERAL}", text)


def _ends_a_word(text: str) -> bool:
    return text[-1:].isalnum() or text.endswith(_ENDS)


def _may_define(line: str) -> bool:
    """Whether the line begins with a bracket, as the definition of a footnote does."""
    return bool(re.match(rf"\s*(?:[-*+]\s)?(?:\\?[{_OPENS}]|$)", line))


def _plain(text: str) -> str:
    return " ".join(re.sub(r"[*_`]+", "", text.lower()).split())
