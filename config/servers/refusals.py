"""Reads a refused request: which optional feature does the server refuse, or is it another error?

An error about the key, the quota, the model, the length of the context or the content of the
messages is no refusal. Else the place that the error names counts first, then the first feature in
its text; what isn't named is searched for, see `suspects`."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Any, Literal

from config.model_failures import causes_of, status_of
from config.servers.capabilities import Feature

_SURE_STATUS = frozenset({400, 405, 406, 415, 422, 501})
"""An error with one of these is a refusal even when it names nothing."""
_NAMES: Mapping[Feature, re.Pattern[str]] = {
    "schema": re.compile(
        r"response (?:format|mime ?type)|schema|json ?(?:object|mode|output|validate)|structured"
        r"|guided|grammar|(?:output|text) (?:config|format)|generate json"
    ),
    "usage": re.compile(r"stream options?|(?:include|stream) usage"),
    "temperature": re.compile(r"temperature|sampling param"),
    "limit": re.compile(r"max (?:\w+ )?(?:tokens?|len(?:gth)?)\b|num predict|token limit"),
    "system": re.compile(
        r"\b(?:system|developer) (?:role|message|prompt|instruction)|\broles?\b|messages? 0 role"
    ),
    # A request has one of the two: servers name both by this word.
    "whole": re.compile(r"\bstream"),
    "stream": re.compile(r"\bstream"),
}
"""Of texts as `_words` spells them."""
_OTHER_ERRORS = re.compile(
    # the length of the context
    r"(?:context|model) (?:length|window|size|overflow|(?:max|maximum) length|token limit)"
    r"|(?:maximum|exceed) context|too many (?:input )?tokens|reduce (?:the|your)|input length"
    r"|(?:prompt|input|request|messages?) (?:is |are )?too (?:long|large)|above max length"
    r"|(?:prompt|input) .{0,30}tokens? .{0,30}(?:exceed|longer|limit)|inputs? tokens .{0,40}must be"
    # the key, the account
    r"|api ?key|\bauth|unauth|permission|credential|access (?:denied|to)|\baccount\b"
    r"|(?:invalid|expired|incorrect|missing) .{0,12}\b(?:token|key)\b"
    r"|quota|billing|balance|credit|insufficient|rate limit|exhausted|overloaded|out of memory"
    # the content
    r"|content (?:filter|policy|management)|polic(?:y|ies)\b|violate[sd]|safety|moderation"
    r"|responsible ai|flagged|sensitive|inspection|inappropriate|prohibited|\bblocked"
    # the model, the address
    r"|\bmodel\b.{0,80}\b(?:not found|not exist|not loaded|no access|no longer|decommissioned)"
    r"|(?:unknown|invalid|no such|unsupported|not a valid) model\b|not found error|model not"
    r"|model (?:name )?is (?:invalid|unknown)|no endpoints found for|page not found|<html|<!doctype"
)
_VALUE = r"['\"]\s*:\s*([\[(][^\])]*|['\"][^'\"]*)"
_PLACES = re.compile(
    r"['\"](?:param(?:eter)?s?|fields?|loc(?:ation)?|path|property|argument)" + _VALUE,
    re.IGNORECASE,
)
_ECHOES = re.compile(
    r"['\"](?:input|ctx|failed_generation|request(?:_body|_?id)?|url|user_id|headers)['\"]\s*:"
)
"""Behind these keys stands what was sent, or nothing about what is wrong."""
_ESCAPES = re.compile(r"\\+(?:[nrt]|u[0-9a-f]{4})?")
_REQUIRED = re.compile(r"(?:messages?|prompt|inputs?|contents?|model)\b")
_BY_CLIENT = (ValueError, TypeError, NotImplementedError)
_MAX_CHARS = 20_000


class EmptyStream(Exception):
    """A server that doesn't know streams sent something else."""


def refusal_of(
    error: Exception, features: Collection[Feature]
) -> Feature | Literal["unnamed"] | None:
    """The refused feature, of those that the request used; None for another error."""
    if isinstance(error, EmptyStream):
        return "stream"
    status = status_of(error)
    is_object = bool(getattr(error, "body", None))
    """An error object, perhaps in a stream that began with status 200."""
    raw = _text_of(error)
    text = _words(_ECHOES.split(raw)[0])
    if status is None and not is_object:  # an integration refuses by itself
        is_ours = isinstance(error, _BY_CLIENT) and "not support" in text
        return _first_named(text, features) if is_ours else None
    if status not in {None, 404, 500, *_SURE_STATUS}:
        return None
    places = [_words(re.sub(r"\W*body\W+", "", one)) for one in _PLACES.findall(raw)]
    is_other = bool(_OTHER_ERRORS.search(text))
    for place in places if not is_other else ():
        if named := _first_named(place, features):
            return named
    if is_other or any(map(_REQUIRED.match, places)):
        return None
    if status in (None, 500):  # a stream breaks for many reasons
        features = [one for one in features if one not in ("stream", "whole")]
    is_sure = status in _SURE_STATUS or (status == 404 and "parameter" in text)
    return _first_named(text, features) or ("unnamed" if is_sure else None)


def _first_named(text: str, features: Collection[Feature]) -> Feature | None:
    """A later one may be advice, as in `property 'stream_options' is unsupported, did you mean
    'stream'?`; a stream may be no more than where it happened, as in `calling ConverseStream`."""
    hits = [
        (feature in ("stream", "whole"), match.start(), feature)
        for feature, pattern in _NAMES.items()
        if feature in features and (match := pattern.search(text))
    ]
    return min(hits)[2] if hits else None


def _text_of(error: Exception) -> str:
    """All that the error and its causes say. Gateways quote another server's body in a text, more
    or less escaped, so that keys and values are read from it as from a text."""
    parts: list[Any] = []
    for one in causes_of(error):
        parts += [one, getattr(one, "body", None), getattr(one, "details", None)]
        with suppress(Exception):  # the body of a stream was not read
            parts.append(getattr(one.response, "text", None))  # type: ignore[attr-defined]
    text = "\n".join(str(part)[:_MAX_CHARS] for part in parts if part)
    return _ESCAPES.sub(" ", text)


def _words(text: str) -> str:
    """`max_completionTokens` → `max completion tokens`; lower case, no punctuation within names."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text)
    return re.sub(r"[^\w<>!;.,]+|_|\.(?=\w)", " ", spaced).strip().lower()
