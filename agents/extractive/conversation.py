"""Classifies a message in its thread without a model: small talk, follow-up, several questions."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agents.answer import EarlierTurn, Question, Turn, shorten
from agents.own_knowledge import own_question
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


def clean_message(text: str) -> str:
    """The text of a Slack message without mentions, emoji codes and control characters, bounded."""
    text = shorten(text)
    for pattern, replacement in _MARKUP:
        text = pattern.sub(replacement, text)
    return text.strip()


def about_me(title: str) -> str:
    return f"I answer questions about *{title}* from your team's documents, with sources."


def small_talk_reply(text: str, title: str) -> str:
    """A short reply to a message that asks nothing about the documents; else ''."""
    about = about_me(title)
    if (own := own_question(text)) and own.kind == "abilities":
        return f"{about} Ask me in your own words, and follow up in the thread."
    if not tokens(text):
        return "" if "?" in text else f"{about} What would you like to know?"
    if "?" not in text and is_greeting(text):
        return f"Hi! {about} What would you like to know?"
    thanked = is_courtesy(text) and not says_only_yes_or_no(text)
    return "You're welcome! Ask again any time." if thanked else ""


def plain_reply(text: str, title: str) -> str:
    """The reply, without a model, to a complaint, a doubt, an order to this program, or a wish to
    invent something; '' for a question that documents may answer.

    A search for `no, that's wrong` would find passages about wrong things."""
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
    """The earlier user words that a follow-up depends on; '' when it is complete alone.

    Prefers the stored self-contained form of the last question, unless a user has written since.
    Else at most the last two user turns: joining all turns finds no more facts on the demo
    (`benchmarks/each_agent.py`)."""
    user_turns = [clean_message(turn.content) for turn in history if turn.role == "user"]
    user_turns = [words for words in user_turns if naming_words(words)]
    if not _is_elliptical(text):
        return ""
    if earlier and (not user_turns or _says_more(earlier[-1], user_turns[-1])):
        return earlier[-1].question
    if not user_turns:
        return ""
    if len(user_turns) > 1 and _is_elliptical(user_turns[-1]):
        return f"{_open_ended(user_turns[-2])}, {user_turns[-1]}"
    return user_turns[-1]


def join_follow_up(previous: str, text: str) -> str:
    """A follow-up with the question it continues."""
    return f"{_open_ended(previous)}, {text}" if previous else text


def self_contained(question: Question) -> str:
    """The question as search text, with the earlier turn that it depends on."""
    text = clean_message(question.text)
    return join_follow_up(leans_on(text, question.history, question.earlier), text)


def questions_in(text: str) -> list[str]:
    """The questions of a message with several, each with naming words of its own; else []."""
    parts = [part.strip(" ,;") for part in _NEXT_QUESTION.split(text) if part]
    asking = [part for part in parts if naming_words(part) or "?" in part]
    return asking[:4] if len(asking) > 1 else []


def _is_an_order(text: str) -> bool:
    """Whether it gives this program orders and asks nothing else."""
    sentences = _SENTENCE_END.split(text)
    other_sentences = [one for one in sentences if not _ORDERS.search(one)]
    return len(other_sentences) < len(sentences) and not any("?" in one for one in other_sentences)


def _is_elliptical(text: str) -> bool:
    count = len(naming_words(text))
    return count <= 3 or bool(_LEANS.match(text)) or (count <= 7 and bool(_REFERS.search(text)))


def _says_more(earlier: EarlierTurn, last_words: str) -> bool:
    """Whether it is the last turn, in a form that adds more than `join_follow_up` does."""
    return clean_message(earlier.asked) == last_words and not earlier.question.endswith(last_words)


def _open_ended(text: str) -> str:
    return text.strip().rstrip("?!. ")
