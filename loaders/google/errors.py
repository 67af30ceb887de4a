"""Google's errors and what they mean: retry, fail, or request access."""

from __future__ import annotations

import json
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from time import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from googleapiclient.errors import HttpError

LIMIT_REASONS = frozenset({
    "rateLimitExceeded", "userRateLimitExceeded", "sharingRateLimitExceeded",
    "RATE_LIMIT_EXCEEDED", "RESOURCE_EXHAUSTED",
})  # fmt: skip
TEMPORARY_STATUSES = frozenset({408, 429, 500, 502, 503, 504})
GONE_STATUSES = frozenset({404, 410})
MAX_PAUSE = 120.0
"""Seconds. A longer Retry-After is shortened, because other documents are waiting."""

TOO_BIG = "exportSizeLimitExceeded"
WORDS: Mapping[str, str] = {
    TOO_BIG: "it is over the 10 MB that Google exports",
    "cannotExportFile": "its owner has switched off copying and export",
    "cannotDownloadFile": "its owner has switched off downloading",
    "dailyLimitExceeded": "the Google project's daily quota is used up",
    "accessNotConfigured": "the Docs or Drive API is not switched on in the Google project",
    "SERVICE_DISABLED": "the Docs or Drive API is not switched on in the Google project",
    "insufficientPermissions": "the credentials' scopes don't reach Drive",
    "ACCESS_TOKEN_SCOPE_INSUFFICIENT": "the credentials' scopes don't reach Drive",
}
OF_FILE = frozenset({TOO_BIG, "cannotExportFile", "cannotDownloadFile"})
OF_ACCOUNT = WORDS.keys() - OF_FILE


class GoogleRefused(Exception):
    """A call that failed permanently or too often. Callers turn it into a LoadError or a report.

    `status` is 0 when there was no response."""

    def __init__(self, status: int, reason: str, message: str, *, temporary: bool) -> None:
        self.status = status
        self.reason = reason
        self.message = message
        self.temporary = temporary
        super().__init__(f"{status} {reason}: {message}")

    @property
    def passes(self) -> bool:
        """Whether waiting helps, be it until tomorrow."""
        return self.temporary or self.reason == "dailyLimitExceeded"

    @property
    def no_access(self) -> bool:
        """Whether the file is deleted or not shared; Google doesn't distinguish the two."""
        return self.status in GONE_STATUSES or (self.status == 403 and not self.temporary)

    @property
    def may_not_ask(self) -> bool:
        """Whether permission is denied. Plain readers can't list a file's other readers."""
        return self.status == 403 and not self.temporary

    @property
    def of_account(self) -> bool:
        """Whether the error concerns the account, its scopes or its quota, not the file."""
        return self.status in (0, 400, 401) or self.temporary or self.reason in OF_ACCOUNT

    def in_words(self) -> str:
        """The reason for a LoadError, without the request's URL."""
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
    """Drive reports the reason in `errors`, Docs in `details` or in `status`."""
    body = _error_body(error.content)
    message = str(body.get("message") or error.resp.reason or "no message")
    reason = _reason(body) or str(error.resp.reason or "unknown")
    status = int(error.resp.status)
    temporary = status in TEMPORARY_STATUSES or (status == 403 and reason in LIMIT_REASONS)
    return GoogleRefused(status, reason, message, temporary=temporary)


def retry_after(header: str | None) -> float:
    """A Retry-After header, number or date → seconds to wait; 0 without a valid header."""
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
