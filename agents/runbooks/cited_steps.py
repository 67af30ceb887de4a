"""Finds the steps for an answer: of a section that it cites, or of the runbook that a cited table
row links to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from agents.answer import Answer, Citation
from agents.runbooks.step import StepSection
from agents.runbooks.step_lists import joined_text, sections_of, steps_in
from enrichment.chunk import Chunk
from enrichment.language.words import stems
from index.search import Snapshot
from loaders.text.plain import markdown_parser, plain_text

ResolveUrl = Callable[[str], tuple[str, str] | None]
"""URL → (document id, heading; '' for the whole document) in this domain; None outside it."""
_QUOTED_SHARE = 0.8
"""Minimum share of a quote's words that its row holds: quotes write rows as `header: cell`."""


def cited_steps(answer: Answer, snapshot: Snapshot, resolve: ResolveUrl) -> StepSection | None:
    """Steps of the first citation that has some; a cited section comes before a linked runbook."""
    citations = [one for one in answer.citations if one.document and not one.from_picture]
    for citation in citations:
        if section := _at_citation(citation, snapshot):
            return section
    about = " ".join((answer.standalone_question, *(one.quote for one in citations)))
    for citation in citations:
        if section := _from_table_row(citation, snapshot, resolve, about):
            return section
    return None


def section_steps(
    snapshot: Snapshot, document: str, heading_path: Sequence[str], tab: str = ""
) -> StepSection | None:
    """The current steps of the section with exactly this heading path."""
    for section in sections_of(snapshot.chunks(document)):
        if section[0].heading_path == tuple(heading_path) and section[0].tab == tab:
            return _with_steps(section)
    return None


def _at_citation(citation: Citation, snapshot: Snapshot) -> StepSection | None:
    for section in sections_of(snapshot.chunks(citation.document)):
        by_id = citation.chunk_id and any(chunk.id == citation.chunk_id for chunk in section)
        here = citation.heading and section[0].heading == citation.heading
        same_url = section[0].url == citation.url or not citation.url
        if (by_id or (here and same_url)) and (steps := _with_steps(section)):
            return steps
    return None


def _from_table_row(
    citation: Citation, snapshot: Snapshot, resolve: ResolveUrl, about: str
) -> StepSection | None:
    quote_words = stems(citation.quote)
    for chunk in snapshot.chunks(citation.document):
        is_cited = chunk.id == citation.chunk_id or (
            not citation.chunk_id and chunk.heading == citation.heading
        )
        if not is_cited or not chunk.table:
            continue
        places = list(
            dict.fromkeys(
                place
                for words, urls in _rows(chunk)
                if quote_words and len(quote_words & words) >= _QUOTED_SHARE * len(quote_words)
                for url in urls
                if (place := resolve(url))
            )
        )
        if len(places) == 1 and places[0][0] != citation.document:
            return _of_document(snapshot, *places[0], about)
    return None


def _of_document(snapshot: Snapshot, document: str, heading: str, about: str) -> StepSection | None:
    """The section whose heading shares most words with the question; the first among equals."""
    sections = [
        steps
        for section in sections_of(snapshot.chunks(document))
        if (not heading or section[0].heading == heading) and (steps := _with_steps(section))
    ]
    words = stems(about)
    return max(sections, key=lambda one: len(words & stems(one.heading)), default=None)


def _with_steps(section: Sequence[Chunk]) -> StepSection | None:
    steps = steps_in(joined_text(section))
    first = section[0]
    if not steps:
        return None
    return StepSection(
        document=first.document_id,
        title=first.document_title,
        heading=first.heading,
        heading_path=first.heading_path,
        tab=first.tab,
        url=first.url,
        steps=steps,
    )


def _rows(chunk: Chunk) -> Iterator[tuple[frozenset[str], list[str]]]:
    """(word stems, link URLs) of each row of a table."""
    header = frozenset(stems(" ".join(chunk.table.header))) if chunk.table else frozenset()
    words: set[str] = set()
    urls: list[str] = []
    for token in markdown_parser().parse(chunk.text):
        if token.type == "tr_open":
            words, urls = set(header), []
        elif token.type == "inline":
            words |= set(stems(plain_text(token.content)))
            links = (one for one in token.children or () if one.type == "link_open")
            urls += [str(one.attrs.get("href", "")) for one in links]
        elif token.type == "tr_close":
            yield frozenset(words), urls
