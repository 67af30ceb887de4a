"""Answers as text for the database: everything a reply, a hand-off or a golden question needs."""

from __future__ import annotations

import dataclasses

from pydantic import TypeAdapter

from agents.answer import Answer

_answers = TypeAdapter(Answer)


def encode(answer: Answer) -> str:
    """JSON without the context, which is large and can be retrieved again."""
    return _answers.dump_json(dataclasses.replace(answer, context=())).decode()


def decode(text: str) -> Answer:
    return _answers.validate_json(text)
