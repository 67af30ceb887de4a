"""An evaluation report on a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from rich import box
from rich.table import Table
from rich.text import Text

from agents.confidence import Threshold
from cli.options import plain_console
from jobs.evaluation.report import Comparison, EvaluationReport
from jobs.evaluation.strategies import StrategyComparison, as_domain_keys
from jobs.pages.metric_names import SHOWN, figure

HEADLINES = (
    "acceptable", "incorrect", "cited", "facts_all", "evidence_all", "refusal_recall", "words",
    "total_ms", "calls", "cost",
)  # fmt: skip
"""Metrics that compare the combinations of a matrix, if measured."""


def print_report(report: EvaluationReport, folder: Path | None = None) -> None:
    """Print the metrics as a table: one column for all questions, one for each kind."""
    run, console = report.run, plain_console()
    title = f"{run.domain} · {run.model or 'without a model'} · {run.seconds} s"
    if run.kept:
        title += f" · {run.kept} replies of an earlier run (--anew asks again)"
    table = Table(title=title, box=box.SIMPLE_HEAVY, title_justify="left")
    table.add_column("", no_wrap=True)
    for group in report.metrics:
        style = "bold" if group == "all" else ""
        table.add_column(group, justify="right", style=style, overflow="fold")
    for name, label in SHOWN.items():
        cells = [figure(name, metrics.get(name)) for metrics in report.metrics.values()]
        if any(cells):
            table.add_row(label, *cells)
    console.print(table)
    if report.threshold:
        threshold = Threshold(**report.threshold.model_dump())
        console.print(f"answer.max_wrong {threshold.max_wrong:g}: {threshold}", highlight=False)
    if report.against_baseline:
        _print_change(report.against_baseline)
    if report.compared:
        _print_change(report.compared)
    for note in report.notes:
        console.print(note, highlight=False, style="dim", soft_wrap=True)
    for line in report.below:
        broken = "too low" if "least" in line else "too high"
        console.print(Text.assemble((broken, "red"), " ", line), highlight=False)
    if folder:
        console.print(f"Read it: {folder / 'report.html'}", highlight=False, soft_wrap=True)


def _print_change(change: Comparison) -> None:
    """Print changed metrics, with the interval of the paired difference."""
    console = plain_console()
    table = Table(title=f"against {change.before}", box=box.SIMPLE_HEAVY, title_justify="left")
    for name in ("", "then", "now", "difference (95%)", "p", "questions"):
        table.add_column(name, justify="right" if name else "left")
    for name, label in SHOWN.items():
        one = change.metrics.get(name)
        if one is None or one.before == one.after or one.interval is None:
            continue
        low, high = one.interval
        moved = f"{one.after - one.before:+.2f} ({low:+.2f} to {high:+.2f})"
        p = f"{one.p:.3f}" if one.p is not None else ""
        table.add_row(
            label, figure(name, one.before), figure(name, one.after), moved, p, str(one.questions)
        )
    if table.row_count:
        console.print(table)
    console.print(f"better: {', '.join(change.better) or 'none'}", highlight=False)
    console.print(f"worse: {', '.join(change.worse) or 'none'}", highlight=False)


def print_matrix(reports: Mapping[str, EvaluationReport]) -> None:
    """Print one row for each combination of settings, with intervals."""
    measured = [
        name
        for name in HEADLINES
        if any(name in report.metrics["all"] for report in reports.values())
    ]
    table = Table(box=box.SIMPLE_HEAVY, show_lines=True)
    table.add_column("", overflow="fold", min_width=24)
    for name in measured:
        table.add_column(SHOWN.get(name, name), justify="right")
    for combination, report in reports.items():
        table.add_row(
            combination.replace(" ", "\n"), *(_with_interval(report, name) for name in measured)
        )
    plain_console().print(table)


def print_strategies(rows: Sequence[StrategyComparison]) -> None:
    """Print each kind of question with its strategies, and what an admin may write for it."""
    console = plain_console()
    table = Table(title="strategy by kind of question", box=box.SIMPLE_HEAVY, title_justify="left")
    for name in ("kind", "questions", "now", "", "instead", "", "difference (95%)", "p", ""):
        table.add_column(name, justify="left" if name in ("kind", "now", "instead") else "right")
    for row in rows:
        low, high = row.interval
        moved = f"{row.value - row.current_value:+.2f} ({low:+.2f} to {high:+.2f})"
        verdict = "proposed" if row.proposed else "more incorrect" if row.more_incorrect else ""
        table.add_row(
            row.kind, str(row.questions), row.current, figure(row.metric, row.current_value),
            row.strategy, figure(row.metric, row.value), moved, f"{row.p:.3f}", verdict,
        )  # fmt: skip
    if rows:
        console.print(table)
    keys = as_domain_keys(rows)
    console.print(
        f"For the domain file, if it convinces you:\n{keys}"
        if keys
        else "No strategy is better for a kind of question beyond chance: nothing to change.",
        highlight=False,
        soft_wrap=True,
    )


def _with_interval(report: EvaluationReport, name: str) -> str:
    value = report.metrics["all"].get(name)
    if value is None:
        return ""
    low, high = report.intervals["all"][name]
    return f"{figure(name, value)}\n{figure(name, low)}–{figure(name, high)}"
