"""The header of a Markdown page: YAML, TOML or JSON → metadata.

A page is never refused for its header. What can't be read is a warning with its line."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, Literal

from config.parsing.strict_yaml import UnreadableFileError, read_fields
from loaders.assemble import Metadata
from loaders.dates import date_in
from loaders.document import MAX_NAME

_Format = Literal["yaml", "toml", "json"]
_FENCE = re.compile(
    r"\ufeff?\s*(?:<!--(?:(?!-->).)*+-->\s*)?"
    r"^(?P<fence>---|\+\+\+|;;;)[ \t]*(?P<format>yaml|toml|json)?[ \t]*\n"
    r"(?P<header>.*?)^(?:(?P=fence)|(?<=\n)\.\.\.)[ \t]*(?:\n|\Z)",
    re.DOTALL | re.MULTILINE,
)
_OPEN = re.compile(r"\ufeff?\s*^---[ \t]*\n(?P<header>(?:.*\S.*\n?)+)", re.MULTILINE)
_BRACES = re.compile(
    r"\ufeff?(?P<header>\{[ \t]*\n(?:[ \t]*\".*\n|[ \t]+.*\n|[ \t]*[\]}].*\n)*?\}[ \t]*(?:\n|\Z))"
)
_KEY: dict[_Format, re.Pattern[str]] = {
    "yaml": re.compile(r"[\"']?(?P<key>[\w.-]+)[\"']?[ \t]*:(?:[ \t]+(?P<value>.*))?$"),
    "toml": re.compile(r"[\"']?(?P<key>[\w.-]+)[\"']?[ \t]*=[ \t]*(?P<value>.*)$"),
    "json": re.compile(r"[ \t]*\"(?P<key>[\w.-]+)\"[ \t]*:[ \t]*(?P<value>.*?),?[ \t]*$"),
}
_FORMAT_OF: dict[str, _Format] = {"---": "yaml", "+++": "toml", ";;;": "json"}
_CONTINUED = re.compile(r"\s|[-#\[\]{}]")
_TEMPLATE = re.compile(r"\{\{|\{%|<%")
_NAMES: tuple[Literal["id", "title", "owner", "status"], ...] = ("id", "title", "owner", "status")
_REVIEWED_BY = ("review_by", "next_review", "review_date", "valid_until", "expires")
_FIELDS = frozenset((*_NAMES, "modified", *_REVIEWED_BY))
Warn = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class _Header:
    text: str
    format: _Format
    line: int
    """The line of the file at which `text` begins, from 1."""
    end: int
    """Characters of the page that belong to the header."""
    is_closed: bool = True


def take_front_matter(text: str, metadata: Metadata, warn: Warn) -> str:
    """Writes the header's fields into `metadata` and returns the page without its header.

    Blank lines take its place, so that later lines keep their numbers."""
    for header in _candidates(text):
        values = _values(header, warn)
        if values is not None:
            _apply(values, metadata, _located(header, warn))
            return "\n" * text.count("\n", 0, header.end) + text[header.end :]
    return text.removeprefix("\ufeff")


def _candidates(text: str) -> Iterator[_Header]:
    if text[:1] == "{" and (header := _braces(text)):
        yield header
    if match := _FENCE.match(text):
        named: Any = match["format"] or _FORMAT_OF[match["fence"]]
        yield _header(text, match, named)
    if match := _OPEN.match(text):
        lines = match["header"].splitlines()
        keys = [key["key"] for line in lines if (key := _KEY["yaml"].match(line))]
        is_header = len(keys) > 1 and not _FIELDS.isdisjoint(keys)
        if is_header and all(_is_of_header(line) for line in lines):
            yield _header(text, match, "yaml", is_closed=False)


def _header(text: str, match: re.Match[str], kind: _Format, *, is_closed: bool = True) -> _Header:
    line = text.count("\n", 0, match.start("header")) + 1
    return _Header(
        text=match["header"], format=kind, line=line, end=match.end(), is_closed=is_closed
    )


def _braces(text: str) -> _Header | None:
    """Hugo's JSON header, which has no fence."""
    try:
        value, end = json.JSONDecoder().raw_decode(text)
        is_header = isinstance(value, dict) and value and text[end : end + 1] in ("", "\n")
        is_header = is_header and "\n" in text[:end]  # else a reply that the page quotes
    except (ValueError, RecursionError):
        match = _BRACES.match(text)
        return _header(text, match, "json") if match and text[match.end() :].strip() else None
    if not is_header or not text[end:].strip():
        return None
    return _Header(text=text[:end], format="json", line=1, end=end)


def _values(header: _Header, warn: Warn) -> Mapping[str, Any] | None:
    """The header's values; None for text between two horizontal rules."""
    try:
        values = _parse(header.text, header.format)
    except UnreadableFileError as error:
        if not _is_header(header):
            return None
        problem = f"the front matter is not {header.format.upper()}: {error.message}"
        warn(f"line {header.line + error.line - 1}: {problem}; it is read line by line")
        values = dict(_by_line(header, warn))
    if not header.is_closed:
        warn(f"line {header.line - 1}: the front matter has no closing `---`")
    if header.text.startswith("\n") and values and _FIELDS.isdisjoint(values):
        return None  # a rule, by its blank line
    return {} if values is None else values if isinstance(values, dict) else None


def _is_header(header: _Header) -> bool:
    """False where a later rule of the page was taken for the end of an unclosed header."""
    first = next((line for line in header.text.splitlines() if _is_text(line)), "")
    if not _KEY[header.format].match(first) and first.strip() != "{":
        return False
    _, _, rest = header.text.partition("\n\n")
    return header.format != "yaml" or all(map(_is_of_header, rest.splitlines()))


def _is_of_header(line: str) -> bool:
    return not line.strip() or bool(_CONTINUED.match(line) or _KEY["yaml"].match(line))


def _is_text(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _parse(text: str, kind: _Format) -> Any:
    """Raises UnreadableFileError."""
    try:
        match kind:
            case "yaml":
                return read_fields(text)
            case "toml":
                return tomllib.loads(text)
            case "json":
                return json.loads(text) if text.strip() else {}
    except json.JSONDecodeError as error:
        raise UnreadableFileError(error.msg, error.lineno) from error
    except tomllib.TOMLDecodeError as error:
        place = re.search(r" \(at line (\d+), column \d+\)$", str(error))
        reason = str(error)[: place.start()] if place else str(error)
        raise UnreadableFileError(reason, int(place[1]) if place else 1) from error
    except (ValueError, RecursionError) as error:
        raise UnreadableFileError("it can't be read") from error


def _by_line(header: _Header, warn: Warn) -> Iterator[tuple[str, Any]]:
    """Yields the fields that are read, each parsed by itself or taken as written."""
    for key, value, place, lines in _fields(header):
        chunk = "\n".join(lines).expandtabs(4)
        chunk = "{" + chunk.rstrip().rstrip(",") + "}" if header.format == "json" else chunk
        try:
            yield key, _parse(chunk, header.format)[key]
        except (UnreadableFileError, KeyError, TypeError):
            if value.strip():
                yield key, value.strip().strip("\"'")
            if any(map(_is_text, lines[1:])) or not value.strip():
                warn(f"line {place}: `{key}:` can't be read")


def _fields(header: _Header) -> Iterator[tuple[str, str, int, list[str]]]:
    """Yields key, value as written, line number and all lines of each field that is read."""
    fields: list[tuple[str, str, int, list[str]]] = []
    for number, line in enumerate(header.text.splitlines(), start=header.line):
        match = _KEY[header.format].match(line)
        if match:
            fields.append((match["key"], match["value"] or "", number, [line]))
        elif fields and _is_text(line):
            fields[-1][-1].append(line)
    return (field for field in fields if field[0] in _FIELDS)


def _located(header: _Header, warn: Warn) -> Callable[[str, str], None]:
    """A warning about a field, with the field's line."""

    def warn_at(key: str, reason: str) -> None:
        place = "front matter"
        for number, line in enumerate(header.text.splitlines(), start=header.line):
            match = _KEY[header.format].match(line)
            if match and match["key"] == key:
                place = f"line {number}"
        warn(f"{place}: `{key}:` {reason}")

    return warn_at


def _apply(values: Mapping[str, Any], metadata: Metadata, warn: Callable[[str, str], None]) -> None:
    for key in _NAMES:
        text = _text(values.get(key), key, warn)
        if _TEMPLATE.search(text):
            warn(key, "holds a template of the site: passed over")
        elif len(text) > MAX_NAME and key != "title":
            warn(key, f"has {len(text):,} characters, more than the {MAX_NAME:,} that are read")
        elif text:
            metadata[key] = text
    if values.get("modified") is not None:
        modified = _utc(values["modified"])
        if modified:
            metadata["modified_at"] = modified
        else:
            warn("modified", "is not a date; write it as 2026-03-14")
    if due := next(filter(None, (_day(values.get(key)) for key in _REVIEWED_BY)), None):
        metadata["review_by"] = due


def _text(value: Any, key: str, warn: Callable[[str, str], None]) -> str:
    """One line of text. Entries of a list are joined; of keys with values, `name` counts."""
    if isinstance(value, dict):
        value = value.get("name", list(value.values()))
        warn(key, "has keys of its own, where one line of text is read")
    if isinstance(value, list | tuple | set):
        if key == "id":
            warn(key, "is a list: passed over")
            return ""
        parts = [part for part in value if part is not None]
        if any(isinstance(part, dict | list) for part in parts):
            parts = [part for part in parts if not isinstance(part, dict | list)]
            warn(key, "has entries that are no text: passed over")
        value = ", ".join(str(part).strip() for part in parts)
    if isinstance(value, bool):
        value = str(value).lower()
    return "" if value is None or isinstance(value, bytes) else " ".join(str(value).split())


def _day(value: object) -> date | None:
    """The value as a date; None when it is not one, because other tools use these keys freely."""
    if isinstance(value, str):
        return date_in(value)
    if isinstance(value, datetime):
        return value.date()
    return value if isinstance(value, date) else None


def _utc(value: object) -> datetime | None:
    try:
        value = datetime.fromisoformat(value.strip()) if isinstance(value, str) else value
    except ValueError:
        value = date_in(str(value))
    try:
        if isinstance(value, datetime):
            return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
    except OverflowError:
        return None
    return (
        datetime(value.year, value.month, value.day, tzinfo=UTC)
        if isinstance(value, date)
        else None
    )
