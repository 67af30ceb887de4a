"""`/api/conversations/{conversation_id}`: what comes back."""

from __future__ import annotations

from pydantic import BaseModel, Field

from agents.answer import AnswerPath


class KeptTurn(BaseModel):
    query: str = Field(description="As it was asked")
    domain: str = Field(description="That answered")
    agent_path_taken: AnswerPath


class ConversationKept(BaseModel):
    conversation_id: str
    turns: list[KeptTurn] = Field(description="Of each domain the oldest first; no answers")


class ConversationErased(BaseModel):
    erased: bool = Field(description="Whether there was anything")
