"""Several at a time, in order, and no more held than are at work."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from jobs.ingest.executors import map_in_order


@pytest.mark.parametrize("at_once", [1, 4])
def test_results_come_in_order(at_once: int) -> None:
    assert list(map_in_order(str, range(50), at_once)) == [str(number) for number in range(50)]


def test_as_many_are_at_work_as_may_be() -> None:
    together = threading.Barrier(4, timeout=120)
    assert len(list(map_in_order(lambda _: together.wait(), range(8), 4))) == 8


def test_no_more_is_asked_for_than_there_is_room() -> None:
    given = 0

    def endless() -> Iterator[int]:
        nonlocal given
        while True:
            given += 1
            yield given

    results = map_in_order(lambda number: number, endless(), 3)
    assert [next(results) for _ in range(10)] == list(range(1, 11))
    results.close()
    assert given <= 10 + 2 * 3


def test_what_fails_ends_it() -> None:
    def act(number: int) -> int:
        if number == 3:
            raise ValueError(number)
        return number

    results = map_in_order(act, range(100), 2)
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ValueError, match="3"):
        next(results)
