"""Batches: several requests as the parts of one, each with an answer of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from email.parser import BytesParser
from http import HTTPStatus
from uuid import uuid4

from playground.google.google_faults import ApiError

LIMITS: Mapping[str, int] = {"/batch/drive/v3": 100, "/batch": 1000}
"""Path → calls in one batch; a batch is of one API."""

Answered = tuple[int, bytes, Mapping[str, str]]
"""Status, JSON and further headers."""


UNKNOWN: Answered = (404, b'{"error": {"code": 404, "message": "Not Found"}}', {})


def answer_batch(
    path: str,
    content_type: str,
    content: bytes,
    answer: Callable[[str, str], Answered],
) -> tuple[str, bytes]:
    """Media type and content. `answer`: a part's address and Authorization → its answer.

    Raises ApiError for what is no batch, or too large a one."""
    parsed = BytesParser().parsebytes(f"Content-Type: {content_type}\r\n\r\n".encode() + content)
    if not parsed.is_multipart():
        raise ApiError(400, "badContent", "Failed to parse batch request: not multipart/mixed")
    parts = [part for part in parsed.walk() if part.get_content_type() == "application/http"]
    if len(parts) > LIMITS[path]:
        said = f"The batch request exceeds the maximum of {LIMITS[path]} calls."
        raise ApiError(400, "badRequest", said)
    boundary = f"batch_{uuid4().hex}"
    lines: list[bytes] = []
    for part in parts:
        request_line, _, rest = str(part.get_payload()).lstrip().partition("\n")
        inner = BytesParser().parsebytes(rest.encode())
        method, address, _ = request_line.split(" ", 2)
        status, body, headers = UNKNOWN
        if method == "GET" and _is_of(path, address):
            status, body, headers = answer(address, inner.get("Authorization", ""))
        head = {"Content-Type": "application/json; charset=UTF-8", **headers}
        lines += [
            f"--{boundary}".encode(),
            b"Content-Type: application/http",
            f"Content-ID: <response-{part['Content-ID'].removeprefix('<')}".encode(),
            b"",
            f"HTTP/1.1 {status} {HTTPStatus(status).phrase}".encode(),
            *(f"{name}: {value}".encode() for name, value in head.items()),
            b"",
            body,
        ]
    lines.append(f"--{boundary}--".encode())
    return f"multipart/mixed; boundary={boundary}", b"\r\n".join(lines)


def _is_of(path: str, address: str) -> bool:
    """Whether the address belongs to the API whose batches go to this path."""
    return address.startswith("/drive/v3/" if "drive" in path else "/admin/directory/v1/")
