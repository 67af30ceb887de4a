"""Key sentences: what a document is about, in its own words."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from enrichment.language.sentences import sentences
from enrichment.language.words import prose_words, stems
from loaders.document import Document

_MOST_SENTENCES_READ = 400
_WORDS = range(5, 60)
_ENDS = re.compile(r"""[.!。！]["'”’)\]]*$""")
_POINTS_BACK = re.compile(r"(?:it|its|they|their|that|these|those|he|she|both|so|then)\b", re.I)


def summarise(document: Document, *, most: int = 3, characters: int = 480) -> str:
    """Up to `most` sentences in reading order.

    Score: how much of the document's vocabulary a sentence holds, per root of its length, with
    the opening favoured: authors say there what a document is for. Documents without sentences
    are summarised by their headings."""
    candidates = list(_candidates(document))[:_MOST_SENTENCES_READ]
    if not candidates:
        return _by_headings(document)
    weights = _weights(candidates)
    title = set(stems(document.title))
    scored = sorted(
        range(len(candidates)),
        key=lambda index: -_score(candidates[index], index, weights, title),
    )
    chosen: list[int] = []
    for index in scored:
        if _adds(candidates, chosen, index, characters):
            chosen.append(index)
        if len(chosen) == most:
            break
    return " ".join(candidates[index] for index in sorted(chosen)) or candidates[0][:characters]


def _candidates(document: Document) -> Iterator[str]:
    for block in document.blocks:
        if block.kind != "paragraph":  # a quote is somebody else speaking
            continue
        for sentence in sentences(block.text):
            if len(prose_words(sentence)) in _WORDS and _ENDS.search(sentence):
                yield sentence


def _weights(candidates: Sequence[str]) -> dict[str, float]:
    counts = Counter(stem for sentence in candidates for stem in set(stems(sentence)))
    return {stem: math.log1p(count) for stem, count in counts.items() if count > 1}


def _score(sentence: str, index: int, weights: dict[str, float], title: set[str]) -> float:
    said = set(stems(sentence))
    central = sum(weights.get(stem, 0.0) for stem in said) / math.sqrt(len(said) + 4)
    opening = 1.0 + 1.0 / (1 + index)
    on_title = 1.0 + 0.3 * len(said & title) / max(1, len(title))
    hanging = 0.5 if index and _POINTS_BACK.match(sentence) else 1.0
    return central * opening * on_title * hanging


def _adds(candidates: Sequence[str], chosen: Sequence[int], index: int, characters: int) -> bool:
    length = sum(len(candidates[each]) + 1 for each in (*chosen, index))
    said = set(stems(candidates[index]))
    repeats = any(
        len(said & set(stems(candidates[each]))) > 0.6 * max(1, len(said)) for each in chosen
    )
    return length <= characters and not repeats


def _by_headings(document: Document) -> str:
    headings = [block.text for block in document.blocks if block.kind == "heading"]
    names = [name for name in dict.fromkeys(headings) if name != document.title][:8]
    return f"{document.title}: {', '.join(names)}." if names else document.title
