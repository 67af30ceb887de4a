"""Evidence that the published documents hold no more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from config.domain_files import Problem, nearest
from enrichment.chunk import Chunk
from index.search import Snapshot
from jobs.golden.golden_file import PlacedQuestion
from jobs.golden.same_words import plain, says, words_of, words_of_all

_ALIKE = 0.5
"""From which likeness on a sentence may be what a quote has become."""


def stale(one: PlacedQuestion, snapshot: Snapshot) -> Iterator[Problem]:
    """A problem for each quote whose document is gone or doesn't say it any more, and for each
    fact that isn't said there."""
    for place, evidence in enumerate(one.question.evidence):
        if evidence.document not in snapshot.documents:
            hint = nearest(evidence.document, sorted(snapshot.documents))
            yield one.problem(
                f"no document {evidence.document!r} is published{hint}",
                *("evidence", place, "document"),
            )
            continue
        chunks = snapshot.chunks(evidence.document)
        if not holds(chunks, evidence.quote):
            said = f"{evidence.document} holds this quote no more"
            if now := _nearest_sentence(chunks, evidence.quote):
                said += f"; it says now: {now}"
            yield one.problem(said, "evidence", place, "quote")
    yield from _unsaid(one, snapshot)


def _unsaid(one: PlacedQuestion, snapshot: Snapshot) -> Iterator[Problem]:
    """Facts that an answer has to hold literally, and none of its documents does."""
    chunks = [chunk for name in sorted(one.question.documents) for chunk in snapshot.chunks(name)]
    texts = [f"{chunk.index_text}\n{chunk.text}" for chunk in chunks]
    for place, fact in enumerate(one.question.must_include if chunks else ()):
        if not any(says(text, fact) for text in texts):
            said = f"{fact!r} stands in none of its documents; put it into `rubric` if it is meant"
            yield one.problem(said, "must_include", place)


def holds(chunks: Sequence[Chunk], quote: str) -> bool:
    """Whether a document says it: in one chunk, or across the border of two."""
    wanted = plain(quote)
    return any(wanted in words_of(chunk) for chunk in chunks) or wanted in words_of_all(chunks)


def _nearest_sentence(chunks: Sequence[Chunk], quote: str) -> str:
    wanted = plain(quote)
    best, found = _ALIKE, ""
    for chunk in chunks:
        for unit in chunk.units:
            matcher = SequenceMatcher(None, wanted, plain(unit.text), autojunk=False)
            # The two cheap bounds first: most sentences aren't alike at all.
            if matcher.real_quick_ratio() > best and matcher.quick_ratio() > best:
                likeness = matcher.ratio()
                if likeness > best:
                    best, found = likeness, unit.text
    return " ".join(found.split())[:200]
