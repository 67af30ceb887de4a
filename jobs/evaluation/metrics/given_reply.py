"""What came of asking one golden question once."""

from __future__ import annotations

from dataclasses import dataclass, replace

from agents.answer import Answer
from jobs.evaluation.report import ReportPassage
from jobs.golden.golden_questions import GoldenQuestion
from jobs.golden.same_words import plain, words_of

RANKED = 50
"""Of what was retrieved, so many chunks are kept for the metrics of retrieval."""


@dataclass(frozen=True, kw_only=True)
class Retrieved:
    """A chunk that retrieval returned, before the context was cut."""

    chunk: str
    """Its id."""
    document: str
    heading: str
    """The nearest one above it; empty where there is none."""
    evidence: tuple[int, ...] = ()
    """Which of the question's evidence quotes it holds, by their places from 0."""


@dataclass(frozen=True, kw_only=True)
class GivenReply:
    """An answer as it was given, with what the metrics need beside it."""

    question: GoldenQuestion
    repeat: int
    """From 1."""
    answer: Answer
    """Without its trace."""
    retrieved: tuple[Retrieved, ...] = ()
    """Best first, at most `RANKED`."""
    first_token_ms: float | None = None
    """None where the answer came whole."""
    total_ms: float = 0.0
    kept: bool = False
    """Given in an earlier run of the same version, and not asked again."""

    @property
    def passages(self) -> list[ReportPassage]:
        """What the answerer saw, in order."""
        return [
            ReportPassage(
                document=chunk.document_id,
                title=chunk.document_title,
                heading=chunk.heading or chunk.document_title,
                text=chunk.text,
            )
            for chunk in self.answer.context
        ]


def given_reply(
    question: GoldenQuestion,
    answer: Answer,
    *,
    repeat: int = 1,
    first_token_ms: float | None = None,
    total_ms: float = 0.0,
) -> GivenReply:
    """From an answer that still has its trace."""
    return GivenReply(
        question=question,
        repeat=repeat,
        answer=replace(answer, trace=None),
        retrieved=_retrieved(question, answer),
        first_token_ms=first_token_ms,
        total_ms=total_ms,
    )


def _retrieved(question: GoldenQuestion, answer: Answer) -> tuple[Retrieved, ...]:
    hits = answer.trace.hits if answer.trace else ()
    # What tells no ranking read it in its order.
    chunks = [hit.chunk for hit in hits] or list(answer.context)
    quotes = [(one.document, plain(one.quote)) for one in question.evidence]
    found: list[Retrieved] = []
    for chunk in chunks[:RANKED]:
        held = words_of(chunk)
        found.append(
            Retrieved(
                chunk=chunk.id,
                document=chunk.document_id,
                heading=chunk.heading,
                evidence=tuple(
                    place
                    for place, (document, quote) in enumerate(quotes)
                    if document == chunk.document_id and quote in held
                ),
            )
        )
    return tuple(found)
