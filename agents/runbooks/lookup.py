"""Where a document names alerts, read as runbook entries."""

from __future__ import annotations

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
from agents.runbooks.scopes import limit_in, read_scope, verdict
from agents.runbooks.sections import (
    block_entries,
    has_numbered_steps,
    item_entries,
    own_passages,
    passages_of,
    section_entry,
)
from agents.runbooks.tables import RunbookTable, read_table
from enrichment.chunk import Chunk, DocumentCard, is_out_of_force, says_retired
from enrichment.language.words import sentences
from enrichment.names import NamePlace, name_places, numbers_in, range_key
from index.vectors.search import LruCache


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

    def entries(self, name: str, key: str) -> Iterator[RunbookEntry]:
        """The entries of a name, and of the ranges that hold it."""
        keys = set[object]()
        in_range = [one for one in self._places.get(range_key(name), ()) if _holds(one[1], name)]
        for chunk, place in (*self._places.get(key, ()), *in_range):
            for entry in self._of_place(chunk, place):
                same = (entry.chunk.id, entry.quote, entry.first("step"), entry.kind == "row")
                if same not in keys:
                    keys.add(same)
                    yield entry

    def alert_rows(self) -> Iterator[tuple[NamePlace, RunbookEntry]]:
        """The entries of rows in tables whose headers name alerts and first steps, by each name."""
        roles = {one.id: list(map(role_of, one.table.header)) for one in self.chunks if one.table}
        if not any({"name", "step"} <= set(each) for each in roles.values()):
            return  # before all names are read, of many documents
        for chunk, place in (one for places in self._places.values() for one in places):
            own = roles[chunk.id] if place.kind == "row" else []
            if "step" in own and own[place.column] == "name":
                yield from ((place, entry) for entry in self._of_place(chunk, place))

    def long_names(self, key: str) -> Iterator[str]:
        """What a short name stands for in tables of two columns."""
        for chunk, place in self._places.get(key, ()):
            if place.kind == "row" and chunk.table and len(chunk.table.header) == 2:
                yield self._tables[chunk.table.id].cell(chunk, place.row, 1 - place.column)

    def introduces(self, key: str) -> bool:
        """Whether the text above its first subheading mentions the name."""
        introduction = self.chunks[0].heading_path if self.chunks else ()
        places = self._places.get(key, ())
        return any(one.kind == "text" and one.heading_path == introduction for one, _ in places)

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
            above = one.heading_path == chunk.heading_path[: len(one.heading_path)]
            text = without_links(one.text).partition("\n|")[0] if above else ""
            for sentence in sentences(text if one.kind != "code" else ""):
                if scope := limit_in(sentence):
                    yield RunbookCell(label="", text=plain(sentence), role="scope", scope=scope)

    def _read(self, chunk: Chunk, place: NamePlace) -> Iterator[RunbookEntry]:
        size = len(chunk.heading_path)
        if place.kind in {"section", "page"}:
            yield from self._section(chunk, place, place.level + 1)
            return
        entries = list[RunbookEntry]()
        if chunk.table:
            entries += self._tables[chunk.table.id].entries(chunk, place)
        elif place.kind == "field":
            entries += block_entries(chunk, place)
        elif place.kind == "lead" and IS_OF_ALERTS.search(chunk.place):
            entries += item_entries(chunk, place)
        around = list(self._around(chunk, place, entries))
        # `VapourHigh means that the hood is full.`
        begins = plain(chunk.text).lstrip("`").startswith(place.text) and size > 1
        if not entries and (place.kind == "field" or (place.kind == "lead" and begins)):
            around = around or list(self._section(chunk, place, size))
        yield from around or entries

    def _around(
        self, chunk: Chunk, place: NamePlace, entries: Sequence[RunbookEntry]
    ) -> Iterator[RunbookEntry]:
        """The entries of the section around a part that only lists or explains its alerts."""
        path = chunk.heading_path
        roles = [role_of_heading(heading) if at else "" for at, heading in enumerate(path)]
        labels = {role_of(cell.label) for one in entries for cell in one.cells}
        is_told = any(one.links or one.first("step") for one in entries)
        if "meaning" in roles and place.kind in {"row", "field"} and "step" not in labels:
            size = roles.index("meaning")
        elif "name" in roles and place.kind == "row" and not is_told:
            size = roles.index("name")
        else:
            return
        own = [one for one in self.chunks if one.heading_path == path]
        if has_numbered_steps(passages_of(own, len(path))):
            return
        more = [cell for one in entries for cell in one.cells if cell.role not in {"name", "step"}]
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
        entry = section_entry(chunks, size, place)
        passages = own_passages(passages_of(chunks, size))
        tables = [one.chunk for one in passages if _lists_steps(one.chunk)]
        before = [one for one in passages if tables and one.chunk.position < tables[0].position]
        if not tables or has_numbered_steps(before):
            yield entry
            return
        more = tuple(cell for cell in entry.cells if cell.role in {"scope", "owner"})
        rows = {
            one.quote: replace(one, cells=(*one.cells, *more))
            for table in tables for at in range(len(table.table.rows) if table.table else 0)
            for one in self._read(table, replace(place, kind="row", row=at, column=-1))
        }  # fmt: skip
        yield from rows.values()


def _lists_steps(chunk: Chunk) -> bool:
    roles = [role_of(label) for label in chunk.table.header] if chunk.table else []
    return len(roles) > 1 and "step" in roles and "name" not in roles


def _holds(place: NamePlace, name: str) -> bool:
    """Whether a range of numbered names holds it, and its remark does not except it."""
    numbers, own = numbers_in(place.text), numbers_in(f"{name} – {name}")
    if not numbers or not own or not numbers[1] <= own[1] <= numbers[2]:
        return False
    return verdict(read_scope(place.remark), AlertFacts(labels=(("", name),))) != "no"


_DOCUMENTS: LruCache[tuple[object, ...], RunbookDocument] = LruCache(64)


def read_document(chunks: Sequence[Chunk], card: DocumentCard) -> RunbookDocument:
    """Chunk ids are hashes of their content: a document is read once while it stays the same."""
    key = (card.title, card.path, card.status, card.superseded_by, *(one.id for one in chunks))
    document = _DOCUMENTS.get(key) or RunbookDocument(chunks, card)
    _DOCUMENTS.put(key, document)
    return document
