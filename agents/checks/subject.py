"""Whether an answer is about what was asked: the subject, the region, the role, the environment.

What an answer says stands in a row and a column of a table, see `cells`, or in a section of a
document. Such a place is the wrong one when a sibling of it has all words of the question that it
has, and further ones: `Restricted` where `Confidential` was cited."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from agents.answer import CITATION
from agents.checks.cells import misplaced, terms_of
from agents.checks.claims import Claim, claims_of, numbers_in
from agents.checks.statements import asker_terms, tables_of, with_synonyms
from agents.context.sources import Source
from agents.extractive.language import same_words
from agents.extractive.relevance import Aspect
from enrichment.language.words import naming_words, stems, tokens

_FAR_MORE = 3
"""Words of the question."""
_ALIKE = 0.5
"""Share of common words from which on two texts are editions of one."""
_TURNING = frozenset(
    {"without", "not", "non", "no", "before", "after", "above", "below", "under", "over"}
)
"""Function words by which two names may differ."""


class Terms(Aspect):
    """The naming words of a question, each of the same weight."""

    @classmethod
    def of(cls, question: str, glossary: Mapping[str, Sequence[str]]) -> Terms:
        weights = dict.fromkeys(_words(question), 1.0)
        return cls(text=question, weights=weights, same=same_words(glossary, question))


def subject_fault(
    text: str,
    sources: Sequence[Source],
    *,
    question: str,
    glossary: Mapping[str, Sequence[str]] = MappingProxyType({}),
    read: Sequence[Source] = (),
) -> str:
    """What was asked, and what the answer is about instead; '' when no place contradicts it.

    `[n]` is `sources[n - 1]`. `read`: all sources that the answer could have been drawn from."""
    query = Terms.of(question, glossary)
    whole = Claim(text=CITATION.sub("", text), numbers=numbers_in(text))
    claims = [one for one in claims_of(text) or (whole,) if one.kind == "statement"]
    cited = [[sources[n - 1] for n in claim.numbers if 1 <= n <= len(sources)] for claim in claims]
    words = with_synonyms(terms_of(question), asker_terms(question, glossary).same)
    faults = [
        misplaced(claim.text, words, tables_of(its), by_question=True)
        for claim, its in zip(claims, cited, strict=True)
    ]
    if (fault := faults[0] if faults else None) and all(faults):
        return f"{fault.there!r}, not {fault.here!r}"
    used = list(dict.fromkeys(source for its in cited for source in its))
    return _source_fault(text, used, query, read) if used else ""


def _source_fault(text: str, used: Sequence[Source], query: Terms, read: Sequence[Source]) -> str:
    """Another source has all words of the question that the cited ones and the answer have, and
    further ones, also in its title and headings; or far more of them, and most of the question's.

    Of another document it must have few further ones, or most of the question's, or read nearly the
    same: documents about other things share single words with a question in words of its own."""
    here = query.named_in(stems(" ".join((text, *map(_whole, used)))))
    place = query.named_in(stems(" ".join(one.place for one in used)))
    documents = {one.first.document_id for one in used}
    sections = {one.first.section for one in used}
    for source in read:
        named = query.named_in(stems(source.place))
        if source.first.section in sections or named <= here:
            continue
        there = query.named_in(stems(_whole(source)))
        has_most = 2 * len(there) >= len(query.weights)
        is_near = has_most or 2 * len(there - here) <= len(here)
        is_sibling = is_near or source.first.document_id in documents
        if (has_most and len(there) >= len(here) + _FAR_MORE) or (
            place < named
            and here <= there
            and (is_sibling or any(_likeness(source, one) >= _ALIKE for one in used))
        ):
            return f"{source.place!r}, not {used[0].place!r}"
    return ""


def _likeness(one: Source, other: Source) -> float:
    """Share of the words of both texts that both have, 0–1."""
    first, second = stems(one.text), stems(other.text)
    return len(first & second) / max(1, len(first | second))


def _whole(source: Source) -> str:
    return f"{source.place} {source.text}"


def _words(text: str) -> frozenset[str]:
    turning = {token.casefold() for token in tokens(text)} & _TURNING
    return frozenset(naming_words(text)) | turning
