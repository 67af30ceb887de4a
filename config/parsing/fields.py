"""Types of values in a domain file. An error of theirs says what to write instead."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    Strict,
    StringConstraints,
)
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from config.parsing.schedules import (
    BOT,
    CHANNEL,
    GROUP,
    USER,
    cron_problem,
    time_zone_problem,
)


def invalid(problem: str) -> PydanticCustomError:
    """The error of a validator, with our own message."""
    return PydanticCustomError("form", "{problem}", {"problem": problem})


@dataclass(frozen=True)
class Shape:
    """Annotates a string that has to look like this; `problem` says what to do instead."""

    pattern: str
    problem: str

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._checked, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {**handler(schema), "pattern": f"^{self.pattern}$"}

    def _checked(self, value: str) -> str:
        if not re.fullmatch(self.pattern, value):
            raise invalid(f"{value!r} {self.problem}")
        return value


def not_blank(value: str) -> str:
    if not value.strip():
        raise invalid("is blank; write it out, or leave it out")
    return value


def valid_cron(value: str) -> str:
    if problem := cron_problem(value):
        raise invalid(f"{value!r} {problem}")
    return value


def valid_time_zone(value: str) -> str:
    if problem := time_zone_problem(value):
        raise invalid(f"{value!r} {problem}")
    return value


def one_line(value: str) -> str:
    if len(value.splitlines()) > 1:
        raise invalid("has a line break; write it on one line")
    return value


_DOMAIN = "[a-z0-9][a-z0-9-]{0,62}"
_LABEL = "[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?"
# A single label may be a whole top-level domain: `com` would allow half of the web.
_HOST = rf"(localhost|{_LABEL}(\.{_LABEL})+)"
ADDRESS = r"[!-?A-~]+@[!-?A-~]+"
"""An e-mail address: ASCII, as other letters could fold into those of another person's."""
_IN_PROFILE = "in Slack: their profile › ⋮ › Copy member ID"

ChannelId = Annotated[
    str,
    Shape(
        CHANNEL,
        "is no channel id (C… or G…); in Slack: the channel's name › About › Copy channel ID",
    ),
]
UserId = Annotated[str, Shape(f"({USER})?", f"is no user id (U… or W…); {_IN_PROFILE}")]
GroupId = Annotated[
    str,
    Shape(
        f"({GROUP})?",
        "is no user group id (S…); in Slack: People › User groups › ⋮ › Copy group ID",
    ),
]
GroupAddress = Annotated[
    str, Shape(ADDRESS, "is no group's address; write it as in sec-team@example.com")
]
Member = Annotated[
    str,
    Shape(
        f"({ADDRESS}|{USER}|{GROUP})",
        "is neither an e-mail address nor the id of a Slack user (U…) or user group (S…)",
    ),
]
BotId = Annotated[
    str, Shape(BOT, "is no bot id; it starts with B or A, and stands in the bot's messages")
]
Host = Annotated[
    str,
    Shape(
        _HOST,
        "is no host; write it alone and in full, as in wiki.example.com: hosts below it count too",
    ),
]
DomainId = Annotated[
    str, Shape(_DOMAIN, "is no domain id: lower-case letters, digits and hyphens, at most 63")
]
NonBlank = Annotated[str, AfterValidator(not_blank), Field(json_schema_extra={"pattern": r"\S"})]
"""Text that says something."""
Cron = Annotated[NonBlank, AfterValidator(valid_cron)]
TimeZone = Annotated[NonBlank, AfterValidator(valid_time_zone)]
Strategy = Literal["semantic", "keyword", "hybrid"]
"""By meaning, by words, or both; see index/ranking/fusion.py."""
SearchChoice = Literal["hybrid", "semantic", "keyword", "planned"]
"""A strategy, or `planned`: as the model plans for each question."""
QueryKind = Literal["code", "several", "situation", "plain"]
"""How a question is put: it names a code or identifier; it has parts; it tells a situation, in
several sentences or many words; none of these. See `Plan.query_kind`."""
WholeNumber = Annotated[int, Strict()]
Share = Annotated[float, Strict(), Field(ge=0.0, le=1.0)]
Switch = Annotated[bool, Strict()]

ShortForm = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=40),
    AfterValidator(one_line),
]
Meaning = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=80),
    AfterValidator(one_line),
]
Meanings = Annotated[list[Meaning], Field(min_length=1, max_length=5)]
