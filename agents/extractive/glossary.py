"""A team's own words: what its domain's glossary says is the same, matched in both directions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from config.domain import Domain
from config.domain_files import Problem, problem_at
from config.prompts import listed
from enrichment.language.words import STOP_WORDS, naming_words, stem, stems, tokens

Glossary = Mapping[str, Sequence[str]]
"""Short form → its meanings."""

_POSSESSIVE = re.compile(r"['’][sS]$")
_HYPHEN = re.compile(r"[-_]")


def other_ways(glossary: Glossary, text: str) -> list[tuple[str, str]]:
    """(what the text says, the other way to say it) for every short form and meaning in it.

    A short form that spells a common word (`US`, `IT`) counts only in capitals."""
    return [
        (said, other)
        for short, meanings in glossary.items()
        for meaning in meanings
        for said, other in ((short, meaning), (meaning, short))
        if _says(text, said)
    ]


def same_words(glossary: Glossary, text: str) -> dict[str, tuple[frozenset[str], ...]]:
    """Stem of a word of the text → for each other way to say it, the stems that stand for it."""
    found: dict[str, tuple[frozenset[str], ...]] = {}
    for said, other in other_ways(glossary, text):
        # `R&D` names no word by itself, and is found whole.
        instead = frozenset(naming_words(other)) or stems(other)
        for word in naming_words(said) if instead else ():
            found[word] = (*found.get(word, ()), instead)
    return found


def unmatched(domain: Domain) -> Iterator[Problem]:
    """Entries of its glossary that no question can be told to mean."""
    for short, meanings in domain.glossary.items():
        if reason := _never_said(short):
            yield problem_at(domain.path, ["glossary", short], reason, want_key=True)
        for place, meaning in enumerate(meanings):
            if reason := _never_said(meaning):
                yield problem_at(domain.path, ["glossary", short, place], reason)


def _never_said(phrase: str) -> str:
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
    plain = token.casefold().replace("'", "").replace("’", "")
    return plain in STOP_WORDS and not _is_abbreviation(token)


def _is_abbreviation(token: str) -> bool:
    return len(token) > 1 and token.isupper()


def _says(text: str, phrase: str) -> bool:
    """Two naming words say a phrase wherever they stand; what leaves one or none, such as
    `on call` and `not for resale`, is said only word for word."""
    named, written = _read(text)
    words, sought = _read(phrase)
    if not words <= named:
        return False
    if len(words) > 1 or (words and len(sought) == 1):
        return True
    places = range(len(written) - len(sought) + 1) if sought else ()
    return not all(_is_common(word) for word, _ in sought) and any(
        [one for _, one in written[place : place + len(sought)]] == [one for _, one in sought]
        for place in places
    )


# One question is held against the same entries at every step.
@lru_cache(maxsize=4_096)
def _read(text: str) -> tuple[frozenset[str], tuple[tuple[str, str], ...]]:
    """Its naming words, and (word as written, its stem) in order, `on-call` as two and `R&D` as
    one."""
    plain = (_POSSESSIVE.sub("", token) for token in tokens(text))
    words = (word for token in plain for word in _HYPHEN.split(token) if word)
    written = tuple((word, stem(word.casefold())) for word in words)
    return frozenset(naming_words(text)), written


def explained(glossary: Glossary) -> str:
    """For a prompt: one line for each short form."""
    return listed(f"{short}: {' or '.join(meanings)}" for short, meanings in glossary.items())
