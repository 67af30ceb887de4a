"""`oncall jobs`: refreshing domains on their schedules, and what came of it."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from cli.options import AsJson, DomainNames, plain_console, print_json, wired
from config.errors import UsageError

if TYPE_CHECKING:
    from jobs.schedule.kept_runs import IngestRun

app = typer.Typer()
jobs_app = typer.Typer(no_args_is_help=True, help="Refresh domains on their schedules.")
app.add_typer(jobs_app, name="jobs")

RESTART_SECONDS = 2.0


@jobs_app.command("run")
def jobs_run(
    once: Annotated[bool, typer.Option("--once", help="Run what is due now, and exit.")] = False,
    workers: Annotated[
        int, typer.Option(min=1, max=64, help="Processes that work side by side; PostgreSQL only.")
    ] = 1,
    health_port: Annotated[
        int,
        typer.Option(min=0, max=65535, help="Port of /healthz, /readyz and /metrics; 0 for none."),
    ] = 8081,
) -> None:
    """Refresh each domain when its `refresh` says so, until stopped."""
    from telemetry.health import serve_health

    copilot = wired()
    if workers > 1 and not copilot.settings.database_url:
        raise UsageError(
            "SQLite is for one process", remedy="set DATABASE_URL to PostgreSQL to run several"
        )
    if not any(domain.refresh for domain in copilot.domains.values()):
        sys.stderr.write(
            "oncall: no domain file has a `refresh`; nothing will run until one does\n"
        )
    runner = copilot.jobs()
    stopped = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.set())
    if health_port and not once:
        serve_health(runner, health_port, figures=copilot.settings.metrics != "off")
    runner.start()
    if once:
        runner.run_what_is_due()
        runner.stop()
        return
    with _beside(workers - 1, stopped):
        stopped.wait()
        runner.stop()


@jobs_app.command("list")
def jobs_list(as_json: AsJson = False) -> None:
    """When each domain is refreshed, and how the last run went."""
    copilot = wired()
    known = {name: (domain, copilot.freshness(name)) for name, domain in copilot.domains.items()}
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
                }
                for name, (domain, fresh) in known.items()
            ]
        )
        return
    console = plain_console()
    for name, (domain, fresh) in known.items():
        schedule = domain.refresh.cron if domain.refresh else "no schedule"
        console.print(f"{name:<24} {schedule:<16} {fresh.sentence()}")


@jobs_app.command("history")
def jobs_history(
    names: DomainNames = None,
    last: Annotated[int, typer.Option(min=1, max=200, help="Runs of each domain.")] = 10,
    as_json: AsJson = False,
) -> None:
    """What the last runs did, newest first."""
    copilot = wired()
    chosen = [copilot.domain(name).domain for name in names or copilot.domains]
    runs = [run for name in chosen for run in copilot.runs.of(name, last)]
    runs.sort(key=lambda run: run.started_at, reverse=True)
    if as_json:
        print_json([as_row(run) for run in runs])
        return
    console = plain_console()
    if not runs:
        console.print("No run is on record yet.")
    for run in runs:
        why = "planned" if run.planned_at else "by hand"
        console.print(
            f"{run.started_at:%Y-%m-%d %H:%M} UTC  {run.domain:<20} {run.outcome:<10} {why:<8}"
            f"{run.seconds:>8.1f} s  +{run.added} ~{run.changed} -{run.removed}"
            f" ={run.unchanged}  {run.calls} calls"
        )
        if run.problem:
            console.print(f"    {run.problem}")
        for document, reason in run.failures.items():
            console.print(f"    {document}: {reason}")


def as_row(run: IngestRun) -> dict[str, object]:
    from dataclasses import asdict

    moments = {
        name: moment and moment.isoformat()
        for name, moment in (
            ("planned_at", run.planned_at),
            ("started_at", run.started_at),
            ("finished_at", run.finished_at),
        )
    }
    return {**asdict(run), **moments}


@contextmanager
def _beside(count: int, stopped: threading.Event) -> Iterator[None]:
    """So many more of this command, each started again when it dies."""
    command = [sys.executable, "-m", "cli.main", "jobs", "run", "--health-port", "0"]
    crew = [subprocess.Popen(command) for _ in range(count)]  # noqa: S603 - ourselves

    def look_after() -> None:
        while not stopped.wait(RESTART_SECONDS):
            for place, process in enumerate(crew):
                if process.poll() is not None:
                    sys.stderr.write("oncall: a worker died; starting another\n")
                    crew[place] = subprocess.Popen(command)  # noqa: S603 - ourselves

    keeper = threading.Thread(target=look_after, daemon=True)
    keeper.start()
    try:
        yield
    finally:
        stopped.set()
        keeper.join(timeout=5)
        for process in crew:
            process.terminate()
        for process in crew:
            process.wait(timeout=40)
