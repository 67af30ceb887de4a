"""The golden questions, asked: metrics, `report.json` and a page to read."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from agents.answer import Answer, Ask, Question, Turn
from agents.confidence.kept_thresholds import Threshold
from config.errors import ConfigError
from jobs.evaluation.golden_confidence import threshold_by
from jobs.evaluation.scoring import score, summed_up
from jobs.golden.golden_questions import GoldenQuestion, load_golden
from jobs.report_page.evaluation_page import as_page

Report = dict[str, Any]

SHOWN = {
    "questions": "questions",
    "cited": "right document cited",
    "cited_first": "right document first",
    "fact_any": "a fact said",
    "facts_all": "all facts said",
    "evidence_all": "evidence in context",
    "refused_right": "refused, rightly",
    "refused_wrong": "refused, wrongly",
    "clarified": "asked back, rightly",
    "clarified_wrong": "asked back, wrongly",
    "replied_answer": "answered",
    "answer_wrong": "– of these wrong, or in part",
    "answer_cited": "– right document cited",
    "answer_fact_any": "– a fact said",
    "answer_facts_all": "– all facts said",
    "replied_passages": "passages found",
    "passages_cited": "– right document shown",
    "passages_fact_any": "– a fact shown",
    "passages_facts_all": "– all facts shown",
    "replied_refusal": "refused",
    "replied_question": "asked back",
    "answer_characters": "characters",
}
"""Metric → its name for readers, in order."""


def evaluate(
    ask: Ask,
    golden: Sequence[GoldenQuestion],
    *,
    domain: str,
    model: str = "",
    max_wrong: float | None = None,
    on_question: Callable[[int, GoldenQuestion], None] = lambda number, question: None,
) -> Report:
    """Asks every question and scores the answers. Raises IndexUnavailable.

    `max_wrong`: see `answer.max_wrong`; the report then holds the threshold."""
    started = datetime.now(UTC)
    begun = time.perf_counter()
    scored: list[tuple[GoldenQuestion, Mapping[str, float]]] = []
    asked: list[dict[str, Any]] = []
    answered: list[tuple[GoldenQuestion, Answer]] = []
    generation = 0
    for number, question in enumerate(golden, start=1):
        on_question(number, question)
        history = tuple(Turn(role=turn.role, content=turn.content) for turn in question.history)
        answer = ask(Question(text=question.question, history=history), None)
        metrics = score(question, answer)
        scored.append((question, metrics))
        asked.append(_as_json(question, answer, metrics))
        answered.append((question, answer))
        generation = answer.generation
    run = {
        "domain": domain,
        "model": model,
        "generation": generation,
        "questions": len(golden),
        "started_at": started.isoformat(timespec="seconds"),
        "seconds": round(time.perf_counter() - begun, 1),
    }
    report = {"run": run, "metrics": summed_up(scored), "questions": asked}
    if max_wrong is not None:
        report["threshold"] = asdict(threshold_by(max_wrong, answered))
    return report


def run_evaluation(
    ask: Ask,
    paths: Sequence[Path],
    *,
    domain: str,
    model: str = "",
    max_wrong: float | None = None,
    keep: Callable[[Threshold], None] = lambda threshold: None,
    out: Path | None = None,
    compare: Path | None = None,
    on_question: Callable[[int, GoldenQuestion], None] = lambda number, question: None,
) -> Report:
    """Golden files in, a report out; writes `report.json` and `report.html` to `out`, and keeps
    the threshold that the answers bear out.

    Raises ConfigError for a golden file or an earlier report that can't be read, and, before
    anything is asked, for an `out` that can't be written."""
    golden = load_golden(paths)
    before = read_report(compare) if compare else None
    if out:
        _check_writable(out)
    report = evaluate(
        ask, golden, domain=domain, model=model, max_wrong=max_wrong, on_question=on_question
    )
    if max_wrong is not None:
        keep(Threshold(**report["threshold"]))
    if before:
        report["compared"] = compared(before, report)
    if out:
        write_report(report, out)
    return report


def _check_writable(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise ConfigError(
            f"{folder}: no report can be written here: {error.strerror}",
            remedy="name a folder with --out",
        ) from error


def write_report(report: Report, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(report, ensure_ascii=False, indent=1)
    (folder / "report.json").write_text(text, encoding="utf-8")
    (folder / "report.html").write_text(as_page(report, SHOWN), encoding="utf-8")


def read_report(path: Path) -> Report:
    """An earlier `report.json`, or its folder."""
    file = path / "report.json" if path.is_dir() else path
    try:
        report = json.loads(file.read_text(encoding="utf-8"))
        report["metrics"]["all"], report["questions"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(
            f"{file}: not a report ({type(error).__name__})",
            remedy="give a report.json that `oncall evaluate --out` wrote",
        ) from error
    return dict(report)


def compared(before: Report, after: Report) -> dict[str, Any]:
    """What moved between two reports: metrics, and the questions that got better or worse."""
    old, new = before["metrics"]["all"], after["metrics"]["all"]
    moved = {
        name: {"before": old[name], "after": new[name]}
        for name in new
        if name in old and name != "questions"
    }
    then = {one["id"]: one["metrics"] for one in before["questions"]}
    better: list[str] = []
    worse: list[str] = []
    for one in after["questions"]:
        change = _goodness(one["metrics"]) - _goodness(then.get(one["id"], one["metrics"]))
        if change:
            (better if change > 0 else worse).append(one["id"])
    return {"metrics": moved, "better": better, "worse": worse}


def _goodness(metrics: Mapping[str, float]) -> float:
    """Good metrics minus bad ones; only its change means anything."""
    bad = ("refused_wrong", "clarified_wrong", "answer_wrong")
    good = (
        "cited",
        "cited_first",
        "fact_any",
        "facts_all",
        "evidence_all",
        "refused_right",
        "clarified",
    )
    return sum(metrics.get(name, 0.0) for name in good) - sum(
        metrics.get(name, 0.0) for name in bad
    )


def _as_json(
    question: GoldenQuestion, answer: Answer, metrics: Mapping[str, float]
) -> dict[str, Any]:
    return {
        "id": question.id,
        "kind": question.kind,
        "question": question.question,
        "history": [turn.model_dump() for turn in question.history],
        "reference": question.reference,
        "answer": answer.text,
        "path": answer.path,
        "confidence": answer.confidence,
        "confidence_parts": dict(answer.confidence_parts),
        "options": list(answer.options),
        "citations": [
            {
                "number": one.number,
                "document": one.document,
                "heading": one.heading,
                "url": one.url,
                "quote": one.quote,
            }
            for one in answer.citations
        ],
        "context": [
            {
                "document": chunk.document_id,
                "heading": chunk.heading_path[-1] if chunk.heading_path else chunk.document_title,
                "text": chunk.text,
            }
            for chunk in answer.context
        ],
        "metrics": dict(metrics),
        "timings_ms": {name: round(spent, 1) for name, spent in answer.timings_ms.items()},
        "calls": answer.usage.calls,
        "tokens": answer.usage.input_tokens + answer.usage.output_tokens,
        "degraded": list(answer.degraded),
    }
