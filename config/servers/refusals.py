"""Reads a refused request: which optional features does the server refuse, or is it another error?

What the error's structure says counts first: the places that it names, its code and type. Its
sentences count only where the structure names no feature. An error about the key, the quota, the
model, the length of the context or the content of the messages is no refusal of a feature."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from config.model_failures import causes_of, status_of

Feature = Literal["schema", "usage", "temperature", "limit", "system", "stream", "whole"]
"""`schema`: the form of a reply. `usage`: tokens counted in a stream. `limit`: of tokens. `system`:
the role. `stream`, `whole`: a reply in pieces, or at once."""

_REFUSING_STATUS = frozenset({400, 404, 405, 406, 415, 422, 500, 501})
_SURE_STATUS = frozenset({400, 405, 406, 415, 422, 501})
"""An error with one of these is a refusal even when it names nothing."""

_PATTERNS: Mapping[Feature, str] = {
    "schema": r"response (?:format|schema|mime ?type)|json ?(?:schema|object|mode|output)"
    r"|structured (?:output|decoding|generation|response)|guided|grammar|xgrammar"
    r"|output (?:config|format|schema)|text format|\bschema\b|(?:generate|validate) json"
    r"|json validate",
    "usage": r"stream options?|include usage|stream usage",
    "temperature": r"temperature|sampling param",
    "limit": r"max (?:completion |output |new |gen(?:eration)? )?(?:tokens?|len(?:gth)?)\b"
    r"|num predict|token limit",
    "system": r"(?:system|developer) (?:role|message|prompt|instruction)|roles? .{0,40}\b(?:system"
    r"|developer|alternate)|messages? 0 role|\brole system",
    "whole": r"^stream$|non ?stream|stream false|only (?:support\w* )?stream|enable (?:the )?stream"
    r"|stream(?:ing)? (?:is )?(?:required|must|mode only)|must (?:be )?stream|set stream",
    "stream": r"\bstream(?:s|ed|ing)?\b(?! options?| usage| false)",
}
_NAMES: Mapping[Feature, re.Pattern[str]] = {
    feature: re.compile(pattern) for feature, pattern in _PATTERNS.items()
}
"""Of texts as `_words` spells them."""

_OTHER_CODES = re.compile(
    r"context (?:length|window|size|overflow)|exceed context|content (?:filter|policy|management)"
    r"|safety|moderation|policy|inspection|sensitive|quota|billing|insufficient|balance|credit"
    r"|rate limit|resource exhausted|auth|api key|permission|model not|not found error"
    r"|no such model|unknown model|decommissioned|prohibited|overloaded|string above max length"
)
_OTHER_WORDS = re.compile(
    r"context (?:length|window|size)|maximum context|too many (?:input )?tokens"
    r"|(?:prompt|input|request|messages?) (?:is |are )?too (?:long|large)|reduce (?:the|your)"
    r"|(?:prompt|input) .{0,30}tokens? .{0,30}(?:exceed|longer|limit)|inputs? tokens .{0,40}must be"
    r"|input length"
    r"|api ?key|unauthori[sz]ed|unauthenticated|credentials?\b|access denied|\baccount\b"
    r"|(?:invalid|expired|incorrect|missing) .{0,12}\b(?:token|key)\b|access to .{0,20}\bmodel\b"
    r"|quota|billing|\bbalance\b|\bcredits?\b|insufficient funds"
    r"|rate limit|content (?:filter|management)|polic(?:y|ies)\b|violat|responsible ai"
    r"|safety (?:system|setting)|moderation|flagged|sensitive|inappropriate|\bblocked"
    r"|\bmodel\b.{0,80}\b(?:not found|not exist|not loaded|no access|no longer)"
    r"|(?:unknown|invalid|no such|unsupported|not a valid) model\b"
    r"|model (?:name )?is (?:invalid|unknown)"
    r"|no endpoints found for|out of memory|page not found|<html|<!doctype"
)
_ABOUT_PARAMETERS = re.compile(
    r"param|argument|option|feature|field|input|setting|request(?:ed)? (?!id)"
)
_PLACES = re.compile(
    r"param(?:eter)?s?|fields?|loc(?:ation)?|path|property|argument|unsupported\w*"
)
_CODES = re.compile(r"(?:error)? ?(?:code|type|status|reason)")
_ECHOES = re.compile(
    r"input|ctx|failed generation|request(?: body| id)?|url|user id|id|trace|headers|model|object"
    r"|provider name"
)
"""Keys that hold what was sent, or nothing about what is wrong."""
_REQUIRED = re.compile(r"messages?|prompt|inputs?|contents?|model")
_BRACKET = re.compile(r"[\[{]")
_OF_VALUE = re.compile(
    r"too (?:large|big|high|many)|at most|exceed|less than|greater than|range of|<"
)
_OF_THIS_REPLY = re.compile(r"failed to generate|could not generate|json validate failed")
_BY_CLIENT = (ValueError, TypeError, NotImplementedError)
_MAX_CHARS, _MAX_DEPTH, _MAX_LEAVES = 20_000, 12, 400


@dataclass(frozen=True)
class Refusal:
    """A request that may succeed without some of its options."""

    features: frozenset[Feature]
    """Those that the server names; none: it doesn't say."""
    is_of_value: bool = False
    """The option itself is fine, its value isn't."""
    is_lasting: bool = True
    """False: this reply failed, another may not."""


def refusal_of(error: Exception, features: Collection[Feature]) -> Refusal | None:
    """None for an error that means something else. `features`: those that the request used."""
    status = status_of(error)
    is_object = bool(getattr(error, "body", None))
    """An error object, perhaps in a stream that began with status 200."""
    if status is None and not is_object and not isinstance(error, _BY_CLIENT):
        return None
    if status is not None and status not in _REFUSING_STATUS:
        return None
    places, codes, texts = _parts(error)
    text = " ; ".join(texts)
    if status is None and not is_object:  # an integration refuses by itself
        named = _named(text, features) if "not support" in text else frozenset()
        return Refusal(named) if named else None
    if any(map(_OTHER_CODES.search, codes)):
        return None
    refusal = Refusal(
        frozenset().union(*(_named(place, features) for place in places)),
        is_of_value=bool(_OF_VALUE.search(text)),
        is_lasting=not _OF_THIS_REPLY.search(" ; ".join([text, *codes])),
    )
    if refusal.features:
        return refusal
    if _OTHER_WORDS.search(text) or any(map(_REQUIRED.match, places)):
        return None
    if status in (None, 500):  # a stream breaks for many reasons
        features = [one for one in features if one not in ("stream", "whole")]
    if named := _named(text, features) or _named(" ; ".join(codes), features):
        return replace(refusal, features=named)
    is_sure = status in _SURE_STATUS or (status == 404 and _ABOUT_PARAMETERS.search(text))
    return refusal if is_sure else None


def _named(text: str, features: Collection[Feature]) -> frozenset[Feature]:
    """The feature that is named first: a later one may be advice, as in `property 'stream_options'
    is unsupported, did you mean 'stream'?`. Of two at one place, the first of `_PATTERNS`."""
    hits = [
        (match.start(), number, feature)
        for number, (feature, pattern) in enumerate(_NAMES.items())
        if feature in features and (match := pattern.search(text))
    ]
    return frozenset({min(hits)[2]}) if hits else frozenset()


def _parts(error: Exception) -> tuple[list[str], list[str], list[str]]:
    """Places, codes and sentences of the whole error, each in plain words."""
    places: list[str] = []
    codes: list[str] = []
    texts: list[str] = []
    for key, value in _leaves(_body(error)):
        words = _words(value)
        if not words or words == "none":
            continue
        if _PLACES.fullmatch(key):
            places.append(re.sub(r"^(?:body|query|generation config)\b ?", "", words))
        elif _CODES.fullmatch(key):
            codes.append(words)
        else:
            texts.append(words)
    return places, codes, texts


def _body(error: Exception) -> list[Any]:
    """All that the error and its causes carry."""
    parts: list[Any] = []
    for one in causes_of(error):
        response: Any = getattr(one, "response", None)
        if isinstance(response, Mapping):  # botocore
            parts.append(response.get("Error", response))
        else:
            parts.append(_text_of(response))
        parts += [getattr(one, "body", None), getattr(one, "details", None)]
        parts += [arg for arg in one.args if isinstance(arg, (str, dict, list))]
    return [part for part in parts if part]


def _text_of(response: Any) -> str:
    try:
        text = getattr(response, "text", "")
    except Exception:  # the body of a stream was not read
        return ""
    return text if isinstance(text, str) else ""


def _leaves(value: Any, key: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """(key, text) of every text in a body. Bodies within texts are read, too: gateways pass on
    another server's refusal as a string."""
    if depth > _MAX_DEPTH:
        return
    if isinstance(value, Mapping):
        for name, part in [*value.items()][:_MAX_LEAVES]:
            if not _ECHOES.fullmatch(inner := _words(str(name))):
                yield from _leaves(part, inner, depth + 1)
    elif isinstance(value, (list, tuple)):
        if _PLACES.fullmatch(key):
            yield key, " ".join(map(str, value))
            return
        for part in value[:_MAX_LEAVES]:
            yield from _leaves(part, key, depth + 1)
    elif isinstance(value, str):
        yield from _leaves_of_text(value[:_MAX_CHARS], key, depth)
    elif value is not None:
        yield key, str(value)


def _leaves_of_text(text: str, key: str, depth: int) -> Iterator[tuple[str, str]]:
    bracket = _BRACKET.search(text)
    if bracket and (body := _embedded(text[bracket.start() :])) is not None:
        yield key, text[: bracket.start()]
        yield from _leaves(body, key, depth + 1)
    else:
        yield key, text


def _embedded(text: str) -> Any:
    """An object or list of objects at the beginning of a text, as JSON or as Python prints it."""
    try:
        value, _ = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        end = max(text.rfind("}"), text.rfind("]")) + 1
        try:
            value = ast.literal_eval(text[:end])
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return None
    objects = value if isinstance(value, list) else [value]
    return value if objects and all(isinstance(one, dict) for one in objects) else None


def _words(text: str) -> str:
    """`max_completionTokens` → `max completion tokens`; lower case, no punctuation within names."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text.strip())
    return re.sub(r"[^\w<>!;.,]+|_", " ", re.sub(r"\.(?=\w)", " ", spaced)).strip().lower()
