"""Joins the chunks of a section and reads its numbered lists as steps, without loss. Pure.

Chunks repeat headers and lead-ins so that each can be read alone; the joined text has them once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from agents.runbooks.step import RunbookStep, parts_of, with_cues
from enrichment.chunk import Chunk
from loaders.text.plain import read_blocks

_PART = re.compile(r"\(part \d+ of \d+\)")
_FENCE = re.compile(r"`{3,}")
_NOTE = re.compile(r"\[\^[^\[\]]+\]: ")
_MARKER = (
    r"(?:\(?(?:\d{1,3}(?:\.\d{1,3})*|[A-Za-z]|[ivxl]{2,6})[.)]|\d{1,3}(?:\.\d{1,3})+|[-*+•◦▪‣○●■])"
)
ITEM = re.compile(rf"(?P<indent> *)(?P<marker>{_MARKER}) (?P<text>.*)")
"""A list item in a chunk: three spaces per level, then the visible marker."""


def sections_of(chunks: Sequence[Chunk]) -> Iterator[list[Chunk]]:
    """The chunks of a document grouped by section. Descriptions of pictures are left out: no author
    wrote them as steps."""
    text_chunks = (chunk for chunk in chunks if not chunk.from_picture)
    for _, together in groupby(text_chunks, key=lambda one: (one.tab, one.heading_path, one.url)):
        yield list(together)


def joined_text(section: Sequence[Chunk]) -> str:
    """Markdown of a whole section."""
    lines: list[str] = []
    previous: Chunk | None = None
    for chunk in section:
        _append(lines, previous, chunk)
        previous = chunk
    return "\n".join(lines)


def _append(lines: list[str], previous: Chunk | None, chunk: Chunk) -> None:
    fresh = chunk.text.split("\n")
    if previous is None:
        lines += fresh
        return
    fresh = fresh[_overlap(previous.text.split("\n"), fresh) :]
    same_table = previous.table and chunk.table and previous.table.id == chunk.table.id
    in_code = _shares(previous, chunk, "lines")
    fresh = fresh[_count_repeated(lines, fresh) :]
    if fresh and _is_cut(previous, chunk) and (rest := _after_lead(lines, fresh[0])):
        again = _ends_a_line(rest, lines) and _goes_deeper(fresh[1:], 0)
        if not again and lines[-1] and not _stands_apart(lines[-1]):
            lines[-1] += f" {rest}"
        elif not again:
            lines.append(rest)
        fresh = fresh[1:]
    fresh = [line for line in fresh if not (in_code and _PART.fullmatch(line.strip()))]
    if same_table:
        rows = next((at for at, line in enumerate(fresh) if line.startswith("|")), None)
        lines += fresh if rows is None else [*fresh[:rows], *fresh[rows + 2 :]]
    elif (
        in_code
        and (start := next((n for n, x in enumerate(fresh) if _FENCE.match(x)), None)) is not None
    ):
        if lines and _FENCE.fullmatch(lines[-1].strip()):
            lines.pop()
        lines += fresh[start + 1 :]
    else:
        # A line of a list that is no item continues the item that was cut.
        apart = fresh and (not _shares(previous, chunk, "items") or _stands_apart(fresh[0]))
        lines += ["", *fresh] if apart else fresh


def _shares(one: Chunk, other: Chunk, what: str) -> bool:
    """Whether both hold a part of the same list or code block."""
    return bool({run.id for run in one.runs if run.what == what} & {run.id for run in other.runs})


def _is_cut(one: Chunk, other: Chunk) -> bool:
    """Whether both hold a part of the same outermost item."""
    parts = {run.id: run for run in other.runs if run.what == "items"}
    return any(run.id in parts and parts[run.id].first < run.first + run.count for run in one.runs)


def _after_lead(lines: Sequence[str], line: str) -> str:
    """The continuation of the last item, in a line that begins with a repeated lead-in."""
    leads = [one for one in (*_open_path(lines), *lines) if one and line.startswith(f"{one} ")]
    return line.removeprefix(max(leads, key=len)).strip() if leads else ""


def _overlap(before: Sequence[str], after: Sequence[str]) -> int:
    """Number of first lines that equal the last lines of the previous chunk."""
    for size in range(min(len(before), len(after)), 0, -1):
        same = after[:size]
        if list(before[-size:]) == list(same) and re.search(r"\w", "".join(same)):
            return size
    return 0


def _count_repeated(lines: Sequence[str], fresh: Sequence[str]) -> int:
    """Number of first lines that repeat a lead-in: the sentence above the list, and the items above
    the next one."""
    sentences = {line for line in lines if line and not ITEM.fullmatch(line)}
    path = _open_path(lines)
    count, level = 0, -1
    for at, line in enumerate(fresh):
        item = ITEM.fullmatch(line)
        if item:
            depth = len(item["indent"])
            is_lead = line in path and depth > level and _goes_deeper(fresh[at + 1 :], depth)
            if not is_lead:
                break
            level = depth
        elif line and (_stands_apart(line) or not _ends_a_line(line, (*sentences, *path))):
            break
        count = at + 1
    return count


def _ends_a_line(line: str, lines: Iterable[str]) -> bool:
    """Whether a line ends with it: a lead-in may be the last sentence of a line."""
    return any(one.endswith(line) for one in lines)


def _open_path(lines: Sequence[str]) -> list[str]:
    """The last item and its parents."""
    path: list[tuple[int, str]] = []
    for line in lines:
        if item := ITEM.fullmatch(line):
            depth = len(item["indent"])
            path = [one for one in path if one[0] < depth] + [(depth, line)]
    return [line for _, line in path]


def _goes_deeper(following: Sequence[str], depth: int) -> bool:
    """Whether the next item is deeper than this depth."""
    for line in following:
        if item := ITEM.fullmatch(line):
            return len(item["indent"]) > depth
        if line:
            return True
    return False


def _stands_apart(line: str) -> bool:
    return bool(_FENCE.match(line) or line.startswith("|") or _NOTE.match(line))


MIN_STEPS = 2
"""Minimum outermost numbered items of a procedure."""
_DIGITS = re.compile(r"\(?(\d{1,3}(?:\.\d{1,3})*)[.)]?")
_LETTERS = re.compile(r"\(?([A-Za-z]{1,6})[.)]")
_ROMAN = (
    "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii", "xiii", "xiv", "xv",
)  # fmt: skip
_INTRODUCES = (":", "：", "—")


@dataclass
class _Item:
    number: str
    level: int
    indent: int
    mark: str
    lead: str = ""
    lines: list[str] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    """Unindented lines below the item: they belong to it if the list continues."""


def steps_in(text: str) -> tuple[RunbookStep, ...]:
    """`text`: a whole section. Empty where no list has `MIN_STEPS` outermost numbers."""
    lists = [one for one in _lists(text) if sum(item.level == 0 for item in one) >= MIN_STEPS]
    items = [item for one in lists for item in one]
    steps = [
        RunbookStep(
            number=item.number,
            level=item.level,
            lead=item.lead,
            parts=parts_of("\n".join(item.lines).strip("\n")),
        )
        for item in items
    ]
    return with_cues(steps)


def _lists(text: str) -> Iterator[list[_Item]]:
    """Outermost numbered lists, as their items in reading order."""
    fences = (token.map for token in read_blocks(text) if token.type == "fence")
    code = {line for fence in fences if fence for line in range(*fence)}
    reading = _ListReader()
    for at, line in enumerate(text.split("\n")):
        if at in code or not _NOTE.match(line):
            yield from reading.read(line, in_code=at in code)
        else:
            reading.note(line)
    if reading.items:
        yield reading.items


@dataclass
class _ListReader:
    """State of reading a section line by line."""

    items: list[_Item] = field(default_factory=list)
    """Items of the current list."""
    above: str = ""
    """The last line outside a list."""
    notes: set[str] = field(default_factory=set)

    def read(self, line: str, *, in_code: bool) -> Iterator[list[_Item]]:
        """Yields the previous list if this line starts a new one."""
        match = None if in_code else ITEM.fullmatch(line)
        indent = len(match["indent"]) if match else 0
        if match and _is_number(self.items, indent, match["marker"]) and (self.items or not indent):
            outermost = bool(self.items) and indent <= self.items[0].indent
            if outermost and not _goes_on(self.items, match["marker"]):
                yield self.items
                self.items = []
            self._settle()
            item = _place_item(self.items, indent, match["marker"], match["text"], self.above)
            self.items.append(item)
            self.above = ""
        elif self.items and (indent or not match) and self._is_inside(line, in_code=in_code):
            self.items[-1].lines.append(line)
        else:
            if self.items:
                self.items[-1].waiting.append(line)
            self.above = line or self.above

    def note(self, line: str) -> None:
        """Adds a footnote once: other chunks repeat it."""
        if line not in self.notes and self.items:
            (self.items[-1].waiting or self.items[-1].lines).append(line)
        self.notes.add(line)

    def _is_inside(self, line: str, *, in_code: bool) -> bool:
        """Whether the line belongs to the last item: another line, a bullet, or fenced code."""
        last = self.items[-1]
        if last.waiting or line.startswith("|"):
            return False
        if in_code or not line:
            return True
        return bool(last.lines and last.lines[-1]) or line.startswith(" ")

    def _settle(self) -> None:
        """Adds the waiting lines to the step above: the list continues."""
        for item in self.items[-1:]:
            item.lines += item.waiting
            item.waiting = []


def _goes_on(items: Sequence[_Item], mark: str) -> bool:
    top = next(item for item in reversed(items) if item.level == 0)
    before, number = _DIGITS.fullmatch(top.mark), _DIGITS.fullmatch(mark)
    return bool(before and number and _last(number[1]) == _last(before[1]) + 1)


def _place_item(items: Sequence[_Item], indent: int, mark: str, text: str, above: str) -> _Item:
    parents = [item for item in items if item.indent < indent]
    parent = parents[-1] if indent and parents else None
    while parent is not None:
        nearer = [i for i in items[items.index(parent) + 1 :] if i.indent < indent]
        if not nearer:
            break
        parent = nearer[-1]
    own = mark.strip("().")
    dotted = "." in own
    number = own if parent is None or dotted else f"{parent.number}.{own}"
    lead = above if parent is None and above.rstrip().endswith(_INTRODUCES) else ""
    level = 0 if parent is None else parent.level + 1
    return _Item(number=number, level=level, indent=indent, mark=mark, lead=lead, lines=[text])


def _is_number(items: Sequence[_Item], indent: int, mark: str) -> bool:
    """Whether the marker counts: digits, or letters that continue from `a` or `i` below an item."""
    if _DIGITS.fullmatch(mark):
        return True
    letters = _LETTERS.fullmatch(mark)
    if not letters or not indent:
        return False
    letter = letters[1].lower()
    for item in reversed(items):
        if item.indent < indent:
            break
        if item.indent == indent and (before := _LETTERS.fullmatch(item.mark)):
            return letter in _after(before[1].lower())
    return letter in ("a", "i")


def _after(letter: str) -> tuple[str, ...]:
    following = [chr(ord(letter) + 1)] if len(letter) == 1 else []
    if letter in _ROMAN[:-1]:
        following.append(_ROMAN[_ROMAN.index(letter) + 1])
    return tuple(following)


def _last(number: str) -> int:
    return int(number.rpartition(".")[2])
