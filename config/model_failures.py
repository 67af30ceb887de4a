"""Classifies a failed model call: retry, outage or invalid output."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import Any

from config.errors import InvalidModelOutput, ModelError, ModelFailure, ModelUnavailable
from config.models import Prompt

_RETRY_STATUS = frozenset({408, 409, 429, 500, 502, 503, 504, 529})
"""529: Anthropic's status for overload."""
_KINDS: Mapping[int, ModelFailure] = {404: "not_found", 408: "timeout", 429: "rate_limited"}
"""Statuses with a kind of their own; others are a server error or a refusal."""
_MAX_WAIT = 5.0
"""Seconds. A user is waiting: an extractive answer now is better than a later one."""
_CONNECTION_ERRORS = frozenset({"APIConnectionError", "ConnectError", "ConnectionError"})
_HTTP_STACKS = frozenset({"httpx", "httpx2", "httpcore", "httpcore2", "h11", "urllib3"})


def wait_before_retry(error: Exception, failures: int) -> float | None:
    """Seconds to wait before a retry; None when a retry is pointless or the wait too long."""
    if status_of(error) not in _RETRY_STATUS and not _is_refused_connection(error):
        return None
    pause = _retry_after(error)
    if pause is not None:
        return pause if pause <= _MAX_WAIT else None
    return 0.4 * 2.0**failures * random.uniform(0.75, 1.25)  # noqa: S311 - jitter


def is_outage(error: Exception) -> bool:
    return _is_timeout(error) or _is_refused_connection(error)


def as_model_error(prompt: Prompt, error: Exception, *, check_key: str, check: str) -> ModelError:
    """Translates a vendor's error. It names only status or kind: server messages may contain keys.

    `check_key`, `check`: what the remedy names for a wrong key, or a wrong model or address."""
    if "LengthFinishReasonError" in _kinds(error):
        return too_long(prompt)
    message = f"the model could not answer {prompt.name!r}"
    status = status_of(error)
    if status:
        kind = _KINDS.get(status, "server_error" if status >= 500 else "refused")
        remedies = {401: f"check {check_key}", 403: f"check {check_key}", 404: f"check {check}"}
        refused = ModelUnavailable(
            f"{message}: HTTP {status}", remedy=remedies.get(status, ""), kind=kind
        )
        refused.retry_after = _retry_after(error)
        return refused
    if _is_timeout(error):
        return ModelUnavailable(f"{message}: no reply in time", kind="timeout")
    if _is_refused_connection(error) or _kinds(error) & {"APIError", "OSError"}:
        return ModelUnavailable(
            f"{message}: no connection to its server ({type(error).__name__})",
            remedy=f"check {check}, and that it can be reached from here",
            kind="unreachable",
        )
    if type(error).__module__.split(".")[0] in _HTTP_STACKS:
        return ModelUnavailable(
            f"{message}: the connection broke ({type(error).__name__})", kind="broke_off"
        )
    return InvalidModelOutput(
        f"the model's reply to {prompt.name!r} is malformed ({type(error).__name__})",
        remedy=f"check {check}: a proxy or a sign-in page may answer in its place",
    )


def too_long(prompt: Prompt) -> InvalidModelOutput:
    limit = f"{prompt.max_tokens:,} tokens"
    return InvalidModelOutput(
        f"the reply to {prompt.name!r} ended at its limit of {limit}", kind="too_long"
    )


def withheld(prompt: Prompt) -> InvalidModelOutput:
    return InvalidModelOutput(
        f"the server's content filter withheld the reply to {prompt.name!r}", kind="refused"
    )


def status_of(error: BaseException) -> int | None:
    """HTTP status of a vendor's error: `status_code`, `code`, botocore's field, an error object in
    a reply or a stream, or its cause's."""
    for one in causes_of(error):
        response: Any = getattr(one, "response", None)
        if isinstance(response, dict):
            return int(response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)) or None
        bodies = [part for part in one.args if isinstance(part, dict)]
        candidates = [getattr(one, "status_code", None), getattr(one, "code", None)]
        for status in (*candidates, *(part.get("code") for part in bodies)):
            if str(status).isdecimal() and 400 <= int(str(status)) < 600:
                return int(str(status))
    return None


def causes_of(error: BaseException) -> Iterator[BaseException]:
    """The error and its causes. A warning that tests turn into an error hides the error itself."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or (cause.__context__ if isinstance(cause, Warning) else None)


def _retry_after(error: Exception) -> float | None:
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    try:
        return max(0.0, float(headers.get("retry-after", "")))
    except (TypeError, ValueError):
        return None


def _is_timeout(error: Exception) -> bool:
    return any("timeout" in name.lower() for name in _kinds(error))


def _is_refused_connection(error: Exception) -> bool:
    return bool(_kinds(error) & _CONNECTION_ERRORS) and not _is_timeout(error)


def _kinds(error: Exception) -> set[str]:
    """Names of an error's classes: vendors share names, not classes, and may not be installed."""
    return {kind.__name__ for kind in type(error).__mro__}
