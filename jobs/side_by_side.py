"""Several at a time, handed on in order, and never many more held than are at work."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_turn(act: Callable[[Item], Result], items: Iterable[Item], at_once: int) -> Iterator[Result]:
    """Results in the order of `items`, which are asked for as there is room; one at a time in the
    thread that asks. What `act` raises ends it."""
    if at_once <= 1:
        yield from map(act, items)
        return
    waiting: deque[Future[Result]] = deque()
    source = iter(items)
    with ThreadPoolExecutor(at_once, thread_name_prefix="side-by-side") as pool:
        try:
            while True:
                for item in islice(source, 2 * at_once - len(waiting)):
                    waiting.append(pool.submit(act, item))
                if not waiting:
                    return
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
