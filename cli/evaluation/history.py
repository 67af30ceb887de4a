"""`oncall evaluate history` and `show`: earlier runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.options import AsJson, OneDomain, plain_console, print_json, wired

if TYPE_CHECKING:
    from jobs.evaluation.history import KeptRun


def evaluate_history(
    domain: OneDomain = "",
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Runs at most.")] = 20,
    as_json: AsJson = False,
) -> None:
    """List the runs that were kept, newest first.

    Each figure with its change from the run of the same domain before it."""
    from dataclasses import asdict

    from jobs.evaluation.history import runs

    copilot = wired()
    name = copilot.domain(domain).domain if domain else None
    earlier = runs(copilot.index.engine, name, limit=limit)
    if as_json:
        print_json([asdict(one) for one in earlier])
    elif earlier:
        _print_runs(earlier)
    else:
        typer.echo("no runs yet: `oncall evaluate run` keeps them")


def evaluate_show(
    run: Annotated[str, typer.Argument(help="A run's id, its beginning, or `last`.")],
    out: Annotated[Path, typer.Option(help="Folder for report.json and report.html.")],
    domain: Annotated[str, typer.Option(help="Of this domain: for `last`.")] = "",
) -> None:
    """Write the report of an earlier run again."""
    from jobs.evaluation.evaluate import check_writable, write_report
    from jobs.evaluation.history import run_report, runs
    from jobs.pages.report import PAGE_RUNS, as_page

    copilot = wired()
    name = copilot.domain(domain).domain if domain else None
    report = run_report(copilot.index.engine, run, name)
    check_writable(out)
    earlier = runs(copilot.index.engine, report.run.domain, limit=PAGE_RUNS)
    write_report(report, out, as_page(report, earlier))
    typer.echo(f"Read it: {out / 'report.html'}")


def _print_runs(earlier: list[KeptRun]) -> None:
    from rich import box
    from rich.table import Table

    from jobs.pages.figures import WITH_JUDGE, WITHOUT
    from jobs.pages.metric_names import named

    names = [
        name
        for name in (*WITH_JUDGE, *WITHOUT)
        if any(name in one.metrics.get("all", {}) for one in earlier)
    ]
    table = Table(box=box.SIMPLE_HEAVY)
    for head in ("started, UTC", "id", "model"):
        table.add_column(head, overflow="fold")
    for head in ("questions", *(named(name).alone for name in names)):
        table.add_column(head, justify="right")
    for place, one in enumerate(earlier):
        before = next((old for old in earlier[place + 1 :] if old.domain == one.domain), None)
        table.add_row(
            f"{one.started_at:%Y-%m-%d %H:%M}",
            one.id,
            one.model or "none",
            str(one.questions),
            *(_with_change(name, one, before) for name in names),
        )
    plain_console().print(table)


def _with_change(name: str, run: KeptRun, before: KeptRun | None) -> str:
    """E.g. `0.83 +0.02`."""
    from jobs.pages.metric_names import figure

    value = run.metrics.get("all", {}).get(name)
    then = before.metrics.get("all", {}).get(name) if before else None
    text = figure(name, value)
    if value is None or then is None or figure(name, then) == text:
        return text
    return f"{text} {value - then:+.2f}"
