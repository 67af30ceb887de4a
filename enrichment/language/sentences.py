"""Plain text to sentences, without a model."""

from __future__ import annotations

import re

_ABBREVIATIONS_LISTED = """
al approx ca cf co corp dept dr e.g eg esp est etc ext gen i.e ie inc incl jr ltd
mr mrs ms mt prof resp sr st tel v viz vs
"""
_ABBREVIATIONS = frozenset(_ABBREVIATIONS_LISTED.split())
_BEFORE_NUMBERS = re.compile(r"(?:art|figs?|max|min|nos?|nr|op|pp?|para|sect?|vol)")
_NUMBER_FOLLOWS = re.compile(r"\s+\d")
# An end mark, closing quotes or brackets, then space and something that can open a sentence.
# Full-width marks need no space after them.
_BOUNDARY = re.compile(
    r"""(?<![.!?…])[.!?…]++["'”’)\]`*_]*+(?=\s++["'“‘(\[`*_¿¡@#]*[\w$€£<])|[。！？]+[”’」』）]*"""
)
_LAST_WORD = re.compile(r"([^\s(\[\"“'`*_]+)$")
_OPENS_LOWER = re.compile(r"""\s+["'“‘(\[*_]*[a-z]""")


def sentences(text: str) -> list[str]:
    """Verbatim sentences in order; lines are never joined, and nothing but space is lost.

    A period after an abbreviation, an initial or a list number doesn't end a sentence, and
    neither does one inside backticks. Linear in the length of the text."""
    return [found for line in text.splitlines() for found in _in_line(line)]


def _in_line(line: str) -> list[str]:
    found: list[str] = []
    start = 0
    ticks_seen, ticks_up_to = 0, 0
    for match in _BOUNDARY.finditer(line):
        ticks_seen += line.count("`", ticks_up_to, match.end())
        ticks_up_to = match.end()
        if ticks_seen % 2 or not _ends_sentence(line, start, match):
            continue
        found.append(line[start : match.end()].strip())
        start = match.end()
    found.append(line[start:].strip())
    return [sentence for sentence in found if sentence]


def _ends_sentence(line: str, start: int, mark: re.Match[str]) -> bool:
    if mark[0][0] not in ".…":
        # `Really? he asked` goes on; a question before a new sentence ends.
        return not _OPENS_LOWER.match(line, mark.end())
    before = _LAST_WORD.search(line[max(start, mark.start() - 40) : mark.start()])
    word = before[1].lower() if before else ""
    numbered = _BEFORE_NUMBERS.fullmatch(word) and _NUMBER_FOLLOWS.match(line, mark.end())
    if word in _ABBREVIATIONS or numbered:
        return False
    is_initial = len(word) == 1 and word.isalpha() and word != "i"
    is_list_number = word.isdigit() and not line[start : mark.start() - len(word)].strip()
    if is_initial or is_list_number:
        return False
    return not (_OPENS_LOWER.match(line, mark.end()) and mark[0].startswith("…"))
