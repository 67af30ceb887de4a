"""Corrections of a judge's scores by people, as examples for later scores; and their effect.

The nearest corrections go into the judge's prompt, never one of the same question. Their effect is
measured on answers that the judge was not corrected on."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache

import numpy as np
from pydantic import TypeAdapter, ValidationError
from sqlalchemy import Engine, String, Text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from agents.judging.judge import (
    MAX_EXAMPLE_CHARS,
    AnswerJudge,
    Correction,
    Examples,
    JudgeRequest,
    JudgeVerdict,
)
from config.errors import ModelError
from config.models import ChatModel, Embedder, Usage, Vectors
from durable.migration import KeyValueTable
from enrichment.llm.reply_cache import ReplyCache

MAX_CORRECTIONS = 50
"""Stored per domain: those with the largest difference of scores."""
NEAREST = 5
"""Examples in the prompt for one answer."""


class _Base(DeclarativeBase):
    pass


class CorrectionRow(_Base):
    __tablename__ = "judge_corrections"
    domain: Mapped[str] = mapped_column(String(64), primary_key=True)
    corrections: Mapped[str] = mapped_column(Text, comment="JSON")


_several = TypeAdapter(tuple[Correction, ...])


def corrections_from(scored: Sequence[Correction]) -> tuple[Correction, ...]:
    """Those with a difference, at most `MAX_CORRECTIONS`, largest first."""
    differing = [one for one in scored if _distance(one)]
    ranked = sorted(differing, key=lambda one: (-_distance(one), one.question_id))
    return tuple(ranked[:MAX_CORRECTIONS])


def nearest_corrections(corrections: Sequence[Correction], embedder: Embedder) -> Examples:
    """Finds at most `NEAREST` corrections, by the meaning of question and answer."""
    stored = tuple(corrections[:MAX_CORRECTIONS])

    @cache
    def vectors() -> Vectors:
        return embedder([_text(one.question, one.answer) for one in stored])

    def nearest(request: JudgeRequest) -> Sequence[Correction]:
        if not stored:
            return ()
        nearness = vectors() @ embedder([_text(request.question, request.answer)])[0]
        question = _normalize(request.question)
        ranked = (stored[place] for place in np.argsort(-nearness, kind="stable"))
        return [
            one
            for one in ranked
            if one.question_id != request.id and _normalize(one.question) != question
        ][:NEAREST]

    return nearest


class CorrectionStore:
    """Stores corrections by domain. Creates its table at the first write."""

    def __init__(self, engine: Engine) -> None:
        self._rows = KeyValueTable(engine, CorrectionRow)

    def keep(self, domain: str, corrections: Sequence[Correction]) -> None:
        """Replaces the stored ones; without any, deletes them."""
        text = _several.dump_json(corrections_from(corrections)).decode()
        self._rows.keep(domain=domain, corrections=text)

    def of(self, domain: str) -> tuple[Correction, ...]:
        row = self._rows.find(domain=domain)
        try:
            return () if row is None else _several.validate_json(row.corrections)
        except ValidationError:  # stored by another release
            return ()


def _distance(one: Correction) -> int:
    """Points."""
    return abs(one.human_score - one.judge_score)


def _text(question: str, answer: str) -> str:
    return f"{question[:MAX_EXAMPLE_CHARS]}\n{answer[:MAX_EXAMPLE_CHARS]}"


def _normalize(question: str) -> str:
    return " ".join(question.casefold().split())


FOLDS = 5
"""Each answer is judged again with corrections of the other four parts."""


@dataclass(frozen=True, kw_only=True)
class ScoredPair:
    """An answer scored independently by the judge and a person."""

    request: JudgeRequest
    scored: Correction
    """Also for equal scores."""


@dataclass(frozen=True, kw_only=True)
class RejudgedAnswer:
    scored: Correction
    after: JudgeVerdict
    examples: int
    """Corrections in the prompt."""


@dataclass(frozen=True, kw_only=True)
class LearningResult:
    """Scores before and after, for the same answers in order."""

    answers: tuple[RejudgedAnswer, ...]
    unjudged: tuple[str, ...] = ()
    """Ids of questions whose answers could not be judged again; in neither score."""
    corrections: tuple[Correction, ...] = ()
    """To store, if they help."""
    usage: Usage = field(default_factory=Usage)


def measure_learning(
    scored: Sequence[ScoredPair],
    *,
    model: ChatModel,
    embedder: Embedder,
    verdicts: ReplyCache | None = None,
    parallel: int = 4,
) -> LearningResult:
    """Judges each answer again with corrections of the other folds; all answers to one question are
    in one fold. Stores no correction."""
    fold_of = [_fold(one.request.id) for one in scored]

    def judge_of(fold: int) -> AnswerJudge:
        others = [one.scored for one, its in zip(scored, fold_of, strict=True) if its != fold]
        examples = nearest_corrections(corrections_from(others), embedder)
        return AnswerJudge(model=model, examples=examples, verdicts=verdicts)

    judges = [judge_of(fold) for fold in range(FOLDS)]

    def again(place: int) -> tuple[RejudgedAnswer, Usage] | None:
        one, judge = scored[place], judges[fold_of[place]]
        try:
            after, usage = judge(one.request)
        except ModelError:
            return None
        examples = len(judge.examples(one.request))
        return RejudgedAnswer(scored=one.scored, after=after, examples=examples), usage

    answers: list[RejudgedAnswer] = []
    unjudged: list[str] = []
    total_usage = Usage()
    with ThreadPoolExecutor(max(1, parallel), thread_name_prefix="learning") as pool:
        for one, outcome in zip(scored, pool.map(again, range(len(scored))), strict=True):
            if outcome is None:
                unjudged.append(one.request.id)
            else:
                answers.append(outcome[0])
                total_usage += outcome[1]
    return LearningResult(
        answers=tuple(answers),
        unjudged=tuple(unjudged),
        corrections=corrections_from([one.scored for one in scored]),
        usage=total_usage,
    )


def _fold(question_id: str) -> int:
    """The same in every run; close to even."""
    return int(hashlib.sha256(question_id.encode()).hexdigest(), 16) % FOLDS
