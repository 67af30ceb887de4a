"""Structured replies whose values are right and whose form is another than the schema's.

Servers that know no schema leave the form to the model: another spelling of an enumeration, null or
one text for a list, an id for an object, a list for the reply. Such a reply is read without a
second request. A value that would have to be guessed, such as a score, is not."""

from __future__ import annotations

import json
import re
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from config.models import Reply

_MAX_ROUNDS = 6
"""A value that is put into its form may have others inside."""
_QUOTED = re.compile(r"'([^']*)'")
_NULLS = {"", "-", "none", "null", "n/a"}
_NUMBER = re.compile(r"\D*(\d+)\D*")


def reshaped(value: Any, reply: type[Reply]) -> Reply | None:
    """The reply in a value of JSON; None when its form can't be mended."""
    text = json.dumps(value)
    for _ in range(_MAX_ROUNDS):
        try:
            return reply.model_validate_json(text)
        except ValidationError as error:
            problems = error.errors()
        box = {"reply": json.loads(text)}  # so that the reply itself can be replaced as well
        try:
            for problem in problems:
                _mend(box, ("reply", *problem["loc"]), problem, reply)
        except (KeyError, IndexError, TypeError, ValueError):
            return None
        text = json.dumps(box["reply"])
    return None


def _mend(box: Any, place: tuple[int | str, ...], error: ErrorDetails, reply: type[Any]) -> None:
    """Puts the value at the place into the form asked for. Raises ValueError and the like."""
    *path, key = place
    for step in path:
        box = box[step]
    if error["type"] == "extra_forbidden":
        box.pop(key, None)
    elif error["type"] == "missing":  # `Kind`, `subQuestions`
        box[key] = box.pop(next((one for one in box if _letters(one) == _letters(str(key))), key))
    else:
        box[key] = _in_form(box[key], error, reply)


def _in_form(value: Any, error: ErrorDetails, reply: type[BaseModel]) -> Any:
    match error["type"]:
        case "literal_error" | "enum":
            text = value[0] if isinstance(value, list) and len(value) == 1 else value
            expected = _QUOTED.findall(error["ctx"]["expected"])
            (same,) = (one for one in expected if _letters(one) == _letters(str(text)))
            return same
        case "list_type" if not isinstance(value, dict):
            return [] if str(value).strip().lower() in _NULLS else [value]
        case "string_type" if value is None:
            return ""
        case "string_type" if isinstance(value, list) and value:
            return "\n".join(value)
        case "int_parsing" if match := _NUMBER.fullmatch(str(value)):
            return int(match[1])
        case "model_type" | "model_attributes_type" if not isinstance(value, dict):
            return _as_object(value, error["ctx"]["class_name"], reply)
    raise ValueError("it would have to be guessed")


def _as_object(value: Any, name: str, reply: type[BaseModel]) -> dict[str, Any]:
    """`"id"` for an object that needs nothing but an id; a list for one that has one list."""
    schema = reply.model_json_schema()
    model = schema if name == reply.__name__ else schema["$defs"][name]
    (field,) = model["required"]
    if isinstance(value, list) != (model["properties"][field].get("type") == "array"):
        raise ValueError("not of that field")
    return {field: value}


def _letters(text: str) -> str:
    return re.sub(r"[\W_]", "", text).lower()
