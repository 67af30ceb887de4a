"""Memory-mapped arrays, opened by one thread at a time."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

PARSING = threading.RLock()
"""Held while a library parses Python: numpy does for a file's header, LangGraph for signatures. In
CPython 3.11 two threads that parse at once may fail with `SystemError: AST constructor recursion
depth mismatch`: https://github.com/python/cpython/issues/106905"""


def mapped(path: Path) -> NDArray[Any]:
    """The array of an `.npy` file, without reading it; an empty one is read.

    Raises OSError, and ValueError for a file of another format."""
    with PARSING:
        try:
            opened = np.load(path, mmap_mode="r")
        except ValueError:  # an empty array can't be mapped
            opened = np.load(path)
    # A plain view of the same memory: numpy's memmap class makes every slice slow.
    return np.asarray(opened)
