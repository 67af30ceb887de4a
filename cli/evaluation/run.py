"""One `oncall evaluate run`, from its options to the exit code."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from agents.confidence import Threshold
from cli.evaluation.systems import agents, at_a_time, judge_of, plain_rag, report_named
from cli.evaluation.tables import print_matrix, print_report, print_strategies
from cli.options import plain_console, print_json, wired
from config.domain import Domain
from config.errors import UsageError
from config.models import Prices, read_prices
from enrichment.references import paths_of
from jobs.evaluation.agreement import NEVER_CHECKED, JudgeCardStore, judge_card
from jobs.evaluation.comparison import compared
from jobs.evaluation.evaluate import (
    AskingOptions,
    Limit,
    broken,
    check_writable,
    evaluate,
    write_report,
)
from jobs.evaluation.history import export_run, keep_run, require_mlflow, runs
from jobs.evaluation.matrix import parse_axes, variations
from jobs.evaluation.metrics.retrieval import GivenReply
from jobs.evaluation.report import EvaluationReport
from jobs.evaluation.strategies import STRATEGY_KEY, compare_strategies
from jobs.golden.questions import GoldenQuestion, load_golden
from jobs.pages.report import PAGE_RUNS, as_page
from oncall import Copilot


@dataclass(frozen=True, kw_only=True)
class EvaluationRun:
    """The command line options."""

    golden: tuple[Path, ...]
    domain: str
    out: Path | None
    judge: bool
    baseline: bool
    compare: str
    limits: tuple[Limit, ...]
    matrix: tuple[str, ...]
    repeats: int
    parallel: int | None
    ask_again: bool
    prices: str
    mlflow: bool
    as_json: bool


def run(options: EvaluationRun) -> None:
    """Evaluate one domain, or all that name golden files.

    Raises CopilotError. Exits 1 if a limit is violated."""
    copilot = wired()
    if options.domain:
        fine = [_run(copilot, copilot.domain(options.domain), options)]
    else:
        fine = [_run(copilot, *one) for one in _every_domain(copilot, options)]
    if not all(fine):
        raise typer.Exit(1)


def _every_domain(copilot: Copilot, options: EvaluationRun) -> list[tuple[Domain, EvaluationRun]]:
    """Returns the domains that name golden files, each with its own folder. Raises UsageError."""
    if options.golden:
        names = ", ".join(copilot.domains)
        raise UsageError(f"these questions are asked of one domain; add --domain: {names}")
    domains = [domain for domain in copilot.domains.values() if domain.evaluation.golden]
    if not domains:
        raise UsageError(
            "no golden questions", remedy="name golden files, or write them in the domain file: "
            "evaluation.golden",
        )  # fmt: skip
    return [
        (one, replace(options, out=options.out / one.domain if options.out else None))
        for one in domains
    ]


def _run(copilot: Copilot, domain: Domain, options: EvaluationRun) -> bool:
    """Returns whether the limits are met."""
    options = replace(options, golden=options.golden or tuple(domain.golden_files))
    golden = load_golden(options.golden)
    if options.judge and copilot.judge_model is None:
        typer.echo(
            "--judge: no language model is connected, so nobody judges; the rest runs. Set "
            "ONCALL_JUDGE_MODEL, or ONCALL_CHAT_MODEL, and OPENAI_API_KEY or OPENAI_BASE_URL.",
            err=True,
        )
        options = replace(options, judge=False)
    earlier = report_named(copilot, options.compare, domain.domain) if options.compare else None
    if earlier and not {one.id for one in earlier.questions} & {one.id for one in golden}:
        raise UsageError(f"--compare {options.compare}: it asked none of these questions")
    if options.mlflow:
        require_mlflow()
    if options.out:
        check_writable(options.out)
    snapshot = copilot.snapshot(domain.domain)  # fails before a model loads if nothing is published
    paths = paths_of(snapshot.documents.values())
    golden = [one.with_ids(paths) for one in golden]
    if options.matrix:
        return _matrix(copilot, domain, golden, options)
    report = _evaluated(copilot, domain, golden, options)
    if domain.answer.max_wrong is not None and report.threshold:
        copilot.thresholds.keep(domain.domain, Threshold(**report.threshold.model_dump()))
    if earlier:
        change = compared(
            earlier.questions, report.questions, name=earlier.run.id or options.compare
        )
        report = report.model_copy(update={"compared": change})
    if report.run.judge_model:
        agreement = JudgeCardStore(copilot.index.engine).of(domain.domain, report.run.judge_model)
        card = judge_card(agreement, report.questions)
        notes = report.notes if card.checked else [NEVER_CHECKED, *report.notes]
        report = report.model_copy(update={"judge": card, "notes": notes})
    below = list(broken(report, options.limits))
    report = report.model_copy(update={"below": below})
    keep_run(copilot.index.engine, report)
    if options.out:
        history = runs(copilot.index.engine, domain.domain, limit=PAGE_RUNS)
        write_report(report, options.out, as_page(report, history))
    if options.mlflow:
        _to_mlflow(report)
    if options.as_json:
        print_json(report.model_dump(mode="json"))
    else:
        print_report(report, options.out)
    return not below


def _to_mlflow(report: EvaluationReport) -> None:
    """Log the report with its files to MLflow, regardless of the output folder."""
    with tempfile.TemporaryDirectory() as folder:
        write_report(report, Path(folder), as_page(report))
        typer.echo(f"MLflow run {export_run(report, Path(folder))}", err=True)


def _evaluated(
    copilot: Copilot, domain: Domain, golden: Sequence[GoldenQuestion], options: EvaluationRun
) -> EvaluationReport:
    systems = 2 if options.baseline else 1
    with _progress(domain.domain, len(golden) * options.repeats * systems) as on_reply:
        report = evaluate(
            agents(copilot, domain, ask_again=options.ask_again),
            golden,
            domain=domain.domain,
            model=copilot.model_name,
            asking=AskingOptions(
                parallel=options.parallel or at_a_time(copilot),
                repeats=options.repeats,
                prices=prices_of(options.prices) or copilot.settings.read_prices(),
                max_wrong=domain.answer.max_wrong,
                judge=judge_of(copilot, domain, parallel=options.parallel)
                if options.judge
                else None,
                on_reply=on_reply,
            ),
            baseline=plain_rag(copilot, domain, ask_again=options.ask_again)
            if options.baseline
            else None,
        )
    named = [path.name for path in options.golden]
    return report.model_copy(update={"run": report.run.model_copy(update={"golden": named})})


def _matrix(
    copilot: Copilot, domain: Domain, golden: Sequence[GoldenQuestion], options: EvaluationRun
) -> bool:
    """Report each combination of settings and print one table. Returns whether all meet limits."""
    reports: dict[str, EvaluationReport] = {}
    single, axes = replace(options, baseline=False), parse_axes(options.matrix)
    for one in variations(domain, axes):
        reports[one.name] = _evaluated(copilot, one.domain, golden, single)
        if options.out:
            folder = options.out / one.name.replace(" ", "_")
            write_report(reports[one.name], folder, as_page(reports[one.name]))
    by_strategy = {name.partition("=")[2]: report for name, report in reports.items()}
    is_about_it = [axis.key for axis in axes] == [STRATEGY_KEY]
    rows = compare_strategies(by_strategy, domain.retrieval) if is_about_it else []
    if options.as_json:
        dumped = {name: report.model_dump(mode="json") for name, report in reports.items()}
        strategies = [row.model_dump(mode="json") for row in rows]
        print_json({**dumped, "strategies": strategies} if is_about_it else dumped)
    else:
        print_matrix(reports)
        if is_about_it:
            print_strategies(rows)
    below = [
        f"{name}: {line}"
        for name, report in reports.items()
        for line in broken(report, options.limits)
    ]
    for line in below:
        typer.echo(line, err=True)
    return not below


def prices_of(text: str) -> Prices | None:
    """Raises UsageError."""
    try:
        return read_prices(text) if text else None
    except ValueError as error:
        raise UsageError(f"--prices {text!r}: {error}") from None


@contextmanager
def _progress(domain: str, total: int) -> Iterator[Callable[[GivenReply], None]]:
    """Shows a progress bar if standard error is a terminal."""
    console = plain_console(stderr=True)
    bar = Progress(
        TextColumn(f"{domain:<10}", markup=False),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.description}", style="dim", markup=False),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    with bar:
        task = bar.add_task("asking", total=total)

        def on_reply(reply: GivenReply) -> None:
            bar.update(task, advance=1, description=reply.question.id)

        yield on_reply
