"""Messages that greet, thank or acknowledge, and ask nothing: for the bot and for the agents."""

from __future__ import annotations

import re

from enrichment.language.words import tokens

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
# A phrase, since its words by themselves begin questions.
_WILL_DO = re.compile(r"\bwill do\b", re.IGNORECASE)
_EMOJI = re.compile(r":[a-z0-9_+-]{1,40}:|[👍🙏✅🎉❤]", re.IGNORECASE)


def is_greeting(text: str) -> bool:
    words = _words(text)
    return bool(words) and all(word in _GREETINGS or word in _GREETED for word in words)


def is_courtesy(text: str) -> bool:
    """Nothing but thanks or an acknowledgement, in words or emoji; a mere greeting is none."""
    if "?" in text or is_greeting(text):
        return False
    said = _WILL_DO.sub(" ok ", _EMOJI.sub(" ok ", text))
    words = _words(said)
    return bool(words) and all(word in _COURTESIES for word in words)


def says_only_yes_or_no(text: str) -> bool:
    """An answer to what was asked back, or a disagreement: no thanks."""
    words = _words(text)
    return bool(words) and all(word in ("yes", "no") for word in words)


def _words(text: str) -> list[str]:
    return [word.lower() for word in tokens(text)]
