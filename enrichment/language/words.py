"""Words, stems and sentences of a text: one tokenizer, stop list and stemmer for every layer.

Search, questions and key phrases use the same words."""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

MAX_CHARACTERS = 100_000
"""Characters of a text that are read for search terms."""

# A word, or a code or compound joined by - _ . / : + & ' as in SEC-1234, v1.2, read/write, R&D.
TOKEN = re.compile(r"[^\W_]+(?:(?:[-./:+&'’]|_+)[^\W_]+)*(?:\+\+|#(?!\w))?")
_JOINT = re.compile(r"[-_./:+&'’#]+")
_SPELLED_TOGETHER = re.compile(r"[-_]")
_POSSESSIVE = re.compile(r"['’][sS]$")
_CODE = re.compile(r"[_-]|^[A-Z]{2,}$|[a-z][A-Z]")
_LETTER = re.compile(r"[A-Za-z]")
_DIGIT = re.compile(r"\d")
_NO_WORD = re.compile(r"[^\w\s]{64,}+")
"""A long run of signs. Normalization sorts combining marks in quadratic time."""
# Scripts written without spaces between words.
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+")
_SHOUTING = 3
"""More words than this, all in capitals, are shouting, not abbreviations."""

STOP_WORDS = frozenset(
    """
    a about above actually after again all already also always am an and any anybody anyone
    anything anyway are aren arent as at back basically be because been before being below between
    both but by can cannot cant could couldn couldnt d did didn didnt do does doesn doesnt doing
    don done dont down during each either else even ever every everyone everything few for from
    further get gets getting give given go goes going gonna got gotta had hadn has hasn hasnt have
    haven havent having he hello her here hers herself hey hi him himself his how however i if im
    in into is isn isnt it its itself ive just keep kind know least less let lets like ll m made
    make makes many may maybe me might mine more most much must my myself need needs neither never
    no none nor not nothing now of off oh ok okay on once one only onto or other others our ours
    ourselves out over own per please quite rather re really s same say says see shall she should
    shouldn shouldnt since so some somebody someone something soon still stuff such sure t take
    tell than thank thanks that thats the their theirs them themselves then there these they
    theyre thing things think this those though through thru till to too under until up upon us
    use used uses using ve very via wanna want wanted wants was wasn wasnt way we well were weren
    werent what whatever whats when whenever where whether which while who whom whose why will
    with within without won wont work works would wouldn wouldnt yeah yep yes yet you your youre
    yours yourself yourselves
    afaik atm btw fyi idk imho imo lol np pls plz rn thx ty u ur
    """.split()  # noqa: SIM905 - a list of strings would take 300 lines
)
"""Words that ask, join or greet and name nothing. The last line is from dictionaries of chat
English."""

CHAT_SHORTHAND = {
    "b4": "before", "bc": "because", "msg": "message", "msgs": "messages", "ppl": "people",
    "tmrw": "tomorrow", "w/": "with", "w/o": "without",
}  # fmt: skip
"""Shorthand from dictionaries of chat English. A team's own abbreviations belong in its domain's
glossary."""
_SHORTHAND = re.compile(r"(?<![\w/])(?:w/o?|[a-z]+4?)(?![\w/])")


def word_table(file: Path) -> Any:
    """A packaged YAML file of words. In Python alone, reading one takes ten times as long."""
    import yaml

    return yaml.load(file.read_text("utf-8"), yaml.CSafeLoader)


def tokens(text: str) -> list[str]:
    """Words as written, full-width letters normalized. `SEC-1234` and `read/write` are one each."""
    return TOKEN.findall(unicodedata.normalize("NFKC", _NO_WORD.sub(" ", text)))


def is_code(token: str) -> bool:
    """Whether a token deserves an exact match: `P1`, `SEC-1234`, `max_age`, `maxAge`, `TLS`."""
    numbered = bool(_DIGIT.search(token) and _LETTER.search(token))
    return len(token) > 1 and (numbered or bool(_CODE.search(token)))


def codes(text: str) -> tuple[str, ...]:
    """Codes of a text as written, each once."""
    return tuple(dict.fromkeys(token for token in tokens(text) if is_code(token)))


def written_out(text: str) -> str:
    """The text with chat shorthand replaced, for the embedder."""
    return _SHORTHAND.sub(lambda match: CHAT_SHORTHAND.get(match[0], match[0]), text)


def search_terms(text: str) -> list[str]:
    """Search terms in order, with repeats.

    A compound gives itself, its parts and, if it has only letters, its joined form: `oncall` finds
    `on-call`, and `SEC-1234` ranks above texts that only contain 1234."""
    words = tokens(text[:MAX_CHARACTERS])
    names = _abbreviations(words)
    return [
        term
        for token in words
        for term in ((token.lower(),) if token in names else _terms(token.casefold()))
    ]


@lru_cache(maxsize=16_384)
def stems(text: str) -> frozenset[str]:
    """The search terms of a text, each once."""
    return frozenset(search_terms(text))


def naming_words(text: str) -> dict[str, str]:
    """Stem → word for the words that name something, in order. A code stays whole; a compound of
    words is split, since questions mostly use one of its parts."""
    words = tokens(text)
    names = _abbreviations(words)
    forms: dict[str, str] = {}
    for token in words:
        if token in names:
            forms.setdefault(token.lower(), token)
        else:
            for word in _named_by(token.casefold()):
                forms.setdefault(stem(word), word)
    return forms


def prose_words(text: str) -> list[str]:
    """Words as written, without those that begin with a digit."""
    return [token for token in tokens(text) if token[0].isalpha()]


def stem(word: str) -> str:
    """English stem of a lower-case word; a word with other signs than letters stays unchanged."""
    if not word.isalpha():
        return word
    stemmed: str = _stemmer().stemWord(word)
    return stemmed


def _abbreviations(words: list[str]) -> frozenset[str]:
    """Tokens in capitals that look like stop words: `US`, `IT`."""
    if len(words) > _SHOUTING and all(token.isupper() for token in words):
        return frozenset()
    return frozenset(
        token
        for token in words
        if len(token) > 1 and token.isupper() and token.lower() in STOP_WORDS
    )


@lru_cache(maxsize=200_000)
def _terms(token: str) -> tuple[str, ...]:
    if _UNSPACED.search(token):
        return tuple(_pairs(token))
    whole = _POSSESSIVE.sub("", token)
    parts = [part for part in _JOINT.split(whole) if part]
    if len(parts) < 2:
        return () if whole in STOP_WORDS else (stem(whole),)
    naming = [part for part in parts if part not in STOP_WORDS and len(part) > 1]
    if ("'" in whole or "’" in whole) and "".join(parts).isalpha():
        return tuple(stem(part) for part in naming)
    joined = "".join(parts)
    together = [stem(joined)] if joined.isalpha() and _SPELLED_TOGETHER.search(whole) else []
    return (whole, *together, *(stem(part) for part in naming))


def _named_by(token: str) -> list[str]:
    if _UNSPACED.search(token):
        return list(_pairs(token))
    whole = _POSSESSIVE.sub("", token)
    parts = [part for part in _JOINT.split(whole) if part]
    if len(parts) < 2 or any(character.isdigit() for character in whole):
        return [] if whole in STOP_WORDS else [whole]
    return [part for part in parts if part not in STOP_WORDS and len(part) > 1]


def _pairs(token: str) -> Iterator[str]:
    """Pairs of neighboring characters of unspaced scripts, then the stems of other words."""
    for run in _UNSPACED.findall(token):
        yield from (run[i : i + 2] for i in range(max(1, len(run) - 1)))
    yield from (stem(part) for part in _JOINT.split(_UNSPACED.sub("-", token)) if part)


_stemmers = threading.local()


def _stemmer() -> Any:
    # A stemmer has state: one per thread.
    if not hasattr(_stemmers, "english"):
        import Stemmer

        _stemmers.english = Stemmer.Stemmer("english")
    return _stemmers.english


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
    """Verbatim sentences in order. Lines are never joined; only white space is dropped.

    A period after an abbreviation, an initial or a list number doesn't end a sentence, and
    neither does one inside backticks. Linear in the length of the text."""
    return [sentence for line in text.splitlines() for sentence in _in_line(line)]


def _in_line(line: str) -> list[str]:
    result: list[str] = []
    start = 0
    ticks_seen, ticks_up_to = 0, 0
    for match in _BOUNDARY.finditer(line):
        ticks_seen += line.count("`", ticks_up_to, match.end())
        ticks_up_to = match.end()
        if ticks_seen % 2 or not _ends_sentence(line, start, match):
            continue
        result.append(line[start : match.end()].strip())
        start = match.end()
    result.append(line[start:].strip())
    return [sentence for sentence in result if sentence]


def _ends_sentence(line: str, start: int, mark: re.Match[str]) -> bool:
    if mark[0][0] not in ".…":
        # A question mark before a lower-case word ends no sentence: `Really? he asked`.
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
