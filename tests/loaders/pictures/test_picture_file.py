"""Pictures of others, opened side by side."""

from __future__ import annotations

import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from loaders.pictures import image as picture_file
from loaders.pictures.image import read_picture
from tests.pictures import drawn


def test_however_many_wait_one_is_unpacked_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    on_white = picture_file._on_white
    opened, most = 0, 0
    together = threading.Barrier(2)

    def counted(picture: Any) -> Any:
        nonlocal opened, most
        opened += 1
        most = max(most, opened)
        try:
            together.wait(0.2)  # for another one that is unpacked meanwhile
        except threading.BrokenBarrierError:
            together.reset()
        opened -= 1
        return on_white(picture)

    monkeypatch.setattr(picture_file, "_on_white", counted)
    before = list(warnings.filters)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(read_picture, [drawn(f"picture {number}") for number in range(4)]))
    assert most == 1
    assert warnings.filters == before
