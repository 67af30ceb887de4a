"""The numbered lists of a section as steps: nothing of them is left out. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from agents.runbook_steps.joined_section import ITEM, is_footnote
from agents.runbook_steps.step_words import with_cues
from agents.runbook_steps.runbook_step import RunbookStep
from agents.runbook_steps.step_parts import parts_of
from loaders.markdown_parser import read_blocks

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
    lines = text.split("\n")
    code = _code_lines(text)
    items: list[_Item] = []
    seen: set[str] = set()
    above = ""
    for at, line in enumerate(lines):
        if is_footnote(line) and at not in code:
            if line in seen:  # it is repeated below what refers to it in another chunk
                continue
            seen.add(line)
            if items:
                (items[-1].waiting or items[-1].lines).append(line)
            continue
        found = None if at in code else ITEM.fullmatch(line)
        indent = len(found["indent"]) if found else 0
        mark = found["marker"] if found else ""
        numbered = found is not None and _is_number(items, indent, mark)
        if found and numbered and (indent == 0 or items):
            if indent <= (items[0].indent if items else 0):
                if items and _goes_on(items, mark):
                    _settle(items)
                else:
                    if items:
                        yield _ended(items, code_follows=False)
                    items = []
            elif items:
                _settle(items)
            items.append(_placed(items, indent, mark, found["text"], above))
            above = ""
        elif items and (found is None or indent > 0) and _is_inside(items[-1], line, at, code):
            items[-1].lines.append(line)
        elif items:
            items[-1].waiting.append(line)
            above = line or above
        else:
            above = line or above
    if items:
        yield _ended(items, code_follows=True)


def _is_inside(item: _Item, line: str, at: int, code: frozenset[int]) -> bool:
    """Right below the item: another line of it, a bullet of its own, or code in a fence."""
    if item.waiting:
        return False
    if at in code or not line:
        return True
    if line.startswith("|"):
        return False
    return bool(item.lines and item.lines[-1]) or line.startswith(" ")


def _settle(items: list[_Item]) -> None:
    """What stood between is of the step above it: the numbers go on."""
    items[-1].lines += items[-1].waiting
    items[-1].waiting = []


def _ended(items: list[_Item], *, code_follows: bool) -> list[_Item]:
    items[-1].waiting = []
    return items


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
