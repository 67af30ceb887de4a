"""Tables of a PDF page without lines between their columns: by white space that no row crosses.

What can be read in two ways is no table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from loaders.pdf.lines import MARKER, RawCell, RawTable, Row, Segment, fits
from loaders.pdf.rules import Rules
from loaders.pdf.tables import are_stacked, cell_lines, joined

_WORDY = 3
"""Words of a line that is part of a sentence."""
_ROW_GAP = 0.75
"""Ems of white space between two lines that nobody sets as lines of one text."""
DOUBT = "could be read in more than one way"

Grid = list[list[Segment | None]]
Gutter = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Run:
    """Rows that leave the same gutters free."""

    rows: list[Row]
    gutters: list[Gutter]
    across: frozenset[int] = frozenset()
    """Rows of one segment that runs across the gutters."""

    @property
    def width(self) -> int:
        return len(self.gutters) + 1


@dataclass
class Aligned:
    """The table in the first `rows` of a run; or why there is none though it looks like one."""

    rows: int
    table: RawTable | None = None
    doubt: str = ""


def aligned_table(run: Run, rules: Rules, *, has_head: bool = True) -> Aligned | None:
    """None when the run does not look like a table. `has_head`: its first row names columns."""
    if any(one.table for row in run.rows for one in row) or len(run.rows[0]) < 2:
        return None
    grid = _grid(run)
    if grid is None:
        return None
    grid = _trimmed(grid, rules)
    full = [row for row in grid if sum(one is not None for one in row) > 1]
    if len(full) < 3 or not _looks_tabular(grid):
        return None
    if len(full) < 0.4 * len(grid):
        return Aligned(len(grid), doubt=DOUBT)
    groups = _rows(grid, rules, has_head=has_head)
    if groups is None or any(len(one) > 1 and run.across & set(one) for one in groups):
        return Aligned(len(grid), doubt=DOUBT)
    return Aligned(len(grid), table=_build(grid, groups, run.across, rules))


def _grid(run: Run) -> Grid | None:
    """Each segment in its column; None when two share a place."""
    grid: Grid = []
    for row in run.rows:
        cells: list[Segment | None] = [None] * (len(run.gutters) + 1)
        for one in row:
            column = sum(one.x0 >= gutter[1] - 0.01 for gutter in run.gutters)
            if cells[column] is not None:
                return None
            cells[column] = one
        grid.append(cells)
    return grid


def _filled(row: Sequence[Segment | None]) -> list[Segment]:
    return [one for one in row if one is not None]


def _base(row: Sequence[Segment | None]) -> float:
    return _filled(row)[0].base


def _trimmed(grid: Grid, rules: Rules) -> Grid:
    """Without the lines below the table, such as a note or the next paragraph."""
    steps = [_base(b) - _base(a) for a, b in pairwise(grid)]
    usual = sorted(steps)[len(steps) // 2] if steps else 0.0
    for i, step in enumerate(steps):
        if step > 2.2 * usual and step > 2.5 * _filled(grid[i])[0].size:
            grid = grid[: i + 1]
            break
    while len(grid) > 1:
        cells, above = _filled(grid[-1]), _filled(grid[-2])
        if len(cells) > 1 or grid[-1][0] is None:
            break
        step = cells[0].base - above[0].base
        is_note = cells[0].size < 0.92 * above[0].size or cells[0].bold != above[0].bold
        is_ruled_off = any(
            above[0].base < rule.at < cells[0].base and rule.end > cells[0].x1
            for rule in rules.across
        )
        if not (is_note or is_ruled_off or step > 1.25 * usual):
            break
        grid = grid[:-1]
    return grid


def has_cells(row: Row) -> bool:
    """Whether segments side by side can be cells; not an item of a list or of a list of contents,
    a label and its value, or the output of a program."""
    return (
        len(row) > 1
        and not MARKER.fullmatch(row[0].text)
        and not (len(row) == 2 and len(row[0].text) == 1 and not row[0].text.isalnum())
        and not (len(row) == 2 and row[0].text.endswith(":"))
        and not all(one.mono for one in row)
        and not any("...." in one.text or ". . ." in one.text for one in row)
    )


def _looks_tabular(grid: Grid) -> bool:
    columns = [[one for one in column if one] for column in zip(*grid, strict=True)]
    if any(not column for column in columns):
        return False
    full = [_filled(row) for row in grid if sum(one is not None for one in row) > 1]
    if sum(map(has_cells, full)) < 0.7 * len(full):
        return False
    wordy = sum(sum(len(o.words) for o in column) > 6 * len(column) for column in columns)
    return wordy < len(columns) and any(len(column) > 1 for column in columns[1:])


def _rows(grid: Grid, rules: Rules, *, has_head: bool) -> list[list[int]] | None:
    """The lines of each row, as indexes; None when that is not sure."""
    blocks = _blocks(grid, rules)
    bold = _bold_head(grid)
    groups: list[list[int]] = []
    if bold > 1 and len(blocks[0]) >= bold:
        groups.append(list(range(bold)))
        blocks[0] = blocks[0][bold:]
    elif len(blocks) > 1 and 1 < len(blocks[0]) <= 3:
        groups.append(blocks.pop(0))
    blocks = [block for block in blocks if block]
    is_ruled = len(blocks) > 2
    for block in blocks:
        if len(block) == 1 or (is_ruled and not _is_stack(grid, block)):
            if are_stacked(_cells(grid, block)):
                return None
            groups.append(block)
        else:
            inner = _by_distance(grid, block, is_first=has_head and not groups)
            if inner is None:
                return None
            groups += inner
    return groups


def _blocks(grid: Grid, rules: Rules) -> list[list[int]]:
    """Lines that no ruling line and no edge of a background parts."""
    left = min(one.x0 for row in grid for one in _filled(row))
    right = max(one.x1 for row in grid for one in _filled(row))
    width = right - left

    def spans(start: float, end: float) -> bool:
        return min(end, right) - max(start, left) > 0.7 * width

    levels = [rule.at for rule in joined(rules.across) if spans(rule.start, rule.end)]
    for fill in rules.fills:
        if spans(fill.x0, fill.x1):
            levels += [fill.top, fill.bottom]
    blocks: list[list[int]] = [[0]]
    for i in range(1, len(grid)):
        above = max(one.base for one in _filled(grid[i - 1])) - 1
        below = min(one.base - 0.3 * one.size for one in _filled(grid[i]))
        if any(above < level < below for level in levels):
            blocks.append([i])
        else:
            blocks[-1].append(i)
    return blocks


def _bold_head(grid: Grid) -> int:
    """How many leading lines are bold, unlike the rest."""
    bold = [all(one.bold for one in _filled(row)) for row in grid]
    count = bold.index(False) if False in bold else 0
    return count if count <= 3 else 0


def _is_stack(grid: Grid, block: Sequence[int]) -> bool:
    """Whether each line of a block fills the columns as a row of its own would."""
    columns = {j for i in block for j, one in enumerate(grid[i]) if one}
    return all(sum(one is not None for one in grid[i]) == len(columns) for i in block)


def _by_distance(grid: Grid, block: Sequence[int], *, is_first: bool) -> list[list[int]] | None:
    """Rows by the white space between their lines, then by what each line fills."""
    size = _filled(grid[block[0]])[0].size
    gaps = [max(_gap(grid[a], grid[b]), 0.2 * size) for a, b in pairwise(block)]
    least, most = min(gaps), max(gaps)
    singles = [[i] for i in block]
    if most > 1.8 * least:
        limit = (least * most) ** 0.5
        groups = [[block[0]]]
        for i, gap in zip(block[1:], gaps, strict=True):
            if gap > limit:
                groups.append([i])
            else:
                groups[-1].append(i)
        several = [group for group in groups if len(group) > 1]
        stacks = sum(_is_stack(grid, group) for group in several)
        if any(_is_loose(grid, group) for group in several):
            return None
        if stacks < len(several) and any(are_stacked(_cells(grid, group)) for group in several):
            return None
        if 2 * stacks <= len(several):
            return groups
        return singles if _are_rows(grid, block, is_first) else None
    if least >= _ROW_GAP * size:
        return singles
    if _are_rows(grid, block, is_first):
        return singles
    groups = [[block[0]]]
    for i in block[1:]:
        kind = _kind(grid, groups[-1][-1], i)
        if kind == "more" and not (is_first and len(groups) == 1 and len(groups[0]) == 1):
            groups[-1].append(i)
        elif kind == "row":
            groups.append([i])
        else:
            return None
    return groups if not is_first or _is_head(grid[block[0]]) else None


def _cells(grid: Grid, group: Sequence[int]) -> list[list[Segment]]:
    columns = zip(*(grid[i] for i in group), strict=True)
    return [_filled(column) for column in columns]


def _is_loose(grid: Grid, group: Sequence[int]) -> bool:
    """Whether lines of one cell stand further apart than those of a text."""
    cells = _cells(grid, group)
    return any(b.base - a.base > 1.6 * a.size for cell in cells for a, b in pairwise(cell))


def _gap(above: Sequence[Segment | None], below: Sequence[Segment | None]) -> float:
    return min(one.top for one in _filled(below)) - max(one.bottom for one in _filled(above))


def _are_rows(grid: Grid, block: Sequence[int], is_first: bool) -> bool:
    """Whether each line is a row: most fill all columns, and the others can be no second line."""
    full = sum(all(one is not None for one in grid[i]) for i in block)
    if full < 0.6 * len(block) or (is_first and not _is_head(grid[block[0]])):
        return False
    return all(grid[b][0] is not None or _kind(grid, a, b) == "row" for a, b in pairwise(block))


def _is_head(row: Sequence[Segment | None]) -> bool:
    """Whether a first line can be the names of the columns: all of them, but for a corner."""
    return all(one is not None for one in row[1:])


def _kind(grid: Grid, above: int, at: int) -> str:
    """`row`: the line starts a row. `more`: it continues the row above. '': either."""
    results = set()
    for j, one in enumerate(grid[at]):
        if one is None:
            continue
        before = next((other for row in grid[above::-1] if (other := row[j])), None)
        if before is None:
            results.add("row")
            continue
        column = [other for row in grid if (other := row[j])]
        width = max(other.x1 for other in column) - min(other.x0 for other in column)
        is_wordy = max(len(one.words), len(before.words)) >= _WORDY
        if fits(before, one, width) or (grid[above][j] is None):
            results.add("row")
        elif is_wordy:
            results.add("more")
        else:
            results.add("either")
    has_key = grid[at][0] is not None
    if has_key:
        return "" if "more" in results else "row"
    if results == {"row"} or results == {"more"}:
        return results.pop()
    return ""


def _build(
    grid: Grid, groups: Sequence[Sequence[int]], across: frozenset[int], rules: Rules
) -> RawTable:
    plain = [row for i, row in enumerate(grid) if i not in across]
    columns = [[one for one in column if one] for column in zip(*plain, strict=True)]
    lefts = [min(one.x0 for one in column) for column in columns]
    widths = [max(o.x1 for o in column) - min(o.x0 for o in column) for column in columns]
    cells = []
    for i, group in enumerate(groups):
        if group[0] in across:
            (name,) = _filled(grid[group[0]])
            cells.append(RawCell(i, 0, 1, len(widths), [(name.text, False)], name.bold))
            continue
        for j, width in enumerate(widths):
            lines = [one for at in group if (one := grid[at][j]) is not None]
            cells.append(
                RawCell(
                    row=i,
                    column=j,
                    lines=cell_lines(lines, width, is_header=i == 0),
                    bold=bool(lines) and all(line.bold for line in lines),
                    shade=_shade(lines, grid[group[0]], rules),
                )
            )
    everything = [one for row in grid for one in _filled(row)]
    box = (
        min(one.x0 for one in everything),
        min(one.top for one in everything),
        max(one.x1 for one in everything),
        max(one.bottom for one in everything),
    )
    return RawTable(box=box, cells=cells, height=len(groups), edges=tuple(lefts))


def _shade(lines: Sequence[Segment], row: Sequence[Segment | None], rules: Rules) -> str:
    one = (lines or _filled(row))[0]
    x, y = (one.x0 + one.x1) / 2, (one.top + one.bottom) / 2
    color = ""
    for fill in rules.fills:
        if fill.x0 <= x <= fill.x1 and fill.top <= y <= fill.bottom:
            color = fill.color
    return color
