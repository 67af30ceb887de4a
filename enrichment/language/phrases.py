"""Detects messages without a question (greetings, thanks, objections), and finds abbreviations
that a document explains: `Incident Commander (IC)`, `IC (Incident Commander)`."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from enrichment.language.words import tokens

_LONG_SHORT = re.compile(
    r"(?<![\w/&-])((?:[\w/&-]{1,40}+\s{1,3}+){1,7}[\w/&-]{1,40}+)\s{1,3}"
    r"\(([A-Z][A-Za-z0-9&-]{1,9})s?\)"
)
_SHORT_LONG = re.compile(
    r"\b([A-Z][A-Z0-9&-]{1,9})s?\s{1,3}"
    r"\(([A-Za-z][\w/&-]{0,40}+(?:\s{1,3}+[\w/&-]{1,40}+){0,6})\)"
)
_MAX_PHRASES = 100
"""No document explains more; each one is searched in every chunk."""
_SMALL_WORDS = frozenset({"a", "an", "and", "at", "by", "for", "in", "of", "on", "or", "the", "to"})


def abbreviations(text: str) -> dict[str, str]:
    """Short form → long form, first explanation wins. A pair counts only when initials agree.

    At most 100. Linear in the length of the text: words and gaps are bounded."""
    meanings: dict[str, str] = {}
    for match in _LONG_SHORT.finditer(text):
        if words := _explains(match[1].split(), match[2]):
            meanings.setdefault(match[2], " ".join(words))
    for match in _SHORT_LONG.finditer(text):
        words = match[2].split()
        if _explains(words, match[1]) == words:
            meanings.setdefault(match[1], match[2])
    return dict(list(meanings.items())[:_MAX_PHRASES])


def expansions(text: str, meanings: Mapping[str, str]) -> tuple[str, ...]:
    """The other form of each abbreviation that `text` uses in one form only."""
    expanded: list[str] = []
    lower = text.lower()
    for short, long in meanings.items():
        has_short = short in text and re.search(rf"\b{re.escape(short)}s?\b", text) is not None
        has_long = long.lower() in lower
        if has_short != has_long:
            expanded.append(long if has_short else short)
    return tuple(expanded)


def _explains(words: list[str], short: str) -> list[str]:
    """The last words whose initials spell `short`; empty if they don't."""
    initials = re.sub(r"[^a-z0-9]", "", short.lower())
    for count in range(1, len(words) + 1):
        tail = words[-count:]
        parts = [part for word in tail for part in re.split(r"[/&-]", word) if part]
        spelled = "".join(part[0].lower() for part in parts)
        content = "".join(part[0].lower() for part in parts if part.lower() not in _SMALL_WORDS)
        if len(parts) > 1 and initials in (spelled, content):
            return tail
    return []


_GREETINGS = frozenset(
    ("hi", "hello", "hey", "hiya", "morning", "afternoon", "evening", "good", "yo", "howdy")
)
_GREETED = frozenset(("there", "all", "team", "everyone"))
_COURTESIES_LISTED = """
    thanks thank you thx ty cheers great awesome nice cool perfect lovely brilliant helpful super
    much very so that's thats this that was is it all for the your help a lot lots got work works
    worked helps helped love amazing appreciated appreciate i answer ok okay oh ah lol haha bye np
    yes no worries never mind nevermind sorry good bot job solved done see later again man mate guys
    team everyone"""
_COURTESIES = frozenset(_COURTESIES_LISTED.split()) | _GREETINGS
# A phrase, because its single words also begin questions.
_WILL_DO = re.compile(r"\bwill do\b", re.IGNORECASE)
_EMOJI = re.compile(r":[a-z0-9_+-]{1,40}:|[👍🙏✅🎉❤]", re.IGNORECASE)


_OBJECTIONS_LISTED = """
    no nope nah not non wrong incorrect false untrue bad useless unhelpful nonsense rubbish right
    correct true sure certain really seriously didn't didnt doesn't doesnt does did do don't dont
    isn't isnt wasn't wasnt won't wont can't cant couldn't help helps helped helping helpful work
    works worked working answer answers answered reply response question asked ask meant mean want
    wanted need needed looking what you you're youre your my me i i'm im that that's thats this it
    it's its is was are be the a an my very completely totally entirely still again at all about
    for to of think so but and hmm huh uh um oh sorry bot with any even just quite there"""
_OBJECTIONS = frozenset(_OBJECTIONS_LISTED.split())
_OBJECTS = re.compile(
    r"\b(?:wrong|incorrect|untrue|false|nonsense|rubbish|useless|unhelpful|bad)\b"
    r"|(?:n['’]?t|not)\b(?:\s+\w+){0,4}?\s+(?:right|correct|true|help\w*|work\w*|answer\w*|ask\w*"
    r"|mean\w*|want\w*|need\w*|looking)\b"
    r"|\bno(?:pe)?,? (?:that|it|this|not)\b",
    re.IGNORECASE,
)
_DOUBTS = re.compile(r"^\W*(?:really|seriously)\W*$|\b(?:sure|certain|correct|right|true)\b", re.I)


def objects(text: str) -> bool:
    """Whether it is only a complaint about the last answer: `no, that's wrong`."""
    return _is_about_an_answer(text) and (
        bool(_OBJECTS.search(text)) or _consists_of(text, ("no", "nope", "nah"))
    )


def doubts(text: str) -> bool:
    """Whether it only asks if the last answer is right: `are you sure?`."""
    return "?" in text and _is_about_an_answer(text) and bool(_DOUBTS.search(text))


def _is_about_an_answer(text: str) -> bool:
    return _consists_of(text.replace("’", "'"), _OBJECTIONS)


def is_greeting(text: str) -> bool:
    return _consists_of(text, _GREETINGS | _GREETED)


def is_courtesy(text: str) -> bool:
    """Whether it is only thanks or an acknowledgment, in words or emoji. A greeting is not."""
    if "?" in text or is_greeting(text):
        return False
    return _consists_of(_WILL_DO.sub(" ok ", _EMOJI.sub(" ok ", text)), _COURTESIES)


def says_only_yes_or_no(text: str) -> bool:
    """Whether it is only yes or no: an answer to a clarifying question, or a disagreement."""
    return _consists_of(text, ("yes", "no"))


def _consists_of(text: str, vocabulary: Collection[str]) -> bool:
    """Whether it has words, and all are in the vocabulary."""
    words = tokens(text)
    return bool(words) and all(word.lower() in vocabulary for word in words)
