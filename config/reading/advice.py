"""What a key of the wrong kind should hold instead, in the words of whoever writes the file."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

import yaml
from pydantic_core import ErrorDetails

_GROUPED_DIGITS = re.compile(r"\d{1,3}([,._' ]?\d{3})+")


def advice(
    detail: ErrorDetails, node: yaml.Node, *, keys: Sequence[str] = (), choices: Sequence[str] = ()
) -> str:
    """`node` holds the value; `keys` are those of its section, `choices` those of its key."""
    given = detail["input"]
    if given is None:
        return "is empty; write a value, or leave the key out"
    match detail["type"]:
        case "list_type" if isinstance(node, yaml.ScalarNode):
            return f"expected a list; write [{node.value}]"
        case "list_type":
            return "expected a list, as in [one, other]"
        case "model_type":
            return f"expected keys such as {keys[0]}:" if keys else "expected keys"
        case "dict_type":
            return "expected keys, each with its value, as in SG: [Singapore]"
        case "too_long" if isinstance(given, list | dict):
            most = detail["ctx"]["max_length"]
            return f"{len(given):,} entries; at most {most:,}"
        case "int_type" | "float_type" | "int_from_float":
            return f"expected a {_number(detail)}{_without_grouping(given)}"
        case "bool_type":
            return "expected true or false"
        case "string_type" if isinstance(node, yaml.ScalarNode):
            return f"expected text; write '{node.value}'"
        case "string_type":
            return "expected text; put quotes around it"
        case "literal_error":
            close = difflib.get_close_matches(str(given), choices, n=1)
            return _lowered(detail["msg"]) + (f"; did you mean {close[0]!r}?" if close else "")
    return _lowered(detail["msg"])


def _number(detail: ErrorDetails) -> str:
    return "number" if detail["type"] == "float_type" else "whole number"


def _without_grouping(given: object) -> str:
    if isinstance(given, str) and _GROUPED_DIGITS.fullmatch(given):
        return "; write " + re.sub(r"\D", "", given)
    return ""


def _lowered(message: str) -> str:
    """A message of our own begins with a value in quotes, or in lower case."""
    return message[:1].lower() + message[1:]
