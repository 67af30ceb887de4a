"""Renders the head of the page: the run, its warnings and the headline figures."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from jobs.evaluation.agreement import NEVER_CHECKED
from jobs.evaluation.report import EvaluationReport
from jobs.pages.charts import interval_bar, stacked
from jobs.pages.metric_names import figure, named
from jobs.pages.verdicts import OTHER, REPLIES

WITH_JUDGE = ("acceptable", "incorrect", "judge_score")
WITHOUT = ("answer_wrong", "evidence_all", "cited")
"""Headline figures."""
_TOP = {"judge_score": 5.0}


def headlines(report: EvaluationReport) -> tuple[str, ...]:
    """Names of the headline figures that the run measured."""
    names = WITH_JUDGE if report.run.judge_model else WITHOUT
    return tuple(name for name in names if name in report.metrics.get("all", {}))


def headed(report: EvaluationReport) -> str:
    """Title, run details, warnings and broken limits."""
    run = report.run
    facts_of_run = [
        ("domain", run.domain),
        ("answered by", run.model or "no model"),
        ("judge", run.judge_model or "none"),
        ("questions", _questions(report)),
        ("index generation", str(run.generation)),
        ("asked at", run.started_at.replace("T", " ").replace("+00:00", " UTC")),
        ("took", f"{run.seconds:g} s, {run.parallel} at a time"),
        ("golden files", ", ".join(run.golden)),
        ("version", run.version[:12]),
        ("run", run.id),
    ]
    if run.system != "agents":
        facts_of_run.insert(1, ("system", run.system))
    facts = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>"
        for name, value in facts_of_run
        if value
    )
    warnings = "".join(f"<li>{_code(escape(note))}</li>" for note in _warnings(report))
    below = "".join(f"<li>{escape(line)}</li>" for line in report.below)
    return (
        f"<header><h1>Evaluation of {escape(run.domain)}</h1>"
        '<button type="button" class="theme" hidden>Light or dark</button>'
        f'<dl class="run">{facts}</dl></header>'
        + (f'<ul class="warnings">{warnings}</ul>' if warnings else "")
        + (f'<div class="failed"><b>Limits not kept</b><ul>{below}</ul></div>' if below else "")
    )


def _questions(report: EvaluationReport) -> str:
    run = report.run
    text = f"{run.questions} ({run.asked} replies asked for"
    text += f", {run.kept} kept from before)" if run.kept else ")"
    return text + (f", each {run.repeats} times" if run.repeats > 1 else "")


def _warnings(report: EvaluationReport) -> Iterator[str]:
    unchecked = report.run.judge_model and not (report.judge and report.judge.checked)
    if unchecked and NEVER_CHECKED not in report.notes:
        yield NEVER_CHECKED
    if report.judge and report.judge.checked:
        yield f"The judge was checked against {report.judge.scores} scores by people."
    yield from report.notes


def _code(text: str) -> str:
    """Turn `text` in backticks into code elements. The input is already escaped."""
    pieces = text.split("`")
    if len(pieces) % 2 == 0:
        return text
    return "".join(
        f"<code>{piece}</code>" if place % 2 else piece for place, piece in enumerate(pieces)
    )


def headline_cards(report: EvaluationReport) -> str:
    """Each figure with its interval and the baseline's value, then the shares of reply kinds."""
    cards = "".join(_card(report, name) for name in headlines(report))
    shares = [
        (label, report.metrics["all"].get(name, 0.0))
        for name, label in REPLIES.items()
        if report.metrics.get("all")
    ]
    if shares:
        rest = 1 - sum(share for _, share in shares)
        shares = [*shares, *([(OTHER, rest)] if rest > 0.005 else [])]  # less shows as 0%
    return f'<section class="cards">{cards}</section>' + (
        f'<section class="sorts"><h2>Replies</h2>{stacked(shares)}</section>' if shares else ""
    )


def _card(report: EvaluationReport, name: str) -> str:
    value = report.metrics["all"][name]
    interval = report.intervals.get("all", {}).get(name)
    metric = named(name)
    baseline = report.baseline.metrics.get("all", {}).get(name) if report.baseline else None
    bar = interval_bar(value, interval, top=_TOP.get(name, 1.0), baseline=baseline)
    lines = []
    if interval:
        lines.append(f"95%: {figure(name, interval[0])} to {figure(name, interval[1])}")
    corrected = report.judge.corrected.get(name) if report.judge else None
    if corrected:
        lines.append(
            f"corrected by the judge's own errors: {corrected.value:.2f} "
            f"({corrected.low:.2f} to {corrected.high:.2f})"
        )
    if report.baseline and baseline is not None:
        lines.append(f"{report.baseline.name}, ○: {figure(name, baseline)}{_by(report, name)}")
    paragraphs = "".join(f"<p>{escape(line)}</p>" for line in lines)
    return (
        f'<article class="figure"><h2>{escape(metric.alone)}</h2>'
        f"<strong>{figure(name, value)}</strong>{bar}{paragraphs}"
        f'<p class="quiet">{escape(metric.meaning)}</p></article>'
    )


def _by(report: EvaluationReport, name: str) -> str:
    change = report.against_baseline.metrics.get(name) if report.against_baseline else None
    if change is None or change.interval is None:
        return ""
    low, high = change.interval
    return f"; difference {change.after - change.before:+.2f} ({low:+.2f} to {high:+.2f})"
