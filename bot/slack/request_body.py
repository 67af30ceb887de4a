"""Whether a signed body is made as Slack makes them: what reads it further on relies on that."""

from __future__ import annotations

from urllib.parse import parse_qsl

from config.parsing.strict_json import JunkJsonError, read_json


def is_slack_body(body: bytes, content_type: str) -> bool:
    """JSON of an event, or a form: of a command, or around the JSON of an interaction."""
    if content_type.partition(";")[0].strip() == "application/json" or body.startswith(b"{"):
        return _is_request(body)
    try:
        fields = dict(parse_qsl(body.decode("utf-8"), keep_blank_values=True, max_num_fields=100))
    except ValueError:  # no UTF-8, or too many fields
        return False
    return "payload" not in fields or _is_request(fields["payload"].encode("utf-8", "replace"))


def _is_request(text: bytes) -> bool:
    try:
        request = read_json(text)
    except JunkJsonError:
        return False
    # A challenge is said back.
    return isinstance(request, dict) and isinstance(request.get("challenge", ""), str)
