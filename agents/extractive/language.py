"""The wording of a question: foreign languages, glossary terms, and questions about the past.

Vectors of a question in a language that the embedder does not know are noise: `all-MiniLM-L6-v2`
put bank details first for a question in French about holidays. Words and codes that it shares with
the documents still find something."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

from config.domain import Domain
from config.domain_files import Problem, problem_at
from config.prompts import listed
from enrichment.language.foreign_words import FUNCTION_WORDS, telling
from enrichment.language.words import STOP_WORDS, naming_words, stem, stems, tokens, word_table
from index.search import Snapshot

_SCRIPTS = {
    "Japanese": r"[\u3040-\u30ff]",
    "Korean": r"[\u1100-\u11ff\uac00-\ud7af]",
    "Chinese": r"[\u3400-\u4dbf\u4e00-\u9fff]",
    "Ukrainian": r"[іїєґІЇЄҐ]",
    "Russian": r"[\u0400-\u04ff]",
    "Greek": r"[\u0370-\u03ff]",
    "Hebrew": r"[\u0590-\u05ff]",
    "Arabic": r"[\u0600-\u06ff]",
    "Hindi": r"[\u0900-\u097f]",
    "Thai": r"[\u0e00-\u0e7f]",
}
"""In order of precedence: Japanese text has Chinese characters too."""
_OF_SCRIPT = {language: re.compile(letters) for language, letters in _SCRIPTS.items()}
_COMBINED = re.compile(r"(?<=['’])|-")
_LETTERS = 3
"""Minimum letters of another script: fewer are a unit or a sign (`µs`, `Δ`)."""
UNSEEN_WORD = "qx" * 6
"""A word of no document: it has the maximum rarity."""
_TELLING = 2
"""Minimum words that identify a language: a single one may be a name."""
_NOTICES = word_table(Path(__file__).with_name("notices.yaml"))


def notice(name: str, language: str, *, embedded: str = "English", **values: str) -> str:
    """A sentence of `notices.yaml` in this language if it is there, else in English. `embedded`:
    the English name of the language that the embedder knows."""
    texts = _NOTICES.get(language, _NOTICES["English"])
    own = texts["english"] if embedded == "English" else embedded
    return str(texts[name].format(embedded=own, **values))


def asked_language(question: str, snapshot: Snapshot) -> str:
    """English name of the question's language; '' for English and an unknown one."""
    words = tokens(question)
    return _by_script(words, snapshot) or _by_function_words(words)[0]


def foreign_language(question: str, snapshot: Snapshot) -> str:
    """English name of the question's language, if the embedder knows only another language and the
    documents do not use it either; else ''.

    Words that are common in the documents do not count as foreign."""
    if not snapshot.language:
        return ""
    words = tokens(question)
    if language := _by_script(words, snapshot):
        return "" if language == snapshot.language else language
    language, own = _by_function_words(words)
    return "" if language == snapshot.language or _is_spoken_here(own, snapshot) else language


def _by_script(question_tokens: list[str], snapshot: Snapshot) -> str:
    """Language by a script other than Latin; '' where English only quotes such words."""
    letters = [one for token in question_tokens for one in token if one.isalpha()]
    foreign_letters = [one for one in letters if "LATIN" not in unicodedata.name(one, "LATIN")]
    in_english = any(token.casefold() in STOP_WORDS for token in question_tokens)
    if len(foreign_letters) < (max(_LETTERS, len(letters) / 3) if in_english else _LETTERS):
        return ""
    text = "".join(foreign_letters)
    language = next((name for name, pattern in _OF_SCRIPT.items() if pattern.search(text)), "")
    own_words = " ".join(token for token in question_tokens if not token.isascii())
    words = naming_words(own_words).values()
    unseen = snapshot.rarity(UNSEEN_WORD)
    seen_count = sum(snapshot.rarity(word) < unseen for word in words)
    return "" if 2 * seen_count > len(words) else language


def _by_function_words(question_tokens: list[str]) -> tuple[str, frozenset[str]]:
    """(the language with the most function words in the question, if it has more than English;
    those that identify it).

    Two distinctive words identify it, or one with others that English shares, in a text without
    any other English word."""
    words = [word for token in question_tokens for word in _forms(token)]
    best, max_count = ("", frozenset[str]()), 0
    for language, every in FUNCTION_WORDS.items():
        own = telling(language).intersection(words)
        spoken = sum(word in every for word in words)
        english = sum(word in STOP_WORDS and word not in every for word in words)
        is_certain = len(own) >= _TELLING or (own and spoken >= _TELLING and not english)
        if is_certain and spoken > max(max_count, english):
            best, max_count = (language, own), spoken
    return best


def _forms(token: str) -> list[str]:
    """The word and its parts: `l'accès` includes its article. Empty for an abbreviation."""
    word = token.casefold().replace("’", "'")
    if len(token) > 1 and token.isupper():
        return []
    parts = _COMBINED.split(word)
    return [word] if len(parts) < 2 else [word, *parts]


def _is_spoken_here(words: frozenset[str], snapshot: Snapshot) -> bool:
    """Whether half of these words are common here: in more chunks than the root of their number."""
    unseen = snapshot.rarity(UNSEEN_WORD)
    common = sum(snapshot.rarity(word) <= unseen / 2 for word in words)
    return 2 * common >= len(words)


Glossary = Mapping[str, Sequence[str]]
"""Short form → its meanings."""

_POSSESSIVE = re.compile(r"['’][sS]$")
_HYPHEN = re.compile(r"[-_]")


def other_ways(glossary: Glossary, text: str) -> list[tuple[str, str]]:
    """(phrase in the text, its equivalent) for every abbreviation and meaning in the text.

    An abbreviation that spells a common word (`US`, `IT`) counts only in capitals."""
    return [
        (phrase, other)
        for abbreviation, meanings in glossary.items()
        for meaning in meanings
        for phrase, other in ((abbreviation, meaning), (meaning, abbreviation))
        if _says(text, phrase)
    ]


def same_words(glossary: Glossary, text: str) -> dict[str, tuple[frozenset[str], ...]]:
    """Stem of a word of the text → for each equivalent phrase, its stems."""
    by_word: dict[str, tuple[frozenset[str], ...]] = {}
    for phrase, other in other_ways(glossary, text):
        # `R&D` has no naming word and matches as a whole.
        instead = frozenset(naming_words(other)) or stems(other)
        for word in naming_words(phrase) if instead else ():
            by_word[word] = (*by_word.get(word, ()), instead)
    return by_word


def glossary_problems(domain: Domain) -> Iterator[Problem]:
    """Problems of glossary entries that no question can match."""
    for abbreviation, meanings in domain.glossary.items():
        if reason := _problem_of(abbreviation):
            yield problem_at(domain.path, ["glossary", abbreviation], reason, want_key=True)
        for place, meaning in enumerate(meanings):
            if reason := _problem_of(meaning):
                yield problem_at(domain.path, ["glossary", abbreviation, place], reason)


def _problem_of(phrase: str) -> str:
    words = tokens(phrase)
    if not words:
        return f"glossary: {phrase!r} holds no word; write it in letters or digits"
    if not all(_is_common(word) for word in words):
        return ""
    remedy = "write a longer form"
    if len(words) == 1 and len(words[0]) > 1:
        remedy = f"write `{phrase.upper()}`"
    kind = "is a common word" if len(words) == 1 else "is made of common words"
    return f"glossary: `{phrase}` {kind}; {remedy}"


def _is_common(token: str) -> bool:
    lowered = token.casefold().replace("'", "").replace("’", "")
    is_abbreviation = len(token) > 1 and token.isupper()
    return lowered in STOP_WORDS and not is_abbreviation


def _says(text: str, phrase: str) -> bool:
    """Whether the text contains the phrase. Two or more naming words match anywhere in the text; a
    phrase with fewer, such as `on call` or `not for resale`, matches only verbatim."""
    text_words, text_tokens = _parse(text)
    words, phrase_tokens = _parse(phrase)
    if not words <= text_words:
        return False
    if len(words) > 1 or (words and len(phrase_tokens) == 1):
        return True
    places = range(len(text_tokens) - len(phrase_tokens) + 1) if phrase_tokens else ()
    return not all(_is_common(word) for word, _ in phrase_tokens) and any(
        [one for _, one in text_tokens[place : place + len(phrase_tokens)]]
        == [one for _, one in phrase_tokens]
        for place in places
    )


# Every step compares one question with the same entries.
@lru_cache(maxsize=4_096)
def _parse(text: str) -> tuple[frozenset[str], tuple[tuple[str, str], ...]]:
    """(naming words, (word, stem) pairs in order); `on-call` counts as two words, `R&D` as one."""
    stripped = (_POSSESSIVE.sub("", token) for token in tokens(text))
    words = (word for token in stripped for word in _HYPHEN.split(token) if word)
    stemmed = tuple((word, stem(word.casefold())) for word in words)
    return frozenset(naming_words(text)), stemmed


def glossary_prompt(glossary: Glossary) -> str:
    """Lines for a prompt, one per abbreviation."""
    return listed(f"{term}: {' or '.join(meanings)}" for term, meanings in glossary.items())


_PAST = re.compile(
    r"\b(?:(?<!how )old|older (?:rule|version|policy|page)|previous|previously|former|formerly"
    r"|superseded|outdated|archived|earlier|used to|back in|back then|history"
    r"|no longer)\b",
    re.IGNORECASE,
)
_YEAR = re.compile(r"\b20\d\d\b")


def asks_about_the_past(question: str) -> bool:
    """Whether it names an earlier version or a past year; `how old` does not."""
    this_year = datetime.now(UTC).year
    over = any(int(year) < this_year for year in _YEAR.findall(question))
    return over or bool(_PAST.search(question))
