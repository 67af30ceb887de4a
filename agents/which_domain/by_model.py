"""Of domains that are close to each other, the one that a model holds a question to be for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel, Field

from agents.answer import Question
from agents.prompts import render
from agents.which_domain.weighing import Weighed
from config.errors import InvalidModelOutput
from config.models import ChatModel, Usage
from config.prompts import Foreign, listed

_LONGEST_PLACE = 400
"""Characters of a passage."""
_TURNS = 4
_LONGEST_TURN = 300


class ChosenAreas(BaseModel):
    """The reply asked of the model."""

    reason: str = Field(
        default_factory=str, description="Whose rules the person needs, one sentence"
    )
    areas: list[int] = Field(
        description="Number of the area; two or three numbers to have the person asked"
    )


@dataclass(frozen=True, kw_only=True)
class Picked:
    """The domains that it named, likeliest first: one, or several that the asker chooses from."""

    domains: tuple[Weighed, ...]
    usage: Usage


def picked_by_model(model: ChatModel, question: Question, close: Sequence[Weighed]) -> Picked:
    """Raises ModelError."""
    prompt = render(
        "domain",
        earlier=Foreign("said before", listed(_earlier(question))),
        areas=[
            Foreign(f"area {number}: {one.domain.title}", _described(one))
            for number, one in enumerate(close, start=1)
        ],
        question=Foreign("question", question.text),
    )
    reply, usage = model.structured(prompt, ChosenAreas)
    known = [number for number in dict.fromkeys(reply.areas) if 1 <= number <= len(close)]
    if not known:
        raise InvalidModelOutput("it named no area of the list")
    return Picked(domains=tuple(close[number - 1] for number in known), usage=usage)


def _earlier(question: Question) -> list[str]:
    return [
        f"{turn.role}: {' '.join(turn.content.split())[:_LONGEST_TURN]}"
        for turn in question.history[-_TURNS:]
    ]


def _described(one: Weighed) -> str:
    passages = [
        f"{' › '.join(filter(None, (place.title, place.heading)))}: "
        f"{' '.join(place.text.split())[:_LONGEST_PLACE]}"
        for place in one.places
    ]
    return listed([*passages, *(f"can ask {tool.name}: {tool.what}" for tool in one.domain.tools)])
