"""What a message is to its thread, told without a model: small talk, a follow-up, two questions."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agents.answer import EarlierTurn, Question, Turn, bounded
from enrichment.language.phrases import (
    doubts,
    is_courtesy,
    is_greeting,
    objects,
    says_only_yes_or_no,
)
from enrichment.language.words import naming_words, tokens

_MARKUP = (
    (re.compile(r"<@[^<>|]*+(?:\|[^<>]*+)?>"), " "),  # a mention
    (re.compile(r"<(?:https?:|mailto:)[^<>|]*+\|([^<>]*+)>"), r"\1"),  # a labelled link
    (re.compile(r"<[#!][^<>|]*+\|([^<>]*+)>"), r"\1"),  # a channel or group by name
    (re.compile(r":[a-z0-9_+-]{2,40}:"), " "),  # an emoji code
    (re.compile(r"[\x00-\x08\x0b-\x1f\x7f]"), " "),
    (re.compile(r"[ \t]{2,}"), " "),
)
_ABOUT_ME = re.compile(
    r"^(?:(?:hi|hey|hello)\W+)?(?:who|what) (?:are|can) you(?: do)?(?: here)?\W*$|^help(?: me)?\W*$"
    r"|^how (?:do|can) (?:i|we) use (?:you|this(?: bot)?)\W*$|^how are you\W*$",
    re.IGNORECASE,
)
_LEANS = re.compile(
    r"^(?:(?:ok|okay|hm+|ah|so|right|cool|thanks|thx|got it|good)[\s,.!]+)*"
    r"(?:and|or|but|also|then|plus|what about|how about|what if|what of|same|if|even|does that|"
    r"is that|are those|which one|why)\b",
    re.IGNORECASE,
)
_REFERS = re.compile(
    r"\b(?:it|its|it's|that|this|these|those|they|them|their|he|she|him|her|his|there|one|ones|same"
    r"|both|either|former|latter|above|instead|otherwise)\b",
    re.IGNORECASE,
)
_MAKES_SOMETHING = re.compile(
    r"^\W*(?:(?:hi|hey|hello|ok|okay|please|pls|now)\W+)*(?:(?:can|could|would|will) you )?"
    r"(?:please )?(?:(?:write|compose|sing|draw|draft|code|invent)(?: me| us) (?:a|an|some)\b"
    r"|(?:write|compose|sing|draw|tell|code|implement|generate|make up|create)(?: me| us)? "
    r"(?:(?:a|an|some|another)\b(?: \w+){0,2} )(?:poem|haiku|limerick|song|story|essay|joke|rap"
    r"|function|program|script|regex|class|code)s?\b|(?:translate|pretend|role-?play)\b)",
    re.IGNORECASE,
)
_ORDERS = re.compile(
    r"\b(?:ignore|disregard|forget|override|bypass)\b(?: \w+){0,2}"
    r" (?:previous|prior|earlier|preceding|your)(?: \w+){0,3}"
    r" (?:instructions?|rules|prompts?|guidelines|orders)\b"
    r"|\b(?:print|show|reveal|repeat|output|give|tell|what(?:'s| is| are))(?: \w+){0,3}?"
    r" (?:your|system|initial|hidden)(?: \w+)? (?:prompts?|instructions)\b"
    r"|\b(?:print|show|reveal|repeat|output)(?: \w+)? (?:your|the system) prompts?\b",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"(?<=[.!?\n])\s+")
_NEXT_QUESTION = re.compile(
    r"(?<=[?!])\s++(?=\S)|(?<=[.;])\s++(?=\S)|(?<!\s)\s++-{1,2}\s+"
    r"|(?:,|(?<!\s))\s++(?:and|&|also|plus|or)\s+(?=(?:also\s+|then\s+|if so\W+)?"
    r"(?:how|what|whats|who|whom|whose|when|where|which|why|can|may|must|do|does|did|is|are|should"
    r"|shall|will|would|could|has|have|from|until|by|after)\b)"
    r"|,\s++(?=(?:how|what|whats|who|whom|whose|when|where|which|why)\b)",
    re.IGNORECASE,
)


def cleaned(text: str) -> str:
    """The words of a Slack message: no mentions, emoji codes or control characters, bounded."""
    text = bounded(text)
    for pattern, replacement in _MARKUP:
        text = pattern.sub(replacement, text)
    return text.strip()


def small_talk_reply(text: str, title: str) -> str:
    """A short human reply when the message asks nothing of the documents; else ''."""
    about = f"I answer questions about *{title}* from your team's documents, with sources."
    if _ABOUT_ME.match(text.strip()):
        return f"{about} Ask me in your own words, and follow up in the thread."
    if not tokens(text):
        return "" if "?" in text else f"{about} What would you like to know?"
    if "?" not in text and is_greeting(text):
        return f"Hi! {about} What would you like to know?"
    thanked = is_courtesy(text) and not says_only_yes_or_no(text)
    return "You're welcome! Ask again any time." if thanked else ""


def plain_reply(text: str, title: str) -> str:
    """What to say, without a model, to a complaint, a doubt, an order to this program and a wish
    for something made up; '' for what may stand in the documents.

    Searched for, `no, that's wrong` finds passages about what is wrong."""
    if objects(text):
        return (
            "Sorry. Without a language model I only find passages that share words or sense with "
            "a question, and can be beside the point. Say in other words what you need, "
            "with the name of the system or document if you know it, or ask a human."
        )
    if doubts(text):
        return (
            "I can't tell: without a language model I quote the documents and don't judge what "
            "they say. Please check the passage that I linked, or ask a human."
        )
    if _is_an_order(text):
        return (
            f"I don't take orders like that. I answer questions about *{title}* from its documents."
        )
    if _MAKES_SOMETHING.match(text):
        return (
            f"I write nothing of my own: I find what the documents of *{title}* say. "
            "Ask me about something in them."
        )
    return ""


def leans_on(text: str, history: Sequence[Turn], earlier: Sequence[EarlierTurn] = ()) -> str:
    """The earlier user words that a follow-up needs to be understood; '' when it stands alone.

    Of the question asked last it is the self-contained form that a model gave it and the agents
    kept, unless somebody has said something since. Without it, at most the two last user turns:
    all turns put together find no more facts, on the demo (`benchmarks/each_agent.py`)."""
    asked = [cleaned(turn.content) for turn in history if turn.role == "user"]
    asked = [words for words in asked if naming_words(words)]
    if not _is_elliptical(text):
        return ""
    if earlier and (not asked or _says_more(earlier[-1], asked[-1])):
        return earlier[-1].question
    if not asked:
        return ""
    if len(asked) > 1 and _is_elliptical(asked[-1]):
        return f"{_open_ended(asked[-2])}, {asked[-1]}"
    return asked[-1]


def joined(previous: str, text: str) -> str:
    """A follow-up with the question it continues."""
    return f"{_open_ended(previous)}, {text}" if previous else text


def self_contained(question: Question) -> str:
    """Its words as they can be searched for, with those of the turn that they lean on."""
    text = cleaned(question.text)
    return joined(leans_on(text, question.history, question.earlier), text)


def questions_in(text: str) -> list[str]:
    """The questions of a message that asks several, each with words of its own; else []."""
    parts = [part.strip(" ,;") for part in _NEXT_QUESTION.split(text) if part]
    asking = [part for part in parts if naming_words(part) or "?" in part]
    return asking[:4] if len(asking) > 1 else []


def _is_an_order(text: str) -> bool:
    """It tells this program what to do, and asks nothing else."""
    sentences = _SENTENCE_END.split(text)
    others = [one for one in sentences if not _ORDERS.search(one)]
    return len(others) < len(sentences) and not any("?" in one for one in others)


def _is_elliptical(text: str) -> bool:
    named = len(naming_words(text))
    return named <= 3 or bool(_LEANS.match(text)) or (named <= 7 and bool(_REFERS.search(text)))


def _says_more(kept: EarlierTurn, asked: str) -> bool:
    """It is the turn asked last, in other words than `joined` puts it."""
    return cleaned(kept.asked) == asked and not kept.question.endswith(asked)


def _open_ended(text: str) -> str:
    return text.strip().rstrip("?!. ")
