"""Google's bad days: what is temporary is waited out, what is final told, nothing comes twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from config.errors import LoadError
from loaders.google.client import RateLimiter
from loaders.google.errors import retry_after
from playground.google_stand_in import GoogleFault, GoogleStandIn
from tests.loaders.google.source import TOP, Clock, Index, document, folder, opened

ROOT = Path(__file__).parents[3]
FILES = (folder("top"), *(document(f"d{n}") for n in range(4)))

TEMPORARY = {
    "429": GoogleFault(status=429, reason="rateLimitExceeded", times=2),
    "403 rate": GoogleFault(status=403, reason="rateLimitExceeded", times=2),
    "403 user rate": GoogleFault(status=403, reason="userRateLimitExceeded", times=2),
    "500": GoogleFault(status=500, reason="backendError", times=2),
    "503": GoogleFault(status=503, reason="backendError", times=2),
    "drop": GoogleFault(kind="drop", times=3),
    "truncate": GoogleFault(kind="truncate", times=2),
    "garble": GoogleFault(kind="garble", times=2),
    "slow": GoogleFault(kind="slow", seconds=0.05, times=2),
}


@pytest.mark.parametrize("name", TEMPORARY)
def test_what_is_temporary_is_waited_out(name: str, tmp_path: Path) -> None:
    with GoogleStandIn(FILES, page_limit=2) as google, opened(google, tmp_path) as drive:
        google.faults.add(TEMPORARY[name])
        index = Index(drive)
        index.run()
        assert google.faults.struck() == TEMPORARY[name].times
        assert sorted(index.loads) == ["d0", "d1", "d2", "d3"]
        google.faults.add(GoogleFault(status=500, times=1))
        assert index.run().unchanged == ("d0", "d1", "d2", "d3")


def test_every_document_arrives_exactly_once_though_every_third_call_fails(
    tmp_path: Path,
) -> None:
    files = [folder("top"), *(document(f"d{n}") for n in range(30))]
    # With six threads a call can meet its faults in a row, seven times over by bad luck; this is
    # about nothing lost on the way, so it may try longer.
    with (
        GoogleStandIn(files, page_limit=7) as google,
        opened(google, tmp_path, attempts=30) as drive,
    ):
        google.faults.add(
            GoogleFault(status=429, reason="rateLimitExceeded", every=5, times=None),
            GoogleFault(status=503, every=7, times=None),
            GoogleFault(kind="truncate", every=11, times=None, method="documents"),
            GoogleFault(kind="garble", every=13, times=None, method="documents"),
            GoogleFault(kind="drop", every=17, times=None),
        )
        plan = drive.sync(TOP, cursor="", indexed={})
        with ThreadPoolExecutor(6) as pool:
            loaded = list(pool.map(drive.load, plan.changed))
        assert google.faults.struck() > 10
    assert Counter(each.id for each in loaded) == Counter(f"d{n}" for n in range(30))
    assert all(each.blocks[-1].text == f"The words of {each.id}." for each in loaded)


def test_tokens_that_expire_in_mid_run_are_renewed(tmp_path: Path) -> None:
    with GoogleStandIn(FILES) as google, opened(google, tmp_path) as drive:
        plan = drive.sync(TOP, cursor="", indexed={})
        google.expire_tokens()
        assert drive.load(plan.changed[0]).id == "d0"


def test_google_says_how_long_to_wait(tmp_path: Path) -> None:
    clock = Clock()
    with (
        GoogleStandIn(FILES) as google,
        opened(google, tmp_path, clock=clock, sleep=clock.sleep) as drive,
    ):
        plan = drive.sync(TOP, cursor="", indexed={})
        limited = GoogleFault(
            method="documents", status=429, reason="rateLimitExceeded", retry_after=40
        )
        google.faults.add(limited)
        drive.load(plan.changed[0])
    assert 40 <= clock.now < 120


def test_pauses_grow_and_are_bounded(tmp_path: Path) -> None:
    clock = Clock()
    with (
        GoogleStandIn(FILES) as google,
        opened(google, tmp_path, clock=clock, sleep=clock.sleep) as drive,
    ):
        plan = drive.sync(TOP, cursor="", indexed={})
        google.faults.add(GoogleFault(method="documents", status=503, times=None))
        with pytest.raises(LoadError, match=r"d0 \(Document d0\): Google did not answer"):
            drive.load(plan.changed[0])
        assert google.requests["documents.get"] == 7
    assert len(clock.pauses) == 6
    assert all(0.2 * 2**n <= pause <= 2**n for n, pause in enumerate(clock.pauses))


@pytest.mark.parametrize("reason", ["insufficientFilePermissions", "forbidden"])
def test_a_403_of_another_reason_is_not_tried_again(reason: str, tmp_path: Path) -> None:
    with GoogleStandIn(FILES) as google, opened(google, tmp_path) as drive:
        plan = drive.sync(TOP, cursor="", indexed={})
        google.faults.add(GoogleFault(method="documents", status=403, reason=reason, times=None))
        with pytest.raises(LoadError, match="share it with"):
            drive.load(plan.changed[0])
        assert google.requests["documents.get"] == 1


def test_when_google_is_away_nothing_counts_as_removed(tmp_path: Path) -> None:
    with GoogleStandIn(FILES) as google, opened(google, tmp_path, attempts=2) as drive:
        index = Index(drive)
        index.run()
        google.drive.delete("d0")
        for method, cursor in (("changes", index.cursor), ("files", ""), ("changes", "")):
            google.faults.clear()
            google.faults.add(GoogleFault(method=method, status=503, times=None))
            plan = drive.sync(TOP, cursor=cursor, indexed=index.documents)
            assert (plan.complete, plan.removed, len(plan.failed)) == (False, (), 1)
            assert plan.cursor == cursor
        google.faults.clear()
        assert index.run().removed == ("d0",)


def test_a_host_that_is_not_there_is_told_after_some_tries(tmp_path: Path) -> None:
    with GoogleStandIn(FILES) as google:
        google.write_credentials(tmp_path / "key.json")
    with opened(google, tmp_path, attempts=2) as drive:
        plan = drive.sync(TOP, cursor="", indexed={})
    assert not plan.complete
    assert "did not answer" in str(plan.failed[0])


def test_the_limiter_keeps_any_minute_below_nine_tenths_of_the_quota() -> None:
    clock = Clock()
    limiter = RateLimiter(300, clock=clock, sleep=clock.sleep)
    times = []
    for number in range(1500):
        if number in {400, 900}:
            clock.now += 200
        limiter.wait()
        times.append(clock.now)
    busiest = max(sum(1 for each in times if start <= each < start + 60) for start in times)
    assert busiest <= 271
    assert sum(1 for each in times if each == 0.0) >= 40, "a small run does not wait"
    assert times[399] < 110, "and a long one goes on at about four a second"


def test_the_limiter_is_shared_by_threads_and_holds_all_of_them() -> None:
    clock, lock = Clock(), threading.Lock()
    due: list[float] = []

    def sleep(seconds: float) -> None:
        with lock:
            due.append(seconds)

    limiter = RateLimiter(60, clock=clock, sleep=sleep)
    limiter.hold(30)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: limiter.wait(), range(40)))
    assert min(due) >= 30
    gaps = [later - earlier for earlier, later in zip(sorted(due), sorted(due)[1:], strict=False)]
    assert all(gap == pytest.approx(60 / 45) for gap in gaps)


@pytest.mark.parametrize(
    ("header", "seconds"), [(None, 0), ("7", 7), ("9999", 120), ("soon", 0), ("-1", 0)]
)
def test_retry_after_is_a_bounded_number_of_seconds(header: str | None, seconds: float) -> None:
    assert retry_after(header) == seconds


def test_retry_after_may_be_a_date() -> None:
    assert retry_after("Fri, 01 Jan 2100 00:00:00 GMT") == 120
    assert retry_after("Fri, 01 Jan 2021 00:00:00 GMT") == 0


JOB = """
import pickle, sys
from pathlib import Path
from config.settings import Settings
from loaders.google.drive.source import open_drive
from tests.loaders.google.source import TOP, Index

key, url, store = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
settings = Settings(google_credentials=key, google_api_url=url, google_reads_per_minute=100_000)
with open_drive(settings) as drive:
    index = Index(drive)
    if store.exists():
        index.documents, index.cursor = pickle.loads(store.read_bytes())
    index.run()
    store.with_suffix(".new").write_bytes(pickle.dumps((index.documents, index.cursor)))
    store.with_suffix(".new").replace(store)
    print(len(index.documents), len(index.loads))
"""


@pytest.mark.kill
def test_five_hundred_documents_survive_faults_and_a_kill_in_mid_run(tmp_path: Path) -> None:
    files = [folder("top"), *(document(f"d{n}") for n in range(500))]
    with GoogleStandIn(files, page_limit=100) as google:
        google.faults.add(
            GoogleFault(method="documents", kind="truncate", every=97, times=3),
            GoogleFault(method="documents", kind="drop", every=89, times=3),
        )
        key = google.write_credentials(tmp_path / "key.json")
        store = tmp_path / "index"
        command = [sys.executable, "-c", JOB, str(key), google.url, str(store)]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        killed = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 120
        while google.requests["documents.get"] < 50 and time.monotonic() < deadline:
            time.sleep(0.01)
        killed.send_signal(signal.SIGKILL)
        assert killed.wait() == -signal.SIGKILL
        assert not store.exists()

        def run() -> tuple[str, int]:
            before = google.requests["documents.get"]
            done = subprocess.run(
                command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True
            )
            return done.stdout.strip(), google.requests["documents.get"] - before

        assert run()[0] == "500 500"
        google.faults.clear()
        assert run() == ("500 0", 0)
        google.drive.rename("d7", "Another title")
        assert run() == ("500 1", 1)
