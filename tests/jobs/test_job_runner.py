"""A process that works off jobs: what is stored runs once, and SQLite has one runner."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from config.errors import ConfigError
from config.settings import Settings
from durable.durable_worker import WorkQueue
from jobs.schedule.job_runner import JobRunner, Registration, open_runner

PATIENCE = 30.0
QUEUE = "test-queue"


def runner_in(folder: Path) -> JobRunner:
    return open_runner(Settings(data_dir=folder, database_url=None))


def test_what_is_stored_under_one_id_runs_once(tmp_path: Path) -> None:
    runner, done, ended = runner_in(tmp_path), [], threading.Event()

    def register() -> None:
        from dbos import DBOS

        @DBOS.workflow(name="note")
        def note(what: str) -> None:
            with runner.worker.working(what):
                done.append(what)
                if what == "last":
                    ended.set()

    queue = WorkQueue(name=QUEUE, concurrency=1, poll_seconds=0.02)
    runner.registrations.append(Registration(register=register, queues=[queue]))
    runner.start()
    try:
        for what in ("first", "first", "last"):
            runner.enqueue("note", what, queue=QUEUE, workflow_id=what)
        assert ended.wait(PATIENCE)
        runner.enqueue("note", "first", queue=QUEUE, workflow_id="first")
        assert "first" not in runner.undone(["first"])
    finally:
        runner.stop(5.0)
    assert done == ["first", "last"]


def test_on_sqlite_a_second_runner_is_refused_with_the_remedy(tmp_path: Path) -> None:
    first = runner_in(tmp_path)
    first.start()
    try:
        with pytest.raises(ConfigError, match=r"oncall jobs run.*PostgreSQL"):
            runner_in(tmp_path).start()
    finally:
        first.stop(0)
