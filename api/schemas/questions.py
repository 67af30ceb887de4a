"""Request and response of `/api/agentic_qna`, response of `/api/conversations/{conversation_id}`,
and the rules for every JSON body: unknown keys are rejected, with the nearest key."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    ConfigDict,
    Field,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError

from agents.answer import MAX_QUESTION_CHARS, AnswerPath, Turn
from agents.thread.turns import is_zone
from api.auth.tokens import ADDRESS_OR_NONE
from config.domain_files import nearest


class KeptTurn(BaseModel):
    query: str = Field(description="As it was asked")
    domain: str = Field(description="That answered")
    agent_path_taken: AnswerPath


class ConversationKept(BaseModel):
    conversation_id: str
    turns: list[KeptTurn] = Field(description="Of each domain the oldest first; no answers")


class ConversationErased(BaseModel):
    erased: bool = Field(description="Whether there was anything")


class RequestShape(BaseModel):
    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _has_no_other_keys(cls, value: Any) -> Any:
        """The error names only our own keys and never echoes the input.

        A null counts as left out: clients in typed languages send one for each empty field."""
        if not isinstance(value, dict):
            return value
        keys = [key for name, field in cls.model_fields.items() for key in _names(name, field)]
        for key in value:
            if key not in keys:
                raise PydanticCustomError("unknown_key", f"unknown key{nearest(str(key), keys)}")
        return {key: one for key, one in value.items() if one is not None}


def _names(name: str, field: FieldInfo) -> list[str]:
    """Under which a body may have the field."""
    alias = field.validation_alias
    return [str(one) for one in alias.choices] if isinstance(alias, AliasChoices) else [name]


LONGEST_ID = 200
WorkflowId = Annotated[
    str,
    Field(
        description="Your own id of the workflow that asks: every log line of the request has it",
        max_length=LONGEST_ID,
    ),
]


def _checked_zone(name: str) -> str:
    if not is_zone(name):
        raise ValueError("no such time zone; write it as IANA does, like Asia/Singapore")
    return name


TimeZone = Annotated[str, Field(max_length=64), AfterValidator(_checked_zone)]


class EarlierMessage(RequestShape):
    role: Literal["user", "agent", "assistant"] = Field(
        description="Who said it; `agent` and `assistant` are the same"
    )
    content: str = Field(max_length=20_000)

    def as_turn(self) -> Turn:
        return Turn(role="user" if self.role == "user" else "assistant", content=self.content)


class QnaRequest(RequestShape):
    query: str = Field(min_length=1, max_length=MAX_QUESTION_CHARS)
    conversation_id: str = Field(
        "",
        description="Any name of yours. What was asked under it before is leant on, by the same "
        "asker and token alone; one that is new begins a conversation",
        max_length=LONGEST_ID,
    )
    conversation_history: list[EarlierMessage] = Field(
        [],
        description="What was said before, oldest first, where you keep it yourself",
        max_length=50,
    )
    domain: str = Field(
        "", description="All domains that you may use are tried without one", max_length=64
    )
    asker_email: str = Field(
        "", description="Whose document permissions count", max_length=320, pattern=ADDRESS_OR_NONE
    )
    time_zone: TimeZone = Field("UTC", description="The asker's, as IANA names it")
    stream: bool = Field(False, description="Server-sent events: status, delta, answer")
    workflow_id: WorkflowId = ""


class SourceShown(BaseModel):
    content: str = Field(description="The document's words that the answer rests on, verbatim")
    page_number: int | None = Field(description="Of a PDF")
    source: str = Field(description="The document's title")
    type: Literal["document"]
    url: str = Field(description="Opens the document at its heading")


class SourceCaption(BaseModel):
    number: int = Field(description="The `[n]` in the answer")
    text: str = Field(description="The beginning of the source's words, at most 300 characters")
    highlights: str = Field(description="The same, words of the question between `**`")
    source: str = Field(description="The document's id")
    url: str


class QnaResponse(BaseModel):
    agent_path_taken: AnswerPath = Field(description="What kind of answer it is")
    answer: str = Field(description="Markdown; `[n]` points to the n-th source")
    cache_similarity: float | None = Field(
        description="Cosine of the question with the one whose answer was given again, or else "
        "with the nearest that was answered before; null where there is none"
    )
    cached: bool = Field(description="The answer was given before, and still holds")
    original_path: AnswerPath | None = Field(
        description="`agent_path_taken` when it was given first; null unless cached"
    )
    confidence_score: float = Field(ge=0, le=1)
    sources: list[SourceShown] = Field(
        description="What the answer cites; the nearest passages where none was found"
    )
    captions: list[SourceCaption] = Field(description="One for each source, in the same order")
    degraded: list[str] = Field(
        description="Agents that went on without the model that is configured"
    )
    notices: list[str] = Field(
        description="What its readers have to know of how it was made, such as a used-up budget"
    )
    conversation_id: str = Field(description="As it was sent")
    workflow_id: str = Field(description="As it was sent")
