"""Everything that Google does on a bad day, on demand: by method, by file, so many times."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["error", "slow", "truncate", "garble", "drop"]

MESSAGES = {
    "rateLimitExceeded": "Rate Limit Exceeded",
    "userRateLimitExceeded": "User Rate Limit Exceeded",
    "dailyLimitExceeded": "Daily Limit Exceeded",
    "insufficientFilePermissions": "The user does not have sufficient permissions for this file.",
    "backendError": "Backend Error",
    "internalError": "Internal Error",
    "authError": "Invalid Credentials",
    "cannotExportFile": "This file cannot be exported by the user.",
    "exportSizeLimitExceeded": "This file is too large to be exported.",
    "fileNotExportable": "Export only supports Docs Editors files.",
    "fileNotDownloadable": (
        "Only files with binary content can be directly downloaded. "
        "Use Export with Docs Editors files."
    ),
}
USAGE_LIMITS = {"rateLimitExceeded", "userRateLimitExceeded", "dailyLimitExceeded"}
STATUS_NAMES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


class ApiError(Exception):
    """A refusal, as the API will word it."""

    def __init__(
        self, status: int, reason: str, message: str = "", *, retry_after: int | None = None
    ) -> None:
        self.status = status
        self.reason = reason
        self.message = message or MESSAGES.get(reason, reason)
        self.retry_after = retry_after
        super().__init__(f"{status} {reason}: {self.message}")

    def drive_body(self) -> Mapping[str, Any]:
        """Drive v3 tells the reason in a list of errors."""
        domain = "usageLimits" if self.reason in USAGE_LIMITS else "global"
        entry = {"message": self.message, "domain": domain, "reason": self.reason}
        return {"error": {"code": self.status, "message": self.message, "errors": [entry]}}

    def docs_body(self) -> Mapping[str, Any]:
        """Docs v1 tells a status name, and the reason of a quota in its details."""
        error: dict[str, Any] = {
            "code": self.status,
            "message": self.message,
            "status": STATUS_NAMES.get(self.status, "UNKNOWN"),
        }
        if self.reason in USAGE_LIMITS:
            detail = "type.googleapis.com/google.rpc.ErrorInfo"
            error["details"] = [
                {"@type": detail, "reason": "RATE_LIMIT_EXCEEDED", "domain": "googleapis.com"}
            ]
        return {"error": error}


@dataclass(frozen=True, kw_only=True)
class GoogleFault:
    """One thing that goes wrong."""

    kind: Kind = "error"
    method: str = ""
    """API method such as `documents.get`, or its first part; empty for all but `token`."""
    file: str = ""
    """Only for this file id."""
    times: int | None = 1
    """How often it strikes; None for ever."""
    every: int = 1
    """Strikes each n-th matching request."""
    status: int = 500
    reason: str = "backendError"
    retry_after: int | None = None
    """Seconds, sent as a header."""
    seconds: float = 0.0
    """How long a slow answer takes."""

    def concerns(self, method: str, file_id: str) -> bool:
        anything = not self.method and method != "token"
        right_method = anything or (
            bool(self.method) and f"{method}.".startswith(f"{self.method}.")
        )
        return right_method and self.file in {"", file_id}


@dataclass
class _Scripted:
    fault: GoogleFault
    seen: int = 0
    struck: int = 0


class GoogleFaults:
    """The script. The first fault that concerns a request strikes it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._script: list[_Scripted] = []

    def add(self, *faults: GoogleFault) -> None:
        with self._lock:
            self._script.extend(_Scripted(fault) for fault in faults)

    def clear(self) -> None:
        with self._lock:
            self._script.clear()

    def struck(self) -> int:
        """How many requests went wrong so far, by the faults still scripted."""
        with self._lock:
            return sum(each.struck for each in self._script)

    def next_for(self, method: str, file_id: str) -> GoogleFault | None:
        with self._lock:
            for each in self._script:
                if not each.fault.concerns(method, file_id):
                    continue
                each.seen += 1
                spent = each.fault.times is not None and each.struck >= each.fault.times
                if spent or each.seen % each.fault.every:
                    continue
                each.struck += 1
                return each.fault
        return None
