"""Reads the citations of a reply while it streams, in every form that models write.

The rest of the product knows one form, `[n]`. `【1†L3】`, `[Source 1]`, `[^1]`, `[1, 2]`, `[1-3]`
and `[1](https://…)` become it; `(1)` and `¹` only where they can be nothing else. Code, links, and
what the sources themselves have in brackets stay as they are."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from re import Match

from agents.answer import CITATION
from agents.answerer.brackets import CLOSES, ENDS, LITERAL, OPENS, SQUARE, Brackets, protected
from agents.context.sources import Source

_CODE = r"(?P<ticks>`++)[^\n]{1,250}?(?<!`)(?P=ticks)(?!`)|!\[[^\n\]]*\]\([^()\s]*\)"
_TOKEN = re.compile(
    rf"(?P<code>{_CODE})"
    r"|\ue200[^\ue201\n]{0,80}\ue201"  # of ChatGPT's own, without a number of ours
    rf"|(?P<squares>\s?{SQUARE}(?:\s{{0,3}}[,;、，]?\s{{0,3}}{SQUARE})*+)"
    r"|(?P<weak>\s?(?:[(（][^()（）\n]{1,60}[)）]|[⁰¹²³⁴-⁹]++"
    r"|<(?:sup|cite|ref)>\s?\[?\d{1,3}\]?\s?</\w{1,4}>))"
    r"|(?P<label>[Ss]ources?\s\d{1,3}(?:(?:,\s|\s(?:and|&)\s)\d{1,3})*+(?![\w-]))"
)
_OPEN = re.compile(
    rf"!?\\?[{OPENS}]+[^{OPENS}{CLOSES}]{{0,170}}(?:[{CLOSES}]+(?:\([^()\s]{{0,300}})?)?$"
    r"|[(（][^()（）]{0,60}$|\ue200[^\ue201]{0,80}$|`.{0,300}$"
    r"|<(?:\w{0,4}|(?:sup|cite|ref)>[^<>]{0,6}(?:</?\w{0,4})?)$"
)
"""A bracket with its link, code or a tag, as long as it may be."""
_UNDECIDED = re.compile(r"(?:[Ss]ources?[\s\d,&and]{0,40}\w{0,8}|\w{1,8}|[\s\\!,;、，]{1,8})$")
"""Perhaps the label of a source, or what joins two citations."""
_SENTENCE_END = re.compile(r"\s?(?:[.,;:!?。，；！？|]|$)|\s?[(（⁰¹²³⁴-⁹<]")
_IN_A_COMMAND = re.compile(rf"(?<=\s){SQUARE}\s*$")
_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})")
_WHOLE_LINES = re.compile(rf"\s*(?:[|`~]|(?:[-*+]\s)?\\?[{OPENS}]|[-*+]?\s*$)")
"""Lines that are read when they have ended: code, rows, and what may be a list of sources."""
_HEADING = re.compile(r"[\s*_#]*(?:[^\W\d_]{1,24}\s?){0,3}[*_]*[:：]?[*_]*\s*")
_MAX_CONTEXT = 600
"""Characters before a bracket that tell what it is."""


class CitationReader:
    """Receives a reply in pieces and returns it with its citations as `[n]`, as soon as they can't
    change any more. Numbers are those of the prompt."""

    def __init__(self, sources: Sequence[str], *, other: str = "") -> None:
        """`sources`: as in the prompt, from number 1. `other`: what else a reply may repeat."""
        self._brackets = Brackets(sources, other)
        self._fence = ""
        self._line = ""
        """The current line up to what waits, as the model wrote it."""
        self._waiting = ""
        self._heading = ""
        """A heading whose section may be a list of sources, with the blank lines after it."""
        self._in_table = False

    def feed(self, piece: str) -> str:
        *lines, self._waiting = (self._waiting + piece).split("\n")
        ready = "".join(map(self._end_line, lines))
        if self._fence or (not self._line and _WHOLE_LINES.match(self._waiting)):
            return ready
        end = _settled(self._waiting)
        settled, rest = self._waiting[:end], self._waiting[end:]
        if not settled or (not self._line and _HEADING.fullmatch(settled)):
            return ready
        self._waiting = rest
        return ready + self._with_heading(self._read(settled, rest))

    def close(self) -> str:
        """Returns the rest."""
        rest, self._waiting = self._waiting, ""
        read = self._end_line(rest).removesuffix("\n") if rest or self._line else ""
        return self._with_heading(read)

    def _with_heading(self, text: str) -> str:
        heading, self._heading = self._heading, ""
        return heading + text

    def _end_line(self, rest: str) -> str:
        if self._line:
            text, self._line, self._in_table = self._read(rest, "\n"), "", False
            return self._with_heading(f"{text}\n")
        fence = _FENCE.match(rest)
        if self._fence or fence:
            mark = fence[1] if fence else ""
            if not self._fence:
                self._fence = mark
            elif mark.startswith(self._fence) and rest.strip() == mark:
                self._fence = ""
            return self._with_heading(f"{self._command(rest)}\n")
        number = self._brackets.definition(rest)
        if number == "":
            self._heading = ""
            return ""
        text, self._line = number or self._read(rest, "\n"), ""
        is_row = rest.lstrip().startswith("|")
        if is_row:
            text = self._brackets.row(text, is_head=not self._in_table)
        self._in_table = is_row
        if not rest.strip() and self._heading:
            self._heading += f"{text}\n"
            return ""
        if rest.strip() and _HEADING.fullmatch(rest):
            heading, self._heading = self._heading, f"{text}\n"
            return heading
        return self._with_heading(f"{text}\n")

    def _command(self, line: str) -> str:
        """A line of code. Only what stands behind it, and in no source, can be a citation."""
        cited = _IN_A_COMMAND.search(line)
        if cited and not self._brackets.stands_in_a_source(line[: cited.start()], cited[0]):
            return protected(line[: cited.start()]) + self._brackets.squares(cited[0], "")
        return protected(line)

    def _read(self, text: str, following: str) -> str:
        read, at = "", 0
        for match in _TOKEN.finditer(text):
            before = self._line + text[max(0, match.start() - _MAX_CONTEXT) : match.start()]
            after = (text[match.end() : match.end() + 2] + following)[:2]
            read += text[at : match.start()]
            at = match.end()
            if match["squares"]:
                read += self._brackets.squares(match[0], before)
            elif match["weak"]:
                is_behind = match[0][0] not in " (（" and before.endswith(ENDS)
                ends = is_behind or (bool(after) and bool(_SENTENCE_END.match(after)))
                read += self._brackets.weak(match[0], before) if ends else match[0]
            elif match["label"]:
                inside = any(one.isalnum() or one in "-_" for one in before[-1:] + after[:1])
                read += match[0] if inside else self._brackets.label(match[0], before)
            elif match["code"]:
                read += protected(match[0])
        self._line = (self._line + text)[-_MAX_CONTEXT:]
        return read + text[at:]


def _settled(text: str) -> int:
    """Length of the beginning that is read alike whatever follows."""
    masked = re.sub(_CODE, lambda code: "x" * len(code[0]), text)
    end = len(text)
    for pattern in (_OPEN, _UNDECIDED):
        if match := pattern.search(masked, max(0, end - _MAX_CONTEXT), end):
            end = match.start()
    joins = (token.start() for token in _TOKEN.finditer(text) if token.end() >= end)
    return min(end, next(joins, end))


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
    return text.replace(LITERAL, "")
