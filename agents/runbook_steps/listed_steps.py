"""The numbered lists of a section as steps: nothing of them is left out. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from agents.runbook_steps.joined_section import ITEM, is_footnote
from agents.runbook_steps.runbook_step import RunbookStep
from agents.runbook_steps.step_parts import parts_of
from agents.runbook_steps.step_words import with_cues
from loaders.text.plain import read_blocks

FEWEST = 2
"""Outermost numbered items that make a procedure."""
_DIGITS = re.compile(r"\(?(\d{1,3}(?:\.\d{1,3})*)[.)]?")
_LETTERS = re.compile(r"\(?([A-Za-z]{1,6})[.)]")
_ROMAN = (
    "i",
    "ii",
    "iii",
    "iv",
    "v",
    "vi",
    "vii",
    "viii",
    "ix",
    "x",
    "xi",
    "xii",
    "xiii",
    "xiv",
    "xv",
)
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
    """What stands below it without an indent: its own, if the list goes on after it."""


def steps_in(text: str) -> tuple[RunbookStep, ...]:
    """`text`: of a whole section. Empty where no list has `FEWEST` outermost numbers."""
    lists = [one for one in _lists(text) if sum(item.level == 0 for item in one) >= FEWEST]
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
    code = _code_lines(text)
    reading = _Reading()
    for at, line in enumerate(text.split("\n")):
        if at in code or not is_footnote(line):
            yield from reading.read(line, in_code=at in code)
        else:
            reading.note(line)
    if reading.items:
        yield reading.items


@dataclass
class _Reading:
    """Where the reading of a section has got to."""

    items: list[_Item] = field(default_factory=list)
    """Of the list that is being read."""
    above: str = ""
    """The last line that is of no list."""
    notes: set[str] = field(default_factory=set)

    def read(self, line: str, *, in_code: bool) -> Iterator[list[_Item]]:
        """Yields the list that ends here, if one does."""
        found = None if in_code else ITEM.fullmatch(line)
        indent = len(found["indent"]) if found else 0
        if found and _is_number(self.items, indent, found["marker"]) and (self.items or not indent):
            outermost = bool(self.items) and indent <= self.items[0].indent
            if outermost and not _goes_on(self.items, found["marker"]):
                yield self.items
                self.items = []
            self._settle()
            item = _placed(self.items, indent, found["marker"], found["text"], self.above)
            self.items.append(item)
            self.above = ""
        elif self.items and (indent or not found) and self._is_inside(line, in_code=in_code):
            self.items[-1].lines.append(line)
        else:
            if self.items:
                self.items[-1].waiting.append(line)
            self.above = line or self.above

    def note(self, line: str) -> None:
        """A footnote stands below what first refers to it, and again in other chunks."""
        if line not in self.notes and self.items:
            (self.items[-1].waiting or self.items[-1].lines).append(line)
        self.notes.add(line)

    def _is_inside(self, line: str, *, in_code: bool) -> bool:
        """Right below the item: another line of it, a bullet of its own, or code in a fence."""
        last = self.items[-1]
        if last.waiting or line.startswith("|"):
            return False
        if in_code or not line:
            return True
        return bool(last.lines and last.lines[-1]) or line.startswith(" ")

    def _settle(self) -> None:
        """What stood between is of the step above it: the numbers go on."""
        for item in self.items[-1:]:
            item.lines += item.waiting
            item.waiting = []


def _goes_on(items: Sequence[_Item], mark: str) -> bool:
    top = next(item for item in reversed(items) if item.level == 0)
    before, number = _DIGITS.fullmatch(top.mark), _DIGITS.fullmatch(mark)
    return bool(before and number and _last(number[1]) == _last(before[1]) + 1)


def _placed(items: Sequence[_Item], indent: int, mark: str, text: str, above: str) -> _Item:
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
    """Digits; letters where they count on from `a` or `i`, below a numbered item."""
    if _DIGITS.fullmatch(mark):
        return True
    letters = _LETTERS.fullmatch(mark)
    if not letters or not indent:
        return False
    said = letters[1].lower()
    for item in reversed(items):
        if item.indent < indent:
            break
        if item.indent == indent and (before := _LETTERS.fullmatch(item.mark)):
            return said in _after(before[1].lower())
    return said in ("a", "i")


def _after(letter: str) -> tuple[str, ...]:
    following = [chr(ord(letter) + 1)] if len(letter) == 1 else []
    if letter in _ROMAN[:-1]:
        following.append(_ROMAN[_ROMAN.index(letter) + 1])
    return tuple(following)


def _last(number: str) -> int:
    return int(number.rpartition(".")[2])


def _code_lines(text: str) -> frozenset[int]:
    fences = (token.map for token in read_blocks(text) if token.type == "fence")
    return frozenset(line for map_ in fences if map_ for line in range(*map_))
