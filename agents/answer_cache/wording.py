"""Parses a question: kind of answer, modality, negation, tense, words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from agents.answer_cache.english import (
    CONDITION_FIRST,
    CONTRACTIONS,
    FRAMES,
    KINDS,
    MODALITIES,
    PHRASES,
    is_plural,
    lemmas,
)
from enrichment.language.words import STOP_WORDS, is_code, tokens

_GLUE_LISTED = """
    a an the some is are be been being am do does have has i we me us my our mine ours myself
    ourselves you your this that these those it its there here of for in on at to with about
    regarding concerning as and please kindly just actually exactly really simply so then would
    possibly properly correctly how what which who where why whether"""
_GLUE = frozenset(_GLUE_LISTED.split())
"""Words without which a question asks the same. `Any`, `all`, `only`, `from`, `off` are none."""
_LOOSE = frozenset(("of", "for", "in", "on", "at", "to", "with", "about", "regarding", "as"))
"""Prepositions that may replace each other: the visa of, for or to a country."""
_STRICT_LISTED = """
    from into onto before after until till by since within during between without against via
    through than per above below over under behind outside inside near across among beyond
    except despite toward towards instead if unless because while"""
_STRICT = frozenset(_STRICT_LISTED.split())
"""Prepositions and conjunctions that mean something by themselves, and with the word after them."""
_ASKING = re.compile(r"\bkind-\w+|\bhow (?:long|often|many|much)\b|^(?:when|if|whether)\b")
_AT_A_TIME = re.compile(r"\bwhen\b")
_BE = frozenset(("is", "are", "was", "were", "be", "been", "being"))
_ONE_OF_MANY = frozenset(("a", "an", "another"))
_PAST = frozenset(("was", "were", "did", "had", "used"))
_NOT = frozenset(("not", "never", "no", "nobody", "none", "nor"))
_COUNTED = _PAST | _NOT | {"will"}
"""Covered by tense and negation."""
_TO_TWELVE = "zero one two three four five six seven eight nine ten eleven twelve"
_TENS = {"fifteen": "15", "twenty": "20", "thirty": "30", "sixty": "60", "ninety": "90"}
_NUMBERS = {word: str(number) for number, word in enumerate(_TO_TWELVE.split())} | _TENS
_SIGNS = {"$": " dollar ", "€": " euro ", "£": " pound ", "%": " percent ", "<": " less than ",
          ">": " more than ", "≤": " at most ", "≥": " at least ", "+": " plus "}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Word:
    """A word that names, counts or limits something."""

    text: str
    """In lower case."""
    forms: frozenset[str]
    is_name: bool
    """Written as a name or a code: compared as it is, plural and all."""
    plural: bool
    one_of_many: bool
    """After `a`."""
    after: str
    """The preposition that governs it."""
    next_to_name: bool
    """Before or after a name: services in `Atlas services`."""
    passive: bool
    """`changed`, in what has to be changed."""


@dataclass(frozen=True, kw_only=True)
class Wording:
    """The parts in which two questions must agree."""

    kinds: frozenset[str]
    modality: tuple[frozenset[str], ...]
    """Each with all its readings."""
    negations: int
    tense: str
    addressed: bool
    """Asks what `you` do, can or have."""
    words: tuple[Word, ...]


@lru_cache(maxsize=20_000)
def _normalize(text: str) -> str:
    text = unicodedata.normalize("NFKC", text).replace("’", "'").replace("`", " ")
    for sign, word in _SIGNS.items():
        if sign != "+" or " + " in text:
            text = text.replace(sign, word)
    return " ".join(text.split())


def wording(text: str, glossary: Mapping[str, list[str]]) -> Wording:
    """Short forms with one meaning are written out as the glossary does."""
    plain = _normalize(text)
    for short, meanings in glossary.items():
        if len(meanings) == 1:
            flags = 0 if short.lower() in STOP_WORDS else re.IGNORECASE
            plain = re.sub(
                rf"(?<![\w-]){re.escape(short)}(?![\w-])", lambda _, m=meanings[0]: m, plain,
                flags=flags,
            )  # fmt: skip
    names = _names(plain)
    text_lower = _rewrite(plain.lower())
    kinds = frozenset(kind for kind, pattern in KINDS if re.search(pattern, text_lower))
    if len(kinds) > 1:
        kinds -= {"whether"}  # `if I lose it, whom do I call`
    modality, rest = _modality(text_lower, kinds)
    rest = _ASKING.sub(" ", rest)
    if "when" not in kinds:
        rest = _AT_A_TIME.sub("if", rest)
    words = [token for token in tokens(rest) if token]
    negations = sum(token in _NOT for token in words)
    tense = "past" if _PAST & set(words) else "future" if "will" in words else "present"
    return Wording(
        kinds=kinds or frozenset({"statement"}),
        modality=modality,
        negations=negations,
        tense=tense,
        addressed=bool(re.search(r"\b(?:do|can|could|will|may|must|should|are) you\b", text_lower))
        and "how" not in kinds,
        words=_words(words, names),
    )


def _rewrite(text: str) -> str:
    for pattern, plain in CONTRACTIONS:
        text = pattern.sub(plain, text)
    before = ""
    while before != text:
        before = text
        for frame in FRAMES:
            text = frame.sub("", text, count=1).strip(" ,.:;!-")
    text = CONDITION_FIRST.sub(r"\2 \1", text.rstrip("?!. "))
    for pattern, plain in PHRASES:
        text = pattern.sub(plain, text)
    return text


def _modality(text: str, kinds: frozenset[str]) -> tuple[tuple[frozenset[str], ...], str]:
    modality: list[frozenset[str]] = []
    for pattern, readings in MODALITIES:
        text, count = pattern.subn(" ", text)
        modality += [readings] * count
    # `How can I` and `where can I` ask for the way, not for permission.
    if kinds & {"how", "where", "contact"}:
        modality = [readings for readings in modality if "ability" not in readings]
    if "contact" in kinds:
        modality = [readings for readings in modality if "advice" not in readings]
    return tuple(modality), text


def _names(text: str) -> frozenset[str]:
    """Tokens written as names or codes, in lower case. Capitals at the start of a sentence and in a
    text of capitals don't count."""
    words = tokens(text)
    titled = sum(token[0].isupper() for token in words) > max(3, 0.6 * len(words))
    openers = {match[1] for match in re.finditer(r"(?:^|[.!?:]\s+)([^\W_]+)", text)}
    shouted = all(token.isupper() for token in words)
    return frozenset(
        _bare(token)
        for token in words
        if any(map(str.isdigit, token))
        or (token.isupper() and len(token) > 1 and not shouted)  # `US` is not `us`
        or (is_code(token) and not token.islower() and not shouted)
        or (
            token[0].isupper()
            and not titled
            and token.partition("'")[0] not in openers  # `What's`
            and token not in ("I", "I'm", "I'd")
        )
    )


def _bare(token: str) -> str:
    return re.sub(r"'s?$", "", token.lower())


def _words(words: list[str], names: frozenset[str]) -> tuple[Word, ...]:
    result: list[Word] = []
    after, article, since_be = "", "", 9
    for token in words:
        since_be = 0 if token in _BE else since_be + 1
        if token in _LOOSE:
            after = token
        if (token in _GLUE or token in _COUNTED) and token not in names:
            article = token
            continue
        word = _NUMBERS.get(_bare(token), _bare(token))
        name = word in names
        spelled = word if name else word.replace("-", "")
        forms = frozenset({spelled}) if name else lemmas(spelled)
        result.append(
            Word(
                text=spelled,
                forms=forms,
                is_name=name,
                plural=is_plural(spelled),
                one_of_many=article in _ONE_OF_MANY,
                after=after,
                next_to_name=False,
                passive=since_be <= 4 and _is_participle(spelled, forms),
            )
        )
        after = spelled if spelled in _STRICT else ""
        article = "" if spelled not in _ONE_OF_MANY else article
    return tuple(
        replace(word, next_to_name=any(one.is_name for one in result[max(0, i - 1) : i + 2]))
        for i, word in enumerate(result)
    )


def _is_participle(word: str, forms: frozenset[str]) -> bool:
    return word.endswith("ed") or (len(forms) > 1 and not is_plural(word) and word[-3:] != "ing")
