"""What Google says when it refuses, and what that means: try again, give up, or ask for access."""

from __future__ import annotations

import json
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from time import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from googleapiclient.errors import HttpError

LIMIT_REASONS = frozenset(
    {
        "rateLimitExceeded",
        "userRateLimitExceeded",
        "sharingRateLimitExceeded",
        "RATE_LIMIT_EXCEEDED",
        "RESOURCE_EXHAUSTED",
    }
)
TEMPORARY_STATUSES = frozenset({408, 429, 500, 502, 503, 504})
GONE_STATUSES = frozenset({404, 410})
MAX_PAUSE = 120.0
"""Seconds; a Retry-After beyond it is cut, since other documents wait behind this one."""

WORDS: Mapping[str, str] = {
    "exportSizeLimitExceeded": "it is over the 10 MB that Google exports",
    "cannotExportFile": "its owner has switched off copying and export",
    "cannotDownloadFile": "its owner has switched off downloading",
    "dailyLimitExceeded": "the Google project's daily quota is used up",
    "accessNotConfigured": "the Docs or Drive API is not switched on in the Google project",
    "SERVICE_DISABLED": "the Docs or Drive API is not switched on in the Google project",
    "insufficientPermissions": "the credentials' scopes don't reach Drive",
    "ACCESS_TOKEN_SCOPE_INSUFFICIENT": "the credentials' scopes don't reach Drive",
}
OF_ACCOUNT = frozenset(WORDS) - {
    "exportSizeLimitExceeded",
    "cannotExportFile",
    "cannotDownloadFile",
}


class GoogleRefused(Exception):
    """A call that failed for good, or too often. Callers turn it into a LoadError or a report.

    `status` is 0 when there was no answer at all."""

    def __init__(self, status: int, reason: str, message: str, *, temporary: bool) -> None:
        self.status = status
        self.reason = reason
        self.message = message
        self.temporary = temporary
        super().__init__(f"{status} {reason}: {message}")

    @property
    def no_access(self) -> bool:
        """Deleted or not shared with us: Google doesn't tell the two apart."""
        return self.status in GONE_STATUSES or (self.status == 403 and not self.temporary)

    @property
    def may_not_ask(self) -> bool:
        """Whoever only reads a file is not told who else does."""
        return self.status == 403 and not self.temporary

    @property
    def of_account(self) -> bool:
        """It says nothing of the file: the account, its scopes or its quota are refused."""
        return self.status in (0, 400, 401) or self.temporary or self.reason in OF_ACCOUNT

    def in_words(self) -> str:
        """For a LoadError, without the request's address."""
        if self.reason in WORDS:
            return WORDS[self.reason]
        if self.status in GONE_STATUSES:
            return "it is deleted or not shared with us"
        if self.status == 403 and not self.temporary:
            return f"access is denied ({self.reason})"
        if self.temporary:
            return f"Google did not answer properly, several times over ({self.reason})"
        return f"Google refuses it ({self.status} {self.reason}: {self.message})"


def read_error(error: HttpError) -> GoogleRefused:
    """Drive tells the reason in a list of errors, Docs in its details or its status name."""
    body = _error_body(error.content)
    message = str(body.get("message") or error.resp.reason or "no message")
    reason = _reason(body) or str(error.resp.reason or "unknown")
    status = int(error.resp.status)
    temporary = status in TEMPORARY_STATUSES or (status == 403 and reason in LIMIT_REASONS)
    return GoogleRefused(status, reason, message, temporary=temporary)


def retry_after(header: str | None) -> float:
    """Seconds to wait by a Retry-After header: a number, or a date; 0 without one."""
    if not header:
        return 0.0
    try:
        seconds = float(header)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(header).timestamp() - time()
        except ValueError:
            return 0.0
    return min(max(seconds, 0.0), MAX_PAUSE)


def _error_body(content: bytes | str) -> Mapping[str, Any]:
    try:
        error = json.loads(content).get("error")
    except (ValueError, AttributeError):
        return {}
    return error if isinstance(error, dict) else {}


def _reason(body: Mapping[str, Any]) -> str:
    for entries in (body.get("errors"), body.get("details")):
        for entry in entries if isinstance(entries, list) else []:
            if isinstance(entry, dict) and entry.get("reason"):
                return str(entry["reason"])
    return str(body.get("status") or "")
