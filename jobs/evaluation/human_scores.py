"""Reads people's scores of a report's answers from the CSV that the scoring page saves."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from statistics import median_low

from agents.judging.judge import HIGHEST
from config.errors import ConfigError
from jobs.evaluation.agreement import ScoredTwice
from jobs.evaluation.report import EvaluationReport, ReportQuestion
from jobs.golden.imports import decoded, table_rows

COLUMNS = ("key", "question_id", "score", "incorrect", "note", "scored_by", "scored_at")
_YES = frozenset(("yes", "true", "1", "x", "y"))
_NO = frozenset(("no", "false", "0", "", "n"))


@dataclass(frozen=True, kw_only=True)
class ScoredAnswer:
    """One answer of a report that can be scored."""

    key: str
    """Hash that reveals neither the system nor the judge's score."""
    system: str
    entry: ReportQuestion


@dataclass(frozen=True, kw_only=True)
class HumanScore:
    """One row of a scores file."""

    key: str
    score: int
    incorrect: bool
    note: str
    by: str
    place: str
    """`human.csv:7`"""


@dataclass(kw_only=True)
class HumanScores:
    scores: list[HumanScore] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    """One line per skipped row, with the reason."""


def answers_of(report: EvaluationReport) -> dict[str, ScoredAnswer]:
    """Key → answer of the system or its baseline, without empty answers and proposed questions."""
    systems = [(report.run.system, report.questions)]
    if report.baseline:
        systems.append((report.baseline.name, report.baseline.questions))
    answers: dict[str, ScoredAnswer] = {}
    for system, questions in systems:
        for entry in questions:
            if entry.kind != "proposed" and entry.answer:
                key = _key(report.run.id, system, entry)
                answers[key] = ScoredAnswer(key=key, system=system, entry=entry)
    return answers


def _key(run: str, system: str, entry: ReportQuestion) -> str:
    text = "\0".join((run, system, entry.id, entry.answer))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def read_scores(paths: Sequence[Path], answers: Mapping[str, ScoredAnswer]) -> HumanScores:
    """Read scores.

    Raises ConfigError for an unreadable file or a missing column `key` or `score`."""
    result = HumanScores()
    places: dict[tuple[str, str], str] = {}
    for path in paths:
        for place, row in _rows(path):
            if not any(row.values()):
                continue
            score = _score(row, place, answers)
            if isinstance(score, str):
                result.problems.append(f"{place}: {score}")
            elif (other := places.setdefault((score.key, score.by), place)) != place:
                result.problems.append(f"{place}: scored on {other} already")
            else:
                result.scores.append(score)
    return result


def _rows(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    try:
        text = decoded(path.read_bytes())
    except OSError as error:
        raise ConfigError(
            f"{path}: {error.strerror}", remedy="give what the scoring page saved"
        ) from error
    rows = table_rows(text)
    _, header = next(rows, (1, []))
    named = [name.strip().casefold() for name in header]
    if missing := {"key", "score"}.difference(named):
        raise ConfigError(
            f"{path}: no column `{'`, `'.join(sorted(missing))}`",
            remedy="give what the page of `oncall evaluate sheet` saved",
        )
    for line, row in rows:
        cells = zip_longest(named, map(str.strip, row[: len(named)]), fillvalue="")
        yield f"{path.name}:{line}", dict(cells)


def _score(
    row: Mapping[str, str], place: str, answers: Mapping[str, ScoredAnswer]
) -> HumanScore | str:
    """The score, or the reason why the row is skipped."""
    if row["key"] not in answers:
        return f"no answer of this report has the key {row['key']!r}; is it of another run?"
    cell = row["score"]
    if cell not in {str(score) for score in range(HIGHEST + 1)}:
        return f"score {cell!r}; it goes from 0 to {HIGHEST}" if cell else "no score"
    incorrect = row.get("incorrect", "").casefold()
    if incorrect not in _YES | _NO:
        return f"incorrect {incorrect!r}; write yes or no"
    return HumanScore(
        key=row["key"],
        score=int(cell),
        incorrect=incorrect in _YES,
        note=row.get("note", ""),
        by=row.get("scored_by", ""),
        place=place,
    )


def scored_twice(
    scores: Sequence[HumanScore], answers: Mapping[str, ScoredAnswer]
) -> dict[str, ScoredTwice]:
    """Key → both scores, for the answers that the judge scored too.

    Of several people the lower median score counts, and `incorrect` if at least half say so."""
    by_key: dict[str, list[HumanScore]] = {}
    for one in scores:
        by_key.setdefault(one.key, []).append(one)
    pairs: dict[str, ScoredTwice] = {}
    for key, several in by_key.items():
        judge = answers[key].entry.judge
        if judge is None:
            continue
        pairs[key] = ScoredTwice(
            person=median_low(one.score for one in several),
            judge=judge.score,
            person_incorrect=2 * sum(one.incorrect for one in several) >= len(several),
            judge_incorrect=judge.incorrect,
            kind=answers[key].entry.kind,
        )
    return pairs


def between_people(scores: Sequence[HumanScore]) -> list[ScoredTwice]:
    """Pairs of scores by two people: the first as `person`, each later one as `judge`."""
    first: dict[str, HumanScore] = {}
    pairs: list[ScoredTwice] = []
    for one in scores:
        other = first.setdefault(one.key, one)
        if other is not one:
            pairs.append(
                ScoredTwice(
                    person=other.score,
                    judge=one.score,
                    person_incorrect=other.incorrect,
                    judge_incorrect=one.incorrect,
                )
            )
    return pairs
