"""Rows of a PDF page in reading order: columns one after the other, and tables by alignment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from loaders.pdf.aligned import DOUBT, Gutter, Run, aligned_table, has_cells
from loaders.pdf.lines import ITEM, MARKER, RawTable, Row, Segment, fits, segment
from loaders.pdf.rules import Rules

_GUTTER = 0.55
"""Ems of white space that no row of a run crosses."""
_LEAST_SPACE = 0.2
"""Ems of white space at a gutter between cells that stand close."""
_DOUBTFUL_ROWS = 3
"""Rows of cells that are no table, before that is a warning."""
_MAX_DEPTH = 4
"""Columns within columns."""


@dataclass
class Lines:
    """Plain lines, and the x up to which the layout could have filled them."""

    lines: list[Segment]
    right: float


@dataclass
class Arranged:
    """Parts in reading order."""

    parts: list[Lines | RawTable] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    """Why something that looks like a table is none."""


def arrange(
    rows: Sequence[Row],
    right: float,
    rules: Rules,
    *,
    before: RawTable | None = None,
    depth: int = 0,
) -> Arranged:
    """`rows`: from top to bottom. `right`: the end of the longest possible line. `before`: the
    table that the page or column before ends with; the first row may continue it."""
    arranger = _Arranger(right, rules, before, depth)
    i = 0
    while i < len(rows):
        i += arranger.take(rows, i)
    arranger.flush()
    return arranger.result


class _Arranger:
    def __init__(self, right: float, rules: Rules, before: RawTable | None, depth: int) -> None:
        self.result = Arranged()
        self._right, self._rules, self._depth = right, rules, depth
        self._before = before
        self._plain: list[Segment] = []
        self._cells = 0
        """Plain rows close to each other that look like rows of cells."""
        self._others = 0

    def take(self, rows: Sequence[Row], i: int) -> int:
        """Reads what begins at a row. Returns the number of rows."""
        for run in reversed(_runs(rows, i)):
            above = _above_heading(run)
            if self._depth < _MAX_DEPTH and (sides := _columns(above)):
                self._add_columns(sides)
                return len(above.rows)
            goes_on = i == 0 and self._before is not None and self._before.is_like(run.width)
            if aligned := aligned_table(run, self._rules, has_head=not goes_on):
                if aligned.table is None or _is_cut(rows, i, run, aligned.rows, self._rules):
                    self.result.doubts.append(aligned.doubt or DOUBT)
                    self._plain += [_line(row) for row in run.rows[: aligned.rows]]
                else:
                    self._add_table(aligned.table)
                return aligned.rows
        for one in rows[i]:
            if one.table is not None:
                self._add_table(one.table)
        if words := [one for one in rows[i] if one.table is None]:
            self._plain.append(_line(words))
            self._note_cells(words)
        return 1

    def _note_cells(self, row: Row) -> None:
        if has_cells(row):
            self._cells, self._others = self._cells + 1, 0
            if self._cells == _DOUBTFUL_ROWS:
                self.result.doubts.append(DOUBT)
        else:
            self._others += 1
            if self._others > _DOUBTFUL_ROWS:
                self._cells = 0

    def flush(self) -> None:
        self._cells = 0
        if self._plain:
            self.result.parts.append(Lines(self._plain, self._right))
            self._plain = []

    def _add_table(self, table: RawTable) -> None:
        self.flush()
        self.result.parts.append(table)

    def _add_columns(self, sides: Sequence[Sequence[Row]]) -> None:
        self.flush()
        for side in sides:
            right = max(one.x1 for row in side for one in row)
            last = self.result.parts[-1] if self.result.parts else self._before
            before = last if isinstance(last, RawTable) else None
            inner = arrange(side, right, self._rules, before=before, depth=self._depth + 1)
            self.result.parts += inner.parts
            self.result.doubts += inner.doubts


def _line(row: Row) -> Segment:
    return row[0] if len(row) == 1 else segment([word for one in row for word in one.words])


def _runs(rows: Sequence[Row], start: int) -> list[Run]:
    """Runs of rows from `start` that leave gutters free, the shortest first."""
    if len(rows[start]) == 1 and not (
        start + 1 < len(rows) and _are_beside(rows[start][0], rows[start + 1])
    ):
        return []
    runs: list[Run] = []
    covered: list[Gutter] = []
    gutters: list[Gutter] = []
    run_rows: list[Row] = []
    across: set[int] = set()
    for i in range(start, len(rows)):
        row = rows[i]
        cover, free = _cover(covered, row)
        if len(free) < len(gutters) and len(row) > 1:
            row = _split(row, gutters)
            cover, free = _cover(covered, row)
        if not free and gutters and len(row) == 1 and _is_across(rows, i, covered, len(gutters)):
            across.add(len(run_rows))
            cover, free = covered, gutters
        if not free and (i > start or len(row) > 1):
            break
        covered, gutters = cover, free
        run_rows.append(row)
        if free:
            if runs and _are_same(runs[-1].gutters, free):
                runs.pop()
            runs.append(Run(run_rows.copy(), free, frozenset(across)))
    return runs


def _are_same(wide: Sequence[Gutter], narrow: Sequence[Gutter]) -> bool:
    """Whether gutters are the ones of fewer rows."""
    return len(wide) == len(narrow) and all(
        a[0] <= b[0] and b[1] <= a[1] for a, b in zip(wide, narrow, strict=True)
    )


def _above_heading(run: Run) -> Run:
    """The rows above a heading that parts all columns, which start again below it."""
    for i, (above, row, below) in enumerate(
        zip(run.rows, run.rows[1:], run.rows[2:], strict=False)
    ):
        size = max(above[0].size, below[0].size)
        is_heading = len(row) == 1 and row[0].size > 1.15 * size
        is_level = len({round(one.base) for one in below}) == 1 and len(below) == run.width
        if is_heading and is_level and below[0].base - above[0].base > 3.2 * size:
            return Run(run.rows[: i + 1], run.gutters)
    return run


def _cover(covered: list[Gutter], row: Row) -> tuple[list[Gutter], list[Gutter]]:
    """What the rows cover with one more, and the gutters that stay free."""
    for one in row:
        covered = _with(covered, one.x0, one.x1)
    size = min(one.size for one in row) if row[0].table is None else 10.0
    pairs = pairwise(covered)
    return covered, [(a[1], b[0]) for a, b in pairs if b[0] - a[1] >= _GUTTER * size]


def _split(row: Row, gutters: Sequence[Gutter]) -> Row:
    """A row of a table whose cells stand so close that they look like one text."""
    pieces: Row = []
    for one in row:
        words = one.words
        ends = set()
        for start, end in gutters:
            spaces = [
                (min(b.x0, end) - max(a.x1, start), i)
                for i, (a, b) in enumerate(pairwise(words), 1)
            ]
            space, i = max(spaces, default=(0.0, 0))
            if space >= _LEAST_SPACE * one.size:
                ends.add(i)
        cuts = [0, *sorted(ends), len(words)]
        pieces += [segment(words[a:b]) for a, b in pairwise(cuts)] if ends else [one]
    return pieces


def _is_across(rows: Sequence[Row], i: int, covered: list[Gutter], count: int) -> bool:
    """Whether a line across the columns of a table is one of its rows, as a group's name is."""
    if i < 1 or i + 1 >= len(rows) or len(rows[i + 1]) < 2 or len(rows[i - 1]) < 2:
        return False
    if rows[i][0].size > 1.2 * rows[i - 1][0].size:
        return False
    steps = [rows[k + 1][0].base - rows[k][0].base for k in (i - 1, i)]
    return max(steps) < 1.5 * min(steps) and len(_cover(covered, rows[i + 1])[1]) == count


def _is_cut(rows: Sequence[Row], start: int, run: Run, count: int, rules: Rules) -> bool:
    """Whether the row above or below seems to belong to the table, too."""
    steps = sorted(b[0].base - a[0].base for a, b in pairwise(run.rows[:count]))
    usual = 1.5 * max(steps[len(steps) // 2], 1.0)
    if start + count < len(rows):
        below = rows[start + count]
        is_near = below[0].base - run.rows[count - 1][0].base < usual
        if len(below) > 1 and is_near and not any(one.table for one in below):
            return True
    if start == 0 or rows[start - 1][0].table is not None:
        return False
    above = rows[start - 1]
    left = min(one.x0 for row in run.rows for one in row)
    if any(above[0].base < rule.at < run.rows[0][0].base - 2 for rule in rules.across):
        return False
    is_inside = len(above) > 1 or above[0].x0 > left + 2 * above[0].size
    return is_inside and run.rows[0][0].base - above[0].base < usual


def _are_beside(one: Segment, row: Row) -> bool:
    return row[0].top < one.bottom + 0.5 * one.size and any(
        other.x0 > one.x1 or other.x1 < one.x0 for other in row
    )


def _with(covered: list[Gutter], x0: float, x1: float) -> list[Gutter]:
    """Disjoint intervals from left to right, with one more."""
    apart = [one for one in covered if one[1] < x0 or one[0] > x1]
    touching = [one for one in covered if one[1] >= x0 and one[0] <= x1]
    whole = (min([x0, *(o[0] for o in touching)]), max([x1, *(o[1] for o in touching)]))
    return sorted([*apart, whole])


def _columns(run: Run) -> list[list[Row]]:
    """The rows of each column, if the gutters part columns of text; else nothing."""
    rows, gutters = run.rows, run.gutters
    several = [row for row in rows if len(row) > 1]
    labels = sum(row[0].text.endswith(":") for row in several)
    if len(rows) < 3 or run.across or (labels > 1 and labels * 2 > len(several)):
        return []
    widest_first = sorted(gutters, key=lambda one: one[0] - one[1])
    choices = [gutters, *([one] for one in widest_first[:3] if len(gutters) > 1)]
    for choice in choices:
        sides = _sides(rows, choice)
        if all(_is_column(side) for side in sides) or all(_has_items(side) for side in sides):
            return sides
        is_long = all(len(side) > 2 or any(row[0].table for row in side) for side in sides)
        if is_long and _are_interleaved(rows, sides):
            return sides
    if len(gutters) > 2:
        (left, right), second = widest_first[0], widest_first[1]
        sides = _sides(rows, [(left, right)])
        is_wide = right - left > 2 * (second[1] - second[0]) and right - left > 3 * rows[0][0].size
        if is_wide and _are_two_tables(sides):
            return sides
    return []


def _are_two_tables(sides: Sequence[Sequence[Row]]) -> bool:
    """Whether both sides have columns of their own, and one of them goes on below the other."""
    ends = [side[-1][0].base for side in sides]
    return abs(ends[0] - ends[1]) > sides[0][0][0].size and all(
        len(side) > 2 and sum(len(row) > 1 for row in side) > 0.6 * len(side) for side in sides
    )


def _sides(run: Sequence[Row], gutters: list[Gutter]) -> list[list[Row]]:
    sides: list[list[Row]] = [[] for _ in range(len(gutters) + 1)]
    for row in run:
        parts: list[Row] = [[] for _ in sides]
        for one in row:
            parts[sum(one.x0 >= gutter[1] - 0.01 for gutter in gutters)].append(one)
        for side, part in zip(sides, parts, strict=True):
            if part:
                side.append(part)
    return sides


def _is_column(side: Sequence[Row]) -> bool:
    """Whether most of the lines break because they are full, as those of a running text do."""
    plain = [row for row in side if not any(one.table for one in row)]
    lines = [_line(row) for row in plain]
    if len(lines) < 3 or sum(len(row) > 1 for row in plain) > 0.2 * len(plain):
        return False
    words = sum(len(line.words) for line in lines)
    if words < 2.5 * len(lines):
        return False
    left, right = min(line.x0 for line in lines), max(line.x1 for line in lines)
    follows = [
        (line, below) for line, below in pairwise(lines) if below.base - line.base < 1.7 * line.size
    ]
    broken = sum(not fits(line, below, right - max(left, line.x0)) for line, below in follows)
    return len(follows) * 2 >= len(lines) and broken >= 0.5 * len(follows)


def _has_items(side: Sequence[Row]) -> bool:
    """Whether items of a list stand one below the other, with nothing beside them."""
    items = sum(bool(ITEM.match(_line(row).text)) for row in side)
    return items > 1 and all(len(row) == 1 or MARKER.fullmatch(row[0].text) for row in side)


def _are_interleaved(rows: Sequence[Row], sides: Sequence[Sequence[Row]]) -> bool:
    """Whether the lines of the columns stand at different heights, unlike the cells of a row."""
    shared = sum(len(row) > 1 for row in rows if not any(one.table for one in row))
    if any(one.table for row in rows for one in row):
        return shared == 0
    return shared < 0.3 * min(map(len, sides)) and all(_is_dense(side) for side in sides)


def _is_dense(side: Sequence[Row]) -> bool:
    """Whether most lines follow each other closely, unlike the cells of a column."""
    steps = [below[0].base - above[0].base for above, below in pairwise(side)]
    return sum(step < 1.7 * side[0][0].size for step in steps) > 0.6 * len(steps)
