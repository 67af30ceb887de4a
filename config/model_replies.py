"""What a structured reply should be, as the model is told and as its answer is read."""

from __future__ import annotations

import base64
import json
from typing import Any

from pydantic import BaseModel, ValidationError

from config.models import Prompt, Reply

Messages = list[tuple[str, Any]]
"""(role, text or LangChain's content blocks), in order."""


def messages_of(prompt: Prompt) -> Messages:
    """Pictures as the blocks that LangChain turns into each provider's own."""
    if not prompt.pictures:
        return [("system", prompt.system), ("user", prompt.user)]
    shown = [
        {
            "type": "image",
            "base64": base64.b64encode(picture.data).decode(),
            "mime_type": picture.media_type,
        }
        for picture in prompt.pictures
    ]
    return [("system", prompt.system), ("user", [{"type": "text", "text": prompt.user}, *shown])]


def parse_reply(text: str, reply: type[Reply]) -> Reply:
    """The JSON object in a reply, also when prose, a fence or a think block surrounds it."""
    body = _without_thoughts(text)
    start, end = body.find("{"), body.rfind("}")
    return reply.model_validate_json(body[start : end + 1] if 0 <= start < end else body)


def _without_thoughts(text: str) -> str:
    kept, start = [], 0
    while (opened := text.find("<think>", start)) >= 0:
        closed = text.find("</think>", opened)
        if closed < 0:
            break
        kept.append(text[start:opened])
        start = closed + len("</think>")
    return "".join([*kept, text[start:]])


def describe(error: ValidationError) -> str:
    """The first three problems, each with its place; never the input itself."""
    problems = [
        f"{'.'.join(map(str, item['loc'])) or 'reply'}: {item['msg']}" for item in error.errors()
    ]
    return "; ".join(problems[:3])


def response_format(name: str, reply: type[BaseModel]) -> dict[str, Any]:
    from openai import pydantic_function_tool

    tool: Any = pydantic_function_tool(reply)["function"]
    schema = {"name": name, "strict": True, "schema": tool["parameters"]}
    return {"type": "json_schema", "json_schema": schema}


def with_schema(messages: Messages, reply: type[BaseModel]) -> Messages:
    (role, system), *rest = messages
    schema = json.dumps(reply.model_json_schema())
    wanted = f"{system}\n\nReply with one JSON object that fits this JSON schema:\n{schema}"
    return [(role, wanted), *rest]
