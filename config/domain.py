"""The domain file: what a channel admin writes, one YAML file per help channel."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator

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
    effort: Literal["fast", "standard", "thorough"] = "standard"
    follow_ups: Literal["mention", "thread"] = Field(
        "thread", description="Whether a follow-up in a thread needs a mention"
    )
    instructions: str = Field("", description="House rules for the answerer, in plain words")
    context_characters: int = Field(
        12_000, ge=1_000, le=200_000, description="Budget of context the answerer sees"
    )
    alert_bots: list[str] = Field(
        [], description="Bot or app ids (B…, A…) whose alerts are answered; other bots never are"
    )
    links: list[str] = Field(
        [],
        description="Hosts that an answer may link to besides its citations, e.g. wiki.example.com",
    )


class RetrievalPolicy(_Section):
    top_k: int = Field(8, ge=1, le=50)
    rerank: Literal["none", "cross_encoder", "model", "two_stage"] = "none"
    hyde: bool = Field(False, description="Also search with a hypothetical answer (needs a model)")


class Example(_Section):
    question: str
    documents: list[str] = Field(min_length=1)


class Escalation(_Section):
    usergroup: str = Field("", description="Slack user group id, S…")
    user: str = Field("", description="Slack user id, U…")
    rota: str = Field("", description="Who is on call now: an iCal or YAML rota, by URL or path")
    message: str = ""


class Limits(_Section):
    questions_per_user_per_hour: int = Field(30, ge=1)
    questions_per_channel_per_hour: int = Field(600, ge=1)
    tokens_per_day: int = Field(2_000_000, ge=0)


class Access(_Section):
    audience: Literal["channel", "asker"] = Field(
        "channel", description="Answer from all documents, or only from those the asker may read"
    )


class Domain(_Section):
    """One help channel and the documents behind it."""

    domain: str = Field(pattern=r"^[a-z0-9][a-z0-9-]{0,62}$")
    title: str
    channels: list[str] = Field([], description="Slack channel ids: names change, ids don't")
    admins: list[str] = Field([], description="Slack user ids")
    sources: Sources
    refresh: str = Field("0 3 * * *", description="Cron expression, UTC")
    answer: AnswerPolicy = AnswerPolicy()
    retrieval: RetrievalPolicy = RetrievalPolicy()
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
    path: Path = Field(Path(), exclude=True, description="Where this was read from", repr=False)

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
