"""The place that a citation means, and what it says: a table's row, or the words below a heading.

Told so that the same document, read in again in pieces of another size, says the same."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from agents.answer import Citation
from enrichment.chunk import Chunk, DocumentCard
from index.search import Snapshot

Row = tuple[str, ...]

_FORMAT = str.maketrans(
    dict.fromkeys("*_`|\"'“”‘’«»„\u00ad\u200b\ufeff", "") | {"–": "-", "—": "-"}
)
_WORD = re.compile(r"[^\W_]+|[^\w\s]")
_MEANING = frozenset("<>=%≥≤±+€$£#&@§")
_ADDRESS = re.compile(r"https?://\S+")
_LONGEST_WORD = 100
"""Characters: what is longer is cut where a piece ends."""
_NUMBERS_ROWS = frozenset(("", "no", "nr", "number", "pos", "position", "rank", "row", "step"))
"""Names of columns that tell where a row stands, not which it is."""
_TICK_BOX = re.compile(r"^\s*(?:[-*+]\s+)?(?:\[[ xX]?\]|[☐☑☒])\s")
_BETWEEN_QUOTES = " … "
"""See `agents.checks.groundedness.supporting_words`."""


@dataclass(frozen=True, kw_only=True)
class CitedSection:
    """Where it is, and marks of what it says."""

    document: str
    title: str
    path: str
    """The headings down to it, without the title."""
    row: Row = ()
    """What tells the row from others, if it is one."""
    cells: tuple[Row, ...] = ()
    """Of a row: all rows that go by this label, of which there is nearly always one."""
    columns: Row = ()
    """Of a row: what its table calls them; empty where several tables call them differently."""
    exact: str = ""
    """Changes with every word; in pieces of another size it may differ."""
    loose: str = ""
    """Changes with the words that occur; the same whatever the size of the pieces."""
    made_by: str = ""
    """See `DocumentCard.made_by`: `exact` is compared among equal ones."""

    @property
    def key(self) -> str:
        """The same for the same place; short."""
        named = "\x1f".join((self.document, self.path, *self.row))
        return hashlib.sha256(named.encode("utf-8", "surrogatepass")).hexdigest()[:24]

    @property
    def name(self) -> str:
        """For people: `Title › Heading`."""
        return " › ".join(filter(None, (self.title, self.path)))

    def is_in(self, kept: CitedSection) -> bool:
        """Whether it is the kept place; a label may have grown by a column since."""
        if (self.document, self.path, bool(self.row)) != (kept.document, kept.path, bool(kept.row)):
            return False
        count = len(kept.row)
        return not count or any(_words_of(row[:count]) == _words_of(kept.row) for row in self.cells)


def places_cited(citation: Citation, snapshot: Snapshot) -> tuple[CitedSection, ...]:
    """The rows and the section that its quote stands in, in this generation; none where the quote
    isn't there any more, word for word, or the document isn't for whoever the snapshot is of."""
    card = next(iter(snapshot.cards([citation.document])), None) if citation.document else None
    if card is None:
        return ()
    chunks = snapshot.chunks(card.id)
    wanted = {_words(part) for part in citation.quote.split(_BETWEEN_QUOTES)} - {()}
    found: dict[str, CitedSection] = {}
    for chunk in _likeliest_first(chunks, citation):
        if not wanted or (chunk.heading or chunk.document_title) != citation.heading:
            continue
        for unit in chunk.units:
            words = _words(unit.text)
            if words not in wanted:
                continue
            wanted -= {words}
            of_row = chunk.table is not None and unit.kind == "row" and unit.row is not None
            row = _label(chunk, unit.row) if of_row and unit.row is not None else ()
            place = place_now(card, chunk.heading_path, row, chunks)
            found[place.key] = place
    return tuple(found.values())


def whole_section(citation: Citation, snapshot: Snapshot) -> CitedSection | None:
    """Where a citation opens, whatever it quotes; None where that is gone."""
    card = next(iter(snapshot.cards([citation.document])), None) if citation.document else None
    chunks = snapshot.chunks(card.id) if card else ()
    for chunk in _likeliest_first(chunks, citation):
        if card and (chunk.heading or chunk.document_title) == citation.heading:
            return place_now(card, chunk.heading_path, (), chunks)
    return None


def as_it_is_now(kept: CitedSection, snapshot: Snapshot) -> CitedSection | None:
    """A place that was kept, as this generation has it; None where it is gone."""
    card = next(iter(snapshot.cards([kept.document])), None)
    chunks = snapshot.chunks(kept.document) if card else ()
    path = next((one.heading_path for one in chunks if path_of(one) == kept.path), None)
    if card is None or path is None:
        return None
    place = place_now(card, path, kept.row, chunks)
    return place if not kept.row or place.cells else None


def place_now(
    card: DocumentCard, headings: Sequence[str], row: Row, chunks: Iterable[Chunk]
) -> CitedSection:
    """What stands there. `chunks`: all of the document's."""
    section = [chunk for chunk in chunks if tuple(chunk.heading_path) == tuple(headings)]
    cells, columns = tuple[Row, ...](), Row()
    if row:
        told = _words_of(row)
        found = {
            one: table.header
            for table in (chunk.table for chunk in section if chunk.table)
            for one in table.rows
            if _words_of(one[: len(row)]) == told
        }
        cells = tuple(found)
        columns = next(iter(found.values())) if len(set(found.values())) == 1 else ()
        said = {tuple(map(_words, one)) for one in cells}
        loose = [word for one in said for cell in one for word in cell]
    else:
        units = [u.text for c in section for u in c.units if not (c.table and u.kind == "row")]
        said = {(_words(text),) for text in units}
        loose = [word for (one,) in said for word in one if _tells(word)]
    return CitedSection(
        document=card.id,
        title=card.title,
        path=_path(headings, card.title),
        row=row,
        cells=cells,
        columns=columns,
        exact=_mark(repr(one) for one in said),
        loose=_mark(loose),
        made_by=card.made_by,
    )


def text_of_place(place: CitedSection, snapshot: Snapshot) -> str:
    """Its words as they are now, for people; empty where it is gone."""
    if place.row:
        return "; ".join(" | ".join(row) for row in place.cells)
    chunks = snapshot.chunks(place.document)
    section = [one for one in chunks if path_of(one) == place.path]
    units = [u.text for c in section for u in c.units if not (c.table and u.kind == "row")]
    return " ".join(dict.fromkeys(units))


def has_changed(kept: CitedSection, now: CitedSection) -> bool:
    """Whether it says something else: format, order and the size of pieces aside."""
    if kept.exact == now.exact:
        return False
    before = _by_column(kept)
    if before and before == _by_column(now):
        return False  # columns changed places, or one came that says nothing here
    # What pieces hold differs with how they are made; the words that occur don't.
    return kept.made_by == now.made_by or kept.loose != now.loose


def changed_cell(kept: CitedSection, now: CitedSection) -> tuple[str, str] | None:
    """What the only cell of a row that changed said, and says; None where it was more."""
    if len(kept.cells) != 1 or len(now.cells) != 1:
        return None
    (before,), (after,) = kept.cells, now.cells
    if len(before) != len(after):
        return None
    differing = [
        (old, new) for old, new in zip(before, after, strict=True) if _words(old) != _words(new)
    ]
    return differing[0] if len(differing) == 1 else None


def _by_column(place: CitedSection) -> frozenset[frozenset[tuple[Row, Row]]]:
    """Of each row what stands below which name; empty where names don't tell columns apart."""
    names = [*map(_words, place.columns)]
    if any(len(row) != len(names) or len(set(names)) < len(names) for row in place.cells):
        return frozenset()
    rows = [zip(names, map(_words, row), strict=True) for row in place.cells]
    said = frozenset(frozenset(pair for pair in row if pair[1]) for row in rows)
    return said if all(name for row in said for name, _ in row) else frozenset()


def path_of(chunk: Chunk) -> str:
    return _path(chunk.heading_path, chunk.document_title)


def _path(headings: Sequence[str], title: str) -> str:
    return " › ".join(headings[1:] if headings[:1] == (title,) else headings)


def _likeliest_first(chunks: Sequence[Chunk], citation: Citation) -> Iterator[Chunk]:
    """Those of other sections with the same heading come last."""
    for same in (True, False):
        for chunk in chunks:
            if (chunk.id == citation.chunk_id or chunk.url == citation.url) == same:
                yield chunk


def _label(chunk: Chunk, row: int) -> Row:
    """With the column beside, where the first one only counts: an inserted row renumbers others."""
    table = chunk.table
    if table is None:
        return ()
    cells, count = table.rows[row], max(1, table.label_columns)
    counts = (
        cells[0].strip(" .)#").isdigit()
        and "".join(filter(str.isalpha, table.header[0].casefold() if table.header else ""))
        in _NUMBERS_ROWS
    )
    return cells[: max(count, 2) if counts else count]


def _words(text: str) -> Row:
    """Signs count (`<`, `%`), but for those of format and at the end of a sentence."""
    bare = _ADDRESS.sub(" ", _TICK_BOX.sub("", text))
    plain = unicodedata.normalize("NFKC", bare).translate(_FORMAT).casefold()
    found = _WORD.findall(plain)
    while found and found[-1] in ".;:,":
        found.pop()
    return tuple(found)


def _tells(word: str) -> bool:
    """Whatever stands around it. Where a long sentence is cut, the sign at its end is none."""
    return len(word) <= _LONGEST_WORD and (word.isalnum() or word in _MEANING)


def _words_of(cells: Sequence[str]) -> tuple[Row, ...]:
    return tuple(map(_words, cells))


def _mark(parts: Iterable[str]) -> str:
    """Of a set: how often and in which order is no matter."""
    return hashlib.sha256("\x1f".join(sorted(set(parts))).encode()).hexdigest()[:32]
