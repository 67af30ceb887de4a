"""Where a document names alerts, read as runbook entries."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from agents.runbooks.entries import (
    IS_OF_ALERTS,
    RunbookCell,
    RunbookEntry,
    plain,
    role_of,
    role_of_heading,
    without_links,
)
from agents.runbooks.labels import AlertFacts
from agents.runbooks.scopes import limit_in, read_scope
from agents.runbooks.sections import (
    block_entries,
    has_numbered_steps,
    item_entries,
    own_passages,
    passages_of,
    section_entry,
)
from agents.runbooks.tables import RunbookTable, read_table
from agents.runbooks.verdicts import verdict
from enrichment.chunk import Chunk, DocumentCard, is_out_of_force, says_retired
from enrichment.language.words import sentences
from enrichment.names import NamePlace, name_key, name_places, numbers_in, range_key
from index.vectors.search import LruCache

_MARKS = re.compile(r"[*`„“”\"]")
_DEFINED = re.compile(
    r"(?<![\w-])(\w[\w-]{0,20})(?: = ([^\W\d_][^,;.=()\n]{1,40})|(?: is | ?[:=(] ?)(\d{6,})\b)"
)


@dataclass(frozen=True)
class RunbookDocument:
    chunks: Sequence[Chunk]
    card: DocumentCard

    @cached_property
    def _places(self) -> dict[str, list[tuple[Chunk, NamePlace]]]:
        places: dict[str, list[tuple[Chunk, NamePlace]]] = defaultdict(list)
        for chunk in self.chunks:
            for place in name_places(chunk, self.card):
                places[place.key].append((chunk, place))
        return places

    @cached_property
    def _tables(self) -> dict[str, RunbookTable]:
        parts: dict[str, list[Chunk]] = defaultdict(list)
        for chunk in self.chunks:
            if chunk.table:
                parts[chunk.table.id].append(chunk)
        return {name: read_table(chunks) for name, chunks in parts.items()}

    def entries(self, name: str) -> Iterator[RunbookEntry]:
        """The entries of a name, and of the ranges that hold it."""
        keys = set[object]()
        ranges = (one for one in self._places.get(range_key(name), ()) if _holds(one[1], name))
        for chunk, place in (*self._places.get(name_key(name), ()), *ranges):
            for entry in self._of_place(chunk, place):
                same = (entry.chunk.id, entry.quote, entry.first("step"), entry.kind == "row")
                if same not in keys:
                    keys.add(same)
                    yield entry

    def alert_rows(self) -> Iterator[tuple[NamePlace, RunbookEntry]]:
        """The entries of rows in tables whose headers name alerts and first steps, by each name."""
        for chunk, place in (one for places in self._places.values() for one in places):
            header = chunk.table.header if chunk.table and place.kind == "row" else ()
            roles = list(map(role_of, header))
            if "step" in roles and roles[place.column] == "name":
                yield from ((place, entry) for entry in self._of_place(chunk, place))

    def sections(self) -> Iterator[tuple[NamePlace, RunbookEntry]]:
        """The entries of headings, by each name that a heading as a whole states."""
        for chunk, place in (one for places in self._places.values() for one in places):
            heading = chunk.heading_path[place.level] if place.kind == "section" else ""
            if heading and place.level >= 0 and name_key(heading) == place.key:
                yield from ((place, entry) for entry in self._of_place(chunk, place))

    def long_names(self, key: str) -> Iterator[str]:
        """What a short name stands for in tables of two columns."""
        for chunk, place in self._places.get(key, ()):
            table = self._tables[chunk.table.id] if chunk.table and place.kind == "row" else None
            row = table.rows.get((chunk.id, place.row)) if table else None
            if row and len(row.cells) == 2:
                yield row.cells[1 - place.column]

    @cached_property
    def definitions(self) -> dict[str, list[str]]:
        """What its text says that short names stand for: `swl = Stadtwerke Lindau`."""
        texts = (_MARKS.sub("", one.text) for one in self.chunks if one.kind != "code")
        texts = (re.sub(r"^\|.*", "", text, flags=re.MULTILINE) for text in texts)
        pairs = (match.groups() for text in texts for match in _DEFINED.finditer(text))
        same: dict[str, list[str]] = defaultdict(list)
        for short, long, number in pairs:
            same[short].append((long or number).strip())
        return same

    def introduces(self, key: str) -> bool:
        """Whether the text above its first subheading, or below one such as *Trigger*, mentions the
        name."""
        introduction = self.chunks[0].heading_path if self.chunks else ()
        chunks = (one for one, _ in self._places.get(key, ()) if one.kind == "text")
        return any(
            one.heading_path == introduction
            or "meaning" in map(role_of_heading, one.heading_path[1:])
            for one in chunks
        )

    def page(self, name: str) -> Iterator[RunbookEntry]:
        """The entry of the whole page, for that name."""
        place = NamePlace(key=name_key(name), text=name, kind="page")
        yield from self._of_place(self.chunks[0], place)

    def mentioning(self, key: str) -> Iterator[RunbookEntry]:
        """The entries of passages that only mention a name."""
        for chunk, place in self._places.get(key, ()):
            yield from self.entries_of(chunk, place.text)

    def entries_of(self, chunk: Chunk, word: str = "") -> Iterator[RunbookEntry]:
        """The entries of a passage, whatever they name: its rows with the word, or its section."""
        place = NamePlace(
            key="", text=chunk.heading or chunk.document_title, kind="section",
            level=len(chunk.heading_path) - 1,
        )  # fmt: skip
        for row, cells in enumerate(chunk.table.rows if chunk.table else ()):
            if any(word in cell for cell in cells):
                named = replace(place, text=cells[0], kind="row", row=row, column=0)
                yield from self._of_place(chunk, named)
        if chunk.table is None:
            yield from self._of_place(chunk, place)

    def _of_place(self, chunk: Chunk, place: NamePlace) -> Iterator[RunbookEntry]:
        headings = (chunk.document_title, *chunk.heading_path, place.text, place.remark)
        retired = is_out_of_force(self.card) or any(map(says_retired, headings))
        limits = tuple(self._limits(chunk))
        for entry in self._read(chunk, place):
            cells = (*entry.cells, *limits)
            yield replace(entry, cells=cells, retired=entry.retired or retired)

    def _limits(self, chunk: Chunk) -> Iterator[RunbookCell]:
        """To what the introductions of its page and sections limit them."""
        for one in self.chunks[: chunk.position + 1]:
            is_above = one.heading_path == chunk.heading_path[: len(one.heading_path)]
            text = without_links(one.text) if one.kind != "code" and is_above else ""
            for sentence in sentences(text.partition("\n|")[0]):
                if scope := limit_in(sentence):
                    yield RunbookCell(label="", text=plain(sentence), role="scope", scope=scope)

    def _read(self, chunk: Chunk, place: NamePlace) -> Iterator[RunbookEntry]:
        entries = list[RunbookEntry]()
        if place.kind in {"section", "page"}:
            yield from self._section(chunk, place, place.level + 1)
        elif chunk.table:
            entries += self._tables[chunk.table.id].entries(chunk, place)
        elif place.kind == "field":
            entries += block_entries(chunk, place)
        elif place.kind == "lead" and IS_OF_ALERTS.search(chunk.place):
            entries += item_entries(chunk, place)
        around = list(self._around(chunk, place, entries))
        if place.kind == "field" and not entries and not around:
            yield from self._section(chunk, place, len(chunk.heading_path))
        yield from around or entries

    def _around(
        self, chunk: Chunk, place: NamePlace, entries: Sequence[RunbookEntry]
    ) -> Iterator[RunbookEntry]:
        """The entries of the section around a part that only lists or explains its alerts."""
        roles = list(map(role_of_heading, chunk.heading_path))
        size = next((at for at, role in enumerate(roles) if at and role in {"meaning", "name"}), 0)
        own = [one for one in self.chunks if one.heading_path == chunk.heading_path]
        is_list = size and not has_numbered_steps(passages_of(own, len(roles)))
        cells = [cell for one in entries for cell in one.cells]
        stated = {role_of(cell.label) for cell in cells}
        if size and roles[size] == "name":  # *Alerts*, where a row may have a step or link
            stated |= {cell.role for cell in cells}
            is_list = is_list and place.kind == "row" and "link" not in stated
        if is_list and place.kind in {"row", "field"} and "step" not in stated:
            more = [cell for cell in cells if cell.role not in {"name", "step"}]
            for one in self._section(chunk, replace(place, kind="page"), size):
                if one.first("step") or place.kind == "field":
                    yield replace(one, cells=(*one.cells, *more))

    def _section(self, chunk: Chunk, place: NamePlace, size: int) -> Iterator[RunbookEntry]:
        """The section's entry, or those of its table's rows, if it has steps and no names."""
        if size == 0 and len({one.heading_path[:1] for one in self.chunks}) == 1:
            size = 1  # below the title
        path = chunk.heading_path[:size]
        chunks = [
            one for one in self.chunks
            if one.heading_path[:size] == path and (place.kind == "page" or one.tab == chunk.tab)
        ]  # fmt: skip
        passages = own_passages(passages_of(chunks, size))
        at = next((at for at, one in enumerate(passages) if _lists_steps(one.chunk)), 0)
        tables = [one.chunk for one in passages[at:] if _lists_steps(one.chunk)]
        if not tables or has_numbered_steps(passages[:at]):
            yield section_entry(chunks, size, place)
            return
        for chunk, table in ((one, one.table) for one in tables if one.table):
            for row in range(len(table.rows)):
                named = replace(place, kind="row", row=row, column=-1)
                yield from self._tables[table.id].entries(chunk, named)


def _lists_steps(chunk: Chunk) -> bool:
    roles = [role_of(label) for label in chunk.table.header] if chunk.table else []
    return len(roles) > 1 and "step" in roles and "name" not in roles


def _holds(place: NamePlace, name: str) -> bool:
    """Whether a range of numbered names holds it, and its remark does not except it."""
    numbers, own = numbers_in(place.text), numbers_in(f"{name} – {name}")
    is_inside = bool(numbers and own and numbers[1] <= own[1] <= numbers[2])
    alert = AlertFacts(labels=(("", name),))
    return is_inside and verdict(read_scope(place.remark), alert) != "no"


_DOCUMENTS: LruCache[tuple[object, ...], RunbookDocument] = LruCache(64)


def read_document(chunks: Sequence[Chunk], card: DocumentCard) -> RunbookDocument:
    """Chunk ids are hashes of their content: a document is read once while it stays the same."""
    key = (card.title, card.path, card.status, card.superseded_by, *(one.id for one in chunks))
    document = _DOCUMENTS.get(key) or RunbookDocument(chunks, card)
    _DOCUMENTS.put(key, document)
    return document
