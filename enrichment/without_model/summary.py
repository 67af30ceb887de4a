"""What a document says of itself, or nothing."""

from __future__ import annotations

import re
from itertools import islice

from enrichment.language.sentences import sentences
from enrichment.language.words import prose_words, stems
from loaders.document import Document

_MOST_SENTENCES_READ = 400
_OPENING_SENTENCES = 3
_SUBJECT_WORDS = 6
_WORDS = range(6, 45)
_ENDS = re.compile(r"""[.!。！]["'”’)\]]*$""")
_OF_ITSELF = re.compile(
    r"this (?:\w+ )?(?:page|document|section|guide|handbook|plan|policy|standard|process|procedure|"
    r"runbook|playbook|register|schedule|calendar|catalogue|index|overview|edition)\b",
    re.I,
)
_HANGS_ON_WHAT_IS_BEFORE = re.compile(
    r"(?:it|its|they|their|them|this|that|these|those|he|she|his|her|both|so|then|such|also|another|"
    r"others?|however|therefore|instead|otherwise|likewise|first|second|third|next|finally|"
    r"for example|in addition|in other words|as (?:a result|such|well)|"
    r"the (?:same|latter|former|above|following|two|three|four|rest|others?))\b",
    re.I,
)
_REFERS_ELSEWHERE = re.compile(
    r"\b(?:section|table|figure|appendix|chapter|step|paragraph)s? [\dA-Z]"
    r"|\b(?:above|below|following)\b|^(?:see|note|visit|refer|click|go to|optional)\b|:\s*$",
    re.I,
)
_DETAIL = re.compile(r"(?:if|when|where|while|although|even|once|depending|as)\b", re.I)
_PAIRS = (("(", ")"), ("[", "]"), ("“", "”"))


def summarise(document: Document, *, most: int = 2, characters: int = 300) -> str:
    """Up to `most` whole sentences in reading order, or ''.

    Only those that say what the document is for: `This page sets …`, or, at its beginning, what
    its title names. Any other sentence is one detail of many and says less than the headings."""
    title = frozenset(stems(document.title))
    candidates = _candidates(document, title)
    of_itself = [each for each in candidates if _OF_ITSELF.match(each) and " not " not in each]
    of_subject = [
        each
        for each in candidates[:_OPENING_SENTENCES]
        if stems(" ".join(each.split()[:_SUBJECT_WORDS])) & title and not _DETAIL.match(each)
    ]
    chosen: list[str] = []
    for sentence in dict.fromkeys((*of_itself, *of_subject)):
        if len(chosen) < most and sum(map(len, chosen)) + len(sentence) < characters:
            chosen.append(sentence)
    return " ".join(sorted(chosen, key=candidates.index))


def _candidates(document: Document, title: frozenset[str]) -> list[str]:
    paragraphs = (block.text for block in document.blocks if block.kind == "paragraph")
    # A quote is somebody else speaking.
    said = (sentence for text in paragraphs for sentence in sentences(text))
    return [
        sentence
        for sentence in islice(said, _MOST_SENTENCES_READ)
        if _stands_alone(sentence) and not stems(sentence) <= title
    ]


def _stands_alone(sentence: str) -> bool:
    """Whole, and understood without what is around it."""
    return (
        len(prose_words(sentence)) in _WORDS
        and _ENDS.search(sentence) is not None
        and not sentence[0].islower()
        and all(sentence.count(opens) == sentence.count(closes) for opens, closes in _PAIRS)
        and sentence.count('"') % 2 == 0
        and (_OF_ITSELF.match(sentence) or not _HANGS_ON_WHAT_IS_BEFORE.match(sentence))
        and not _REFERS_ELSEWHERE.search(sentence)
    )
