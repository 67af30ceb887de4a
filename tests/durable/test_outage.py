"""The database goes away and comes back: work goes on, nothing is lost, and readiness says so."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest

from bot.bus.inbox import Inbox, Item
from durable.dbos_upkeep import Application, forget_abandoned
from durable.lease import PostgresLease
from durable.queues import WorkQueue
from durable.worker import DurableWorker
from tests.databases import Server, breakable_postgresql

pytestmark = pytest.mark.outage

PATIENCE = 120.0


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with breakable_postgresql() as server:
        yield server


def until(look: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not look() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert look()


def test_a_lease_whose_database_was_away_is_taken_again(server: Server) -> None:
    lease, other = PostgresLease(server.url, "host"), PostgresLease(server.url, "host")
    lease.acquire()
    assert lease.keep()
    server.stop()
    assert not lease.keep()
    assert not lease.keep()
    server.start()
    other.acquire()
    until(lease.keep)
    with other.takeover(lease.executor_id) as dead:
        assert not dead
    lease.release()
    with other.takeover(lease.executor_id) as dead:
        assert dead
    other.release()


def test_a_worker_takes_from_its_own_queues_alone(server: Server) -> None:
    done: list[str] = []

    @contextmanager
    def at_work(queue: str) -> Iterator[DurableWorker]:
        """A worker of a release whose queue has this name."""
        application = Application(name="releases", format="1", schema="releases")
        worker = DurableWorker(
            application, database_url=server.url, lease=PostgresLease(server.url, "releases")
        )

        def register() -> None:
            from dbos import DBOS

            @DBOS.workflow(name="work")
            def work(told: str) -> None:
                done.append(told)

        worker.start(register, [WorkQueue(name=queue, concurrency=1, poll_seconds=0.05)])
        try:
            yield worker
        finally:
            worker.stop(0)

    def enqueue(worker: DurableWorker, queue: str, told: str) -> None:
        options = {"workflow_name": "work", "queue_name": queue, "app_version": "1"}
        worker.client.enqueue(options, told)

    with at_work("old") as worker:
        enqueue(worker, "old", "first")
        until(lambda: done == ["first"])
    with at_work("new") as worker:
        enqueue(worker, "old", "of the old release")
        for told in ("second", "third"):
            enqueue(worker, "new", told)
        until(lambda: done == ["first", "second", "third"])
        until(lambda: not worker.backlog())
        assert forget_abandoned(worker.client, worker.queues) == 0, "it may be on its way"
        assert forget_abandoned(worker.client, worker.queues, timedelta(0)) == 1
    with at_work("old") as worker:
        enqueue(worker, "old", "fourth")
        until(lambda: "fourth" in done)
    assert "of the old release" not in done


def test_work_waits_for_a_database_that_is_away_and_goes_on_when_it_is_back(
    server: Server,
) -> None:
    done: list[str] = []
    may_go_on = threading.Event()

    def handle(event_id: str, item: Item) -> None:
        may_go_on.wait(PATIENCE)
        done.append(event_id)

    inbox = Inbox(
        database_url=server.url, lease=PostgresLease(server.url), handler=handle, poll_seconds=0.05
    )
    inbox.start()
    try:
        inbox.put("begun", {})
        until(lambda: inbox.backlog() == 1)
        server.stop()
        until(lambda: "database" in inbox.missing())
        with pytest.raises(Exception, match="connect"):
            inbox.put("not stored", {})
        may_go_on.set()
        server.start()
        until(lambda: not inbox.missing())
        until(lambda: len(done) == 2)
        inbox.put("not stored", {})  # sent again, as it was not acknowledged
        until(lambda: not inbox.backlog())
    finally:
        inbox.stop(0)
    assert sorted(done) == ["begun", "not stored"]


def test_a_database_that_hangs_is_noticed_without_asking_it(server: Server) -> None:
    inbox = Inbox(database_url=server.url, lease=PostgresLease(server.url), handler=lambda *_: None)
    inbox.start()
    try:
        server.freeze()
        try:
            until(lambda: "database" in inbox.missing())
            inbox.observe()
        finally:
            server.thaw()
        until(lambda: not inbox.missing())
    finally:
        inbox.stop(0)
