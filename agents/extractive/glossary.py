"""A team's own words: what its domain's glossary says is the same, matched in both directions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from config.prompts import listed
from enrichment.language.words import naming_words

Glossary = Mapping[str, Sequence[str]]
"""Short form → its meanings."""


def other_ways(glossary: Glossary, text: str) -> list[tuple[str, str]]:
    """(what the text says, the other way to say it) for every short form and meaning in it.

    A short form that spells a common word (`US`, `IT`) counts only in capitals."""
    named = naming_words(text).keys()
    return [
        (said, other)
        for short, meanings in glossary.items()
        for meaning in meanings
        for said, other in ((short, meaning), (meaning, short))
        if (words := naming_words(said).keys()) and words <= named
    ]


def same_words(glossary: Glossary, text: str) -> dict[str, tuple[frozenset[str], ...]]:
    """Stem of a word of the text → for each other way to say it, the stems that stand for it."""
    found: dict[str, tuple[frozenset[str], ...]] = {}
    for said, other in other_ways(glossary, text):
        instead = frozenset(naming_words(other))
        for word in naming_words(said) if instead else ():
            found[word] = (*found.get(word, ()), instead)
    return found


def explained(glossary: Glossary) -> str:
    """For a prompt: one line for each short form."""
    return listed(f"{short}: {' or '.join(meanings)}" for short, meanings in glossary.items())
