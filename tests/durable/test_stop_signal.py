"""A signal ends the wait whenever it arrives."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator

import pytest

from durable.stop_signal import StopSignal

MICROSECOND = 1e-6


@pytest.fixture
def stopping(monkeypatch: pytest.MonkeyPatch) -> Iterator[StopSignal]:
    monkeypatch.setattr("durable.stop_signal.LOOK_SECONDS", 0.005)
    before = {one: signal.getsignal(one) for one in (signal.SIGTERM, signal.SIGINT)}
    stop = StopSignal()
    stop.listen()
    yield stop
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_wait(stopping: StopSignal, number: signal.Signals) -> None:
    threading.Timer(0.1, os.kill, [os.getpid(), number]).start()
    assert stopping.wait(60)


@pytest.mark.usefixtures("stopping")  # which puts the handlers back
@pytest.mark.parametrize("after", [0, 5, 10, 20, 40, 80, 160, 320])
def test_a_signal_as_the_wait_begins_is_not_lost(after: int) -> None:
    def send() -> None:
        begun.wait(60)
        time.sleep(after * MICROSECOND)
        os.kill(os.getpid(), signal.SIGTERM)

    for _ in range(10):
        begun, stop = threading.Event(), StopSignal()
        stop.listen()
        sender = threading.Thread(target=send)
        sender.start()
        begun.set()
        assert stop.wait(60)
        sender.join()


def test_a_handler_sets_what_it_interrupts(stopping: StopSignal) -> None:
    """An Event's lock would be held here, and its `set` would wait for it for ever."""
    looks: list[float] = []

    class Clock:
        @staticmethod
        def monotonic() -> float:
            looks.append(0.0)
            signal.raise_signal(signal.SIGTERM)
            return time.monotonic()

        sleep = staticmethod(time.sleep)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("durable.stop_signal.time", Clock)
        assert stopping.wait(60)
    assert looks


def test_another_thread_may_set_it_and_a_wait_may_end_without() -> None:
    stop = StopSignal()
    assert not stop.wait(0.01)
    threading.Thread(target=stop.set).start()
    assert stop.wait(60)
