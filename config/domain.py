"""The domain file: what a channel admin writes, one YAML file per help channel."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    StringConstraints,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from config.slack_ids import BOT, CHANNEL, GROUP, USER

NOT_YET = {
    "refresh": "nothing reads a schedule yet; run `oncall ingest` from cron or a CronJob",
    "retrieval.rerank": "answers are not reranked yet; leave it out, "
    "and see what it would do with `oncall retrieve --pipeline rerank`",
    "answer.effort: thorough": "nothing does more than `standard` yet; use `standard`",
}
"""Planned keys and values, refused until they change something."""


def _like(pattern: str, problem: str) -> Callable[[str], str]:
    """A validator whose message says what to do instead."""

    def check(value: str) -> str:
        if not re.fullmatch(pattern, value):
            raise PydanticCustomError("form", "{problem}", {"problem": f"{value!r} {problem}"})
        return value

    return check


_HOST = r"[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*"
_IN_PROFILE = "in Slack: their profile › ⋮ › Copy member ID"

ChannelId = Annotated[
    str,
    AfterValidator(
        _like(
            CHANNEL,
            "is no channel id (C… or G…); in Slack: the channel's name › About › Copy channel ID",
        )
    ),
    Field(json_schema_extra={"pattern": f"^{CHANNEL}$"}),
]
UserId = Annotated[
    str,
    AfterValidator(_like(f"({USER})?", f"is no user id (U… or W…); {_IN_PROFILE}")),
    Field(json_schema_extra={"pattern": f"^({USER})?$"}),
]
GroupId = Annotated[
    str,
    AfterValidator(
        _like(
            f"({GROUP})?",
            "is no user group id (S…); in Slack: People › User groups › ⋮ › Copy group ID",
        )
    ),
    Field(json_schema_extra={"pattern": f"^({GROUP})?$"}),
]
BotId = Annotated[
    str,
    AfterValidator(
        _like(BOT, "is no bot id; it starts with B or A, and stands in the bot's messages")
    ),
    Field(json_schema_extra={"pattern": f"^{BOT}$"}),
]
Host = Annotated[
    str,
    AfterValidator(
        _like(_HOST, "is no host; write it alone, as in wiki.example.com: hosts below it count too")
    ),
    Field(json_schema_extra={"pattern": f"^{_HOST}$"}),
]

ShortForm = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=40)]
Meaning = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=80)]
Meanings = Annotated[list[Meaning], Field(min_length=1, max_length=5)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class GoogleDriveSource(_Section):
    folders: list[str] = Field([], description="Folder ids, read with all their subfolders")
    documents: list[str] = Field([], description="Single file ids")


class Sources(_Section):
    google_drive: GoogleDriveSource = GoogleDriveSource()
    files: list[str] = Field(
        [],
        description="Files, folders or globs, relative to the domain file or working directory",
    )


class AnswerPolicy(_Section):
    when: Literal["mention", "question", "always"] = Field(
        "mention", description="Answer only mentions, also unmentioned questions, or every message"
    )
    effort: Literal["fast", "standard"] = Field(
        "standard", description="`fast` searches all documents without choosing among them first"
    )
    follow_ups: Literal["mention", "thread"] = Field(
        "thread", description="Whether a follow-up in a thread needs a mention"
    )
    instructions: str = Field("", description="House rules for the answerer, in plain words")
    context_characters: int = Field(
        12_000, ge=1_000, le=200_000, description="Budget of context the answerer sees"
    )
    alert_bots: list[BotId] = Field(
        [], description="Bot or app ids (B…, A…) whose alerts are answered; other bots never are"
    )
    links: list[Host] = Field(
        [],
        description="Hosts that an answer may link to besides its citations, e.g. wiki.example.com",
    )


class RetrievalPolicy(_Section):
    top_k: int = Field(
        8,
        ge=1,
        le=200,
        description="Passages that `oncall retrieve` and `/api/retrieve` return unless told",
    )
    hyde: bool = Field(False, description="Also search with a hypothetical answer (needs a model)")


class ChunkOptions(_Section):
    """Sizes in tokens of the embedder. Measured: docs/enrichment.md."""

    size: int = Field(160, ge=10, le=1_000_000, description="Most tokens of a text chunk")
    table_size: int = Field(
        200,
        ge=10,
        le=1_000_000,
        description="A table up to this size stays whole; a longer one becomes groups of rows",
    )
    overlap: int = Field(
        0,
        ge=0,
        description="Tokens of text repeated from the chunk before, on top of `size`, in whole "
        "sentences or paragraphs",
    )
    semantic_threshold: float | None = Field(
        None,
        ge=-1.0,
        le=1.0,
        description="Also begin a chunk where neighbouring sentences of long prose are less "
        "similar (cosine)",
    )

    @model_validator(mode="after")
    def _overlap_fits(self) -> Self:
        if self.overlap >= self.size:
            raise PydanticCustomError("overlap", "overlap has to be smaller than size")
        return self


class Example(_Section):
    question: str
    documents: list[str] = Field(min_length=1)


class Escalation(_Section):
    usergroup: GroupId = Field("", description="Slack user group id, S…")
    user: UserId = Field("", description="Slack user id, U…")
    rota: str = Field("", description="Who is on call now: an iCal or YAML rota, by URL or path")
    message: str = ""


class Limits(_Section):
    questions_per_user_per_hour: int = Field(
        30, ge=1, description="Of this domain; questions to others don't count"
    )
    questions_per_channel_per_hour: int = Field(600, ge=1)
    tokens_per_day: int = Field(2_000_000, ge=0, description="0: no limit")


class Access(_Section):
    audience: Literal["channel", "asker"] = Field(
        "channel", description="Answer from all documents, or only from those the asker may read"
    )


class Domain(_Section):
    """One help channel and the documents behind it."""

    domain: str = Field(pattern=r"^[a-z0-9][a-z0-9-]{0,62}$")
    title: str
    channels: list[ChannelId] = Field([], description="Slack channel ids: names change, ids don't")
    admins: list[UserId] = Field([], description="Slack user ids")
    sources: Sources
    answer: AnswerPolicy = AnswerPolicy()
    retrieval: RetrievalPolicy = RetrievalPolicy()
    chunks: ChunkOptions = ChunkOptions()
    examples: list[Example] = Field([], description="Few-shot for the source identifier")
    glossary: dict[ShortForm, Meanings] = Field(
        {},
        max_length=200,
        description="What the team's short forms mean, e.g. `SG: [Singapore]`: searched both ways, "
        "and told to the model",
    )
    escalation: Escalation = Escalation()
    limits: Limits = Limits()
    access: Access = Access()
    _path: Path = PrivateAttr(default_factory=Path)

    @property
    def path(self) -> Path:
        """Where this was read from."""
        return self._path

    def read_from(self, path: Path) -> Self:
        placed = self.model_copy()
        placed._path = path
        return placed

    @field_validator("glossary")
    @classmethod
    def _said_once(cls, glossary: dict[str, list[str]]) -> dict[str, list[str]]:
        """One entry for each short form, each of its meanings once, whatever their case."""
        seen: set[str] = set()
        for short, meanings in glossary.items():
            ways = [way.casefold() for way in (short, *meanings)]
            if ways[0] in seen:
                raise ValueError(f"short form {short!r} is there twice; join its meanings")
            if len(set(ways)) < len(ways):
                raise ValueError(f"{short!r} has a meaning that repeats it or another meaning")
            seen.add(ways[0])
        return glossary
