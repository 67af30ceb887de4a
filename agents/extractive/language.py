"""A question in a language that the embedder doesn't know, and what is said of it.

Vectors of such a question are noise: `all-MiniLM-L6-v2` put bank details first for a question in
French about holidays. Words and codes that it shares with the documents still find something.

A team's own words: what its domain's glossary says is the same, matched in both directions.

Questions about the past, which documents out of force may answer."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache

from config.domain import Domain
from config.domain_files import Problem, problem_at
from config.prompts import listed
from enrichment.language.foreign_words import FUNCTION_WORDS, telling
from enrichment.language.words import STOP_WORDS, naming_words, stem, stems, tokens
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
"""The first one that a word holds names its language: Japanese has Chinese characters too."""
_OF_SCRIPT = {language: re.compile(letters) for language, letters in _SCRIPTS.items()}
_COMBINED = re.compile(r"(?<=['’])|-")
_LETTERS = 3
"""Of another script: fewer are a unit or a sign (`µs`, `Δ`)."""
_UNSEEN = "qx" * 6
"""No document's word: as rare as a word can be."""
_TELLING = 2
"""Words by which a language is told; one alone may be a name."""
_SAID = {
    "French": "sans modèle de langage, je ne comprends que {known} ; je n'ai cherché que vos mots "
    "et codes tels quels.",
    "German": "Ohne Sprachmodell verstehe ich nur {known}; gesucht habe ich nur nach Ihren Wörtern "
    "und Codes, so wie sie dastehen.",
    "Spanish": "sin un modelo de lenguaje solo entiendo {known}; he buscado sus palabras y códigos "
    "tal como están escritos.",
    "Portuguese": "sem um modelo de linguagem só entendo {known}; procurei as suas palavras e "
    "códigos tal como estão escritos.",
    "Italian": "senza un modello linguistico capisco solo {known}; ho cercato le parole e i codici "
    "così come sono scritti.",
    "Dutch": "zonder taalmodel begrijp ik alleen {known}; ik heb alleen op uw woorden en codes "
    "gezocht, zoals ze er staan.",
    "Japanese": "言語モデルがないため、{known}しか理解できません。"
    "入力された単語とコードだけで検索しました。",
    "Chinese": "没有语言模型,我只懂{known};只按您输入的词语和代码进行了搜索。",
}
_ENGLISH_IN = {
    "French": "l'anglais",
    "German": "Englisch",
    "Spanish": "inglés",
    "Portuguese": "inglês",
    "Italian": "l'inglese",
    "Dutch": "Engels",
    "Japanese": "英語",
    "Chinese": "英语",
}


def foreign_language(question: str, snapshot: Snapshot) -> str:
    """English name of the question's language, if the embedder knows another one alone and the
    documents aren't written in it either; else ''.

    Words common in the documents are no foreign ones, whatever they look like."""
    if not snapshot.language:
        return ""
    written = tokens(question)
    language = _by_script(written, snapshot) or _by_function_words(written, snapshot)
    return "" if language == snapshot.language else language


def foreign_notice(language: str, snapshot: Snapshot) -> str:
    """One line, in English and, where there is a sentence for it, in the asker's language."""
    known = snapshot.language
    said = (
        f"This looks like {language}. Without a language model I only know {known}, so I searched "
        "for your words and codes as they are written."
    )
    theirs = _SAID.get(language, "").format(known=_ENGLISH_IN.get(language, known))
    return f"{said} {theirs[:1].upper()}{theirs[1:]}" if theirs and known == "English" else said


def _by_script(written: list[str], snapshot: Snapshot) -> str:
    """The script of its words other than Latin, where these aren't quoted in English."""
    letters = [one for token in written for one in token if one.isalpha()]
    others = [one for one in letters if "LATIN" not in unicodedata.name(one, "LATIN")]
    in_english = any(token.casefold() in STOP_WORDS for token in written)
    if len(others) < (max(_LETTERS, len(letters) / 3) if in_english else _LETTERS):
        return ""
    text = "".join(others)
    language = next((name for name, found in _OF_SCRIPT.items() if found.search(text)), "")
    words = naming_words(" ".join(token for token in written if not token.isascii())).values()
    unseen = snapshot.rarity(_UNSEEN)
    held = sum(snapshot.rarity(word) < unseen for word in words)
    return "" if 2 * held > len(words) else language


def _by_function_words(written: list[str], snapshot: Snapshot) -> str:
    """The language that explains most of the words, and more than English does.

    Two of its words tell it, or one beside others that English has too, in a text without any
    other English word."""
    words = [word for token in written for word in _forms(token)]
    best, most = "", 0
    for language, every in FUNCTION_WORDS.items():
        own = telling(language).intersection(words)
        spoken = sum(word in every for word in words)
        english = sum(word in STOP_WORDS and word not in every for word in words)
        told = len(own) >= _TELLING or (own and spoken >= _TELLING and not english)
        if told and spoken > max(most, english) and not _is_spoken_here(own, snapshot):
            best, most = language, spoken
    return best


def _forms(token: str) -> list[str]:
    """`l'accès` gives its article too; abbreviations in capitals are none of any language."""
    word = token.casefold().replace("’", "'")
    if len(token) > 1 and token.isupper():
        return []
    parts = _COMBINED.split(word)
    return [word] if len(parts) < 2 else [word, *parts]


def _is_spoken_here(words: frozenset[str], snapshot: Snapshot) -> bool:
    """Whether half of these are common in the documents: held by more chunks than the square root
    of their number."""
    unseen = snapshot.rarity(_UNSEEN)
    common = sum(snapshot.rarity(word) <= unseen / 2 for word in words)
    return 2 * common >= len(words)


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


_PAST = re.compile(
    r"\b(?:(?<!how )old|older (?:rule|version|policy|page)|previous|previously|former|formerly"
    r"|superseded|outdated|archived|earlier|used to|back in|back then|history"
    r"|no longer)\b",
    re.IGNORECASE,
)
_YEAR = re.compile(r"\b20\d\d\b")


def asks_about_the_past(question: str) -> bool:
    """Whether it names an earlier version or a year that is over; `how old` does not."""
    this_year = datetime.now(UTC).year
    over = any(int(year) < this_year for year in _YEAR.findall(question))
    return over or bool(_PAST.search(question))
