"""What comes back when a request is refused, or the product fails: one line, or one for each key
of a body; see `api/errors.py` and `api/auth/routes.py`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, Field


class WrongKey(BaseModel):
    where: str = Field(description="body.top_k, query.domain, …")
    problem: str


class ErrorShown(BaseModel):
    detail: str | list[WrongKey]
    reference: str | None = Field(None, description="Under which the log has the rest")


def problem(description: str, **examples: str | list[dict[str, str]]) -> dict[str, Any]:
    """A response of a route's OpenAPI entry. `examples`: name → `detail`."""
    shown = {name: {"value": {"detail": detail}} for name, detail in examples.items()}
    content = {"content": {"application/json": {"examples": shown}}} if shown else {}
    return {"model": ErrorShown, "description": description, **content}


NO_DOCUMENT = "no such document"
NO_CONVERSATION = "no such conversation of yours"
_NO_SUCH = problem("What is asked for doesn't exist, or isn't allowed so")
PROBLEMS: Mapping[int | str, dict[str, Any]] = {
    401: problem(
        "No token where one is needed, or a wrong one",
        wrong_token="the bearer token is wrong, or has been revoked",  # noqa: S106 - no token
    ),
    403: problem("The token may not do this, or the person that it names may not ask here"),
    422: _NO_SUCH,
    429: problem("Too many requests; `Retry-After` says when to come again"),
    503: problem("It can't be answered just now, or too much is asked at once"),
}
"""Of every route."""
_UNREADABLE: Mapping[int | str, dict[str, Any]] = {
    400: problem(
        "The body can't be read, or has no single meaning",
        key_twice="the body can't be read: a key is given twice",
    ),
    413: problem("The body is longer than 256,000 bytes"),
    415: problem("The body doesn't say that it is JSON", not_json="send application/json in UTF-8"),
}
_NO_DOMAIN = "no such domain for you; name one that you may use: platform, privacy, security"


def _wrong(where: str, said: str) -> list[dict[str, str]]:
    return [{"where": where, "problem": said}]


QNA_PROBLEMS: Mapping[int | str, dict[str, Any]] = {
    **_UNREADABLE,
    422: problem(
        "What is asked for doesn't exist, or isn't allowed so",
        unknown_key=_wrong("body", "unknown key; did you mean 'conversation_id'?"),
        unknown_role=_wrong(
            "body.conversation_history.0.role", "Input should be 'user', 'agent' or 'assistant'"
        ),
        unknown_domain=_NO_DOMAIN,
    ),
}
RETRIEVE_PROBLEMS: Mapping[int | str, dict[str, Any]] = {
    **_UNREADABLE,
    422: problem(
        "What is asked for doesn't exist, or isn't allowed so",
        unknown_key=_wrong("body", "unknown key; did you mean 'enable_rerank'?"),
        too_many=_wrong("body.top_k", "Input should be less than or equal to 200"),
        unknown_domain=_NO_DOMAIN,
    ),
}
