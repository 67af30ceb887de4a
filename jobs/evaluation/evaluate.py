"""Evaluates a system with golden questions: metrics, threshold, report, limits for CI."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path

from pydantic import ValidationError

from agents.answer import Answer, Ask
from agents.confidence import JudgedAnswer, Threshold, measure_threshold
from config.domain_files import nearest
from config.errors import ConfigError, UsageError
from config.models import Prices
from jobs.evaluation.asking import NO_REPLIES, ask_all
from jobs.evaluation.comparison import compared, intervals, spread, summed_up
from jobs.evaluation.judging import JudgedReplies
from jobs.evaluation.metrics.answers import acceptable
from jobs.evaluation.metrics.retrieval import LIBRARY_MISSING, GivenReply
from jobs.evaluation.reply_store import ReplyStore
from jobs.evaluation.report import (
    EvaluationReport,
    JudgeCard,
    KeptThreshold,
    ReportQuestion,
    RunInfo,
    SystemResult,
)
from jobs.evaluation.report_questions import report_questions
from jobs.golden.questions import GoldenQuestion


def threshold_by(max_wrong: float, answered: Sequence[tuple[GoldenQuestion, Answer]]) -> Threshold:
    """Measure the confidence threshold on answers from documents whose acceptability is known.

    Passages do not count: their confidence has another meaning."""
    judged: list[JudgedAnswer] = []
    for question, answer in answered:
        accepted = acceptable(question, answer)
        if answer.from_documents and accepted is not None:
            judged.append(JudgedAnswer(confidence=answer.confidence, acceptable=accepted))
    return measure_threshold(max_wrong, judged)


NO_JUDGE = (
    "No language model is connected, so nobody judged the answers: literal facts, citations and "
    "evidence were matched instead, which tells what changed, not how good an answer is."
)


@dataclass(frozen=True, kw_only=True)
class System:
    """A system under evaluation."""

    name: str
    """`agents`, or the name of a baseline."""
    ask: Ask
    version: str = ""
    """See `version_of`."""
    replies: ReplyStore = NO_REPLIES
    answers: bool = True
    """False: it only retrieves, and only its retrieval metrics count."""


Judge = Callable[[Sequence[GivenReply]], JudgedReplies]


@dataclass(frozen=True, kw_only=True)
class AskingOptions:
    parallel: int = 1
    repeats: int = 1
    prices: Prices | None = None
    max_wrong: float | None = None
    """See `answer.max_wrong`. If set, the report contains the threshold."""
    judge: Judge | None = None
    on_reply: Callable[[GivenReply], None] = field(default=lambda reply: None)


def evaluate(
    system: System,
    golden: Sequence[GoldenQuestion],
    *,
    domain: str,
    model: str = "",
    asking: AskingOptions | None = None,
    baseline: System | None = None,
) -> EvaluationReport:
    """Ask the system and the baseline every question, and score the replies.

    Raises IndexUnavailable; replies that were already stored stay."""
    asking = asking or AskingOptions()
    started, begun = datetime.now(UTC), time.perf_counter()
    result, replies, judged = _result(system, golden, asking)
    baseline_result = _result(baseline, golden, asking)[0] if baseline else None
    reused = sum(reply.reused for reply in replies)
    notes = [*(judged.notes if judged else ()), *_notes(replies, model, judged)]
    return EvaluationReport(
        run=RunInfo(
            id=f"{domain}-{started:%Y%m%d-%H%M%S-%f}"[:-3],
            domain=domain,
            system=system.name,
            model=model,
            judge_model=judged.model if judged else "",
            generation=max((reply.answer.generation for reply in replies), default=0),
            version=system.version,
            questions=len(golden),
            repeats=asking.repeats,
            asked=len(replies) - reused,
            kept=reused,
            parallel=asking.parallel,
            started_at=started.isoformat(timespec="seconds"),
            seconds=round(time.perf_counter() - begun, 1),
        ),
        metrics=result.metrics,
        intervals=result.intervals,
        spread=spread(result.questions),
        questions=result.questions,
        threshold=_threshold(asking, replies),
        baseline=baseline_result,
        against_baseline=baseline_result
        and compared(baseline_result.questions, result.questions, name=baseline_result.name),
        judge=JudgeCard(checked=False) if judged else None,
        notes=list(dict.fromkeys(notes)),
    )


def _result(
    system: System, golden: Sequence[GoldenQuestion], asking: AskingOptions
) -> tuple[SystemResult, list[GivenReply], JudgedReplies | None]:
    replies = ask_all(
        system.ask,
        golden,
        replies=system.replies,
        parallel=asking.parallel,
        repeats=asking.repeats,
        on_reply=asking.on_reply,
    )
    judged = asking.judge(replies) if asking.judge and system.answers else None
    questions = report_questions(
        replies, judged=judged.verdicts if judged else {}, prices=asking.prices
    )
    if not system.answers:
        questions = [_retrieval_alone(one) for one in questions]
    result = SystemResult(
        name=system.name,
        metrics=summed_up(questions),
        intervals=intervals(questions),
        questions=questions,
    )
    return result, replies, judged


def _retrieval_alone(question: ReportQuestion) -> ReportQuestion:
    measured = {
        name: value
        for name, value in question.metrics.items()
        if name.startswith(("evidence_", "document_"))
    }
    return question.model_copy(update={"metrics": measured})


def _threshold(asking: AskingOptions, replies: Sequence[GivenReply]) -> KeptThreshold | None:
    if asking.max_wrong is None:
        return None
    answered = [(reply.question, reply.answer) for reply in replies]
    return KeptThreshold(**asdict(threshold_by(asking.max_wrong, answered)))


def _notes(replies: Sequence[GivenReply], model: str, judged: JudgedReplies | None) -> list[str]:
    notes = [] if model or judged else [NO_JUDGE]
    if find_spec("ir_measures") is None:
        notes.append(LIBRARY_MISSING)
    fell_back = len({reply.question.id for reply in replies if reply.answer.degraded})
    if fell_back:
        notes.append(
            f"The model failed on {fell_back} of {len({r.question.id for r in replies})} "
            "questions, which an agent then answered without it."
        )
    proposed = len({reply.question.id for reply in replies if reply.question.kind == "proposed"})
    if proposed:
        was = "question was" if proposed == 1 else "questions were"
        notes.append(f"{proposed} proposed {was} asked and not counted: nobody confirmed them yet.")
    return notes


def check_writable(folder: Path) -> None:
    """Check that a report can be written. Raises ConfigError; call it before asking questions."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise ConfigError(
            f"{folder}: no report can be written here: {error.strerror}",
            remedy="name a folder with --out",
        ) from error


def write_report(report: EvaluationReport, folder: Path, page: str) -> None:
    """Write `report.json` and `report.html`."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(report.model_dump(mode="json"), ensure_ascii=False, indent=1)
    (folder / "report.json").write_text(text, encoding="utf-8")
    (folder / "report.html").write_text(page, encoding="utf-8")


def read_report(path: Path) -> EvaluationReport:
    """Read a `report.json`; `path`: the file or its folder. Raises ConfigError."""
    file = path / "report.json" if path.is_dir() else path
    try:
        return EvaluationReport.model_validate_json(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, ValidationError) as error:
        why = error.strerror if isinstance(error, OSError) else _first_fault(error)
        raise ConfigError(
            f"{file}: not a report: {why}",
            remedy="give a report.json that `oncall evaluate --out` wrote",
        ) from error


def _first_fault(error: UnicodeDecodeError | ValidationError) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "not UTF-8"
    first = error.errors(include_input=False, include_url=False)[0]
    where = ".".join(map(str, first["loc"]))
    return f"{where}: {first['msg']}" if where else str(first["msg"])


@dataclass(frozen=True, kw_only=True)
class Limit:
    """`acceptable=0.9` for all questions; `table:acceptable=0.9` for one kind or `#tag`."""

    metric: str
    value: float
    group: str = "all"
    at_most: bool = False
    """Whether `value` is a maximum; else it is a minimum."""

    def __str__(self) -> str:
        named = self.metric if self.group == "all" else f"{self.group}:{self.metric}"
        return f"{named} {'at most' if self.at_most else 'at least'} {self.value:g}"


def parse_limits(texts: Sequence[str], *, at_most: bool = False) -> list[Limit]:
    """Parse `[GROUP:]METRIC=NUMBER`. Raises UsageError."""
    option = "--fail-over" if at_most else "--fail-under"
    limits: list[Limit] = []
    for text in texts:
        name, equals, number = text.partition("=")
        group, colon, metric = name.rpartition(":")
        try:
            value = float(number)
        except ValueError:
            value = float("nan")
        if not (equals and metric and value == value):
            raise UsageError(f"{option} {text!r}: write a metric and a number, as acceptable=0.9")
        limits.append(
            Limit(metric=metric, value=value, group=group if colon else "all", at_most=at_most)
        )
    return limits


def broken(report: EvaluationReport, limits: Sequence[Limit]) -> Iterator[str]:
    """Yield a line for each limit that the run breaks.

    Raises UsageError for a metric or group that the run didn't measure: such a limit could never
    fail."""
    for limit in limits:
        group = report.metrics.get(limit.group)
        if group is None:
            named = ", ".join(report.metrics)
            raise UsageError(f"no question of kind or tag {limit.group!r}; there are {named}")
        if limit.metric not in group:
            hint = nearest(limit.metric, list(group))
            if limit.metric in ("acceptable", "incorrect", "judge_score"):
                hint = "; only a judge can tell: add --judge"
            raise UsageError(f"this run has no metric {limit.metric!r}{hint}")
        value = group[limit.metric]
        if value > limit.value if limit.at_most else value < limit.value:
            yield f"{limit}: it is {value:.3g}"
