"""Key phrases by C-value: frequent word runs, longer ones preferred, fragments discounted.

Source: Frantzi, Ananiadou & Mima, Int. J. on Digital Libraries 3(2), 2000."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from enrichment.language.words import STOP_WORDS, prose_words, stems
from loaders.document import Document

_MAX_WORDS = 3
_BREAK = re.compile(r"[.,;:!?()\[\]{}|\"“”\n][^\w]*|\s[–—-]\s")
_MAX_CHARACTERS = 60_000
_VAGUE_LISTED = """
day days week weeks month months year years hour hours minute minutes second seconds thing
things way case cases number numbers example page section table row column cell new old first
last next time none n/a na
"""
_VAGUE = frozenset(_VAGUE_LISTED.split())


def document_keywords(document: Document, *, most: int = 12) -> tuple[str, ...]:
    """Best first. Words of the title and of headings count as if said three times more."""
    texts: list[str] = []
    characters = 0
    for block in document.blocks:
        texts += [block.text] * (3 if block.kind == "heading" else 1)
        characters += len(block.text)
        if block.table:
            rows = block.table.rows
            texts += [cell.text for row in rows for cell in dict.fromkeys(row)]
            characters += sum(len(cell.text) for row in rows for cell in row)
        if characters > _MAX_CHARACTERS:
            break
    return key_phrases([document.title, document.title, *texts], most=most)


def key_phrases(texts: Iterable[str], *, most: int = 12) -> tuple[str, ...]:
    counts: Counter[str] = Counter()
    spellings: dict[str, Counter[str]] = defaultdict(Counter)
    for text in texts:
        for phrase in _candidates(text):
            counts[phrase.lower()] += 1
            spellings[phrase.lower()][phrase] += 1
    inside: dict[str, list[int]] = defaultdict(list)
    for phrase, count in counts.items():
        for part in _parts(phrase):
            if part in counts:
                inside[part].append(count)
    scores = {
        phrase: _c_value(phrase, count, inside.get(phrase, ()))
        for phrase, count in counts.items()
        if count > 1
    }
    ranked = sorted(scores, key=lambda phrase: (-scores[phrase], phrase))
    return tuple(spellings[phrase].most_common(1)[0][0] for phrase in _spread(ranked, most))


def _candidates(text: str) -> Iterator[str]:
    for span in _BREAK.split(text):
        run: list[str] = []
        for word in [*prose_words(span), ""]:
            if word.lower() not in STOP_WORDS and (len(word) > 2 or word.isupper()):
                run.append(word)
                continue
            for size in range(1, _MAX_WORDS + 1):
                for start in range(len(run) - size + 1):
                    phrase = run[start : start + size]
                    if phrase[-1].lower() not in _VAGUE and phrase[0].lower() not in _VAGUE:
                        yield " ".join(phrase)
            run = []


def _parts(phrase: str) -> set[str]:
    split = phrase.split()
    return {
        " ".join(split[start : start + size])
        for size in range(1, len(split))
        for start in range(len(split) - size + 1)
    }


def _c_value(phrase: str, count: int, longer: Iterable[int]) -> float:
    hosts = list(longer)
    independent = count - sum(hosts) / len(hosts) if hosts else count
    return math.log2(1 + len(phrase.split())) * independent


def _spread(ranked: Iterable[str], most: int) -> list[str]:
    """Skip what only repeats the words of a phrase already taken."""
    result: list[str] = []
    stem_sets: list[set[str]] = []
    for phrase in ranked:
        phrase_stems = set(stems(phrase))
        if phrase_stems and not any(phrase_stems <= other for other in stem_sets):
            result.append(phrase)
            stem_sets.append(phrase_stems)
        if len(result) == most:
            break
    return result
