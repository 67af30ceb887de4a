"""Parts of the rules for blocks: how a problem is worded, and what texts, lists and addresses
may be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

Json = dict[str, Any]
Problems = Iterator[str]


def problem(message: str, pointer: str) -> str:
    return f"[ERROR] {message} [json-pointer:{pointer}]"


def length(value: object, where: str, maximum: int, minimum: int = 1) -> Problems:
    if not isinstance(value, str):
        yield problem("must be a string", where)
    elif len(value) < minimum:
        yield problem(f"must be more than {minimum - 1} characters", where)
    elif len(value) > maximum:
        yield problem(f"must be less than {maximum + 1} characters", where)


def text(value: object, where: str, maximum: int, kinds: str = "plain_text mrkdwn") -> Problems:
    if not isinstance(value, Mapping):
        yield problem("must be an object", where)
        return
    if value.get("type") not in kinds.split():
        yield problem(f"unsupported type: {value.get('type')}", f"{where}/type")
    yield from length(value.get("text"), f"{where}/text", maximum)


def items(value: object, where: str, maximum: int) -> Iterator[tuple[str, Json]]:
    """The objects of a list, with their pointers; how many is `count`'s concern."""
    for number, item in enumerate(value if isinstance(value, list) else []):
        if isinstance(item, dict) and number < maximum:
            yield f"{where}/{number}", item


def count(value: object, where: str, maximum: int, *kinds: type) -> Problems:
    if not isinstance(value, list) or not value:
        yield problem("must provide a list with at least 1 item", where)
    elif len(value) > maximum:
        yield problem(f"no more than {maximum} items allowed", where)
    elif not all(isinstance(item, kinds or (dict, list)) for item in value):
        yield problem("must be objects", where)


def url(value: object, where: str) -> Problems:
    yield from length(value, where, 3000)
    if isinstance(value, str) and urlsplit(value).scheme not in ("http", "https", "mailto"):
        yield problem("must be a valid URL", where)
