"""The runbook entries of a document that are for alerts, made-up alerts for them, and new names of
the tools and hosts in their commands."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from agents.runbooks.amounts import Range
from agents.runbooks.entries import IS_OF_ALERTS, RunbookCell, RunbookEntry
from agents.runbooks.lookup import RunbookDocument
from agents.runbooks.scopes import Condition
from agents.runbooks.words import WORDS
from enrichment.chunk import Chunk, is_out_of_force
from enrichment.names import LINK, NamePlace, is_identifier, name_key, numbers_in

_RANGE = re.compile(r"\s*(?:[–—…]|\.\.+|\s-\s|\b(?:to|until|bis|à|hasta)\b).*")
_NAME = r"(?:`([^`\s]{2,60})`|\b([A-Za-z][\w.-]{1,58}\w)\b)"
_OLD_FIRST = re.compile(
    rf"{_NAME} (?:(?:was|has been|got) (?:renamed(?: to| as)?|replaced by)"
    rf"|is now (?:called|named|known as)) {_NAME}"
    rf"|\brenamed (?:from )?{_NAME} (?:to|as) {_NAME}"
)
_NEW_FIRST = re.compile(
    rf"{_NAME},? \(?(?:formerly|previously|once)(?: known as| called| named)? {_NAME}"
)
_PLAIN = re.compile(r"[A-Za-z][\w.-]*")
_CODE = re.compile(r"```.*?```|`[^`\n]+`", re.DOTALL)
_TOKEN = re.compile(r"[\w.-]+")
MAX_NAMES = 4
"""Names of one entry that are fired."""
_UNITS = {measure: unit for unit, (measure, factor, *_) in WORDS["units"].items() if factor == 1}
"""Measure → its base unit."""


@dataclass(frozen=True, kw_only=True)
class DrillRow:
    """An entry, and the names by which alerts find it."""

    entry: RunbookEntry
    names: tuple[str, ...]

    @property
    def key(self) -> str:
        return row_key(self.entry)

    @property
    def text(self) -> str:
        """All that it says; markdown."""
        cells = "\n".join(cell.text for cell in self.entry.cells)
        return cells if self.entry.kind == "row" else f"{cells}\n{self.entry.chunk.text}"


def row_key(entry: RunbookEntry) -> str:
    """Equal as long as nothing that the entry says changes."""
    parts = (
        entry.chunk.document_id, entry.place, entry.quote, entry.first("step"),
        *entry.links,
    )  # fmt: skip
    text = "\x1f".join(parts)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def rows_of(document: RunbookDocument) -> list[DrillRow]:
    """In reading order. An entry that says of itself that it is over is left out; one whose whole
    document is out of force is not."""
    is_over = is_out_of_force(document.card)
    places: dict[str, list[tuple[NamePlace, RunbookEntry]]] = {}
    for place, entry in chain(document.alert_rows(), _sections(document)):
        if is_over or not entry.retired:
            places.setdefault(row_key(entry), []).append((place, entry))
    rows = [
        # A cell is read in several ways: the most telling one splits a condition off the name.
        DrillRow(
            entry=max((entry for _, entry in own), key=lambda one: len(one.cells)),
            names=_names([place for place, _ in own]),
        )
        for own in places.values()
    ]
    return sorted(rows, key=lambda one: one.entry.chunk.position)


def _sections(document: RunbookDocument) -> Iterator[tuple[NamePlace, RunbookEntry]]:
    """Entries of headings that are the coined name of an alert, no *Post-checks* or *Go/No-Go*, and
    say what to do. In documents of other things, such a heading names a program or file."""
    title = f"{document.card.title} {document.card.path} {document.card.document_type}"
    for place, entry in document.sections():
        words = (title, *entry.chunk.heading_path[: max(place.level, 0)])
        is_coined = any(map(is_identifier, re.split("[-/.:]", place.text))) and is_identifier(
            place.text
        )
        if is_coined and any(map(IS_OF_ALERTS.search, words)) and entry.first("step"):
            yield place, entry


def _names(places: Sequence[NamePlace]) -> tuple[str, ...]:
    """Those with the form of an identifier, else the longest: a cell is read as several names."""
    texts = list(dict.fromkeys(_first(one.text) for one in places))
    coined = {name_key(one): one for one in reversed(texts) if is_identifier(one)}
    return tuple(coined.values())[:MAX_NAMES] or (max(texts, key=len),)


def _first(name: str) -> str:
    """`MSG-1100` of `MSG-1100 – MSG-1119`, and `MSG-1300` of `MSG-13xx`."""
    if numbers_in(name) is None:
        return name
    return re.sub(r"x+$", lambda match: "0" * len(match[0]), _RANGE.sub("", name))


def made_up_alert(name: str, entry: RunbookEntry) -> str:
    """A webhook's text of an alert of that name, within the entry's conditions."""
    labels = {"alertname": name}
    for cell in entry.cells:
        for condition in cell.scope or ():
            labels |= _labels(condition, cell)
    return json.dumps({"status": "firing", "alerts": [{"status": "firing", "labels": labels}]})


def _labels(condition: Condition, cell: RunbookCell) -> Iterator[tuple[str, str]]:
    key = next(iter(condition.keys), "") or cell.label or "scope"
    for part in condition.values[0] if condition.values else ():
        if isinstance(part, Range):
            yield key, _amount(part)
        elif isinstance(part, tuple):
            yield key, f"{part[0]}{part[1]}"
        else:
            yield key, part.replace("*", "x1")


def _amount(within: Range) -> str:
    low, high = max(within.low, 0.0), within.high
    value = (low + high) / 2 if high < float("inf") else low * 1.1 + 1
    return f"{value:g}{_UNITS.get(within.measure, '')}"


@dataclass(frozen=True, kw_only=True)
class Rename:
    old: str
    new: str
    document: str
    """Id of the document that says so."""
    place: str
    """`Title › Heading` of the sentence."""


def renames_in(chunks: Iterable[Chunk]) -> Iterator[Rename]:
    """What sentences such as `` `oldctl` was renamed to `newctl` `` say, in English. Both names
    have the form of a program, a host or the like, or are marked as code."""
    for chunk in chunks:
        text = LINK.sub(r"\1", chunk.text) if chunk.kind == "text" else ""
        text = " ".join(text.replace("**", "").split())
        pairs = [_pair(match.groups()) for match in _OLD_FIRST.finditer(text)]
        pairs += [_pair(match.groups())[::-1] for match in _NEW_FIRST.finditer(text)]
        for old, new in (pair for pair in pairs if len(pair) == 2):
            if old.casefold() != new.casefold():
                yield Rename(old=old, new=new, document=chunk.document_id, place=chunk.place)


def _pair(groups: tuple[str | None, ...]) -> list[str]:
    """The two names; fewer where one is an ordinary word or a placeholder."""
    marked, bare = groups[::2], groups[1::2]
    names = [
        one for code, word in zip(marked, bare, strict=True)
        if (one := code or (word if word and is_identifier(word.rstrip(".")) else None))
    ]  # fmt: skip
    return [one for one in names if _PLAIN.fullmatch(one) and not one.isupper()]


def renamed(row: DrillRow, renames: Iterable[Rename]) -> Iterator[Rename]:
    """Those whose old name a command of the row has, while the row nowhere has the new one."""
    text = row.text
    words = set(_TOKEN.findall(text))
    commands = {word for code in _CODE.findall(text) for word in _TOKEN.findall(code)}
    return (one for one in renames if one.old in commands and one.new not in words)
