"""Timers: due once, whoever looks, and none lost with its process."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine

from bot.bus.events import Event
from bot.bus.timers import Clock, TimerStore

NOW = datetime.now(UTC)
PAST, LATER = NOW - timedelta(minutes=1), NOW + timedelta(hours=1)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    made = create_engine(f"sqlite:///{tmp_path / 'state.sqlite'}")
    yield made
    made.dispose()


class Stored(dict[str, Any]):
    """An inbox: a known id does nothing."""

    def put(self, event_id: str, event: Event) -> None:
        self.setdefault(event_id, event.item())


def test_a_timer_is_stored_when_it_is_due_and_not_before(engine: Engine) -> None:
    timers, stored = TimerStore(engine), Stored()
    timers.set("remind", "C1:1.0", PAST)
    timers.set("remind", "C1:2.0", LATER)
    Clock(timers, put=stored.put).tick()
    assert list(stored.values()) == [{"timer": {"kind": "remind", "subject": "C1:1.0"}}]
    assert timers.due(LATER) == timers.due(LATER + timedelta(days=1))
    assert [timer.subject for timer in timers.due(LATER)] == ["C1:2.0"]


def test_a_clock_that_dies_after_storing_leads_to_nothing_twice(engine: Engine) -> None:
    timers, stored = TimerStore(engine), Stored()
    timers.set("digest", "security", PAST)
    due = timers.due(NOW)

    def dies(event_id: str, event: Event) -> None:
        stored.put(event_id, event)
        raise ConnectionError

    with pytest.raises(ConnectionError):
        Clock(timers, put=dies).tick()
    assert timers.due(NOW) == due
    Clock(timers, put=stored.put).tick()
    assert len(stored) == 1
    assert timers.due(NOW) == []


def test_set_again_it_moves_unless_it_is_to_be_kept(engine: Engine) -> None:
    timers = TimerStore(engine)
    timers.set("digest", "security", PAST)
    timers.set("digest", "security", LATER, keep=True)
    assert [timer.due_at for timer in timers.due(NOW)] == [PAST]
    old = timers.due(NOW)[0]
    timers.set("digest", "security", LATER)
    timers.delete_stored(old)  # by a worker that found it due before it was moved
    assert [timer.due_at for timer in timers.due(LATER)] == [LATER]
    timers.cancel("digest", "security")
    assert timers.due(LATER) == []


def test_a_schedule_that_fails_does_not_stop_the_others(engine: Engine) -> None:
    timers, stored = TimerStore(engine), Stored()

    def fails() -> None:
        raise ValueError("no such zone")

    clock = Clock(
        timers, put=stored.put, plans=[fails, lambda: timers.set("digest", "security", PAST)]
    )
    clock.tick()
    assert len(stored) == 1
