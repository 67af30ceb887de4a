"""Whether corrections make a judge better, measured on answers that it was not corrected on."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from agents.judging.answer_judge import AnswerJudge
from agents.judging.corrections import corrections_from, nearest_corrections
from agents.judging.judge_request import Correction, JudgeRequest, JudgeVerdict
from config.errors import ModelError
from config.models import ChatModel, Embedder, Usage
from enrichment.llm.reply_cache import ReplyCache

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
