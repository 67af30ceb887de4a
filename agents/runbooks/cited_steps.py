"""Finds the steps for an answer: of a section that it cites, or of the runbook that a cited table
row links to.

Chunks repeat headers and lead-ins so that each can be read alone; the text of a section has them
once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby, pairwise

from agents.answer import Answer, Citation
from agents.runbooks.entries import link_targets
from agents.runbooks.step import FENCE, ITEM, NOTE, RunbookStep, steps_in
from enrichment.chunk import Chunk
from enrichment.language.words import stems
from index.search import Snapshot
from loaders.text.plain import plain_text


@dataclass(frozen=True)
class StepSection:
    first: Chunk
    """Of the section: its document and place."""
    steps: tuple[RunbookStep, ...]


ResolveUrl = Callable[[str], tuple[str, str] | None]
"""URL → (document id, heading; '' for the whole document) in this domain; None outside it."""
_QUOTED_SHARE = 0.8
"""Minimum share of a quote's words that its row holds: quotes write rows as `header: cell`."""


def cited_steps(answer: Answer, snapshot: Snapshot, resolve: ResolveUrl) -> StepSection | None:
    """Steps of the first citation that has some; a cited section comes before a linked runbook."""
    citations = [one for one in answer.citations if one.document and not one.from_picture]
    for citation in citations:
        for steps in _with_steps(snapshot, citation.document, partial(_is_cited, citation)):
            return steps
    about = stems(" ".join((answer.standalone_question, *(one.quote for one in citations))))
    for citation in citations:
        for document, heading in _linked_places(citation, snapshot, resolve):
            all_steps = _with_steps(snapshot, document, lambda _: True)
            if sections := [one for one in all_steps if heading in ("", one.first.heading)]:
                return max(sections, key=lambda one: len(about & stems(one.first.heading)))
    return None


def section_steps(
    snapshot: Snapshot, document: str, heading_path: Sequence[str], tab: str = ""
) -> StepSection | None:
    """The current steps of the section with exactly this heading path."""
    place = (tuple(heading_path), tab)
    sections = _with_steps(
        snapshot, document, lambda one: place == (one[0].heading_path, one[0].tab)
    )
    return next(sections, None)


def _is_cited(citation: Citation, section: Sequence[Chunk]) -> bool:
    if citation.chunk_id and any(chunk.id == citation.chunk_id for chunk in section):
        return True
    same_heading = citation.heading and section[0].heading == citation.heading
    return bool(same_heading) and citation.url in ("", section[0].url)


def _linked_places(
    citation: Citation, snapshot: Snapshot, resolve: ResolveUrl
) -> list[tuple[str, str]]:
    """The place in another document that the quoted table row links to, where it has only one."""
    quote = stems(citation.quote)
    for chunk in snapshot.chunks(citation.document):
        by_heading = not citation.chunk_id and chunk.heading == citation.heading
        if not chunk.table or not quote or not (by_heading or chunk.id == citation.chunk_id):
            continue
        header = stems(" ".join(chunk.table.header))
        rows = (row for row in chunk.text.split("\n") if row.startswith("|"))
        of_quote = (
            row for row in rows
            if len(quote & (header | stems(plain_text(row)))) >= _QUOTED_SHARE * len(quote)
        )  # fmt: skip
        places = set(filter(None, map(resolve, link_targets("\n".join(of_quote)))))
        if len(places) == 1 and citation.document not in dict(places):
            return list(places)
    return []


def _with_steps(
    snapshot: Snapshot, document: str, fits: Callable[[Sequence[Chunk]], bool]
) -> Iterator[StepSection]:
    """The sections of a document that fit and have steps."""
    for section in filter(fits, sections_of(snapshot.chunks(document))):
        if steps := steps_in(joined_text(section)):
            yield StepSection(section[0], steps)


def sections_of(chunks: Sequence[Chunk]) -> Iterator[list[Chunk]]:
    """The chunks of a document grouped by section. Descriptions of pictures are left out: no author
    wrote them as steps."""
    text_chunks = (chunk for chunk in chunks if not chunk.from_picture)
    for _, together in groupby(text_chunks, key=lambda one: (one.tab, one.heading_path, one.url)):
        yield list(together)


_PART = re.compile(r"^\(part \d+ of \d+\)\n\n", re.M)


def joined_text(section: Sequence[Chunk]) -> str:
    """Markdown of a whole section."""
    lines = _lines(section[0])
    for previous, chunk in pairwise(section):
        # Lists and code blocks that both have a part of; whether the outermost item itself is cut.
        runs = {
            part.what: part.first < before.first + before.count
            for before in previous.runs
            for part in chunk.runs
            if part.id == before.id
        }
        same_table = previous.table and chunk.table and previous.table.id == chunk.table.id
        fresh = _lines(chunk)
        fresh = fresh[_overlap(_lines(previous), fresh) :]
        path = _open_path(lines)
        leads = [*path, *(line for line in lines if not ITEM.fullmatch(line))]
        while fresh and _repeats(fresh[0], path, leads):
            fresh.pop(0)
        if not fresh:
            continue
        if runs.get("items") and (rest := _after_lead(leads, fresh[0])) != fresh[0]:
            fresh[0] = rest if _stands_apart(lines[-1]) else f"{lines.pop()} {rest}"
        elif same_table and fresh[0].startswith("|"):
            fresh = fresh[2:]
        elif "lines" in runs and FENCE.match(fresh[0]) and FENCE.fullmatch(lines[-1]):
            lines.pop()
            fresh = fresh[1:]
        elif "items" not in runs or _stands_apart(fresh[0]):
            lines.append("")
        lines += fresh
    return "\n".join(lines)


def _lines(chunk: Chunk) -> list[str]:
    has_part = any(run.what == "lines" for run in chunk.runs)
    return (_PART.sub("", chunk.text) if has_part else chunk.text).split("\n")


def _overlap(lines: Sequence[str], fresh: Sequence[str]) -> int:
    """Number of first lines that equal the last lines so far."""
    for size in range(min(len(lines), len(fresh)), 0, -1):
        if lines[-size:] == fresh[:size] and re.search(r"\w", "".join(fresh[:size])):
            return size
    return 0


def _repeats(line: str, path: Sequence[str], leads: Sequence[str]) -> bool:
    """Whether it repeats what leads in: the sentence above the list, which may be the end of a
    line, or the items above the next one."""
    end = _after_lead(leads, line)
    if ITEM.fullmatch(end):
        return end in path
    return not _stands_apart(end) and any(one.endswith(end) for one in leads)


def _after_lead(leads: Iterable[str], line: str) -> str:
    """The line without the lead-in that it begins with: a cut item goes on behind it."""
    begins = (f"{one} " for one in leads if one and line.startswith(f"{one} "))
    return line.removeprefix(max(begins, key=len, default=""))


def _open_path(lines: Sequence[str]) -> list[str]:
    """The last item and its parents."""
    path: list[re.Match[str]] = []
    for item in filter(None, map(ITEM.fullmatch, lines)):
        path = [*(one for one in path if len(one["indent"]) < len(item["indent"])), item]
    return [item[0] for item in path]


def _stands_apart(line: str) -> bool:
    return bool(FENCE.match(line) or line.startswith("|") or NOTE.match(line))
