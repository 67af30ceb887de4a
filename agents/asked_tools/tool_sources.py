"""What a tool said, as a source with a number of its own, beside those of the documents."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from agents.asked_tools.tool_values import ToolSaid
from agents.context.source import Source
from agents.thread.asked_when import is_zone
from enrichment.chunk import Chunk, Unit

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


def source_of(said: ToolSaid, number: int, zone: str) -> Source:
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
