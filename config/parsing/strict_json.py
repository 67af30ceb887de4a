"""Reads untrusted JSON and rejects ambiguous input.

Python's own reader accepts NaN, keeps the last of two equal keys, and returns lone surrogates,
which no database stores and no encoder writes."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from typing import Any

MAX_DEPTH = 50
"""The deepest valid input, Slack's blocks, stays below 20."""
MAX_DIGITS = 20
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class JunkJsonError(ValueError):
    """Invalid JSON. The message never contains the input."""


def read_json(data: bytes) -> Any:
    """Raises JunkJsonError for anything but strict JSON in UTF-8.

    That includes duplicate keys, NaN, large numbers, deep nesting, NUL and lone surrogates."""
    try:
        value = json.loads(
            data.decode("utf-8"),
            object_pairs_hook=_unique,
            parse_constant=_no_number,
            parse_float=_finite,
            parse_int=_whole,
        )
    except UnicodeDecodeError:
        raise JunkJsonError("it is not UTF-8") from None
    except RecursionError:
        raise JunkJsonError("it is nested too deeply") from None
    except json.JSONDecodeError as error:
        place = f"line {error.lineno} column {error.colno}"
        raise JunkJsonError(f"it is not JSON at {place}") from None
    _check(value)
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) != len(pairs):
        raise JunkJsonError("a key is given twice")
    return mapping


def _no_number(_: str) -> Any:
    raise JunkJsonError("NaN and Infinity are no JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise JunkJsonError("a number is too large")
    return number


def _whole(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise JunkJsonError("a number is too large")
    return int(digits)


def _check(value: Any) -> None:
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH):
        level = [inner for one in level for inner in _inside(one)]
        if not level:
            return
    raise JunkJsonError("it is nested too deeply")


def _inside(value: Any) -> Iterable[Any]:
    if isinstance(value, str) and _UNSTORABLE.search(value):
        raise JunkJsonError("a text holds NUL or half a character")
    if isinstance(value, dict):
        return [*value, *value.values()]
    return value if isinstance(value, list) else ()
