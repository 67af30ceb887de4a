"""The sections and table rows behind citations, with fingerprints of their content.

The fingerprints are stable when the same document is indexed again with another chunk size."""

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
_MAX_WORD_CHARS = 100
"""Maximum characters: chunk boundaries cut longer words."""
_NUMBERS_ROWS = frozenset(("", "no", "nr", "number", "pos", "position", "rank", "row", "step"))
"""Names of columns with a row's position, which does not identify it."""
_TICK_BOX = re.compile(r"^\s*(?:[-*+]\s+)?(?:\[[ xX]?\]|[☐☑☒])\s")
_BETWEEN_QUOTES = " … "
"""See `agents.checks.groundedness.supporting_words`."""


@dataclass(frozen=True, kw_only=True)
class CitedSection:
    """The location of a section or row, and fingerprints of its content."""

    document: str
    title: str
    path: str
    """Heading path without the title."""
    row: Row = ()
    """Label cells that identify the row; empty for a section."""
    cells: tuple[Row, ...] = ()
    """A row: all rows with this label, nearly always one."""
    columns: Row = ()
    """A row's table header; empty where several tables have different headers."""
    exact: str = ""
    """Hash that changes with every word; it may depend on the chunk size."""
    loose: str = ""
    """Hash of the set of words; it does not depend on the chunk size."""
    made_by: str = ""
    """See `DocumentCard.made_by`: `exact` is comparable between equal values."""

    @property
    def key(self) -> str:
        """Short id of the place."""
        parts = "\x1f".join((self.document, self.path, *self.row))
        return hashlib.sha256(parts.encode("utf-8", "surrogatepass")).hexdigest()[:24]

    @property
    def name(self) -> str:
        """Display name: `Title › Heading`."""
        return " › ".join(filter(None, (self.title, self.path)))

    def is_in(self, other: CitedSection) -> bool:
        """Whether it is the earlier place; its label may have gained a column since."""
        here = (self.document, self.path, bool(self.row))
        if here != (other.document, other.path, bool(other.row)):
            return False
        count, label = len(other.row), _words_of(other.row)
        return not count or any(_words_of(row[:count]) == label for row in self.cells)


def cited_sections(citation: Citation, snapshot: Snapshot) -> tuple[CitedSection, ...]:
    """The rows and sections that contain the citation's quote in this generation; empty where the
    verbatim quote no longer occurs or the snapshot's reader may not see the document."""
    card = next(iter(snapshot.cards([citation.document])), None) if citation.document else None
    if card is None:
        return ()
    chunks = snapshot.chunks(card.id)
    quotes = {_words(part) for part in citation.quote.split(_BETWEEN_QUOTES)} - {()}
    sections: dict[str, CitedSection] = {}
    for chunk in _likeliest_first(chunks, citation):
        if not quotes or (chunk.heading or chunk.document_title) != citation.heading:
            continue
        for unit in chunk.units:
            words = _words(unit.text)
            if words not in quotes:
                continue
            quotes -= {words}
            row = _label(chunk, unit.row) if unit.kind == "row" and unit.row is not None else ()
            place = section_at(card, chunk.heading_path, row, chunks)
            sections[place.key] = place
    return tuple(sections.values())


def whole_section(citation: Citation, snapshot: Snapshot) -> CitedSection | None:
    """The section that a citation opens, whatever it quotes; None where it was deleted."""
    card = next(iter(snapshot.cards([citation.document])), None) if citation.document else None
    chunks = snapshot.chunks(card.id) if card else ()
    for chunk in _likeliest_first(chunks, citation):
        if card and (chunk.heading or chunk.document_title) == citation.heading:
            return section_at(card, chunk.heading_path, (), chunks)
    return None


def current_section(earlier: CitedSection, snapshot: Snapshot) -> CitedSection | None:
    """The earlier section or row in this generation; None where it was deleted."""
    card = next(iter(snapshot.cards([earlier.document])), None)
    chunks = snapshot.chunks(earlier.document) if card else ()
    path = next((one.heading_path for one in chunks if path_of(one) == earlier.path), None)
    if card is None or path is None:
        return None
    place = section_at(card, path, earlier.row, chunks)
    return place if not earlier.row or place.cells else None


def section_at(
    card: DocumentCard, headings: Sequence[str], row: Row, chunks: Iterable[Chunk]
) -> CitedSection:
    """The section or row at this place. `chunks`: all chunks of the document."""
    section = [chunk for chunk in chunks if tuple(chunk.heading_path) == tuple(headings)]
    cells, columns = tuple[Row, ...](), Row()
    if row:
        row_words = _words_of(row)
        headers = {
            one: table.header
            for table in (chunk.table for chunk in section if chunk.table)
            for one in table.rows
            if _words_of(one[: len(row)]) == row_words
        }
        cells = tuple(headers)
        columns = next(iter(headers.values())) if len(set(headers.values())) == 1 else ()
        statements = {tuple(map(_words, one)) for one in cells}
        loose = [word for one in statements for cell in one for word in cell]
    else:
        units = [u.text for c in section for u in c.units if not (c.table and u.kind == "row")]
        statements = {(_words(text),) for text in units}
        loose = [word for (one,) in statements for word in one if _tells(word)]
    return CitedSection(
        document=card.id,
        title=card.title,
        path=_path(headings, card.title),
        row=row,
        cells=cells,
        columns=columns,
        exact=_mark(repr(one) for one in statements),
        loose=_mark(loose),
        made_by=card.made_by,
    )


def section_text(place: CitedSection, snapshot: Snapshot) -> str:
    """Its current text for display; '' where it was deleted."""
    if place.row:
        return "; ".join(" | ".join(row) for row in place.cells)
    chunks = snapshot.chunks(place.document)
    section = [one for one in chunks if path_of(one) == place.path]
    units = [u.text for c in section for u in c.units if not (c.table and u.kind == "row")]
    return " ".join(dict.fromkeys(units))


def has_changed(earlier: CitedSection, now: CitedSection) -> bool:
    """Whether its content differs, apart from format, order and chunk size."""
    if earlier.exact == now.exact:
        return False
    before = _by_column(earlier)
    if before and before == _by_column(now):
        return False  # columns moved, or a new column has no value in this row
    # Another chunking changes `exact`, but not the set of words.
    return earlier.made_by == now.made_by or earlier.loose != now.loose


def changed_cell(earlier: CitedSection, now: CitedSection) -> tuple[str, str] | None:
    """(earlier, current) text of a row's only changed cell; None where more changed."""
    if len(earlier.cells) != 1 or len(now.cells) != 1:
        return None
    (before,), (after,) = earlier.cells, now.cells
    if len(before) != len(after):
        return None
    differing = [
        (old, new) for old, new in zip(before, after, strict=True) if _words(old) != _words(new)
    ]
    return differing[0] if len(differing) == 1 else None


def _by_column(place: CitedSection) -> frozenset[frozenset[tuple[Row, Row]]]:
    """(column name, cell) pairs of each row; empty where names do not identify the columns."""
    names = [*map(_words, place.columns)]
    if any(len(row) != len(names) or len(set(names)) < len(names) for row in place.cells):
        return frozenset()
    rows = [zip(names, map(_words, row), strict=True) for row in place.cells]
    cells_by_row = frozenset(frozenset(pair for pair in row if pair[1]) for row in rows)
    return cells_by_row if all(name for row in cells_by_row for name, _ in row) else frozenset()


def path_of(chunk: Chunk) -> str:
    return _path(chunk.heading_path, chunk.document_title)


def _path(headings: Sequence[str], title: str) -> str:
    return " › ".join(headings[1:] if headings[:1] == (title,) else headings)


def _likeliest_first(chunks: Sequence[Chunk], citation: Citation) -> Iterator[Chunk]:
    """The citation's own chunk or URL first: other sections may have the same heading."""
    for same in (True, False):
        for chunk in chunks:
            if (chunk.id == citation.chunk_id or chunk.url == citation.url) == same:
                yield chunk


def _label(chunk: Chunk, row: int) -> Row:
    """The row's label cells. Where the first column is a position, it has the second one too: an
    inserted row renumbers the others."""
    table = chunk.table
    if table is None:
        return ()
    cells, count = table.rows[row], max(1, table.label_columns)
    column = table.header[0].casefold() if table.header else ""
    is_position = "".join(filter(str.isalpha, column)) in _NUMBERS_ROWS
    numbers_rows = is_position and cells[0].strip(" .)#").isdigit()
    return cells[: max(count, 2) if numbers_rows else count]


def _words(text: str) -> Row:
    """Words and signs (`<`, `%`) without format marks and closing punctuation."""
    without_marks = _ADDRESS.sub(" ", _TICK_BOX.sub("", text))
    normalized = unicodedata.normalize("NFKC", without_marks).translate(_FORMAT).casefold()
    words = _WORD.findall(normalized)
    while words and words[-1] in ".;:,":
        words.pop()
    return tuple(words)


def _tells(word: str) -> bool:
    """Whether a word counts for `loose`: punctuation depends on where chunks cut sentences."""
    return len(word) <= _MAX_WORD_CHARS and (word.isalnum() or word in _MEANING)


def _words_of(cells: Sequence[str]) -> tuple[Row, ...]:
    return tuple(map(_words, cells))


def _mark(parts: Iterable[str]) -> str:
    """Hash of a set: order and repetition do not count."""
    return hashlib.sha256("\x1f".join(sorted(set(parts))).encode()).hexdigest()[:32]
