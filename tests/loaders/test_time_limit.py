"""A document that takes too long is interrupted, wherever its reading stands."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from config.errors import LoadError
from loaders.files.local import load_bytes, load_file
from loaders.time_limit import outside_time_limit, time_limit

# An interruption that meets a finalizer is swallowed there, and sent again.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

ROOT = Path(__file__).parents[2]
HUGE = b"- [a](https://a.example) *b* `c`\n" * 60_000


def endless() -> None:
    while True:
        time.monotonic()


def endless_although_it_catches_every_error() -> None:
    while True:
        try:
            endless()
        except Exception:  # noqa: S112
            continue


def huge() -> None:
    load_bytes(HUGE, suffix=".md", id="huge")


@pytest.mark.parametrize("act", [endless, endless_although_it_catches_every_error, huge])
def test_what_computes_too_long_is_interrupted_and_named(act: Callable[[], None]) -> None:
    said = r"load huge: it took more than 0\.2 s .*; split it"
    with pytest.raises(LoadError, match=said), time_limit("huge", 0.2):
        act()


def test_another_thread_is_interrupted_alone() -> None:
    failed: list[LoadError] = []

    def read() -> None:
        try:
            with time_limit("huge", 0.2):
                endless()
        except LoadError as error:
            failed.append(error)

    thread = threading.Thread(target=read)
    thread.start()
    thread.join()
    assert [error.document for error in failed] == ["huge"]


def test_what_is_done_in_time_is_left_alone() -> None:
    for _ in range(200):
        with time_limit("small", 60):
            pass


def test_its_own_errors_stay_as_they_are() -> None:
    with pytest.raises(KeyError), time_limit("broken", 60):
        raise KeyError


def test_no_interruption_comes_after_the_end() -> None:
    for _ in range(20):
        with pytest.raises(LoadError), time_limit("slow", 0.001):
            endless()
        sum(range(20_000))


@pytest.mark.skipif(sys.platform == "darwin", reason="tells no thread's processor time")
def test_waiting_is_not_counted() -> None:
    """Neither for Google or a model, nor for what is uncounted, also inside another such thing."""

    def computed() -> str:
        until = time.thread_time() + 0.4
        while time.thread_time() < until:
            pass
        return "done"

    with time_limit("waiting", 0.3):
        time.sleep(0.4)
        assert outside_time_limit(outside_time_limit(computed))() == "done"
        assert outside_time_limit(computed)() == "done"


def test_afterwards_a_profiler_works_as_before() -> None:
    """An interruption that is taken back, and not raised, leaves CPython 3.11 turning for ever at
    the next call that is profiled."""
    script = (
        "import sys\n"
        "from loaders.time_limit import time_limit\n"
        "with time_limit('short', 5):\n"
        "    pass\n"
        "sys.setprofile(lambda *_: None)\n"
        "(lambda: None)()\n"
    )
    subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True, timeout=120)


def test_time_is_up_while_a_file_is_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "tea.txt"
    file.write_text("Tea steeps for four minutes.")
    load_file(file)
    opened: list[int] = []
    really_open = os.open

    def busily(*arguments: Any) -> int:
        opened.append(really_open(*arguments))
        until = time.thread_time() + 1
        while time.thread_time() < until:
            pass
        return opened[-1]

    monkeypatch.setattr(os, "open", busily)
    with time_limit("tea", 0.5):
        assert load_file(file).id == "tea.txt"
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(opened[0])
