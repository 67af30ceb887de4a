"""Reads the numbered lists of a section as steps: their text, commands, conditions and references.
Pure.

Code is a command only after a colon, after *run*, or in a block of its own: `offsets reset` in
"`offsets reset` is blocked" is nothing to copy. Conditions and references are marked only where
the English is clear: a missed mark does no harm, because the reader still reads the words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import dedent
from typing import Literal

from loaders.text.plain import plain_text


@dataclass(frozen=True, kw_only=True)
class StepPart:
    kind: Literal["words", "command"]
    text: str
    """Markdown; for a command the typed text, without backticks or fence."""


@dataclass(frozen=True, kw_only=True)
class RunbookStep:
    """`lead`, `condition` and `parts` in this order are the author's text."""

    number: str
    """Full number: `2`, `2.1`, `2.1.a`."""
    level: int
    """0: outermost."""
    parts: tuple[StepPart, ...]
    condition: str = ""
    """Markdown: the author's condition, with its closing punctuation."""
    lead: str = ""
    """Markdown of the line that introduces the list that starts with this step."""
    parallel: bool = False
    """The author says to do it while something else runs."""
    leads_to: tuple[str, ...] = ()
    """Numbers of the other steps of its section that it refers to."""

    @property
    def text(self) -> str:
        """The step's own text, as markdown."""
        return "\n".join(filter(None, (self.condition, *(part.text for part in self.parts))))

    @property
    def words(self) -> str:
        """The same as plain text, in one line."""
        texts = (
            part.text if part.kind == "command" else plain_text(part.text) for part in self.parts
        )
        words = " ".join(filter(None, (plain_text(self.condition), *texts)))
        return " ".join(re.sub(r"\s+([.,;:])", r"\1", words).split())


ITEM = re.compile(
    r"(?P<indent> *)(?P<marker>(?P<digits>\(?\d{1,3}(?:\.\d{1,3})*[.)]|\d{1,3}(?:\.\d{1,3})+)"
    r"|(?P<letters>\(?(?:[A-Za-z]|[ivxl]{2,6})[.)])|[-*+•◦▪‣○●■]) (?P<text>.*)"
)
"""A list item in a chunk: three spaces per level, then the visible marker."""
NOTE = re.compile(r"\[\^[^\[\]]+\]: ")
FENCE = re.compile(r"\s*(`{3,}|~{3,})")
MIN_STEPS = 2
"""Minimum outermost numbered items of a procedure."""
_INTRODUCES = (":", "：", "—")


@dataclass(frozen=True, kw_only=True)
class Line:
    """A list item, another line of text, a table's row, or a block of code."""

    start: int
    end: int
    """Of its lines in the section."""
    markdown: str
    """As written; for code without the fence."""
    item: re.Match[str] | None = None
    is_code: bool = False

    @property
    def text(self) -> str:
        """Without the marker of an item."""
        return self.item["text"] if self.item else self.markdown.strip()

    @property
    def number(self) -> str:
        """`2.` of a numbered item, else ''."""
        return self.item["digits"] or "" if self.item else ""

    @property
    def indent(self) -> int:
        return len(self.markdown) - len(self.markdown.lstrip(" "))


def lines_in(text: str) -> Iterator[Line]:
    """What a section says, in reading order, without blank lines."""
    lines = text.split("\n")
    end = 0
    for start, line in enumerate(lines):
        if start < end or not line.strip():
            continue
        end = start + 1
        if fence := FENCE.match(line):
            closing = re.compile(rf"\s*{fence[1]}{fence[1][0]}*\s*")
            while end < len(lines) and not closing.fullmatch(lines[end]):
                end += 1
            code = "\n".join(lines[start + 1 : end])
            end += 1
            code = dedent(code) if line.startswith(" ") else code
            yield Line(start=start, end=end, markdown=code, is_code=True)
        else:
            yield Line(start=start, end=end, markdown=line, item=ITEM.fullmatch(line))


@dataclass(kw_only=True)
class _Item:
    number: str
    level: int
    lead: str
    first: Line
    end: int


def steps_in(text: str) -> tuple[RunbookStep, ...]:
    """`text`: a whole section. Empty where no list has `MIN_STEPS` outermost numbers."""
    lists = (one for one in _lists(text) if sum(not item.level for item in one) >= MIN_STEPS)
    items = [item for one in lists for item in one]
    numbers = {item.number for item in items}
    distinct = numbers if len(numbers) == len(items) else set[str]()
    return tuple(_step(item, text, distinct - {item.number}) for item in items)


def _lists(text: str) -> Iterator[list[_Item]]:
    """Outermost numbered lists, as their items in reading order. Bullets and text below an item
    belong to it; text that stands apart does so only if the list goes on after it."""
    items: list[_Item] = []
    above, is_apart = "", False
    for line in lines_in(text):
        is_numbered = line.number or (line.indent and line.item and line.item["letters"])
        if line.item and is_numbered and (items or not line.indent):
            item = _item(items, line, line.item["marker"].strip("()."), above)
            if items and not line.indent and not _follows(item, items):
                yield items
                items = []
            elif items:
                items[-1].end = line.start
            items.append(item)
            above, is_apart = "", False
        elif items and not is_apart and _is_below(line, items[-1]):
            items[-1].end = line.end
        else:
            above, is_apart = line.markdown, True
    if items:
        yield items


def _is_below(line: Line, item: _Item) -> bool:
    """Whether it belongs to the item that it follows."""
    is_text = not line.item and not line.markdown.startswith("|")
    directly = is_text and line.start == item.end
    return line.is_code or line.indent > 0 or directly or bool(NOTE.match(line.markdown))


def _item(items: Sequence[_Item], line: Line, number: str, above: str) -> _Item:
    parent = next((one for one in reversed(items) if one.first.indent < line.indent), None)
    return _Item(
        number=number if parent is None or "." in number else f"{parent.number}.{number}",
        level=parent.level + 1 if parent else 0,
        lead=above if parent is None and above.rstrip().endswith(_INTRODUCES) else "",
        first=line,
        end=line.end,
    )


def _follows(item: _Item, items: Sequence[_Item]) -> bool:
    """Whether its number is the next one of the outermost items."""
    before = next(one.number for one in reversed(items) if not one.level)
    last, number = (int(one.rpartition(".")[2]) for one in (before, item.number))
    return number == last + 1


_NEGATED = re.compile(
    r"\b(?:not|never|no longer|without|instead of|rather than|avoid|cannot)\b|n[’']t\b", re.I
)
_OTHERWISE = re.compile(r"\b(?:otherwise|else|if not|either way|in any case)\b", re.I)
_PARALLEL = re.compile(
    r"[\s*_]*(?:meanwhile|in the meantime|in parallel|at the same time)\b"
    r"|.*\b(?:in parallel (?:with|to)|at the same time as|while) (?:the )?steps? \d",
    re.I | re.S,
)
_NUMBER = r"(\d{1,3}+(?:\.\w{1,3})*+)"
_STEP = re.compile(
    rf"(?<!\) )\bsteps? {_NUMBER}(?:\s*(?:,|and|or|to|through|–|-)\s*{_NUMBER})?+"
    r"(?!\s+(?:of|in|from) (?!this\b))",
    re.I,
)
"""Steps of this section: `step 3 of the failover runbook` is of another one."""


def _step(item: _Item, section: str, other_numbers: set[str]) -> RunbookStep:
    below = section.split("\n")[item.first.start + 1 : item.end]
    all_parts = _parts("\n".join((item.first.text, *below)).strip("\n"))
    parts = [one for one in all_parts if one.text.strip()]
    words = " ".join(part.text for part in parts if part.kind == "words")
    condition = ""
    end = condition_end(parts[0].text) if parts and parts[0].kind == "words" else 0
    if end and not _OTHERWISE.search(words[end:]):
        condition, rest = parts[0].text[:end], parts[0].text[end:].strip()
        parts[:1] = [StepPart(kind="words", text=rest)] if rest else []
    named = dict.fromkeys(number for match in _STEP.finditer(words) for number in match.groups())
    sentences = re.split(r"(?<=[.!?])\s", words)
    return RunbookStep(
        number=item.number, level=item.level, lead=item.lead,
        condition=condition, parts=tuple(parts),
        parallel=any(_PARALLEL.match(one) and not _NEGATED.search(one) for one in sentences),
        leads_to=tuple(one for one in named if one in other_numbers),
    )  # fmt: skip


_CONDITION = re.compile(
    r"(?:only if|if|unless|in case|provided that)\b(?:(?![.!?,:]\s|[,:]$).)+[,:](?=\s|$)",
    re.I | re.S,
)
_ENUMERATION = re.compile(r",\s+(?:(?:or|and|but)\b|[^.!?:]*,\s+(?:or|and)\s[^,.]+,)", re.I)
"""Goes on with the condition: `If you clicked, typed something, or approved it, say so.`"""


def condition_end(text: str) -> int:
    """Length of a leading `If …,` or `If …:` in characters; 0 where there is none."""
    text = _CODE.sub(lambda code: "x" * len(code[0]), text)  # its punctuation doesn't count
    match = _CONDITION.match(text)
    if not match or (match[0].endswith(",") and _ENUMERATION.match(text, match.end() - 1)):
        return 0
    return match.end()


_CODE = re.compile(r"(?<!`)(`+)(?!`) ?(.+?) ?(?<!`)\1(?!`)", re.DOTALL)
_RUN = re.compile(r"\b(?:run|execute|enter|type|issue|invoke)(?: the command)?\s*$", re.I)
_PROGRAM_NAME = re.compile(r"[\w./~$@-]*[\w./~](?: |$)(?!=)")
"""A program's name; an assignment such as `lag_bytes=0` is none."""
_SENTENCE_END = re.compile(r"[.!?](?:\s|$)")


def _parts(markdown: str) -> Iterator[StepPart]:
    """All parts of a step's text, in order."""
    lines = markdown.split("\n")
    at = 0
    for line in lines_in(markdown):
        if line.is_code:
            yield from _sentences("\n".join(lines[at : line.start]))
            yield StepPart(kind="command", text=line.markdown)
            at = line.end
    yield from _sentences("\n".join(lines[at:]))


def _sentences(markdown: str) -> Iterator[StepPart]:
    markdown = markdown.strip("\n")
    position = 0
    for code in _CODE.finditer(markdown):
        before = markdown[position : code.start()]
        if _is_command(before, code[2]):
            yield StepPart(kind="words", text=before.strip())
            yield StepPart(kind="command", text=code[2])
            position = code.end()
    yield StepPart(kind="words", text=markdown[position:].strip())


def _is_command(before: str, code: str) -> bool:
    sentence = _SENTENCE_END.split(before)[-1]
    if _NEGATED.search(sentence) or not _PROGRAM_NAME.match(code):
        return False
    introduced = sentence.rstrip().endswith((":", "：")) and " " in code.strip()
    return introduced or bool(_RUN.search(sentence))
