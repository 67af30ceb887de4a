from __future__ import annotations

from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from config.servers.messages import parse_reply


class Person(BaseModel):
    id: str
    reason: str = ""


class Team(BaseModel):
    people: list[Person]


class Choice(BaseModel):
    entries: list[int]


class Plan(BaseModel):
    model_config = ConfigDict(extra="forbid")

    question: str
    kind: Literal["in_domain", "small_talk"]
    parts: list[str] = []
    score: float = Field(0.5, ge=0, le=1)


GOOD = {"question": "q", "kind": "in_domain", "parts": ["a"]}
MODELS: dict[str, type[BaseModel]] = {"plan": Plan, "team": Team, "choice": Choice}


@pytest.mark.parametrize(
    ("model", "text", "value"),
    [
        ("plan", '{"question": "q", "kind": "In-Domain", "parts": ["a"]}', GOOD),
        ("plan", '{"Question": "q", "kind": ["in domain"], "parts": "a"}', GOOD),
        ("plan", '{"question": ["q"], "kind": "in_domain", "parts": ["a"], "note": "x"}', GOOD),
        ("plan", '{"plan": {"question": "q", "kind": "IN_DOMAIN", "parts": ["a"]}}', GOOD),
        ("plan", '{"question": null, "kind": "in_domain", "parts": null}', {"parts": []}),
        ("plan", '{"question": "q", "kind": "in_domain", "parts": "None"}', {"parts": []}),
        ("plan", '{"question": "q", "kind": "in_domain", "parts": ["a",],}', GOOD),
        ("plan", "{'question': 'q', 'kind': 'in_domain', 'parts': ['a']}", GOOD),
        ("plan", '{"question": &a "q", "kind": "in_domain", "parts": [*a, *a]}', None),
        ("plan", '{"question": "q", "kind": "other"}', None),
        ("plan", '{"question": "q", "kind": "in_domain", "score": 4}', None),
        ("plan", '{"question": "q"}', None),
        ("plan", "nothing", None),
        ("plan", "question: q\nkind: other", None),
        (
            "team",
            '```json\n[{"id": "a"}, {"id": "b"}]\n```',
            {"people": [{"id": "a"}, {"id": "b"}]},
        ),
        ("team", '{"people": ["a", {"id": "b"}]}', {"people": [{"id": "a"}, {"id": "b"}]}),
        ("team", '{"people": {"id": "a"}}', None),
        ("team", '{"people": [7]}', None),
        ("choice", "[1, 3]", {"entries": [1, 3]}),
        ("choice", '{"entries": ["Entry 2", "3."]}', {"entries": [2, 3]}),
        ("choice", '{"entries": "nobody"}', None),
        ("choice", '{"entries": ["2 or 3"]}', None),
    ],
)
def test_a_right_reply_in_another_form_is_read_and_none_is_guessed(
    model: str, text: str, value: dict[str, Any] | None
) -> None:
    if value is None:
        with pytest.raises(ValidationError):
            parse_reply(text, MODELS[model])
    else:
        read = parse_reply(text, MODELS[model]).model_dump(exclude_defaults=True)
        assert value.items() <= {"parts": [], **read}.items()
