"""Checks golden questions: compares facts and quotes with text, and reports evidence that the
published documents no longer contain."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from pathlib import Path

from config.domain_files import Problem, nearest
from config.errors import ConfigError
from enrichment.chunk import Chunk
from enrichment.language.words import tokens
from enrichment.references import find_document, paths_of
from index.search import Snapshot
from jobs.golden.questions import PlacedQuestion, read_golden, taken_on

# No Markdown parser: facts and quotes are fragments, and both sides must normalize the same way.
_MARKUP = (
    (re.compile(r"<br\s*/?>|</?[a-zA-Z][^<>]*>"), " "),
    (re.compile(r"!?\[([^\[\]]*+)\]\([^()]*+\)"), r"\1"),
    (re.compile(r"\s?\[\^?\d{1,3}\]"), " "),
    # Unmatched brackets: a quote may end inside a link.
    (re.compile(r"[\[\]]"), ""),
    (re.compile(r"[*_`|\\#~]|^[ \t]*+>", re.MULTILINE), " "),
)
_SAME = str.maketrans(
    {"’": "'", "‘": "'", "“": '"', "”": '"', "–": "-", "—": "-", "‑": "-", "\u00a0": " "}
)


def plain(text: str) -> str:
    """Normalize for comparison: lower case, single spaces, plain quotes and dashes, no markup."""
    for pattern, replacement in _MARKUP:
        text = pattern.sub(replacement, text)
    return " ".join(html.unescape(text).translate(_SAME).lower().split())


def words_of(chunk: Chunk) -> str:
    """Normalized text of a chunk, with all its headings first."""
    return plain(f"{' '.join(chunk.heading_path)} {chunk.text}")


def words_of_all(chunks: Sequence[Chunk]) -> str:
    """Normalized text of a document, so that a quote can span two chunks.

    Each heading appears once, before its first chunk, as in the document."""
    return plain(
        " ".join(
            chunk.text if place and chunk.heading_path == chunks[place - 1].heading_path
            else f"{chunk.heading} {chunk.text}"
            for place, chunk in enumerate(chunks)
        )
    )  # fmt: skip


def says(text: str, fact: str) -> bool:
    """Whether the text contains the fact as whole words: `no` does not match `note`."""
    words = plain(fact)
    return bool(words) and re.search(rf"(?<!\w){re.escape(words)}(?!\w)", plain(text)) is not None


_ALIKE = 0.5
"""Minimum similarity, 0 to 1, of the sentence suggested for a changed quote."""


def stale(one: PlacedQuestion, snapshot: Snapshot) -> Iterator[Problem]:
    """Yield a problem for each quote that its document no longer contains, each document that is
    not published, and each fact that no document of the question contains."""
    paths = paths_of(snapshot.documents.values())
    documents: set[str] = set()
    for place, evidence in enumerate(one.question.evidence):
        try:
            document = find_document(evidence.document, paths)
        except ConfigError as error:
            yield one.problem(str(error), "evidence", place, "document")
            continue
        if not document:
            hint = nearest(evidence.document, sorted(snapshot.documents))
            yield one.problem(
                f"no document {evidence.document!r} is published{hint}",
                *("evidence", place, "document"),
            )
            continue
        documents.add(document)
        chunks = snapshot.chunks(document)
        if not holds(chunks, evidence.quote):
            problem = f"{evidence.document} holds this quote no more"
            if now := _nearest_sentence(chunks, evidence.quote):
                problem += f"; it says now: {now}"
            yield one.problem(problem, "evidence", place, "quote")
    yield from _unsaid(
        one, [chunk for name in sorted(documents) for chunk in snapshot.chunks(name)]
    )


def _unsaid(one: PlacedQuestion, chunks: Sequence[Chunk]) -> Iterator[Problem]:
    """Yield a problem for each `must_include` fact that no document of the question contains."""
    texts = [f"{chunk.index_text}\n{chunk.text}" for chunk in chunks]
    for place, fact in enumerate(one.question.must_include if chunks else ()):
        if not any(says(text, fact) for text in texts):
            problem = (
                f"{fact!r} stands in none of its documents; put it into `rubric` if it is meant"
            )
            yield one.problem(problem, "must_include", place)


def holds(chunks: Sequence[Chunk], quote: str) -> bool:
    """Whether a document contains the quote, in one chunk or across chunks."""
    words = plain(quote)
    return any(words in words_of(chunk) for chunk in chunks) or words in words_of_all(chunks)


def _nearest_sentence(chunks: Sequence[Chunk], quote: str) -> str:
    words = plain(quote)
    best, sentence = _ALIKE, ""
    for chunk in chunks:
        for unit in chunk.units:
            matcher = SequenceMatcher(None, words, plain(unit.text), autojunk=False)
            # The two cheap upper bounds come first: most sentences are not similar at all.
            if matcher.real_quick_ratio() > best and matcher.quick_ratio() > best:
                likeness = matcher.ratio()
                if likeness > best:
                    best, sentence = likeness, unit.text
    return " ".join(sentence.split())[:200]


@dataclass(kw_only=True)
class GoldenCheck:
    problems: list[Problem] = field(default_factory=list)
    """Ordered by file, line and column."""
    kinds: dict[Path, Counter[str]] = field(default_factory=dict)
    """File → kind → number of valid questions."""
    stale: int = 0
    """Number of questions whose evidence or facts the published documents do not contain."""


def check_golden(paths: Sequence[Path], snapshot: Snapshot | None = None) -> GoldenCheck:
    """Check all files. `snapshot`: the published documents; None skips the check of evidence.

    Raises ConfigError when a file does not exist."""
    result = GoldenCheck()
    questions: list[PlacedQuestion] = []
    for path in paths:
        entries, problems = read_golden(path)
        result.problems += problems
        if not (entries or problems):
            result.problems.append(Problem(path, 1, 1, "holds no questions"))
        result.kinds[path] = Counter(one.question.kind for one in entries)
        questions += entries
    result.problems += _told_twice(questions)
    for one in questions:
        result.problems += _incomplete(one)
        missing = list(stale(one, snapshot)) if snapshot else []
        result.stale += bool(missing)
        result.problems += missing
    order = {path: place for place, path in enumerate(paths)}
    result.problems.sort(key=lambda one: (order[one.path], one.line, one.column))
    return result


def _told_twice(questions: Sequence[PlacedQuestion]) -> Iterator[Problem]:
    ids: dict[str, PlacedQuestion] = {}
    first_places: dict[tuple[str, ...], PlacedQuestion] = {}
    for one in questions:
        if (other := ids.setdefault(one.question.id, one)) is not one:
            yield one.problem(taken_on(other), "id")
        turns = (*(turn.content for turn in one.question.history), one.question.question)
        # The thread counts too: `and in the EU?` may follow two different questions.
        words = tuple(" ".join(token.casefold() for token in tokens(text)) for text in turns)
        if words[-1] and (other := first_places.setdefault(words, one)) is not one:
            yield one.problem(f"the same question stands on {other.place}", "question")


def _incomplete(one: PlacedQuestion) -> Iterator[Problem]:
    question = one.question
    for key in ("id", "question"):
        if not getattr(question, key).strip():
            yield one.problem(f"`{key}` is blank", key)
    if question.answerable:
        if not question.evidence:
            problem = "no evidence: name a document and quote the words that the answer rests on"
            yield one.problem(problem, "evidence", want_key=True)
        if not question.reference.strip():
            problem = "no reference: write the answer that you would give"
            yield one.problem(problem, "reference", want_key=True)
    for place, evidence in enumerate(question.evidence):
        if not evidence.quote.strip():
            yield one.problem("this quote is blank", "evidence", place, "quote")
    yield from _of_its_kind(one)


def _of_its_kind(one: PlacedQuestion) -> Iterator[Problem]:
    question = one.question
    if question.kind == "follow_up" and not question.history:
        yield one.problem("a follow-up needs the turns before it, as `history`", "kind")
    if question.history and question.history[-1].role != "assistant":
        last = len(question.history) - 1
        problem = "the turn before the question has to be the assistant's"
        yield one.problem(problem, "history", last, "role")
    if question.kind == "unanswerable" and question.must_include:
        problem = "an unanswerable question has no facts that an answer must hold"
        yield one.problem(problem, "must_include", want_key=True)
    planned = question.proposed.kind if question.proposed else None
    if question.category and "unanswerable" not in (question.kind, planned):
        problem = f"`category` says why a question is unanswerable; this one is {question.kind}"
        yield one.problem(problem, "category", want_key=True)
    if question.proposed and question.kind != "proposed":
        yield one.problem("confirmed: take `proposed` away", "proposed", want_key=True)
