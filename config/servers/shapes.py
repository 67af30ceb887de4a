"""Structured replies whose values are right and whose form is another than the schema's.

Servers that know no schema leave the form to the model: another spelling of an enumeration, null or
one text for a list, an id for an object, a list or a wrapper for the reply. Such a reply is read
without a second request. A value that would have to be guessed, such as a score, is not."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from config.models import Reply

_MAX_ROUNDS = 6
"""A value that is put into its form may have others inside."""
_LIST = re.compile(r"\s*(?:`{3}\w*\s*)?\[")
_QUOTED = re.compile(r"'([^']*)'")
_NULLS = {"", "-", "none", "null", "n/a"}
_NUMBER = re.compile(r"\D*(\d+)\D*")


def reshaped(text: str, reply: type[Reply]) -> Reply | None:
    """The reply in a JSON text; None when its form can't be mended."""
    try:
        text = text[text.index("[") :] if _LIST.match(text) else text
        data, _ = json.JSONDecoder(strict=False).raw_decode(text.strip())
    except (ValueError, RecursionError):
        return None
    for _ in range(_MAX_ROUNDS):
        try:
            return reply.model_validate_json(json.dumps(data))
        except ValidationError as error:
            problems = error.errors()
        box = {"reply": data}  # so that the reply itself can be replaced as well
        mended = [_mend(box, ("reply", *one["loc"]), one, reply) for one in problems]
        if not all(mended):
            return None
        data = box["reply"]
    return None


def _mend(box: Any, place: tuple[int | str, ...], error: ErrorDetails, reply: type[Any]) -> bool:
    """Puts the value at the place into the form asked for. False: it can't be."""
    *path, key = place
    try:
        for step in path:
            box = box[step]
        if error["type"] == "extra_forbidden":
            box.pop(key, None)
            return True
        if error["type"] == "missing":
            return _rename(box, str(key)) or (len(path) == 1 and _unwrap(box, reply))
        box[key] = _FORMS[error["type"]](box[key], error, reply)
    except (KeyError, IndexError, TypeError, ValueError):
        return False
    return True


def _rename(values: dict[str, Any], name: str) -> bool:
    """Whether another spelling of the key stands there: `Kind`, `subQuestions`."""
    same = next((one for one in values if _letters(one) == _letters(name)), None)
    if same is None:
        return False
    values[name] = values.pop(same)
    return True


def _unwrap(values: dict[str, Any], reply: type[BaseModel]) -> bool:
    """Whether the object holds nothing but the reply, under a name of its own."""
    (inner,) = values.values() if len(values) == 1 else (None,)
    if not isinstance(inner, dict) or values.keys() & reply.model_fields.keys():
        return False
    values.clear()
    values.update(inner)
    return True


def _literal(value: Any, error: ErrorDetails, _: type[BaseModel]) -> str:
    text = value[0] if isinstance(value, list) and len(value) == 1 else value
    expected = _QUOTED.findall(error["ctx"]["expected"])
    (match,) = (one for one in expected if _letters(one) == _letters(str(text)))
    return str(match)


def _list(value: Any, *_: Any) -> list[Any]:
    if isinstance(value, dict):
        raise TypeError("no list")
    is_empty = value is None or str(value).strip().lower() in _NULLS
    return [] if is_empty else [value]


def _text(value: Any, *_: Any) -> str:
    if value is None:
        return ""
    if not (isinstance(value, list) and value and all(isinstance(one, str) for one in value)):
        raise TypeError("no text")
    return "\n".join(value)


def _whole_number(value: Any, *_: Any) -> int:
    match = _NUMBER.fullmatch(str(value))
    if match is None:
        raise ValueError("no number, or several")
    return int(match[1])


def _object(value: Any, error: ErrorDetails, reply: type[BaseModel]) -> dict[str, Any]:
    """`"id"` for an object that needs nothing but an id; a list for one that has one list."""
    models = {one.__name__: one for one in (reply, *_models_in(reply))}
    model = models[error["ctx"]["class_name"]]
    required = [name for name, one in model.model_fields.items() if one.is_required()]
    if isinstance(value, dict) or len(required) != 1:
        raise TypeError("no single field")
    if isinstance(value, list) != (get_origin(model.model_fields[required[0]].annotation) is list):
        raise TypeError("not of that field")
    return {required[0]: value}


def _models_in(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for one in model.model_fields.values():
        for kind in (one.annotation, *get_args(one.annotation)):
            if isinstance(kind, type) and issubclass(kind, BaseModel):
                yield kind
                yield from _models_in(kind)


def _letters(text: str) -> str:
    return re.sub(r"[\W_]", "", text).lower()


_FORMS: Mapping[str, Callable[[Any, ErrorDetails, type[BaseModel]], Any]] = {
    "literal_error": _literal, "enum": _literal, "list_type": _list, "string_type": _text,
    "int_parsing": _whole_number, "model_type": _object, "model_attributes_type": _object,
}  # fmt: skip
