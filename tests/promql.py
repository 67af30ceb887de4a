"""Which metrics and labels an expression of PromQL names. A tokenizer, and no more of a parser
than that needs; whether the expression is one, promtool says."""

from __future__ import annotations

import re
from collections.abc import Iterator

TOKEN = re.compile(
    r"""(?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
      | (?P<range>\[[^\]]*\])
      | (?P<number>\d[\w.]*)
      | (?P<name>[a-zA-Z_:][\w:]*)
      | (?P<sign>=~|!~|!=|==|<=|>=|[-+*/%^<>=(){},])
      | (?P<space>\s+)""",
    re.VERBOSE,
)
GROUPING = {"by", "without", "on", "ignoring", "group_left", "group_right"}
WORDS = {"and", "or", "unless", "bool", "offset", "inf", "nan"}


def tokens(expression: str) -> list[tuple[str, str]]:
    """(kind, text); raises ValueError for what is no token."""
    found, at = [], 0
    while at < len(expression):
        matched = TOKEN.match(expression, at)
        if not matched:
            raise ValueError(f"no token at {expression[at:]!r}")
        if matched.lastgroup != "space":
            found.append((str(matched.lastgroup), matched[0]))
        at = matched.end()
    return found


def selectors(expression: str) -> Iterator[tuple[str, dict[str, str]]]:
    """(metric, label → the value or pattern that is asked for), in order."""
    parts = [*tokens(expression), ("sign", ""), ("sign", "")]
    at = 0
    while at < len(parts) - 2:
        kind, text = parts[at]
        following = parts[at + 1][1]
        if kind == "name" and text in GROUPING:
            at = _closing(parts, at, ")")
        elif kind == "name" and text not in WORDS and following != "(" and not _groups(parts, at):
            asked = {}
            if following == "{":
                end = _closing(parts, at, "}")
                for place in range(at + 2, end, 4):
                    asked[parts[place][1]] = parts[place + 2][1][1:-1]
                at = end
            yield text, asked
        at += 1


def grouping_labels(expression: str) -> set[str]:
    """Labels that an expression keeps, drops or joins by."""
    parts = tokens(expression)
    found: set[str] = set()
    for at, (_, text) in enumerate(parts):
        if text in GROUPING and at + 1 < len(parts) and parts[at + 1][1] == "(":
            end = _closing(parts, at, ")")
            found |= {name for kind, name in parts[at + 2 : end] if kind == "name"}
    return found


def _closing(parts: list[tuple[str, str]], at: int, sign: str) -> int:
    return next(place for place in range(at, len(parts)) if parts[place][1] == sign)


def _groups(parts: list[tuple[str, str]], at: int) -> bool:
    """Whether it is an aggregation whose labels come first, as in `sum by (domain) (…)`."""
    return parts[at + 1][1] in {"by", "without"}
