"""Whether a question, asked again, is answered from the document that it waited for. Pure.

In doubt it is not: a gap that is closed too early is one that nobody mends."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Literal

from agents.answer import Answer, Passage
from agents.checks.groundedness import FINE, groundedness
from agents.context.sources import Source
from enrichment.chunk import Chunk
from enrichment.chunking.chunker import split
from enrichment.language.words import naming_words, stems
from loaders.files.markdown import parse_markdown

MOST_WORDS = 0.8
"""Of the words that name something."""
ANSWERER = "answer"
"""The agent that writes the answer, among those that may have been degraded."""
Outcome = Literal["answered", "unanswered", "unknown"]
"""`unknown`: a model was away, so nothing can be told."""


def outcome_of(
    answer: Answer,
    *,
    documents: Collection[str],
    words: str,
    proven_by: Sequence[Passage] | None = None,
) -> Outcome:
    """`documents`: one of them has to say it; none: any. `words`: what was accepted, or what a
    human said; without a model, the passages shown have to hold them. `proven_by`: of a question
    that was answered already, and in vain: then it takes more than another answer, and the sections
    that it cites have to hold the words."""
    if ANSWERER in answer.degraded:
        return "unknown"  # what its stand-in says is no sign of what it would have said
    if _is_answered(answer, documents, words, proven_by):
        return "answered"
    return "unknown" if answer.degraded else "unanswered"


def cited_sections(answer: Answer, chunks_of: Callable[[str], Sequence[Chunk]]) -> list[Passage]:
    """What stands in the places that an answer cites. `chunks_of`: by document."""
    found = []
    for one in answer.citations:
        chunks = chunks_of(one.document) if one.document else ()
        meant = [chunk for chunk in chunks if chunk.id == one.chunk_id] or [
            chunk for chunk in chunks if chunk.heading == one.heading
        ]
        if meant:
            text = "\n\n".join(chunk.text for chunk in meant)
            found.append(Passage(citation=one, text=text))
    return found


def _is_answered(
    answer: Answer,
    documents: Collection[str],
    words: str,
    proven_by: Sequence[Passage] | None,
) -> bool:
    if answer.path == "company_specific_rag_success" and proven_by is None:
        cited = {one.document for one in answer.citations if one.document}
        return bool(cited) and (not documents or bool(cited & set(documents)))
    if answer.path not in ("company_specific_rag_success", "passages_found"):
        return False
    shown = [
        one
        for one in (proven_by or answer.passages)
        if one.citation.document and (not documents or one.citation.document in documents)
    ]
    return bool(words.strip() and shown) and hold(words, shown)


def hold(words: str, passages: Sequence[Passage]) -> bool:
    """Whether the passages, as they are shown, say what these words say: hardly a word that names
    something is missing, and no figure; and the check of answers, which knows what was asked and
    so lets a subject pass, finds no fault either."""
    wanted = naming_words(words).keys()
    shown = stems(" ".join(f"{one.citation.heading} {one.text}" for one in passages))
    if not wanted or len(wanted & shown) < MOST_WORDS * len(wanted):
        return False
    sources = [_source(one) for one in passages]
    numbers = "".join(f"[{number}]" for number in range(1, len(sources) + 1))
    lines = (line.strip() for line in words.splitlines())
    cited = "\n\n".join(f"{line} {numbers}" for line in lines if line)
    checked = groundedness(cited, sources)
    return bool(checked.claims) and checked.score >= FINE


def _source(passage: Passage) -> Source:
    """What a reader sees of it, and no more of the section than that."""
    text = passage.text.replace("**", "")
    shown = parse_markdown(f"# {passage.citation.title}\n\n{text}\n", url=passage.citation.url)
    chunks = split(shown, count_tokens=lambda said: len(said.split()))
    return Source(chunks=tuple(chunks), text=text)
