"""Lines of a model, within our limits."""

from __future__ import annotations

from collections.abc import Sequence

_LONGEST_LINE = 200
"""Characters."""


def few(lines: Sequence[str], *, most: int = 4) -> tuple[str, ...]:
    """The first that say something, each once, on one line, cut."""
    short = (" ".join(line[: 2 * _LONGEST_LINE].split())[:_LONGEST_LINE] for line in lines)
    return tuple(dict.fromkeys(line for line in short if line))[:most]
