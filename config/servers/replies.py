"""A message of LangChain, or a stream of its pieces, as a reply: text, tokens, ending."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from config.models import Prompt, Usage
from config.servers.streams import DONE, Ending, ending_of, looks_whole
from config.servers.thoughts import ThoughtFilter

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

_CHARACTERS_A_TOKEN = 8
"""Twice the usual number. A longer stream comes from a server that ignores `max_tokens`."""


class StreamReading:
    """The text of one stream, as it is read."""

    def __init__(self, prompt: Prompt, *, waits: bool, sums: bool) -> None:
        """`waits`: see ThoughtFilter. `sums`: each piece counts its own tokens, not all so far."""
        self.thoughts = ThoughtFilter(prompt.begins, waits=waits)
        self.room = prompt.max_tokens * _CHARACTERS_A_TOKEN
        self._sums = sums
        self.size = 0
        """Bytes, thoughts included."""
        self.end = ""
        self.reasons: list[str] = []
        self.usage = Usage(calls=1)

    def add(self, piece: BaseMessage) -> str:
        """The visible text. A piece without text holds at least a token of thought."""
        text = str(piece.text)[: self.room]
        self.room -= max(len(text), 1)
        self.size += len(text.encode())
        self.end = (self.end + text)[-40:]
        self.reasons += finish_reasons(piece)
        usage = usage_of(piece, calls=0)
        self.usage = self.usage + usage if self._sums else self.usage.at_least(usage)
        return self.thoughts.feed(text)

    @property
    def ending(self) -> Ending:
        """`unknown`: no reason, but all of the text."""
        if self.room <= 0:
            return "cut"
        ending = ending_of(self.reasons)
        is_whole = DONE in self.reasons or looks_whole(self.end)
        return "broken" if ending == "unknown" and not is_whole else ending


def text_of(message: BaseMessage) -> str:
    """Of a structured reply. Gateways turn schemas into tools for models that know no schemas."""
    calls = getattr(message, "tool_calls", None)
    return str(message.text) or (json.dumps(calls[0]["args"]) if calls else "")


def usage_of(message: BaseMessage, *, calls: int) -> Usage:
    """0 tokens where the server counts none."""
    counted = getattr(message, "usage_metadata", None) or {}
    return Usage(
        calls=calls,
        input_tokens=counted.get("input_tokens", 0),
        output_tokens=counted.get("output_tokens", 0),
        cut=ending_of([*finish_reasons(message)]) == "cut",
    )


def finish_reasons(message: BaseMessage) -> Iterator[str]:
    """`finish_reason`, `stop_reason`, `done_reason` or `stopReason`, in the last piece; of OpenAI's
    newer protocol the `status`, or why it is incomplete."""
    details = message.response_metadata
    incomplete = details.get("incomplete_details") or {}
    for key, value in {**details, **incomplete}.items():
        is_end = key == "status" and value == "completed"
        if (is_end or key.lower().endswith("reason")) and isinstance(value, str) and value:
            yield value.lower()
