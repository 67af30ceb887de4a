"""Whether corrections make a judge better, measured on answers that it was not corrected on.

Few-shot memory: what people thought of a judge's scores, for the scores that come after.

The nearest corrections go into the judge's prompt as worked examples, never one of the question
that is being judged."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from pydantic import TypeAdapter, ValidationError
from sqlalchemy import Column, Engine, MetaData, String, Table, Text

from agents.judging.judge import (
    LONGEST_EXAMPLE,
    AnswerJudge,
    Correction,
    Examples,
    JudgeRequest,
    JudgeVerdict,
)
from config.errors import ModelError
from config.models import ChatModel, Embedder, Usage, Vectors
from enrichment.llm.reply_cache import ReplyCache
from index.store.vectors import KeyValueTable

MOST_CORRECTIONS = 50
"""Kept for a domain: those where judge and person were furthest apart."""
NEAREST = 5
"""Shown to the judge with each answer."""

_CORRECTIONS = Table(
    "judge_corrections",
    MetaData(),
    Column("domain", String(64), primary_key=True),
    Column("corrections", Text, nullable=False, comment="JSON"),
)
_several = TypeAdapter(tuple[Correction, ...])


def corrections_from(scored: Sequence[Correction]) -> tuple[Correction, ...]:
    """Those that correct something, at most `MOST_CORRECTIONS`, furthest apart first."""
    differing = [one for one in scored if _apart(one)]
    return tuple(sorted(differing, key=lambda one: (-_apart(one), one.question_id)))[
        :MOST_CORRECTIONS
    ]


def nearest_corrections(corrections: Sequence[Correction], embedder: Embedder) -> Examples:
    """Those nearest in meaning to the question and answer that are judged, at most `NEAREST`."""
    return _Nearest(tuple(corrections[:MOST_CORRECTIONS]), embedder)


class KeptCorrections:
    """Of all domains. Creates its table when something is kept."""

    def __init__(self, engine: Engine) -> None:
        self._rows = KeyValueTable(engine, _CORRECTIONS)

    def keep(self, domain: str, corrections: Sequence[Correction]) -> None:
        """Instead of those that were kept; none forgets them."""
        text = _several.dump_json(corrections_from(corrections)).decode()
        self._rows.keep(domain=domain, corrections=text)

    def of(self, domain: str) -> tuple[Correction, ...]:
        row = self._rows.find(domain=domain)
        try:
            return () if row is None else _several.validate_json(row.corrections)
        except ValidationError:  # of another edition of the product
            return ()


@dataclass(frozen=True)
class _Nearest:
    corrections: tuple[Correction, ...]
    embedder: Embedder

    def __call__(self, request: JudgeRequest) -> Sequence[Correction]:
        if not self.corrections:
            return ()
        nearness = self._vectors @ self.embedder([_text(request.question, request.answer)])[0]
        asked = _same(request.question)
        others = [
            self.corrections[place]
            for place in np.argsort(-nearness, kind="stable")
            if self.corrections[place].question_id != request.id
            and _same(self.corrections[place].question) != asked
        ]
        return others[:NEAREST]

    @cached_property
    def _vectors(self) -> Vectors:
        return self.embedder([_text(one.question, one.answer) for one in self.corrections])


def _apart(one: Correction) -> int:
    """Points."""
    return abs(one.human_score - one.judge_score)


def _text(question: str, answer: str) -> str:
    return f"{question[:LONGEST_EXAMPLE]}\n{answer[:LONGEST_EXAMPLE]}"


def _same(question: str) -> str:
    return " ".join(question.casefold().split())


FOLDS = 5
"""Each answer is judged again by a judge that learnt from the other four parts."""


@dataclass(frozen=True, kw_only=True)
class ScoredBeside:
    """An answer that the judge and a person scored apart from each other."""

    request: JudgeRequest
    scored: Correction
    """Also where both gave the same score."""


@dataclass(frozen=True, kw_only=True)
class Relearnt:
    """An answer that was judged again."""

    scored: Correction
    after: JudgeVerdict
    examples: int
    """Corrections that the judge was shown."""


@dataclass(frozen=True, kw_only=True)
class Learning:
    """Scores before and after, for the same answers, in their order."""

    answers: tuple[Relearnt, ...]
    unjudged: tuple[str, ...] = ()
    """Ids of questions whose answers could not be judged again; they are left out of both."""
    corrections: tuple[Correction, ...] = ()
    """All that there are to keep, if they are worth it."""
    usage: Usage = field(default_factory=Usage)


def learned(
    scored: Sequence[ScoredBeside],
    *,
    model: ChatModel,
    embedder: Embedder,
    kept: ReplyCache | None = None,
    parallel: int = 4,
    on_verdict: Callable[[str], None] = lambda question_id: None,
) -> Learning:
    """Judges each answer again with corrections of the other folds only; all answers to one
    question are in one fold. Keeps no correction."""
    fold_of = [_fold(one.request.id) for one in scored]
    judges = [
        AnswerJudge(
            model=model,
            examples=nearest_corrections(
                corrections_from(
                    [one.scored for one, its in zip(scored, fold_of, strict=True) if its != fold]
                ),
                embedder,
            ),
            kept=kept,
        )
        for fold in range(FOLDS)
    ]

    def again(place: int) -> tuple[Relearnt, Usage] | None:
        one, judge = scored[place], judges[fold_of[place]]
        try:
            after, usage = judge(one.request)
        except ModelError:
            return None
        shown = len(judge.examples(one.request))
        return Relearnt(scored=one.scored, after=after, examples=shown), usage

    answers: list[Relearnt] = []
    unjudged: list[str] = []
    spent = Usage()
    with ThreadPoolExecutor(max(1, parallel), thread_name_prefix="learning") as pool:
        for one, outcome in zip(scored, pool.map(again, range(len(scored))), strict=True):
            on_verdict(one.request.id)
            if outcome is None:
                unjudged.append(one.request.id)
            else:
                answers.append(outcome[0])
                spent += outcome[1]
    return Learning(
        answers=tuple(answers),
        unjudged=tuple(unjudged),
        corrections=corrections_from([one.scored for one in scored]),
        usage=spent,
    )


def _fold(question_id: str) -> int:
    """The same in every run; close to even."""
    return int(hashlib.sha256(question_id.encode()).hexdigest(), 16) % FOLDS
