"""Example requests and responses, from the demo's documents without a model. A test sends every
request to a server with these documents and checks the responses against their schema."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from api.errors import NO_CONVERSATION, NO_DOCUMENT, problem
from api.schemas.passages import CitablePlace, DocumentShown, DocumentSummary, RetrieveResponse
from api.schemas.questions import ConversationErased, ConversationKept, QnaResponse

RESPONSES: Mapping[str, Mapping[str, Any]] = json.loads(
    Path(__file__).with_name("response_examples.json").read_text("utf-8")
)
"""Method and path → name of the request → the demo's response, with long lists shortened."""


def answered(model: Any, description: str, **more: Mapping[str, Any]) -> dict[str, Any]:
    """A success response of a route's OpenAPI entry. `api/app.py` adds the examples of `RESPONSES`.
    `more`: other media types."""
    return {"model": model, "description": description, "content": {"application/json": {}, **more}}


def named(**values: tuple[str, Any]) -> dict[str, Any]:
    """`values`: name → (summary, value)."""
    return {name: {"summary": summary, "value": value} for name, (summary, value) in values.items()}


_KEY_AGE = "how old may an API signing key on Restricted data get in Singapore?"

QNA_ASKED = named(
    question=("A question, to whichever domain answers it", {"query": _KEY_AGE}),
    with_history=(
        "A follow-up, with what was said before",
        {
            "query": "and on Confidential data?",
            "domain": "security",
            "conversation_history": [
                {"role": "user", "content": _KEY_AGE},
                {"role": "agent", "content": "60 days [1]."},
            ],
        },
    ),
    in_a_conversation=(
        "The same, where the copilot keeps the conversation",
        {"query": _KEY_AGE, "domain": "security", "conversation_id": "example"},
    ),
    follow_up=(
        "Under the same conversation_id: nothing else is needed",
        {"query": "and on Confidential data?", "domain": "security", "conversation_id": "example"},
    ),
    streamed=(
        "Server-sent events while it is written",
        {"query": _KEY_AGE, "domain": "security", "stream": True},
    ),
)
EVENTS = """\
event: status
data: {"step": "search", "text": "Searching 16 documents…", "scores": {}}

event: status
data: {"step": "read", "text": "Reading 3 documents…", "scores": {"similarity": 0.712}}

event: delta
data: {"text": "**60 days** [1]"}

event: answer
data: {"agent_path_taken": "company_specific_rag_success", "answer": "**60 days** [1]", …}

"""
QNA_ANSWERED = answered(
    QnaResponse,
    "The answer; with `stream`, events of which the last holds the same",
    **{
        "text/event-stream": {
            "schema": {"type": "string", "description": "status, delta, and last answer or error"},
            "examples": {"streamed": {"value": EVENTS}},
        }
    },
)

_RESTORE = "who may restore a ledger backup?"
RETRIEVE_ASKED = named(
    hybrid=("By meaning and by words", {"query": _RESTORE, "domain": "platform", "top_k": 2}),
    vector=(
        "By meaning alone",
        {"query": _RESTORE, "domain": "platform", "search_type": "vector", "top_k": 2},
    ),
    keyword=(
        "By words alone",
        {"query": "SEC-401", "domain": "security", "search_type": "keyword", "top_k": 2},
    ),
    switches=(
        "Each switch by itself; what it wins over is the pipeline",
        {
            "query": _RESTORE,
            "domain": "platform",
            "pipeline": "standard",
            "top_k": 2,
            "enable_rerank": True,
            "query_expansion": True,
            "hyde": True,
        },
    ),
    rerank=(
        "The best hits judged again",
        {"query": _RESTORE, "domain": "platform", "pipeline": "rerank", "top_k": 2},
    ),
    advanced=(
        "All of it, and what stands around each passage",
        {"query": _RESTORE, "domain": "platform", "pipeline": "advanced", "top_k": 2},
    ),
    facets=(
        "What all that was found names, to narrow the search by",
        {
            "query": "severity of an incident",
            "domain": "security",
            "pipeline": "facets",
            "top_k": 2,
        },
    ),
)
RETRIEVED = answered(RetrieveResponse, "Passages, best first, without an answer")

DOMAIN_NAMED = named(demo=("One of the demo's", "security"))
DOCUMENT_NAMED = named(demo=("By an id of /api/documents", "key-rotation-standard"))
CONVERSATION_NAMED = named(example=("By the id that you gave it", "example"))
DOCUMENTS_LISTED = answered(list[DocumentShown], "All that you may read")
DOCUMENT_SUMMED_UP = answered(DocumentSummary, "What the document is about")
DOCUMENT_CITED = answered(
    list[CitablePlace], "Every place of the document that an answer can point to"
)
ENTITIES_COUNTED = answered(
    dict[str, dict[str, int]], "Kind → entity → passages, the most frequent first"
)
CONVERSATION_KEPT = answered(ConversationKept, "The asker's own words")
CONVERSATION_ERASED = answered(ConversationErased, "Whether there was anything")
UNKNOWN_DOCUMENT = problem("There is none, or none that you may read", unknown=NO_DOCUMENT)
UNKNOWN_CONVERSATION = problem("There is none of yours", unknown=NO_CONVERSATION)
