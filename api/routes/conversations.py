"""`/api/conversations/{id}`: shows or erases a stored conversation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request

from agents.thread.memory import ThreadMemory
from api.auth.routes import RequestRejected
from api.auth.tokens import ADDRESS_OR_NONE
from api.errors import NO_CONVERSATION
from api.schemas.examples import (
    CONVERSATION_ERASED,
    CONVERSATION_KEPT,
    CONVERSATION_NAMED,
    UNKNOWN_CONVERSATION,
)
from api.schemas.questions import LONGEST_ID
from api.scope import RequestScopes
from index.permissions.acts import Act

ConversationId = Annotated[
    str, Path(min_length=1, max_length=LONGEST_ID, openapi_examples=CONVERSATION_NAMED)
]
AskerEmail = Annotated[
    str, Query(description="In whose name it was asked", max_length=320, pattern=ADDRESS_OR_NONE)
]


def conversation_routes(
    served: RequestScopes, conversations: Callable[[], ThreadMemory]
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
        opened = served.to(request.state.caller, Act.CONVERSATION_READ, asker_email)
        stored = conversations()
        usable = [name for name, domain in opened.domains.items() if opened.admits(domain)]
        turns = [
            turn
            for place in opened.places_of(conversation_id).values()
            for turn in stored.turns_at(place)
            if "asked" in turn and turn["domain"] in usable
        ]
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
        opened = served.to(request.state.caller, Act.CONVERSATION_ERASE, asker_email)
        keys = ("", opened.caller.name)
        places = {at for key in keys for at in opened.places_of(conversation_id, key).values()}
        return {"erased": sum(map(conversations().erase, places)) > 0}

    return routes
