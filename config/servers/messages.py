"""The messages of a request, the form that its reply has to have, and how it is read."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from pydantic import BaseModel, ValidationError

from config.models import Messages, Prompt, Reply
from config.servers.shapes import reshaped
from config.servers.thoughts import without_thoughts

_MAX_OBJECTS = 16
"""JSON objects that are tried in one reply."""
_LIST = re.compile(r"\s*(?:`{3}\w*\s*)?\[")


def messages_of(prompt: Prompt) -> Messages:
    """Messages of a prompt. Pictures become LangChain's blocks, which it converts per provider."""
    if not prompt.pictures:
        return [("system", prompt.system), ("user", prompt.user)]
    blocks = [{"type": "text", "text": prompt.user}]
    for picture in prompt.pictures:
        data = base64.b64encode(picture.data).decode()
        blocks.append({"type": "image", "base64": data, "mime_type": picture.media_type})
    return [("system", prompt.system), ("user", blocks)]


def parse_reply(text: str, reply: type[Reply]) -> Reply:
    """Parses the JSON object in a reply; prose with braces, a fence or thoughts may surround it."""
    values: list[Any] = []
    for one in dict.fromkeys((without_thoughts(text), text)):
        for value in _values(one):
            with suppress(ValidationError):
                return reply.model_validate_json(json.dumps(value))
            values.append(value)
    for value in values:
        if (read := reshaped(value, reply)) is not None:
            return read
    return reply.model_validate_json(json.dumps(values[0]) if values else text)


def _values(text: str) -> Iterator[Any]:
    """The list that the text begins with, the JSON objects in it, and what stands in an object
    under one name; then all between the outermost brackets."""
    decoder = json.JSONDecoder(strict=False)
    begin = _LIST.match(text)
    start = at = begin.end() - 1 if begin else text.find("{")
    for _ in range(_MAX_OBJECTS):
        if at < 0:
            break
        try:
            value, behind = decoder.raw_decode(text, at)
            yield value
            if isinstance(value, list):
                behind = at + 1
            elif len(value) == 1:  # the form's name around it
                yield from value.values()
        except (ValueError, RecursionError):
            behind = at + 1
        at = text.find("{", behind)
    if 0 <= start < (end := text.rfind("]" if begin else "}")):
        yield from _by_yaml(text[start : end + 1])


def _by_yaml(text: str) -> Iterator[Any]:
    """JSON but for a comma too many or other quotes, which YAML allows."""
    import yaml

    with suppress(yaml.YAMLError, ValueError, TypeError, RecursionError):
        # A name for a value could be used a billion times.
        if not any(isinstance(one, yaml.AliasEvent) for one in yaml.parse(text, yaml.CSafeLoader)):
            value = yaml.load(text, yaml.CSafeLoader)
            json.dumps(value)  # a date is no JSON
            yield value


def describe(error: ValidationError) -> str:
    """The first three problems with their places, never the input."""
    problems = [
        f"{'.'.join(map(str, item['loc'])) or 'reply'}: {item['msg']}" for item in error.errors()
    ]
    return "; ".join(problems[:3])


def is_formless(error: ValidationError) -> bool:
    """Whether a reply has another form altogether: the server took the schema and ignored it."""
    return any(item["type"] in {"json_invalid", "missing", "model_type"} for item in error.errors())


def response_format(name: str, reply: type[BaseModel]) -> dict[str, Any]:
    from openai import pydantic_function_tool

    tool: Any = pydantic_function_tool(reply)["function"]
    schema = {"name": name, "strict": True, "schema": tool["parameters"]}
    return {"type": "json_schema", "json_schema": schema}


def without_system(messages: Messages) -> Messages:
    """For models without a system role: its text begins the first message of the user."""
    (_, system), (role, content), *rest = messages
    if isinstance(content, str):
        return [(role, f"{system}\n\n{content}"), *rest]
    return [(role, [{"type": "text", "text": system}, *content]), *rest]


def with_schema(messages: Messages, reply: type[BaseModel]) -> Messages:
    (role, system), *rest = messages
    schema = json.dumps(reply.model_json_schema())
    instruction = f"{system}\n\nReply with one JSON object that fits this JSON schema:\n{schema}"
    return [(role, instruction), *rest]
