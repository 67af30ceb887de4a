"""Calls of third-party tools: allowed arguments, one round of calls, results as sources.

A document may instruct the model to send its words away. So each value must come from the
question, from the tool's schema, or from an earlier result of the same server. Words of documents
are allowed only where everyone who may ask may read them, and only as names, not as texts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from agents.answer import Fallback
from agents.context.sources import Source
from agents.prompts import render
from agents.requests import LookupRequest, Toolbox, ToolFailed, ToolOffer, ToolResult
from agents.steps import Progress, Step
from agents.thread.turns import is_zone
from config.prompts import Foreign
from enrichment.chunk import Chunk, Unit

MAX_ARGUMENTS = 12
MAX_VALUES = 20
MAX_VALUE_CHARS = 80
MAX_TOTAL_CHARS = 240
"""Of all text values."""
_NUMBER = re.compile(r"-?\d{1,9}(\.\d{1,4})?")
_MOMENT = re.compile(
    r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2})?(\.\d{1,6})?(Z|[+-]\d{2}:?\d{2})?)?"
)


class UnfitError(Exception):
    """The arguments are not allowed; the model reads the reason."""


@dataclass(frozen=True, kw_only=True)
class AllowedArguments:
    """The texts that a sent word must come from."""

    question: str
    answered: str = ""
    """Results of the same server for the same question."""
    documents: str = ""
    """Documents that everyone who may ask may read; '' with permissions per reader."""


def parse_arguments(raw: str, offer: ToolOffer, allowed_words: AllowedArguments) -> dict[str, Any]:
    """Raises UnfitError."""
    try:
        arguments = json.loads(raw or "{}")
    except (ValueError, RecursionError):
        raise UnfitError("the arguments are no JSON object on one line") from None
    if not isinstance(arguments, dict) or len(arguments) > MAX_ARGUMENTS:
        raise UnfitError("the arguments are no JSON object, or too many")
    properties = offer.schema.get("properties")
    parameters = properties if isinstance(properties, Mapping) else {}
    if unknown := sorted(set(arguments) - set(parameters)):
        raise UnfitError(f"the tool takes no {unknown[0][:40]!r}")
    required = offer.schema.get("required")
    for name in required if isinstance(required, list) else ():
        if name not in arguments:
            raise UnfitError(f"the tool needs {str(name)[:40]!r}")
    values = [one for value in arguments.values() for one in _values(value)]
    words = [one for one in values if isinstance(one, str)]
    if len(values) > MAX_VALUES or sum(map(len, words)) > MAX_TOTAL_CHARS:
        raise UnfitError("the arguments are too long; send names, not texts")
    schema = json.dumps(offer.schema, ensure_ascii=False)
    texts = (allowed_words.question, allowed_words.answered, allowed_words.documents, schema)
    allowed = [_plain(text) for text in texts]
    for word in words:
        if not _is_allowed(word, allowed):
            raise UnfitError(
                f"{word[:40]!r} stands neither in the question nor in what may be sent; send the "
                "question's own words, a value that the tool lists, a number or a date"
            )
    return arguments


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


def _is_allowed(word: str, allowed: list[str]) -> bool:
    if len(word) > MAX_VALUE_CHARS:
        return False
    if _NUMBER.fullmatch(word) or _MOMENT.fullmatch(word):
        return True
    plain_word = _plain(word)
    # Whole words only: a text could be spelled out letter by letter.
    whole = re.compile(rf"(?<!\w){re.escape(plain_word)}(?!\w)")
    return not plain_word or any(whole.search(text) for text in allowed)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


MAX_CALLS = 3
"""Calls for one question."""


@dataclass(frozen=True, kw_only=True)
class ToolRound:
    results: tuple[ToolResult, ...] = ()
    notes: tuple[str, ...] = ()
    """The outcome of each request, one line each."""
    failures: tuple[str, ...] = ()
    """One line for each failed tool."""
    fallbacks: tuple[Fallback, ...] = ()


def ask_tools(
    toolbox: Toolbox,
    requests: Sequence[LookupRequest],
    *,
    before: Sequence[ToolResult],
    calls_before: int,
    question: str,
    documents: str,
    progress: Progress,
) -> ToolRound:
    """`before`: earlier results for this question. `calls_before`: calls made for it.
    `documents`: see `AllowedArguments`."""
    offers = {offer.name.casefold(): offer for offer in toolbox.offers()}
    results: list[ToolResult] = []
    notes: list[str] = []
    failures: list[str] = []
    fallbacks: list[Fallback] = []
    for request in requests:
        offer = offers.get(request.words.casefold())
        if offer is None:
            notes.append(f"{request} → there is no such tool")
            continue
        if calls_before + len(results) + len(failures) >= MAX_CALLS:
            notes.append(f"{request} → not asked: {MAX_CALLS} calls are all that a question has")
            continue
        answered = "\n".join(o.text for o in (*before, *results) if o.offer.server == offer.server)
        allowed = AllowedArguments(question=question, answered=answered, documents=documents)
        try:
            one = _call(toolbox, offer, request.arguments, allowed, progress)
        except UnfitError as unfit:
            notes.append(f"{request} → not asked: {unfit}")
        except ToolFailed as failed:
            notes.append(f"{request} → {failed}")
            failures.append(f"{offer.server} could not be asked ({offer.what}): {failed.why}")
            fallbacks.append(Fallback(node="tool", reason=failed.kind, outage=False))
        else:
            results.append(one)
            notes.append(f"{request} → answered")
    return ToolRound(
        results=tuple(results),
        notes=tuple(notes),
        failures=tuple(failures),
        fallbacks=tuple(fallbacks),
    )


def _call(
    toolbox: Toolbox, offer: ToolOffer, raw: str, allowed: AllowedArguments, progress: Progress
) -> ToolResult:
    if not offer.reachable:
        raise ToolFailed(offer.server, "unreachable")
    arguments = parse_arguments(raw, offer, allowed)
    progress.step(Step.READ, f"Asking {offer.server}: {offer.what}…")
    text = toolbox.ask(offer, arguments)
    at = datetime.now(UTC)
    return ToolResult(offer=offer, arguments=json.dumps(arguments), text=text or "(empty)", at=at)


def explain_tools(offers: Sequence[ToolOffer]) -> str:
    """The part of the answerer's prompt about tools; '' without tools."""
    return "\n\n" + render("asking_tools", most=str(MAX_CALLS)).system if offers else ""


def describe_offers(offers: Sequence[ToolOffer]) -> list[Foreign]:
    """Third-party descriptions, as untrusted text."""
    return [Foreign(f"tool {one.name} | {one.what}", _description(one)) for one in offers]


def _description(offer: ToolOffer) -> str:
    if not offer.reachable:
        return (
            "It can't be reached now. Ask for it nevertheless where the answer needs it: then "
            "the asker is told."
        )
    schema = {key: offer.schema[key] for key in ("properties", "required") if key in offer.schema}
    takes = json.dumps(schema, ensure_ascii=False) if schema.get("properties") else "nothing"
    return "\n".join(filter(None, (offer.description, f"takes: {takes}")))


MAX_RESULT_CHARS = 4_000
_MAX_LINES = 200
_MAX_DEPTH = 6
_MAX_LINE_CHARS = 300
"""Characters of an object or list on one line."""
_TIMESTAMP = re.compile(
    r"(?<![\w.:+-])\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?(?:Z|[+-]\d{2}:\d{2})"
    r"(?![\w:])"
)
"""Requires an offset: without one, the time may be of any zone."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]")


def tool_source(result: ToolResult, number: int, zone: str) -> Source:
    """`number`: identifies the result within the question. `zone`: the user's.

    It belongs to no document: everyone who may ask in the domain may read it."""
    here = ZoneInfo(zone if is_zone(zone) else "UTC")
    at = result.at.replace(tzinfo=result.at.tzinfo or UTC).astimezone(here)
    text = _TIMESTAMP.sub(lambda match: _both_times(match[0], here), result.text)
    lines = [line for line in text.splitlines() if line.strip()][:_MAX_LINES]
    chunk = Chunk(
        id=f"tool-{number}",
        document_id="",
        document_title=f"Asked {result.offer.server}: {result.offer.what}, {at:%H:%M}",
        kind="text",
        position=number,
        heading_path=(),
        text=text,
        index_text=text,
        tokens=len(text) // 4,
        units=tuple(Unit(kind="item", text=line, index_text=line) for line in lines),
    )
    return Source(chunks=(chunk,), text=text)


def _both_times(timestamp: str, here: ZoneInfo) -> str:
    """In UTC and in the user's zone."""
    try:
        at = datetime.fromisoformat(timestamp).astimezone(UTC)
        local = at.astimezone(here)
    except (ValueError, OverflowError):
        return timestamp
    clock = "%H:%M:%S" if at.second else "%H:%M"
    utc = f"{at:%Y-%m-%d {clock}} UTC"
    if not local.utcoffset():
        return utc
    day = "" if local.date() == at.date() else f"{local:%Y-%m-%d} "
    return f"{utc} ({day}{local:{clock}} {here.key})"


def to_plain_text(text: str) -> str:
    """A tool's result as plain lines; JSON as `key: value`, one line per object of a list."""
    text = text.encode("utf-8", "replace").decode("utf-8")
    try:
        value = json.loads(text) if text.lstrip()[:1] in {"{", "["} else None
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict | list):
        text = "\n".join(_lines(value))
    text = _CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n")).strip()
    if len(text) <= MAX_RESULT_CHARS:
        return text
    return f"{text[:MAX_RESULT_CHARS].rsplit(chr(10), 1)[0]}\n… (cut here)"


def _lines(value: Any, above: str = "", depth: int = 0) -> Iterator[str]:
    if above and not value:
        yield f"{above}: (empty)"
    elif isinstance(value, Mapping):
        line = _on_a_line(f"{key}: {_scalar(one)}" for key, one in value.items())
        if _is_flat(value.values()) and (above or len(line) <= _MAX_LINE_CHARS):
            yield f"{above}: {line}" if above else line
            return
        for key, one in value.items():
            yield from _inner(one, f"{above} › {key}" if above else str(key), depth)
    elif isinstance(value, list):
        line = _on_a_line(map(_scalar, value))
        if above and _is_flat(value) and len(line) <= _MAX_LINE_CHARS:
            yield f"{above}: {line}"
            return
        for place, one in enumerate(value, start=1):
            yield from _inner(one, f"{above} {place}".strip(), depth)


def _inner(one: Any, name: str, depth: int) -> Iterator[str]:
    if isinstance(one, Mapping | list) and depth < _MAX_DEPTH:
        yield from _lines(one, name, depth + 1)
    else:
        yield f"{name}: {_scalar(one)}"


def _is_flat(values: Iterable[Any]) -> bool:
    return all(not isinstance(one, Mapping | list) for one in values)


def _on_a_line(parts: Iterable[str]) -> str:
    """Line breaks inside a part become spaces."""
    return "; ".join(" ".join(part.split()) for part in parts)


def _scalar(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
