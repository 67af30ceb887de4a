"""A request turned away, in one line that holds nothing of the request."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.responses import JSONResponse


class Refused(Exception):
    def __init__(self, status: int, detail: str, *, retry_after: int = 0) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.retry_after = retry_after

    def response(self) -> JSONResponse:
        headers: Mapping[str, str] = {}
        if self.status == 401:
            headers = {"WWW-Authenticate": "Bearer"}
        elif self.retry_after:
            headers = {"Retry-After": str(self.retry_after)}
        return JSONResponse({"detail": self.detail}, self.status, headers)
