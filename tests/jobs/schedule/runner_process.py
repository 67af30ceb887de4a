"""A runner of jobs in a process of its own, for tests that kill it; what it runs is a note."""

from __future__ import annotations

import os
import sys
import time
from datetime import datetime
from pathlib import Path

from sqlalchemy import create_engine, make_url

from durable.lease import PostgresLease
from jobs.ingest.progress import IngestReport
from jobs.schedule.recorded_run import Started, recorded
from jobs.schedule.runner import JobRunner
from jobs.schedule.runs import RunStore
from tests.bot.fakes import domain

DOMAINS = ("security", "privacy", "platform")


def main() -> None:
    url, notes = os.environ["DATABASE_URL"], Path(os.environ["NOTES"])
    engine = create_engine(make_url(url).set(drivername="postgresql+psycopg"))
    runs = RunStore(engine)

    def note(word: str, started: Started) -> None:
        with notes.open("a") as opened:
            opened.write(f"{word} {os.getpid()} {started.id}\n")

    def refresh(name: str, started: Started) -> None:
        def run() -> IngestReport:
            note("began", started)
            time.sleep(1.0)
            note("ended", started)
            return IngestReport(domain=name, generation=1)

        recorded(runs, name, started, run, generation=lambda: 0)

    runner = JobRunner(
        domains=lambda: {name: domain(domain=name, refresh="0 3 * * *") for name in DOMAINS},
        refresh=refresh,
        runs=runs,
        tell=lambda person, lines: True,
        database_url=url,
        lease=PostgresLease(url),
        now=lambda: datetime.fromisoformat(os.environ["NOW"]),
        look_seconds=0.3,
    )
    runner.start()
    sys.stdout.write("up\n")
    sys.stdout.flush()
    time.sleep(120)


if __name__ == "__main__":
    main()
