"""`oncall jobs`: refreshes domains on their schedules, and lists the runs."""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from cli.options import AsJson, DomainNames, free_port, plain_console, print_json, wired
from config.errors import UsageError
from durable.stop_signal import StopSignal, end_at_once

if TYPE_CHECKING:
    from jobs.schedule.runner import JobRunner
    from jobs.schedule.runs import IngestRun
    from oncall import Copilot

app = typer.Typer()
jobs_app = typer.Typer(no_args_is_help=True, help="Refresh domains on their schedules.")
app.add_typer(jobs_app, name="jobs")

BAD = frozenset({"failed", "held back", "broken"})


@jobs_app.command("run")
def jobs_run(
    once: Annotated[bool, typer.Option("--once", help="Run what is due now, and exit.")] = False,
    workers: Annotated[
        int, typer.Option(min=1, max=64, help="Processes that work side by side; PostgreSQL only.")
    ] = 1,
    health_port: Annotated[
        int,
        typer.Option(
            min=0,
            max=65_000,
            help="Port of /healthz, /readyz and /metrics, the next one for each further worker; "
            "0 for none.",
        ),
    ] = 8081,
    under_parent: Annotated[bool, typer.Option("--under-parent", hidden=True)] = False,
) -> None:
    """Refresh each domain when its `refresh` says so, until stopped."""
    from durable.watch import DatabaseWatch
    from telemetry.health import CombinedHealth, serve_health

    copilot = wired()
    if workers > 1:
        raise typer.Exit(_several(copilot, workers, health_port, once=once))
    if not any(domain.refresh for domain in copilot.domains.values()):
        sys.stderr.write(
            "oncall: no domain file has a `refresh`; nothing will run until one does\n"
        )
    runner = copilot.jobs()
    if once:
        raise typer.Exit(_once(copilot, runner))
    free_port(health_port)
    stopped = StopSignal()
    stopped.listen()
    if under_parent:
        threading.Thread(target=_end_with_the_parent, args=(stopped,), daemon=True).start()
    if health_port:
        database = DatabaseWatch(copilot.index.engine)
        database.start()
        watched = CombinedHealth(database, runner, copilot.freshness_gauges)
        serve_health(watched, health_port, figures=copilot.settings.metrics != "off")
    runner.start()
    stopped.wait()
    runner.stop()
    # A run that is still active is stored: the next start or another process continues it.
    end_at_once()


@jobs_app.command("list")
def jobs_list(as_json: AsJson = False) -> None:
    """When each domain is refreshed, and how the last run went."""
    from cli.setup.checks import runner_state

    copilot = wired()
    runner = runner_state(copilot)
    states = {name: (domain, copilot.freshness(name)) for name, domain in copilot.domains.items()}
    if as_json:
        print_json(
            [
                {
                    "domain": name,
                    "refresh": domain.refresh and domain.refresh.model_dump(),
                    "last": fresh.last and as_row(fresh.last),
                    "next": fresh.upcoming or None,
                    "overdue": fresh.overdue,
                    "failing": dict(fresh.failing),
                    "runner": runner.state == "ok",
                }
                for name, (domain, fresh) in states.items()
            ]
        )
        return
    console = plain_console()
    for name, (domain, fresh) in states.items():
        schedule = domain.refresh.cron if domain.refresh else "no schedule"
        console.print(f"{name:<24} {schedule:<16} {fresh.sentence()}", soft_wrap=True)
    if runner.state != "ok":
        console.print(f"Job runner: {runner}.", soft_wrap=True)


@jobs_app.command("history")
def jobs_history(
    names: DomainNames = None,
    last: Annotated[int, typer.Option(min=1, max=200, help="Runs of each domain.")] = 10,
    as_json: AsJson = False,
) -> None:
    """What the last runs did, newest first."""
    copilot = wired()
    runs = [run for name in names or copilot.domains for run in copilot.runs.of(name, last)]
    for name in names or ():
        if not any(run.domain == name for run in runs):
            copilot.domain(name)  # neither configured nor on record: the name is wrong
    runs.sort(key=lambda run: run.started_at, reverse=True)
    if as_json:
        print_json([as_row(run) for run in runs])
    else:
        _print_runs(runs)


def _print_runs(runs: Sequence[IngestRun]) -> None:
    console = plain_console()
    if not runs:
        console.print("No run is on record.")
    for run in runs:
        why = "planned" if run.planned_at else "by hand"
        cost = "" if run.cost is None else f"  ${run.cost:.2f}"
        console.print(
            f"{run.started_at:%Y-%m-%d %H:%M} UTC  {run.domain:<20} {run.outcome:<10} {why:<8}"
            f"{run.seconds:>8.1f} s  +{run.added} ~{run.changed} -{run.removed}"
            f" ={run.unchanged}  {run.calls} calls{cost}",
            soft_wrap=True,
        )
        if run.problem:
            console.print(f"    {run.problem}", soft_wrap=True)
        for document, reason in run.failures.items():
            console.print(f"    {document}: {reason}", soft_wrap=True)


def as_row(run: IngestRun) -> dict[str, object]:
    from dataclasses import asdict

    return {
        name: value.isoformat() if isinstance(value, datetime) else value
        for name, value in asdict(run).items()
    }


def _several(copilot: Copilot, workers: int, health_port: int, *, once: bool) -> int:
    from jobs.schedule.processes import RunnerProcesses, runner_command

    if once:
        raise UsageError("--once is for one process", remedy="leave --workers out")
    if not copilot.settings.database_url:
        raise UsageError(
            "SQLite is for one process", remedy="set DATABASE_URL to PostgreSQL to run several"
        )
    return RunnerProcesses(partial(runner_command, health_port=health_port), workers).run()


def _once(copilot: Copilot, runner: JobRunner) -> int:
    """Returns the exit code: 1 if a run failed or could not read a document meanwhile."""
    began = datetime.now(UTC)
    runner.start()
    runner.run_what_is_due()
    runner.stop()
    runs = [run for name in copilot.domains for run in copilot.runs.of(name)]
    mine = [run for run in runs if (run.finished_at or run.started_at) >= began]
    _print_runs(sorted(mine, key=lambda run: run.started_at, reverse=True))
    return int(any(run.outcome in BAD or run.failures for run in mine))


def _end_with_the_parent(stopped: StopSignal) -> None:
    """Stop when standard input closes: the parent holds its other end open."""
    sys.stdin.buffer.read()
    stopped.set()
