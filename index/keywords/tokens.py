"""Text to search terms: stems for words, codes kept whole."""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

MAX_CHARACTERS = 100_000
# A code or compound: letters and digits joined by - _ . / : + &, e.g. SEC-1234, hbr-eu1, v1.2.
COMPOUND = re.compile(r"\w+(?:[-_./:+&]\w+)*(?:\+\+|#(?!\w))?")
JOINER = re.compile(r"[-_]")
PART = re.compile(r"[^\W_]+")
POSSESSIVE = re.compile(r"['’]s\b")
# Scripts written without spaces between words.
UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+")

STOP_WORDS = frozenset(
    """
    a about above after again all also am an and any are aren as at be because been before being
    below between both but by can cannot could couldn d did didn do does doesn doing don done down
    during each either else ever few for from further get gets getting give go goes got had hadn
    has hasn have haven having he her here hers herself him himself his how i if in into is isn it
    its itself just let ll m may me might more most much must my myself need of off on once only
    onto or other our ours ourselves out over own please re s same shall she should shouldn so some
    such t tell than thank thanks that the their theirs them themselves then there these they this
    those through to too under until up upon us ve very want was wasn we were weren what when where
    whether which while who whom whose why will with within won would wouldn you your yours yourself
    yourselves hello hi hey
    """.split()  # noqa: SIM905 - a list of strings would take 200 lines
)


def terms(text: str) -> list[str]:
    """Search terms in order, repeats kept.

    A compound gives itself, its parts and, of letters alone, its joined form: `on-call` is found
    by `oncall`, `SEC-1234` by itself before everything that merely holds 1234."""
    folded = unicodedata.normalize("NFKC", text[:MAX_CHARACTERS]).casefold()
    words = COMPOUND.findall(POSSESSIVE.sub("", folded))
    return [term for word in words for term in _terms(word)]


@lru_cache(maxsize=200_000)
def _terms(word: str) -> tuple[str, ...]:
    whole = word.strip("_")
    if UNSPACED.search(whole):
        return tuple(_pairs(whole))
    parts = PART.findall(whole)
    if len(parts) < 2:
        return () if whole in STOP_WORDS or not parts else (stem(whole),)
    found = [whole]
    if all(part.isalpha() for part in parts) and JOINER.search(whole):
        found.append(stem("".join(parts)))
    found += [stem(part) for part in parts if part not in STOP_WORDS and len(part) > 1]
    return tuple(found)


def _pairs(text: str) -> Iterator[str]:
    """Neighbouring characters of unspaced scripts, other words as they are."""
    for run in UNSPACED.findall(text):
        yield from (run[i : i + 2] for i in range(max(1, len(run) - 1)))
    yield from (stem(part) for part in PART.findall(UNSPACED.sub(" ", text)))


def stem(word: str) -> str:
    """English stem; a word with a digit is a code and stays."""
    if not word.isalpha():
        return word
    stemmed: str = _stemmer().stemWord(word)
    return stemmed


_stemmers = threading.local()


def _stemmer() -> Any:
    # A stemmer keeps state between calls: one for each thread.
    if not hasattr(_stemmers, "english"):
        import Stemmer

        _stemmers.english = Stemmer.Stemmer("english")
    return _stemmers.english
