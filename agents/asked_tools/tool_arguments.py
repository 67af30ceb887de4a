"""What may go out to a tool: words that its asker may know to have been sent.

A model that reads documents may be told by one of them to send their words away. So each value has
to stand where that can do no harm: in the question, in what the tool itself says that it takes, or
in what the same server answered before; in the documents only where all who may ask may read
them, and then it is a name, not a text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from agents.asked_tools.tool_values import ToolOffer

MOST_ARGUMENTS = 12
MOST_VALUES = 20
LONGEST_VALUE = 80
"""Characters."""
LONGEST_ALL = 240
"""Characters of all values that are words."""
_NUMBER = re.compile(r"-?\d{1,9}(\.\d{1,4})?")
_MOMENT = re.compile(
    r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2})?(\.\d{1,6})?(Z|[+-]\d{2}:?\d{2})?)?"
)


class UnfitError(Exception):
    """These arguments are not sent; the model reads why."""


@dataclass(frozen=True, kw_only=True)
class Sayable:
    """Where a word that is sent may stand."""

    question: str
    answered: str = ""
    """By the same server, for the same question."""
    documents: str = ""
    """Of those that all who may ask may read; empty where each reads their own."""


def arguments_in(written: str, offer: ToolOffer, sayable: Sayable) -> dict[str, Any]:
    """Raises UnfitError."""
    try:
        given = json.loads(written or "{}")
    except (ValueError, RecursionError):
        raise UnfitError("the arguments are no JSON object on one line") from None
    if not isinstance(given, dict) or len(given) > MOST_ARGUMENTS:
        raise UnfitError("the arguments are no JSON object, or too many")
    properties = offer.schema.get("properties")
    known = properties if isinstance(properties, Mapping) else {}
    if unknown := sorted(set(given) - set(known)):
        raise UnfitError(f"the tool takes no {unknown[0][:40]!r}")
    required = offer.schema.get("required")
    for name in required if isinstance(required, list) else ():
        if name not in given:
            raise UnfitError(f"the tool needs {str(name)[:40]!r}")
    values = [one for value in given.values() for one in _values(value)]
    words = [one for one in values if isinstance(one, str)]
    if len(values) > MOST_VALUES or sum(map(len, words)) > LONGEST_ALL:
        raise UnfitError("the arguments are too long; send names, not texts")
    allowed = [_plain(text) for text in (sayable.question, sayable.answered, sayable.documents)]
    allowed.append(_plain(json.dumps(offer.schema, ensure_ascii=False)))
    for word in words:
        if not _is_sayable(word, allowed):
            raise UnfitError(
                f"{word[:40]!r} stands neither in the question nor in what may be sent; send the "
                "question's own words, a value that the tool lists, a number or a date"
            )
    return given


def _values(value: Any) -> Iterator[Any]:
    if isinstance(value, list):
        for one in value:
            yield from _values(one)
    elif isinstance(value, dict):
        raise UnfitError("an argument holds an object; only words, numbers and lists are sent")
    elif isinstance(value, float | int) and not isinstance(value, bool):
        if not _NUMBER.fullmatch(str(value)):
            raise UnfitError("a number is too long")
        yield value
    else:
        yield value


def _is_sayable(word: str, allowed: list[str]) -> bool:
    if len(word) > LONGEST_VALUE:
        return False
    if _NUMBER.fullmatch(word) or _MOMENT.fullmatch(word):
        return True
    sought = _plain(word)
    # Within words, a text could be spelled out letter by letter.
    whole = re.compile(rf"(?<!\w){re.escape(sought)}(?!\w)")
    return not sought or any(whole.search(text) for text in allowed)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
