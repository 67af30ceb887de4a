"""Judges replies to golden questions, several at a time."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field

import numpy as np

from agents.answer import CITATION, Citation
from agents.judging.judge import JudgePassage, JudgeRequest, JudgeVerdict
from config.errors import ModelError, ModelUnavailable
from config.models import Usage
from enrichment.language.words import sentences
from jobs.evaluation.metrics.retrieval import GivenReply
from jobs.evaluation.metrics.stats import spearman
from jobs.evaluation.report import (
    JudgedReply,
    Metrics,
    ReportCitation,
    ReportPassage,
    ReportQuestion,
)
from jobs.golden.questions import GoldenQuestion, as_turns

GiveVerdict = Callable[[JudgeRequest], tuple[JudgeVerdict, Usage]]
"""See `agents.judging.judge`."""
Key = tuple[str, int]
"""Question id and repeat."""

LOUD = 0.1
"""Share of unjudged answers above which the report warns about its figures."""
_LONGEST_QUOTE = 240
"""Characters of a citation shown to the judge: quote length must not reveal the system."""
_GIVES_UP = 8
"""Consecutive unavailable-model errors after which the run makes no more calls."""
_NAMED = 10
"""Maximum unjudged questions that a note names."""


@dataclass(frozen=True, kw_only=True)
class JudgedReplies:
    """A judge's verdicts on the replies of one system."""

    model: str
    verdicts: Mapping[Key, JudgedReply]
    """Replies that could not be judged have no entry."""
    notes: tuple[str, ...] = ()
    """Notes for readers: unjudged answers, a model judging itself, score against length."""
    usage: Usage = field(default_factory=Usage)
    """Usage of this run; cached verdicts cost nothing."""
    unjudged: Mapping[Key, str] = field(default_factory=dict)
    """Key → reason."""


def judged(
    replies: Sequence[GivenReply],
    give: GiveVerdict,
    *,
    model: str,
    answered_by: str = "",
    parallel: int = 1,
    on_verdict: Callable[[GivenReply], None] = lambda reply: None,
) -> JudgedReplies:
    """Judge the replies. `model`: the judge; `answered_by`: the model that wrote them.

    `on_verdict` runs in the calling thread for each reply, judged or not. Proposed questions are
    skipped: nobody has confirmed their reference."""
    counted = [reply for reply in replies if reply.question.kind != "proposed"]
    judging = _Judging(give)
    outcomes: dict[Key, JudgedReply | str] = {}
    usage = Usage()
    with ThreadPoolExecutor(max(1, parallel), thread_name_prefix="judge") as pool:
        running = {pool.submit(judging.one, reply): reply for reply in counted}
        try:
            for future in as_completed(running):
                reply = running[future]
                outcomes[_key(reply)], spent = future.result()
                usage += spent
                on_verdict(reply)
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    in_order = [(key, outcomes[key]) for key in map(_key, counted)]
    verdicts = {key: one for key, one in in_order if not isinstance(one, str)}
    unjudged = {key: one for key, one in in_order if isinstance(one, str)}
    notes = (
        *_of_the_unjudged(unjudged, len(counted)),
        *_of_the_judge(model, answered_by, verdicts),
        *_of_length(counted, verdicts),
    )
    return JudgedReplies(
        model=model, verdicts=verdicts, notes=notes, usage=usage, unjudged=unjudged
    )


def judge_metrics(verdict: JudgedReply | None) -> Metrics:
    """Metric → value of one reply; empty when it wasn't judged."""
    if verdict is None:
        return {}
    return {
        "acceptable": float(verdict.acceptable),
        "incorrect": float(verdict.incorrect),
        "judge_score": float(verdict.score),
        "judge_supported": verdict.supported,
    }


def request_of(reply: GivenReply) -> JudgeRequest:
    """The judge's view of a reply."""
    answer = reply.answer
    return _request(reply.question, answer.text, answer.options, reply.passages, answer.citations)


def request_from_report(entry: ReportQuestion) -> JudgeRequest:
    """The judge's view of an answer in a report: its first repeat."""
    return _request(entry, entry.answer, entry.options, entry.context, entry.citations)


def _request(
    question: GoldenQuestion | ReportQuestion,
    answer: str,
    options: Iterable[str],
    context: Sequence[ReportPassage],
    citations: Sequence[Citation | ReportCitation],
) -> JudgeRequest:
    titles = {one.document: one.title for one in context}
    offered = "\n".join(f"- {option}" for option in options)
    return JudgeRequest(
        id=question.id,
        kind=f"{question.kind}: {question.category}" if question.category else question.kind,
        question=question.question,
        history=as_turns(question.history),
        reference=question.reference,
        instructions=question.instructions,
        rubric=tuple(question.rubric),
        facts=tuple(question.must_include),
        evidence=tuple(
            JudgePassage(
                title=titles.get(one.document) or one.document,
                heading=one.heading,
                text=one.quote,
                document=one.document,
            )
            for one in question.evidence
        ),
        passages=tuple(
            JudgePassage(title=one.title, heading=one.heading, text=one.text, document=one.document)
            for one in context
        ),
        answer=f"{answer}\n\nOptions to choose from:\n{offered}" if offered else answer,
        citations=tuple(
            JudgePassage(
                title=one.title,
                heading=one.heading,
                text=short_quote(one.quote),
                document=one.document,
            )
            for one in citations
        ),
    )


class _Judging:
    """Judges one reply per call; stops calling after repeated unavailability. Thread-safe."""

    def __init__(self, give: GiveVerdict) -> None:
        self._give = give
        self._absent = 0
        self._lock = threading.Lock()

    def one(self, reply: GivenReply) -> tuple[JudgedReply | str, Usage]:
        """The verdict, or the reason why there is none; and the usage."""
        if self._absent >= _GIVES_UP:
            return "the model doesn't answer; not asked", Usage()
        try:
            verdict, usage = self._give(request_of(reply))
        except ModelError as error:
            self._count(isinstance(error, ModelUnavailable))
            return error.problem, Usage()
        self._count(False)
        return _as_reported(verdict, reply.answer.text), usage

    def _count(self, absent: bool) -> None:
        with self._lock:
            self._absent = self._absent + 1 if absent else 0


def _as_reported(verdict: JudgeVerdict, answer: str) -> JudgedReply:
    count = max(1, len(sentences(CITATION.sub("", answer))))
    return JudgedReply(
        score=verdict.score,
        acceptable=verdict.acceptable,
        incorrect=verdict.incorrect,
        reasoning=verdict.reasoning,
        feedback=verdict.feedback,
        missing=verdict.missing,
        unsupported=verdict.unsupported,
        supported=max(0.0, 1 - len(verdict.unsupported) / count),
    )


def _of_the_unjudged(unjudged: Mapping[Key, str], count: int) -> list[str]:
    if not unjudged:
        return []
    names = list(dict.fromkeys(name for name, _ in unjudged))
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    reason, _ = Counter(unjudged.values()).most_common(1)[0]
    note = (
        f"{len(unjudged)} of {count} answers could not be judged and count in no figure of the "
        f"judge: {', '.join(names[:_NAMED])}{more} ({reason}). Run it again: only these are "
        "judged then."
    )
    if len(unjudged) <= LOUD * count:
        return [note]
    warning = (
        f"WARNING: the judge's figures rest on {count - len(unjudged)} of {count} answers only. "
        "Don't compare them with those of another run."
    )
    return [warning, note]


def _of_the_judge(model: str, answered_by: str, verdicts: Mapping[Key, JudgedReply]) -> list[str]:
    if not verdicts or model != answered_by:
        return []
    return [
        f"{model} judged its own answers, and models are kinder to their own: "
        "ONCALL_JUDGE_MODEL names another judge."
    ]


def _of_length(replies: Sequence[GivenReply], verdicts: Mapping[Key, JudgedReply]) -> list[str]:
    """Note the correlation of score and length: a biased judge scores long answers higher."""
    scored = [
        (
            float(verdicts[_key(reply)].score),
            float(len(CITATION.sub("", reply.answer.text).split())),
        )
        for reply in replies
        if _key(reply) in verdicts
    ]
    if len(scored) < 3 or any(len(set(row)) == 1 for row in zip(*scored, strict=True)):
        return []  # too few scores, or constant ones: no meaningful correlation
    scores, words = np.asarray(scored).T
    return [
        f"Score and length: Spearman {spearman(scores, words):+.2f} over {len(scored)} answers "
        "(near 0: the judge gave no more for more words)."
    ]


def _key(reply: GivenReply) -> Key:
    return reply.question.id, reply.repeat


def short_quote(quote: str) -> str:
    """Shorten a quote to what the judge sees."""
    words = " ".join(quote.split())
    return words if len(words) <= _LONGEST_QUOTE else f"{words[:_LONGEST_QUOTE]}…"
