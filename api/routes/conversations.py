"""`/api/conversations/{id}`: shows or erases a stored conversation."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Any, Protocol

from fastapi import APIRouter, Path, Query, Request

from api.auth.routes import RequestRejected
from api.errors import NO_CONVERSATION
from api.schemas.examples import (
    CONVERSATION_ERASED,
    CONVERSATION_KEPT,
    CONVERSATION_NAMED,
    UNKNOWN_CONVERSATION,
)
from api.schemas.questions import LONGEST_ID
from api.scope import ADDRESS, RequestScope, RequestScopes


class KeptConversations(Protocol):
    """Stored conversations by place, see `place_of`. Raises CopilotError if unavailable."""

    def turns_at(self, place: str) -> list[dict[str, Any]]:
        """Returns turns with `domain`, `asked` and `path`; oldest first within a domain."""
        ...

    def erase(self, place: str) -> bool:
        """Returns whether anything was stored."""
        ...


class NothingKept:
    """Used if no conversations are stored."""

    def turns_at(self, place: str) -> list[dict[str, Any]]:
        return []

    def erase(self, place: str) -> bool:
        return False


def asker_of(opened: RequestScope) -> str:
    """Returns the key of a person's data for export and erasure; see `Conversation.asker`."""
    return opened.asker or opened.caller.identity or opened.caller.name


def place_of(opened: RequestScope, conversation_id: str) -> str:
    """Conversations are separate for each token and asker, even with the same id."""
    who = opened.asker or opened.caller.identity
    return json.dumps(["api", opened.caller.name, who, conversation_id])


ConversationId = Annotated[
    str, Path(min_length=1, max_length=LONGEST_ID, openapi_examples=CONVERSATION_NAMED)
]
AskerEmail = Annotated[
    str, Query(description="In whose name it was asked", max_length=320, pattern=ADDRESS)
]


def conversation_routes(
    served: RequestScopes, conversations: Callable[[], KeptConversations]
) -> APIRouter:
    """Responses contain the asker's own questions, and no content of documents.

    The path parameter matches to the end: a client's id may contain `/`."""
    routes = APIRouter()

    @routes.get(
        "/api/conversations/{conversation_id:path}",
        summary="What is kept of a conversation",
        response_model=None,
        responses={200: CONVERSATION_KEPT, 404: UNKNOWN_CONVERSATION},
    )
    def conversation(
        request: Request, conversation_id: ConversationId, asker_email: AskerEmail = ""
    ) -> dict[str, Any]:
        """Its last questions, at most twelve of each domain; no answers are kept."""
        opened = served.to(request.state.caller, asker_email)
        turns = conversations().turns_at(place_of(opened, conversation_id))
        if not turns:
            raise RequestRejected(404, NO_CONVERSATION)
        return {
            "conversation_id": conversation_id,
            "turns": [
                {
                    "query": turn["asked"],
                    "domain": turn["domain"],
                    "agent_path_taken": turn["path"],
                }
                for turn in turns
                if "asked" in turn and turn["domain"] in opened.domains
            ],
        }

    @routes.delete(
        "/api/conversations/{conversation_id:path}",
        summary="Erase a conversation",
        response_model=None,
        responses={200: CONVERSATION_ERASED},
    )
    def erase(
        request: Request, conversation_id: ConversationId, asker_email: AskerEmail = ""
    ) -> dict[str, Any]:
        """All that is kept of it; what is asked under the same id then begins anew. Doing it again
        does no harm."""
        opened = served.to(request.state.caller, asker_email)
        return {"erased": conversations().erase(place_of(opened, conversation_id))}

    return routes
