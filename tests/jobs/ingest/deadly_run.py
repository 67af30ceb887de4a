"""A planned run that takes down each runner, in processes of their own, one after another.

The parent has no threads, so its children begin as new processes do, without loading anything."""

from __future__ import annotations

import os
import signal
import sys
import time
from datetime import datetime
from pathlib import Path

import dbos  # noqa: F401 - once, for all children

from config.settings import Settings
from durable.lease import FileLease
from index.store.database import open_database
from jobs.ingest.progress import IngestReport
from jobs.schedule.recorded_run import Started, recorded
from jobs.schedule.runner import JobRunner
from jobs.schedule.runs import RunStore
from tests.bot.fakes import domain

DEADLY = "security@2026-11-05 03:00"
NEXT = "security@2026-11-06 03:00"
MOST_PROCESSES = 12
PATIENCE = 120.0


def run_once(folder: Path, now: str) -> None:
    """Until a run is over, well or not."""
    engine = open_database(Settings(data_dir=folder, database_url=None))
    runs = RunStore(engine)

    def tell(person: str, lines: list[str]) -> bool:
        with (folder / "told").open("a") as opened:
            opened.writelines(f"{person}: {line}\n" for line in lines)
        return True

    def refresh(name: str, started: Started) -> None:
        def die() -> IngestReport:
            if started.id == DEADLY:
                os.kill(os.getpid(), signal.SIGKILL)
            return IngestReport(domain=name, generation=1)

        recorded(runs, name, started, die, generation=lambda: 0)

    runner = JobRunner(
        domains=lambda: {"security": domain(refresh="0 3 * * *", admins=["U0INES"])},
        refresh=refresh,
        runs=runs,
        tell=tell,
        database_url=f"sqlite:///{folder / 'jobs.sqlite'}",
        lease=FileLease(folder / "lock"),
        now=lambda: datetime.fromisoformat(now),
        look_seconds=3_600,  # it looks below
    )
    runner.start()
    runner.plan()
    planned = DEADLY if now < "2026-11-06" else NEXT
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        found = runs.find(planned)
        if found and found.outcome != "running" and not runner.worker.backlog():
            runner.plan()
            os._exit(0)
        time.sleep(0.02)


def main(folder: Path) -> None:
    for now in ("2026-11-05T03:00:10+00:00", "2026-11-06T03:00:10+00:00"):
        for died in range(MOST_PROCESSES):
            child = os.fork()
            if not child:
                run_once(folder, now)
                os._exit(1)
            _, status = os.waitpid(child, 0)
            if not os.WIFSIGNALED(status):
                sys.stdout.write(f"{died} died, and the next ended with {status}\n")
                sys.stdout.flush()
                break


if __name__ == "__main__":
    main(Path(sys.argv[1]))
