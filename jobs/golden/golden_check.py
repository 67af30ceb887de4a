"""What is wrong with golden questions although each can be read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from config.domain_files import Problem
from enrichment.language.words import tokens
from index.search import Snapshot
from jobs.golden.golden_file import PlacedQuestion, read_golden, taken_on
from jobs.golden.stale_evidence import stale


@dataclass(kw_only=True)
class GoldenCheck:
    """What came of it."""

    problems: list[Problem] = field(default_factory=list)
    """In the order of the files and lines."""
    kinds: dict[Path, Counter[str]] = field(default_factory=dict)
    """File → kind → how many questions can be asked."""
    stale: int = 0
    """Questions whose evidence the published documents hold no more."""


def check_golden(paths: Sequence[Path], snapshot: Snapshot | None = None) -> GoldenCheck:
    """All problems of all files. `snapshot`: what is published; None leaves the evidence alone.

    Raises ConfigError where a file isn't there."""
    found = GoldenCheck()
    questions: list[PlacedQuestion] = []
    for path in paths:
        entries, problems = read_golden(path)
        found.problems += problems
        if not (entries or problems):
            found.problems.append(Problem(path, 1, 1, "holds no questions"))
        found.kinds[path] = Counter(one.question.kind for one in entries)
        questions += entries
    found.problems += _told_twice(questions)
    for one in questions:
        found.problems += _incomplete(one)
        gone = list(stale(one, snapshot)) if snapshot else []
        found.stale += bool(gone)
        found.problems += gone
    order = {path: place for place, path in enumerate(paths)}
    found.problems.sort(key=lambda one: (order[one.path], one.line, one.column))
    return found


def _told_twice(questions: Sequence[PlacedQuestion]) -> Iterator[Problem]:
    ids: dict[str, PlacedQuestion] = {}
    asked: dict[tuple[str, ...], PlacedQuestion] = {}
    for one in questions:
        if (other := ids.setdefault(one.question.id, one)) is not one:
            yield one.problem(taken_on(other), "id")
        turns = (*(turn.content for turn in one.question.history), one.question.question)
        # With their thread: `and in the EU?` may follow two different questions.
        words = tuple(" ".join(token.casefold() for token in tokens(text)) for text in turns)
        if words[-1] and (other := asked.setdefault(words, one)) is not one:
            yield one.problem(f"the same question stands on {other.place}", "question")


def _incomplete(one: PlacedQuestion) -> Iterator[Problem]:
    question = one.question
    for key in ("id", "question"):
        if not getattr(question, key).strip():
            yield one.problem(f"`{key}` is blank", key)
    if question.answerable:
        if not question.evidence:
            said = "no evidence: name a document and quote the words that the answer rests on"
            yield one.problem(said, "evidence", want_key=True)
        if not question.reference.strip():
            said = "no reference: write the answer that you would give"
            yield one.problem(said, "reference", want_key=True)
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
        said = "the turn before the question has to be the assistant's"
        yield one.problem(said, "history", last, "role")
    if question.kind == "unanswerable" and question.must_include:
        said = "an unanswerable question has no facts that an answer must hold"
        yield one.problem(said, "must_include", want_key=True)
    planned = question.proposed.kind if question.proposed else None
    if question.category and "unanswerable" not in (question.kind, planned):
        said = f"`category` says why a question is unanswerable; this one is {question.kind}"
        yield one.problem(said, "category", want_key=True)
    if question.proposed and question.kind != "proposed":
        yield one.problem("confirmed: take `proposed` away", "proposed", want_key=True)
