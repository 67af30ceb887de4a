"""The figures of a text, to be held against another text's."""

from __future__ import annotations

import re

_FIGURE = re.compile(r"\d+(?:[.,:]\d+)*")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")


def figures(text: str) -> frozenset[str]:
    """As written, each once: `3`, `10:30`, `1.2.3`; `1,200` and `1200` are the same."""
    return frozenset(_THOUSANDS.sub("", figure) for figure in _FIGURE.findall(text))
