"""Joins passages of one section: repeated parts once, with notes of missing ones."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from enrichment.chunk import Chunk, ChunkRun, ChunkTable

GAP = "…"
"""Marks omitted passages."""

_RULE = re.compile(r"\|(?:\s*:?-+:?\s*\|)+")
_ITEM = re.compile(r"\s*(?:[-*+•]|\w{1,4}[.)])\s")
_OUTER_ITEM = re.compile(r"(?:[-*+•]|\w{1,4}[.)])\s")
_FENCE = re.compile(r"(?:`{3,}|~{3,})")
_PART = re.compile(r"\(part \d+ of \d+\)")
_MAX_NAMES_CHARS, _MAX_NAME_CHARS = 240, 48
"""Characters that name the hidden rows or items, in all and each."""
_MAX_BEGINNING_CHARS = 60


def section_text(
    chunks: Sequence[Chunk],
    section: Sequence[Chunk] = (),
    *,
    before: Chunk | None = None,
    after: Chunk | None = None,
) -> str:
    """Markdown of passages of one section, in reading order.

    `section`: all its known passages in order, to name what the gaps hide. `before`, `after`: the
    passages of this section in the neighboring sources."""
    section = section or chunks
    places = {chunk.id: place for place, chunk in enumerate(section)}

    def gap(one: Chunk | None, other: Chunk | None) -> str:
        """'' when nothing stands between them; without one, the section's border counts."""
        if one and other and not {one.id, other.id} <= places.keys():
            return GAP if other.position - one.position > 1 else ""
        start = places.get(one.id, len(section)) + 1 if one else 0
        return _gap(section[start : places.get(other.id, 0) if other else len(section)])

    text = _Text(section)
    first, last = chunks[0], chunks[-1]
    if before is not None:
        text.begin(first, _between(before, first, section), gap=gap(before, first))
    else:
        text.begin(first, _missing_before(first, section), gap=gap(None, first))
    for one, other in pairwise(chunks):
        text.go_on(one, other, gap=gap(one, other))
    if after is None:
        text.end(last, _missing_after(last, section), gap=gap(last, None))
    else:
        text.end(last, "", gap="")
    return "\n".join(text.lines).strip("\n")


@dataclass
class _Text:
    section: Sequence[Chunk]
    lines: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """Lines below the current table, until it ends."""

    def begin(self, chunk: Chunk, missing: str, *, gap: str) -> None:
        if gap and not missing:
            self._paragraph([gap])
        self._add(chunk, missing)

    def go_on(self, previous: Chunk, chunk: Chunk, *, gap: str) -> None:
        missing = _between(previous, chunk, self.section)
        if is_same_table(previous, chunk):
            self._more_rows(chunk, missing)
            return
        joined = _shared_run(previous, chunk) is not None
        rest = "" if joined else _missing_after(previous, self.section)
        self._below_the_table(rest)
        if gap and not (missing or joined):
            self._paragraph([GAP if rest else gap])
        if joined and not missing and chunk.runs[0].what == "lines":
            self._more_code(chunk)
        else:
            self._add(chunk, missing, goes_on=joined)

    def end(self, chunk: Chunk, missing: str, *, gap: str) -> None:
        self._below_the_table(missing)
        if gap and not missing:
            self._paragraph([gap])

    def _add(self, chunk: Chunk, missing: str, *, goes_on: bool = False) -> None:
        """Adds the text without repeated lines, with a note of what is missing."""
        lines = chunk.text.split("\n")
        if chunk.table is not None and (head := _head_of(lines)) is not None:
            rows_end = _rows_end(lines, head + 2)
            self._paragraph(_without_leads(lines[:head], self.lines))
            rows = [*([missing] if missing else []), *lines[head + 2 : rows_end]]
            self._paragraph([*lines[head : head + 2], *rows])
            self.notes = _strip_blank_lines(lines[rows_end:])
            return
        leads = _leads(lines, self.lines)
        fresh = lines[leads:]
        last = self.lines[-1] if self.lines else ""
        if missing:
            above = next((n for n, line in enumerate(fresh) if _begins_part(line)), 0)
            self._paragraph(fresh[:above])
            self.lines.append(missing)
            self.lines += fresh[above:]
        elif goes_on or (fresh and _ITEM.match(last) and _ITEM.match(fresh[0])):
            self.lines += _strip_blank_lines(fresh)
        else:
            self._paragraph(_strip_blank_lines(fresh))

    def _more_rows(self, chunk: Chunk, missing: str) -> None:
        lines = chunk.text.split("\n")
        head = _head_of(lines)
        self.lines += [missing] * bool(missing)
        if head is None:
            self.lines += _without_leads(lines, self.lines)
            return
        rows_end = _rows_end(lines, head + 2)
        self.lines += lines[head + 2 : rows_end]
        below = _strip_blank_lines(lines[rows_end:])
        if below != self.notes:
            self.notes = [*self.notes, *([""] if self.notes and below else []), *below]

    def _more_code(self, chunk: Chunk) -> None:
        """One fence instead of two."""
        lines = [line for line in chunk.text.split("\n") if not _PART.fullmatch(line.strip())]
        opening = next((n for n, line in enumerate(lines) if _FENCE.match(line)), None)
        if opening is None or not self.lines or not _FENCE.fullmatch(self.lines[-1].strip()):
            self._paragraph(lines)
            return
        self.lines.pop()
        self.lines += lines[opening + 1 :]

    def _below_the_table(self, missing: str) -> None:
        """Adds the note of what is missing, then the table's notes."""
        self.lines += [missing] * bool(missing)
        self._paragraph(self.notes)
        self.notes = []

    def _paragraph(self, lines: Sequence[str]) -> None:
        if not any(lines):
            return
        if self.lines and self.lines[-1]:
            self.lines.append("")
        self.lines += lines


def is_same_table(one: Chunk, other: Chunk) -> bool:
    return one.table is not None and other.table is not None and one.table.id == other.table.id


def _head_of(lines: Sequence[str]) -> int | None:
    """Index of a table's header, which has a rule below it."""
    return next(
        (
            place
            for place, (line, below) in enumerate(pairwise(lines))
            if line.startswith("|") and _RULE.fullmatch(below.strip())
        ),
        None,
    )


def _rows_end(lines: Sequence[str], start: int) -> int:
    return next((n for n in range(start, len(lines)) if not lines[n].startswith("|")), len(lines))


def _shared_run(previous: Chunk, chunk: Chunk) -> tuple[ChunkRun, ChunkRun] | None:
    """The list or code block that both are parts of."""
    for one in previous.runs:
        for other in chunk.runs:
            if one.id == other.id:
                return one, other
    return None


def _between(one: Chunk, other: Chunk, section: Sequence[Chunk]) -> str:
    """A note of what is missing between two passages of a section."""
    if one.table and other.table and one.table.id == other.table.id:
        end = one.table.first_row + len(one.table.rows)
        return _rows_not_shown(one.table, section, end, other.table.first_row)
    shared = _shared_run(one, other)
    if shared is None:
        return _missing_before(other, section)
    former, latter = shared
    if latter.part <= former.part + 1:
        return ""
    return _items_not_shown(former, section, former.first + former.count, latter.first)


def _missing_before(chunk: Chunk, section: Sequence[Chunk]) -> str:
    if chunk.table is not None:
        return _rows_not_shown(chunk.table, section, 0, chunk.table.first_row)
    cut = next((run for run in chunk.runs if run.part > 0), None)
    return _items_not_shown(cut, section, 0, cut.first) if cut else ""


def _missing_after(chunk: Chunk, section: Sequence[Chunk]) -> str:
    table = chunk.table
    if table is not None:
        return _rows_not_shown(table, section, table.first_row + len(table.rows), table.total_rows)
    cut = next((run for run in reversed(chunk.runs) if run.part < run.parts - 1), None)
    return _items_not_shown(cut, section, cut.first + cut.count, cut.total) if cut else ""


def _rows_not_shown(table: ChunkTable, section: Sequence[Chunk], start: int, end: int) -> str:
    if end <= start:
        return ""
    labels = [
        " / ".join(filter(None, dict.fromkeys(row[: max(1, min(2, table.label_columns))])))
        for one in section
        if one.table and one.table.id == table.id
        for place, row in enumerate(one.table.rows, start=one.table.first_row)
        if start <= place < end
    ]
    return _not_shown("rows", start, end, labels, f" of {table.total_rows}")


def _items_not_shown(run: ChunkRun, section: Sequence[Chunk], start: int, end: int) -> str:
    heads: dict[int, str] = {}
    for chunk in section if run.what == "items" else ():
        for one in chunk.runs:
            if one.id == run.id:
                items = (line for line in chunk.text.split("\n") if _OUTER_ITEM.match(line))
                heads |= dict(enumerate(items, start=one.first))
    return _not_shown(run.what, start, end, [heads[n] for n in range(start, end) if n in heads])


def _not_shown(what: str, start: int, end: int, names: Iterable[str], of: str = "") -> str:
    """`(items 2–4 not shown: …)` with their beginnings, or labels of rows; for an incomplete item,
    `(a part of item 2 not shown)`."""
    if end <= start:
        return f"(a part of {what[:-1]} {max(1, start)} not shown)"
    span = f"{what[:-1]} {end}" if end == start + 1 else f"{what} {start + 1}–{end}"
    named = _named(names)
    return f"({span}{of} not shown{': ' if named else ''}{named})"


def _named(names: Iterable[str]) -> str:
    """As many as there is room for, and the last: rows are often in an order."""
    short = [_begin(name, _MAX_NAME_CHARS) for name in dict.fromkeys(names) if name.strip()]
    text = "; ".join(short)
    if len(text) <= _MAX_NAMES_CHARS:
        return text
    first, _, _ = text[: _MAX_NAMES_CHARS - len(short[-1])].rpartition("; ")
    return f"{first}; … {short[-1]}" if first else f"{short[0]} … {short[-1]}"


def _gap(hidden: Sequence[Chunk]) -> str:
    """`…`, with the size and the beginning of what it hides."""
    if not hidden:
        return ""
    size = sum(len(chunk.text) for chunk in hidden)
    beginning = _begin(" ".join(hidden[0].text.split()), _MAX_BEGINNING_CHARS)
    return f"{GAP} ({size:,} characters not shown, from “{beginning}”)"


def _begin(text: str, most: int) -> str:
    """Cut at a word's end, with `…`."""
    text = text.strip(" *_#|")
    return text if len(text) <= most else f"{text[:most].rsplit(' ', 1)[0]} {GAP}"


def _leads(lines: Sequence[str], lines_before: Sequence[str]) -> int:
    """Number of first lines that repeat earlier ones: an overlap, which ends the text before, and
    lead-ins. An item that stands below another lead-in is no repetition, however equal."""
    before = [line for line in lines_before if line]
    own = [at for at, line in enumerate(lines) if line]
    count = next(
        (n for n in range(len(own), 0, -1) if before[-n:] == [lines[at] for at in own[:n]]), 0
    )
    while count < len(own):
        line, following = lines[own[count]], lines[own[count + 1]] if count + 1 < len(own) else ""
        if line not in before or (_ITEM.match(line) and not _is_deeper(following, line)):
            break
        count += 1
    return own[count - 1] + 1 if count else 0


def _is_deeper(line: str, other: str) -> bool:
    return len(line) - len(line.lstrip()) > len(other) - len(other.lstrip())


def _without_leads(lines: Sequence[str], lines_before: Sequence[str]) -> list[str]:
    return _strip_blank_lines(lines[_leads(lines, lines_before) :])


def _begins_part(line: str) -> bool:
    return bool(_ITEM.match(line) or _FENCE.match(line) or _PART.fullmatch(line.strip()))


def _strip_blank_lines(lines: Iterable[str]) -> list[str]:
    """Without blank lines at either end."""
    result = list(lines)
    while result and not result[0]:
        result.pop(0)
    while result and not result[-1]:
        result.pop()
    return result
