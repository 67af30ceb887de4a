"""Tables of a PDF page: by their ruling lines, and by their alignment.

A table is taken only when each word of its region lies in exactly one cell. Of any other, the
words stay lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from loaders.pdf.lines import ITEM, Box, RawCell, RawTable, Row, Segment, fits, rows_of
from loaders.pdf.page import Word
from loaders.pdf.rules import Fill, Rule, Rules

_SNAP = 3.0
"""Points. Ruling lines that are closer are one line, such as both strokes of a double border."""
_MAX_BOUNDARIES = 400
"""Rows or columns of a page's table."""
_LEAST_GAP = 0.24
"""Ems between words of neighboring cells. Closer words are one text that crosses the line."""


@dataclass
class Region:
    """What the ruling lines of one table enclose."""

    table: RawTable | None
    words: list[Word]
    box: Box
    doubt: str = ""


def ruled_tables(words: Sequence[Word], rules: Rules) -> list[Region]:
    """Tables with ruling lines between their columns, and the regions that look like one. Some
    have one row only; it may be the last row of a table, on the next page."""
    regions = []
    for across, down in _components(rules.across, rules.down):
        grid = _Grid(across, down)
        if len(grid.xs) < 3 or len(grid.ys) < 2 or not across or not down:
            continue
        inside = [word for word in words if grid.holds(word)]
        if not inside:
            continue
        table, doubt = grid.table(inside, rules.fills)
        if table or doubt:
            regions.append(Region(table, inside, grid.box, doubt))
    return regions


def _components(
    across: Sequence[Rule], down: Sequence[Rule]
) -> list[tuple[list[Rule], list[Rule]]]:
    """Groups of ruling lines that touch."""
    across, down = joined(across), joined(down)
    group: list[int] = list(range(len(across) + len(down)))

    def root(i: int) -> int:
        while group[i] != i:
            group[i] = group[group[i]]
            i = group[i]
        return i

    by_x = sorted(range(len(down)), key=lambda j: down[j].at)
    for i, line in enumerate(across):
        for j in by_x:
            other = down[j]
            if other.at < line.start - _SNAP:
                continue
            if other.at > line.end + _SNAP:
                break
            if other.start - _SNAP <= line.at <= other.end + _SNAP:
                group[root(i)] = root(len(across) + j)
    groups: dict[int, tuple[list[Rule], list[Rule]]] = {}
    for i, line in enumerate(across):
        groups.setdefault(root(i), ([], []))[0].append(line)
    for j, line in enumerate(down):
        groups.setdefault(root(len(across) + j), ([], []))[1].append(line)
    return list(groups.values())


def joined(rules: Iterable[Rule]) -> list[Rule]:
    """Lines in one line that touch or overlap become one, such as dashes and cells' borders."""
    lines: list[Rule] = []
    level: list[Rule] = []
    for rule in sorted(rules, key=lambda rule: rule.at):
        if level and rule.at - level[0].at > _SNAP:
            lines += _merged(level)
            level = []
        level.append(rule)
    return lines + _merged(level)


def _merged(level: list[Rule]) -> list[Rule]:
    merged: list[Rule] = []
    for rule in sorted(level, key=lambda rule: rule.start):
        if merged and rule.start <= merged[-1].end + _SNAP:
            last = merged[-1]
            merged[-1] = Rule(last.at, last.start, max(last.end, rule.end))
        else:
            merged.append(rule)
    return [rule for rule in merged if rule.end - rule.start > _SNAP]


def _levels(values: Iterable[float]) -> list[float]:
    levels: list[float] = []
    for value in sorted(values):
        if not levels or value - levels[-1] > _SNAP:
            levels.append(value)
    return levels


class _Grid:
    """The smallest cells that ruling lines make, before those without a line between them join."""

    def __init__(self, across: list[Rule], down: list[Rule]) -> None:
        self._across, self._down = across, down
        left, right = min(rule.start for rule in across or down), 0.0
        if across:
            left = min(rule.start for rule in across)
            right = max(rule.end for rule in across)
        top, bottom = 0.0, 0.0
        if down:
            top = min(rule.start for rule in down)
            bottom = max(rule.end for rule in down)
        # A border that is missing on the outside is where the other lines end.
        self.xs = _levels([*(rule.at for rule in down), left, right])
        self.ys = _levels([*(rule.at for rule in across), top, bottom])

    @property
    def box(self) -> Box:
        return self.xs[0], self.ys[0], self.xs[-1], self.ys[-1]

    def holds(self, word: Word) -> bool:
        x, y = (word.x0 + word.x1) / 2, (word.top + word.bottom) / 2
        return self.xs[0] <= x <= self.xs[-1] and self.ys[0] <= y <= self.ys[-1]

    def table(self, words: list[Word], fills: list[Fill]) -> tuple[RawTable | None, str]:
        """The table, or why there is none; ('' when nothing looks like one)."""
        if len(self.xs) > _MAX_BOUNDARIES or len(self.ys) > _MAX_BOUNDARIES:
            return None, "has too many ruling lines"
        areas = self._areas()
        if areas is None:
            return None, "has cells that are no rectangles"
        if len({area[1] for area in areas}) < 2:
            return None, ""
        words_by_area: dict[tuple[int, int, int, int], list[Word]] = {area: [] for area in areas}
        at = {
            (i, j): area
            for area in areas
            for i in range(area[0], area[2])
            for j in range(area[1], area[3])
        }
        for word in words:
            area = self._area_of(word, at)
            if area is None:
                return None, "has text across its ruling lines"
            words_by_area[area].append(word)
        filled = [area for area, inside in words_by_area.items() if inside]
        if len(filled) < 2 or (len({area[1] for area in filled}) < 2 and len(filled) < 3):
            return None, ""
        if _crosses(words_by_area):
            return None, "has text across its ruling lines"
        return self._build(words_by_area, fills)

    def _areas(self) -> list[tuple[int, int, int, int]] | None:
        """Cells as (first row, first column, last row + 1, last column + 1)."""
        height, width = len(self.ys) - 1, len(self.xs) - 1
        owner: dict[tuple[int, int], tuple[int, int]] = {}
        for i in range(height):
            for j in range(width):
                above = owner.get((i - 1, j)) if i and not self._is_ruled_above(i, j) else None
                before = owner.get((i, j - 1)) if j and not self._is_ruled_before(i, j) else None
                if above and before and above != before:
                    for key, value in owner.items():
                        if value == before:
                            owner[key] = above
                owner[i, j] = above or before or (i, j)
        members: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for position, one in owner.items():
            members.setdefault(one, []).append(position)
        areas = []
        for positions in members.values():
            rows, columns = [i for i, _ in positions], [j for _, j in positions]
            area = (min(rows), min(columns), max(rows) + 1, max(columns) + 1)
            if (area[2] - area[0]) * (area[3] - area[1]) != len(positions):
                return None
            areas.append(area)
        return sorted(areas)

    def _is_ruled_above(self, i: int, j: int) -> bool:
        return _is_covered(self._across, self.ys[i], self.xs[j], self.xs[j + 1])

    def _is_ruled_before(self, i: int, j: int) -> bool:
        return _is_covered(self._down, self.xs[j], self.ys[i], self.ys[i + 1])

    def _area_of(
        self, word: Word, at: dict[tuple[int, int], tuple[int, int, int, int]]
    ) -> tuple[int, int, int, int] | None:
        """The one cell that a word lies in; None when it reaches into another."""
        slack = max(1.5, 0.15 * word.size)
        i = _place(self.ys, (word.top + word.bottom) / 2)
        j = _place(self.xs, (word.x0 + word.x1) / 2)
        area = at.get((i, j))
        if area is None:
            return None
        is_inside = (
            self.xs[area[1]] - slack <= word.x0
            and word.x1 <= self.xs[area[3]] + slack
            and self.ys[area[0]] - 2 * slack <= word.top
            and word.bottom <= self.ys[area[2]] + 2 * slack
        )
        return area if is_inside else None

    def _build(
        self, words: dict[tuple[int, int, int, int], list[Word]], fills: list[Fill]
    ) -> tuple[RawTable | None, str]:
        # Lattice lines without a cell of their own carry nothing, such as the gap of a double line.
        tops = sorted({area[0] for area in words})
        lefts = sorted({area[1] for area in words})
        rows_by_area = {area: rows_of(inside, gap=99.0) for area, inside in words.items()}
        if doubt := _stacked(rows_by_area, len(tops)):
            return None, doubt
        pads = [word.x0 - self.xs[area[1]] for area, inside in words.items() for word in inside]
        pad = max(1.0, min(pads)) if pads else 1.0
        cells = []
        for area, rows in rows_by_area.items():
            width = self.xs[area[3]] - self.xs[area[1]] - 2 * pad
            i, j = tops.index(area[0]), lefts.index(area[1])
            cells.append(
                RawCell(
                    row=i,
                    column=j,
                    row_span=sum(area[0] <= top < area[2] for top in tops),
                    column_span=sum(area[1] <= left < area[3] for left in lefts),
                    lines=cell_lines([row[0] for row in rows], width, is_header=i == 0),
                    bold=bool(rows) and all(row[0].bold for row in rows),
                    shade=_shade(self._box(area), fills),
                )
            )
        table = RawTable(
            box=self.box,
            cells=cells,
            height=len(tops),
            edges=tuple(self.xs[left] for left in lefts),
        )
        return table, ""

    def _box(self, area: tuple[int, int, int, int]) -> Box:
        return self.xs[area[1]], self.ys[area[0]], self.xs[area[3]], self.ys[area[2]]


def _place(levels: Sequence[float], value: float) -> int:
    return max(sum(level <= value for level in levels) - 1, 0)


def _is_covered(rules: Iterable[Rule], at: float, start: float, end: float) -> bool:
    """Whether ruling lines run along most of a boundary."""
    covered = sum(
        max(min(rule.end, end) - max(rule.start, start), 0.0)
        for rule in rules
        if abs(rule.at - at) <= _SNAP
    )
    return covered >= 0.6 * (end - start)


def _crosses(words_by_area: dict[tuple[int, int, int, int], list[Word]]) -> bool:
    """Whether two words that stand as close as in a sentence are in different cells."""
    placed = sorted(
        ((word.base, word.x0, word, area) for area, inside in words_by_area.items()
         for word in inside if not word.turned),
        key=lambda one: (round(one[0]), one[1]),
    )  # fmt: skip
    for (_, _, word, area), (_, _, after, area_after) in pairwise(placed):
        gap = after.x0 - word.x1
        is_level = abs(word.base - after.base) < 0.2 * word.size
        if area != area_after and is_level and gap < _LEAST_GAP * min(word.size, after.size):
            return True
    return False


def _stacked(rows_by_area: dict[tuple[int, int, int, int], list[Row]], height: int) -> str:
    """Why a row of cells seems to hold several rows without a line between them; '' if not."""
    by_top: dict[int, list[list[Segment]]] = {}
    for area, rows in rows_by_area.items():
        if rows and area[2] - area[0] == 1:
            by_top.setdefault(area[0], []).append([row[0] for row in rows])
    total = sum(max(map(len, cells)) for cells in by_top.values())
    for top, cells in by_top.items():
        deepest = max(map(len, cells))
        full = [lines for lines in cells if len(lines) >= deepest - 1]
        bases = [{round(line.base) for line in lines} for lines in full]
        is_level = len(full) > 1 and len(set.intersection(*bases)) >= deepest - 1
        is_most = deepest > 2 and deepest * 2 >= total and len(full) * 2 > len(cells)
        if (is_level and is_most) or (top and are_stacked(cells)):
            return "has rows without a ruling line between them"
    return ""


def are_stacked(cells: Iterable[Sequence[Segment]]) -> bool:
    """Whether cells hold values one below the other that belong together line by line.

    The layout breaks a text, but no number; and rarely three short texts at the same heights."""
    by_heights: dict[tuple[int, ...], list[Sequence[Segment]]] = {}
    for lines in cells:
        if len(lines) > 1:
            by_heights.setdefault(tuple(round(line.base) for line in lines), []).append(lines)
    for level in by_heights.values():
        short = [lines for lines in level if all(len(line.words) < 3 for line in lines)]
        numbers = [lines for lines in level if all(_is_number(line) for line in lines)]
        if (numbers and len(level) > 1) or (len(short) > 2 and len(short) == len(level)):
            return True
    return False


def _is_number(line: Segment) -> bool:
    return len(line.words) == 1 and any(sign.isdigit() for sign in line.text)


def cell_lines(
    lines: Sequence[Segment], width: float, *, is_header: bool
) -> list[tuple[str, bool]]:
    """Lines of a cell and whether the layout broke each. `width`: what the cell has for text."""
    result = []
    for i, line in enumerate(lines):
        below = lines[i + 1] if i + 1 < len(lines) else None
        is_soft = below is not None and (is_header or not fits(line, below, width))
        if below is not None and ITEM.match(below.text) and ITEM.match(lines[0].text):
            is_soft = is_soft and abs(below.x0 - lines[0].x0) > 1
        result.append((line.text, is_soft))
    return result


def _shade(box: Box, fills: Iterable[Fill]) -> str:
    """The color of the last fill that covers the middle of a cell but not much more than a row."""
    x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    color = ""
    for fill in fills:
        if fill.x0 <= x <= fill.x1 and fill.top <= y <= fill.bottom:
            color = fill.color
    return color
