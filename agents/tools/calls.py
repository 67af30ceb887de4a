"""What a tool said, as a source with a number of its own, beside those of the documents.

What may go out to a tool: words that its asker may know to have been sent.

A model that reads documents may be told by one of them to send their words away. So each value has
to stand where that can do no harm: in the question, in what the tool itself says that it takes, or
in what the same server answered before; in the documents only where all who may ask may read
them, and then it is a name, not a text.

What one round of an answerer's requests brings from tools of others."""

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
from agents.requests import LookupRequest
from agents.steps import Progress, Step
from agents.thread.turns import is_zone
from agents.tools.toolbox import Toolbox, ToolFailed, ToolOffer, ToolResult
from config.prompts import Foreign
from enrichment.chunk import Chunk, Unit

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
class AllowedArguments:
    """Where a word that is sent may stand."""

    question: str
    answered: str = ""
    """By the same server, for the same question."""
    documents: str = ""
    """Of those that all who may ask may read; empty where each reads their own."""


def arguments_in(written: str, offer: ToolOffer, sayable: AllowedArguments) -> dict[str, Any]:
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


MOST_ASKED = 3
"""Calls for one question."""


@dataclass(frozen=True, kw_only=True)
class ToolRound:
    said: tuple[ToolResult, ...] = ()
    notes: tuple[str, ...] = ()
    """One line for each request: what became of it."""
    failures: tuple[str, ...] = ()
    """One line for each tool that the answer goes without."""
    fallbacks: tuple[Fallback, ...] = ()


def ask_tools(
    toolbox: Toolbox,
    requests: Sequence[LookupRequest],
    *,
    before: Sequence[ToolResult],
    asked_before: int,
    question: str,
    documents: str,
    progress: Progress,
) -> ToolRound:
    """`before`: what tools said to this question already. `asked_before`: calls made for it.
    `documents`: what of them may be sent; see `Sayable`."""
    offers = {offer.name.casefold(): offer for offer in toolbox.offers()}
    said: list[ToolResult] = []
    notes: list[str] = []
    failures: list[str] = []
    fallbacks: list[Fallback] = []
    for request in requests:
        offer = offers.get(request.words.casefold())
        if offer is None:
            notes.append(f"{request} → there is no such tool")
            continue
        if asked_before + len(said) + len(failures) >= MOST_ASKED:
            notes.append(f"{request} → not asked: {MOST_ASKED} calls are all that a question has")
            continue
        answered = "\n".join(o.text for o in (*before, *said) if o.offer.server == offer.server)
        sayable = AllowedArguments(question=question, answered=answered, documents=documents)
        try:
            one = _asked(toolbox, offer, request.arguments, sayable, progress)
        except UnfitError as unfit:
            notes.append(f"{request} → not asked: {unfit}")
        except ToolFailed as failed:
            notes.append(f"{request} → {failed}")
            failures.append(f"{offer.server} could not be asked ({offer.what}): {failed.why}")
            fallbacks.append(Fallback(node="tool", reason=failed.kind, outage=False))
        else:
            said.append(one)
            notes.append(f"{request} → answered")
    return ToolRound(
        said=tuple(said),
        notes=tuple(notes),
        failures=tuple(failures),
        fallbacks=tuple(fallbacks),
    )


def _asked(
    toolbox: Toolbox, offer: ToolOffer, written: str, sayable: AllowedArguments, progress: Progress
) -> ToolResult:
    if not offer.reachable:
        raise ToolFailed(offer.server, "unreachable")
    arguments = arguments_in(written, offer, sayable)
    progress.step(Step.READ, f"Asking {offer.server}: {offer.what}…")
    text = toolbox.ask(offer, arguments)
    at = datetime.now(UTC)
    return ToolResult(offer=offer, arguments=json.dumps(arguments), text=text or "(empty)", at=at)


def asking_explained(offers: Sequence[ToolOffer]) -> str:
    """The part of the answerer's prompt about tools; nothing of it where there is none."""
    if not offers:
        return ""
    return "\n\n" + render("asking_tools", most=str(MOST_ASKED)).system


def offers_shown(offers: Sequence[ToolOffer]) -> list[Foreign]:
    """As their servers describe them: words of others."""
    return [
        Foreign(
            f"tool {offer.name} | {offer.what}",
            "\n".join(filter(None, (offer.description, f"takes: {_takes(offer)}")))
            if offer.reachable
            else "It can't be reached now. Ask for it nevertheless where the answer needs it: then "
            "the asker is told.",
        )
        for offer in offers
    ]


def _takes(offer: ToolOffer) -> str:
    known = {key: offer.schema[key] for key in ("properties", "required") if key in offer.schema}
    return json.dumps(known, ensure_ascii=False) if known.get("properties") else "nothing"


LONGEST_SAID = 4_000
"""Characters of one reply that are read."""
_MOST_LINES = 200
_DEEPEST = 6
_LONGEST_LINE = 300
"""Characters of an object or a list that stands on one line."""
_TIMESTAMP = re.compile(
    r"(?<![\w.:+-])\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?(?:Z|[+-]\d{2}:\d{2})"
    r"(?![\w:])"
)
"""With its distance from UTC: one without it may be of any zone."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]")


def source_of(said: ToolResult, number: int, zone: str) -> Source:
    """`number`: tells the replies to one question apart. `zone`: the asker's.

    It belongs to no document: who may read it is who may ask in the domain."""
    here = ZoneInfo(zone if is_zone(zone) else "UTC")
    at = said.at.replace(tzinfo=said.at.tzinfo or UTC).astimezone(here)
    text = _TIMESTAMP.sub(lambda found: _told(found[0], here), said.text)
    lines = [line for line in text.splitlines() if line.strip()][:_MOST_LINES]
    chunk = Chunk(
        id=f"tool-{number}",
        document_id="",
        document_title=f"Asked {said.offer.server}: {said.offer.what}, {at:%H:%M}",
        kind="text",
        position=number,
        heading_path=(),
        text=text,
        index_text=text,
        tokens=len(text) // 4,
        units=tuple(Unit(kind="item", text=line, index_text=line) for line in lines),
    )
    return Source(chunks=(chunk,), text=text)


def _told(timestamp: str, here: ZoneInfo) -> str:
    """As people say it, in UTC and where the asker is: neither has to be worked out."""
    try:
        at = datetime.fromisoformat(timestamp).astimezone(UTC)
        local = at.astimezone(here)
    except (ValueError, OverflowError):
        return timestamp
    clock = "%H:%M:%S" if at.second else "%H:%M"
    told = f"{at:%Y-%m-%d {clock}} UTC"
    if not local.utcoffset():
        return told
    day = "" if local.date() == at.date() else f"{local:%Y-%m-%d} "
    return f"{told} ({day}{local:{clock}} {here.key})"


def readable(text: str) -> str:
    """Plain lines of what a tool returned; JSON as `key: value`, an object of a list on a line."""
    text = text.encode("utf-8", "replace").decode("utf-8")
    try:
        value = json.loads(text) if text.lstrip()[:1] in {"{", "["} else None
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict | list):
        text = "\n".join(_lines(value))
    text = _CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n")).strip()
    if len(text) <= LONGEST_SAID:
        return text
    return f"{text[:LONGEST_SAID].rsplit(chr(10), 1)[0]}\n… (cut here)"


def _lines(value: Any, above: str = "", depth: int = 0) -> Iterator[str]:
    if above and not value:
        yield f"{above}: (empty)"
    elif isinstance(value, Mapping):
        told = _on_a_line(f"{key}: {_scalar(one)}" for key, one in value.items())
        if _is_flat(value.values()) and (above or len(told) <= _LONGEST_LINE):
            yield f"{above}: {told}" if above else told
            return
        for key, one in value.items():
            yield from _inner(one, f"{above} › {key}" if above else str(key), depth)
    elif isinstance(value, list):
        told = _on_a_line(map(_scalar, value))
        if above and _is_flat(value) and len(told) <= _LONGEST_LINE:
            yield f"{above}: {told}"
            return
        for place, one in enumerate(value, start=1):
            yield from _inner(one, f"{above} {place}".strip(), depth)


def _inner(one: Any, name: str, depth: int) -> Iterator[str]:
    if isinstance(one, Mapping | list) and depth < _DEEPEST:
        yield from _lines(one, name, depth + 1)
    else:
        yield f"{name}: {_scalar(one)}"


def _is_flat(values: Iterable[Any]) -> bool:
    return all(not isinstance(one, Mapping | list) for one in values)


def _on_a_line(parts: Iterable[str]) -> str:
    """What breaks a line in itself doesn't end it."""
    return "; ".join(" ".join(part.split()) for part in parts)


def _scalar(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
